"""The one ranking: a place depends on one's own scores and on how many are better, on nothing else."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.suite import Axis
from harness.evaluation.task import Measures, Task, TaskInfo
from harness.results.outcomes import Failure, Outcome, Status
from harness.submission.header import Header
from leaderboard.scoring.custom_order import parse_weights, weighted_score
from leaderboard.scoring.ranking import rank_order as rank
from leaderboard.scoring.scores import TaskScore, score_task

pytestmark = pytest.mark.unit


@dataclass
class FakeEntry:
    header: Header
    variant: str | None


@dataclass
class FakeScored:
    """A Scored with the fields that ranking reads; the real one needs a store."""

    name: str
    overall: float | None
    control: bool = False
    variant: str | None = None
    marks: frozenset = frozenset()
    ranked_tasks: list = field(default_factory=list)
    axis: Axis = field(default_factory=lambda: Axis("overall", "Overall", "corpus", ()))

    @property
    def entry(self):
        return FakeEntry(Header(name="x", title="x", summary="x", kind="corpus", input="texts", returns="distance", range=(0.0, 1.0),
                                license="x", control=self.control), self.variant)


scores = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(-4, 4).map(lambda n: n / 4), min_size=1)


def ranks(found: dict[str, float], order: random.Random | None = None) -> dict[str, int | None]:
    rows = [FakeScored(name, overall) for name, overall in found.items()]
    if order is not None:
        order.shuffle(rows)
    return {place.scored.name: place.rank for place in rank(rows)}


@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(found, order):
    assert ranks(found) == ranks(found, order)


@given(scores, st.integers(-4, 4))
def test_adding_a_metric_swaps_no_two_others(found, another):
    before, after = ranks(found), ranks({**found, "new": another / 4})
    for a in found:
        for b in found:
            assert (before[a] < before[b]) == (after[a] < after[b])


@given(scores)
def test_better_is_never_ranked_below_and_ties_share_the_better_rank(found):
    places = ranks(found)
    for a in found:
        assert places[a] == 1 + sum(other > found[a] for other in found.values())


def test_controls_and_cheats_are_listed_apart_with_the_reason():
    placed = rank([FakeScored("good", 0.9), FakeScored("control", 1.0, control=True),
                   FakeScored("cheat", 1.0, marks=frozenset({"context-dependent"})), FakeScored("good[2]", 0.95, variant="2")])
    assert [(place.scored.name, place.rank) for place in placed] == [
        ("good", 1), ("control", None), ("cheat", None), ("good[2]", None)]
    assert "context-dependent" in placed[2].reason
    assert placed[3].reason.startswith("variant of")      # forty seeded variants would be a lottery


def test_a_score_that_is_no_number_is_not_ranked():
    placed = rank([FakeScored("a", 0.9), FakeScored("nan", float("nan")), FakeScored("b", 0.5)])
    assert [(place.scored.name, place.rank) for place in placed[:2]] == [("a", 1), ("b", 2)]
    assert placed[2].rank is None


class Toy(Task):
    name = "toy"
    info = TaskInfo("Toy", "toy", "its value", chance=0.5, worst=0.0, unit="unit", strata=(), observe_version=1, measure_version=1)

    def measure(self, unit, seen):
        return Measures(seen, {"value": seen})


UNITS = [Unit("toy", 1, ("all",), {"i": i}, (), None, i) for i in range(10)]


def toy_score(values: dict[int, float | str | None]) -> TaskScore:
    """None: unknown; a string: failed; a missing one: not asked."""
    outcomes = {}
    for i, value in values.items():
        failed = isinstance(value, str)
        outcomes[UNITS[i].id] = Outcome(UNITS[i].id, "e", Status.FAILED if failed else Status.ANSWERED, None if failed else value,
                                        Failure("raised", value) if failed else None, 0.0)
    return score_task(Toy(), UNITS, outcomes)


def test_a_failed_unit_counts_as_the_worst_and_an_unknown_one_as_chance():
    found = toy_score({0: 1.0, 1: None, 2: "raised"})
    assert found.score.value == (1.0 + 0.5 + 0.0) / 3
    assert found.measures["value"].value == 1.0         # the measure itself knows only what is known
    assert len(found.failures) == 1
    assert not found.complete


def test_too_many_failures_and_missing_units_take_the_rank():
    for values, reason in (({i: "raised" if i < 3 else 1.0 for i in range(10)}, "3 of 10 test units"),
                           (dict.fromkeys(range(9), 1.0), "9 of 10 test units")):
        (placed,) = rank([FakeScored("x", 0.9, ranked_tasks=[toy_score(values)])])
        assert placed.rank is None
        assert reason in placed.reason
    (placed,) = rank([FakeScored("x", 0.9, ranked_tasks=[toy_score({i: "raised" if i < 2 else 1.0 for i in range(10)})])])
    assert placed.rank == 1                             # 20% may fail


def test_an_order_by_ones_own_weights():
    scores = {"a": {"x": 1.0, "y": 0.0}, "b": {"x": 0.5, "y": 0.5}, "c": {"x": 0.5, "y": 0.5}, "d": {"x": None, "y": 0.1}}
    assert weighted_score(scores, ["x", "y"], {"x": 1.0}) == {"a": (1, 1.0), "b": (2, 0.5), "c": (2, 0.5), "d": (4, 0.0)}
    assert list(weighted_score(scores, ["x", "y"], {"x": 1.0, "y": 3.0})) == ["b", "c", "a", "d"]      # .5 .5 .25 .075
    for weights, said in (({"z": 1.0}, 'no ranked task "z"'),
                          ({"x": 0.0}, "at least one must be positive"), ({"x": -1.0, "y": 2.0}, "must be non-negative")):
        with pytest.raises(TouchstoneError, match=said):
            weighted_score(scores, ["x", "y"], weights)
    assert parse_weights("x:1, y:.5") == {"x": 1.0, "y": 0.5}
    with pytest.raises(TouchstoneError, match="write task:weight"):
        parse_weights("x=1")
