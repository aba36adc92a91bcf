"""What is imported before workers are forked: what takes long, and no more than a submission names."""

from __future__ import annotations

import re

import pytest

from harness.hosts import PRELOADED, named_modules
from harness.places import SUBMISSIONS


@pytest.mark.parametrize(("line", "modules"), [
    ("import faiss", ["faiss"]), ("from scipy import linalg, stats", ["scipy.linalg", "scipy.stats"]),
    ("from scipy.stats import norm", ["scipy.stats"]), ("    from ot.lp.emd_wrap import emd_c as solve", ["ot.lp.emd_wrap"]),
    ("import faissimile", []), ("import ot", ["ot"]), ("# import faiss", []), ("text = 'import faiss'", [])])
def test_modules_are_found_in_the_lines_that_import_them(line, modules):
    assert list(named_modules(line.encode())) == modules


def test_what_our_submissions_import_of_slow_packages_is_preloaded():
    """By a look of its own: every module of these packages that stands in an import of one of our files."""
    seen = set()
    for path in SUBMISSIONS.glob("*.py"):
        source = path.read_bytes()
        for module in re.findall(r"^[ \t]*(?:import|from)[ \t]+((?:ot|sklearn|faiss|scipy|rapidfuzz)[\w.]*)", source.decode(), re.MULTILINE):
            if module not in ("scipy", "rapidfuzz", "sklearn"):     # `from scipy import stats` is tested above
                assert module in PRELOADED, f"{path.name} imports {module}"
                assert module in named_modules(source)
                seen.add(module)
    assert len(seen) > 5
