"""A run that keeps its answers on a PostgreSQL server takes about as long as one that keeps them in a file."""

from __future__ import annotations

import statistics
import time

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.submission.selection import select_entries
from tasks.suite_files import load_suite

pytestmark = pytest.mark.benchmark

QUICK = ["length_difference", "exact_match", "random", "constant"]      # little else to do than keeping answers


def test_postgresql(database, tmp_path, report):
    entries, smoke = select_entries(QUICK, SUBMISSIONS), load_suite("smoke")
    run_suite(entries, smoke, tmp_path / "first.sqlite", progress=NoProgress(), jobs=2)         # reads texts and vectors once
    ratios = []
    for n in range(5):
        taken = []
        for address in (tmp_path / f"{n}.sqlite", database):
            started = time.perf_counter()
            tally = run_suite(entries, smoke, address, rerun=True, progress=NoProgress(), jobs=2)
            taken.append(time.perf_counter() - started)
            assert tally.answered == tally.planned > 0
        ratios.append(taken[1] / taken[0])
    report(f"a run on PostgreSQL: {statistics.median(ratios):.2f} times one on SQLite (at most 1.3)")
    assert statistics.median(ratios) <= 1.3
