"""The way of a metric into the table: a bundle is made, comes out again, and nothing in it is believed that does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.sandbox.limits import Limits
from leaderboard.workflows.submit import FACTS, State, read_bundle
from leaderboard.workflows.submit import rerun_bundle as ask_again
from tests.support.command import touchstone
from tests.support.submissions import HEADER

SUITE = """
title = "Two draws of made texts"
seed = 7
model = "minilm"
[tasks.known_similarity]
pairs = [["made_weather", "made_trains"]]
levels = [{ k = 4, n = 8 }]
repetitions = 2
"""
WORDS = "def distance(p, q):\n    p, q = ({word for text in c for word in text.split()} for c in (p, q))\n    return len(p ^ q) / max(1, len(p | q))\n"


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "two.toml"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def submitted(tmp_path_factory, suite) -> Path:
    folder = tmp_path_factory.mktemp("submitted")
    path = folder / "words.py"
    path.write_text(HEADER.format(name="words", kind="corpus", input="texts", returns="distance", range="[0.0, inf]") + WORDS)
    done = touchstone("submit", path, "--suite", suite, "--store", folder / "mine.sqlite", "--to", folder / "bundles")
    assert done.returncode == 0, done.stderr
    assert "words: checked" in done.stderr
    place = folder / "bundles" / "words"
    said = json.loads((place / FACTS).read_text())
    said["suite"] = str(suite)                          # of a suite of our own its file is named; core and papers by name
    (place / FACTS).write_text(json.dumps(said))
    return place


@pytest.fixture
def bundle(submitted, tmp_path) -> Path:
    return Path(shutil.copytree(submitted, tmp_path / "words"))


def again(bundle: Path, tmp_path: Path):
    found, = ask_again(bundle, tmp_path / "theirs.sqlite", Limits(), 1, NoProgress())
    return found


def test_a_bundle_comes_out_again_and_what_is_claimed_does_not(bundle, tmp_path):
    first = again(bundle, tmp_path)
    assert (first.state, first.difference) == (State.CHECKED, 0.0)
    assert {"corpus": first.scored.overall} == first.claim.overall
    assert first.rank == "rank 1 of 1"
    said = json.loads((bundle / FACTS).read_text())
    scores = said["entries"][0]["scores"]["known_similarity"]
    scores[next(iter(scores))] += 0.01
    (bundle / FACTS).write_text(json.dumps(said))
    forged = again(bundle, tmp_path)
    assert forged.state is State.REJECTED
    assert "are not reproduced: the score of a test unit differs by 0.0100" in forged.reason


@pytest.mark.parametrize(("change", "sentence"), [
    ({"file": "../words.py"}, "must name a .py file in the same folder"),
    ({"file": "words.txt"}, "must name a .py file in the same folder"),
    ({"fingerprint": "0" * 64}, "submit the metric again from this clone"),
    ({"entries": []}, "belongs to another version of words.py"),
    ({"entries": 7}, "does not describe a bundle"),
])
def test_a_bundle_that_is_none_is_refused(change, sentence, bundle, tmp_path):
    said = json.loads((bundle / FACTS).read_text())
    (bundle / FACTS).write_text(json.dumps({**said, **change}))
    with pytest.raises(TouchstoneError, match=sentence):
        again(bundle, tmp_path)


def test_a_file_that_was_changed_after_the_bundle_is_refused(bundle, tmp_path):
    (bundle / "words.py").write_text((bundle / "words.py").read_text() + "# one line more\n")
    with pytest.raises(TouchstoneError, match=r"belongs to another version of words\.py"):
        again(bundle, tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000])
def test_what_is_no_bundle_is_said(content, tmp_path):
    (tmp_path / FACTS).write_text(content)
    with pytest.raises(TouchstoneError, match="does not describe a bundle"):
        read_bundle(tmp_path)
    with pytest.raises(TouchstoneError, match="write a bundle with `touchstone submit FILE`"):
        read_bundle(tmp_path / "nowhere")


def test_what_fails_or_depends_on_its_company_is_rejected_with_the_reason(write, tmp_path, suite):
    fails = touchstone("submit", write("fails", "def distance(p, q): raise ValueError('no')\n"), "--suite", suite,
                       "--store", tmp_path / "s.sqlite", "--to", tmp_path / "bundles")
    assert fails.returncode == 1
    assert "Not submitted" in fails.stderr
    assert not (tmp_path / "bundles").exists()
    counts = touchstone("submit", write("counts", "n = 0\ndef distance(p, q):\n    global n\n    n += 1\n    return float(n)\n"), "--suite", suite,
                        "--store", tmp_path / "s.sqlite", "--to", tmp_path / "bundles")
    assert counts.returncode == 1
    assert "counts: rejected: its answers depend on other calls" in " ".join(counts.stderr.split())
