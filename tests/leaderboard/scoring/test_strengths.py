"""Where one metric beats another: strata of tasks that are means over units, conditions and datasets of the others."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard.scoring.comparison import ByUnit
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.resampling import Resampled
from leaderboard.scoring.strengths import TaskPart, largest_differences, task_parts

pytestmark = pytest.mark.unit

STRATA = {"u1": "easy", "u2": "easy", "u3": "hard"}
RESAMPLED = Resampled(0.5, np.zeros(2), np.zeros(2), np.zeros(2, dtype=int))


def estimates(**measures: float) -> dict[str, Estimate | None]:
    return {**{name: Estimate(value, None, None, 1) for name, value in measures.items()}, "unknown: set": None}


def test_the_parts_by_hand():
    """Strata: .8 and .4 against .6 and .5.  Half inserted is to leave .75, half removed .5: errors .05 and .3 against .25 and 0."""
    a = estimates(**{"insertion 50% begin": 0.70, "removal 50% end": 0.80, "changed_length: one set": 0.9, "quadratic": 0.1})
    b = estimates(**{"insertion 50% begin": 1.00, "removal 50% end": 0.50, "changed_length: one set": 0.9, "quadratic": 0.9})
    samples = {("a", "clustering"): ByUnit({"u1": 0.9, "u2": 0.7, "u3": 0.4}, STRATA),
               ("b", "clustering"): ByUnit({"u1": 0.6, "u2": 0.6, "u3": 0.5}, STRATA),
               ("a", "sensitivity"): RESAMPLED, ("b", "sensitivity"): RESAMPLED}
    found = [part for task in ("clustering", "sensitivity", "retrieval") for part in task_parts(samples, task, ("a", a), ("b", b))]
    assert {(part.where, round(part.difference, 9)) for part in found} == {
        ("easy", 0.2), ("hard", -0.1), ("insertion of 50% of the tokens, begin", 0.2),
        ("removal of 50% of the tokens, end", -0.3),
        ("changed_length: one set", 0.0)}
    ahead, behind = largest_differences(found, 1)
    assert [part.where for part in behind] == ["removal of 50% of the tokens, end"]
    assert len(ahead) == 1
    assert ahead[0].difference > 0


def test_a_tie_is_nobodys_nor_is_what_is_shown_as_none():
    assert largest_differences([TaskPart("t", "w", 0.5, 0.5), TaskPart("t", "v", 0.504, 0.5)], 3) == ([], [])
