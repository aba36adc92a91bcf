"""Where one metric beats another: the parts of tasks (a dataset, a condition, a fault) on which they differ most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leaderboard.scoring.comparison import ByUnit, Samples
from tasks.text.sensitivity import CONDITIONS, condition_name

CHANGED = "found "                          # retrieval's measures of single conditions
BY_MEASURE = {condition_name(condition): condition for condition in CONDITIONS}
SMALLEST = 0.005                            # a difference that is shown as 0 says nothing


@dataclass(frozen=True)
class TaskPart:
    """Some of a task's questions, and what two metrics score on them; 1 is perfect."""

    task: str
    where: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.a - self.b


def task_parts(samples: Samples, a: Mapping[str, Any], b: Mapping[str, Any], tasks: Sequence[str]) -> list[TaskPart]:
    """Every part of the tasks that both entries (as the facts have them) were asked."""
    found = []
    for task in tasks:
        both = [dict(score_parts(samples, entry, task)) for entry in (a, b)]
        found += [TaskPart(task, where, both[0][where], both[1][where]) for where in both[0] if where in both[1]]
    return found


def score_parts(samples: Samples, entry: Mapping[str, Any], task: str) -> Iterator[tuple[str, float]]:
    """The mean score of each stratum where a score is a mean over units; else the measures of single datasets and conditions."""
    sample = samples.get((entry["name"], task))
    if isinstance(sample, ByUnit):
        strata: dict[str, list[float]] = {}
        for unit, score in sample.score.items():
            strata.setdefault(sample.stratum[unit], []).append(score)
        yield from ((stratum, float(np.mean(scores))) for stratum, scores in strata.items())
    elif sample is not None:
        for measure, estimate in entry["tasks"][task]["measures"].items():
            if estimate is None:
                continue
            condition = BY_MEASURE.get(measure)
            if condition is not None:
                where = f"{condition.kind} of {condition.size:.0%} of the tokens, {condition.position}"
                yield where, 1 - abs(estimate["value"] - condition.ideal)
            elif ": " in measure:
                yield measure, estimate["value"]
            elif measure.startswith(CHANGED):
                yield f"documents with {measure.removeprefix(CHANGED).replace('_', ' ')}", estimate["value"]


def largest_differences(found: Sequence[TaskPart], count: int) -> tuple[list[TaskPart], list[TaskPart]]:
    """Those on which the first is furthest ahead, and those on which the second is, the largest first."""
    ahead = sorted((part for part in found if part.difference >= SMALLEST), key=lambda part: -part.difference)
    behind = sorted((part for part in found if part.difference <= -SMALLEST), key=lambda part: part.difference)
    return ahead[:count], behind[:count]
