"""How long the command takes to say what it is."""

from __future__ import annotations

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
