"""The time left in a run: it falls, and rises only if the work is clearly slower than thought."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from harness.evaluation import time_left
from harness.evaluation.time_left import PublishedTimes, TimeEstimate

pytestmark = pytest.mark.unit


def times_left(seconds: list[float], monkeypatch: pytest.MonkeyPatch, slow_from: int | None = None) -> list[float]:
    """Return the time left after each outcome of one job whose test units take so long; from a unit on, they are of another entry."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(time_left.time, "monotonic", lambda: clock.now)
    digests = ["one" if slow_from is None or number < slow_from else "two" for number in range(len(seconds))]
    assignments = [(SimpleNamespace(digest=digest), SimpleNamespace(unit=SimpleNamespace(id=str(number), task="task", stratum=())))
                   for number, digest in enumerate(digests)]
    estimate, found = TimeEstimate(assignments, 1), []
    for number, taken in enumerate(seconds):
        clock.now += taken
        found.append(estimate.left_after(SimpleNamespace(unit_id=str(number), entry_digest=digests[number], seconds=taken)))
    return found


def test_it_falls_although_test_units_take_differently_long(monkeypatch):
    left = times_left([1.0, 1.2, 0.8, 1.1, 0.9] * 40, monkeypatch)
    assert left == sorted(left, reverse=True)
    assert left[9] == pytest.approx(190, rel=0.05)
    assert left[-1] == 0


def test_it_rises_once_the_work_is_clearly_slower(monkeypatch):
    left = times_left([0.1] * 100 + [3.0] * 100, monkeypatch)
    assert left[99] == pytest.approx(10, rel=0.05)
    assert max(left[100:]) > 3 * left[99]
    assert left[-1] == 0


def test_a_slow_metric_after_a_fast_one_is_noticed_at_its_first_test_unit(monkeypatch):
    left = times_left([0.1] * 400 + [30.0] * 20, monkeypatch, slow_from=400)
    assert left[399] == pytest.approx(2, rel=0.1)               # nothing is known about the slow one
    assert left[400] == pytest.approx(19 * 30, rel=0.01)


def test_a_metric_that_is_slower_than_all_published_ones_is_reported_once(monkeypatch):
    """Four times as slow as the median of three metrics on the first units, and so slower than the slowest, which takes 300 s."""
    published = PublishedTimes("2026.1", {name: {str(unit): factor for unit in range(100)} for name, factor in
                                          (("fast", 0.5), ("typical", 1.0), ("slow", 3.0))})
    entry = SimpleNamespace(digest="new")
    assignments = [(entry, SimpleNamespace(unit=SimpleNamespace(id=str(unit), task="task", stratum=(str(unit),)))) for unit in range(100)]
    estimate = TimeEstimate(assignments, 2, published)
    outcome = SimpleNamespace(unit_id="0", entry_digest="new", seconds=4.0)
    assert estimate.left_after(outcome) == pytest.approx(99 * 4 / 2, rel=0.01)
    assert estimate.slow_entry("new") is None                   # four seconds say too little
    estimate.left_after(SimpleNamespace(unit_id="1", entry_digest="new", seconds=4.0))
    assert re.search(r"expected to take 6\.7 min; those of the slowest published metric, slow, took 5\.0 min", estimate.slow_entry("new"))
    assert estimate.slow_entry("new") is None
    quick = TimeEstimate(assignments, 2, published)
    for unit in range(5):
        quick.left_after(SimpleNamespace(unit_id=str(unit), entry_digest="new", seconds=2.0))
    assert quick.slow_entry("new") is None
