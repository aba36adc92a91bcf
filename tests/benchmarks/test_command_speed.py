"""How long the command takes to say what it is, and to read a release."""

from __future__ import annotations

import resource
import time

import pytest

from tests.support.command import touchstone

pytestmark = pytest.mark.benchmark


def test_help(report):
    touchstone("--help")                    # compiles
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        touchstone("--help")
        taken.append(time.perf_counter() - started)
    report(f"touchstone --help: {min(taken):.2f} s (at most 0.5)")
    assert min(taken) <= 0.5


@pytest.mark.parametrize("words", [["show"], ["card", "energy"], ["cite", "energy"], ["export"]], ids=" ".join)
def test_reading_a_release(words, report):
    """Processor time, because the wall time on two processors depends on what else runs."""
    taken = []
    for _ in range(4):                      # the first compiles
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert touchstone(*words, "--release", "2026.3", separate=True).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    report(f"touchstone {' '.join(words)} --release 2026.3: {min(taken):.2f} s of processor time (at most 1)")
    assert min(taken) <= 1
