"""Where one metric beats another: the parts of tasks (a dataset, a condition, a fault) on which they differ most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.scoring.comparison import ByUnit, Samples
from leaderboard.scoring.estimates import Estimate
from tasks.registry import TASKS

Measured = Mapping[str, Estimate | None]
SMALLEST = 0.005                            # smaller differences are displayed as 0


@dataclass(frozen=True)
class TaskPart:
    """A part of a task's test units, with the scores of two metrics; 1 is perfect."""

    task: str
    where: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        """The difference of the two scores."""
        return self.a - self.b


def task_parts(samples: Samples, task: str, a: tuple[str, Measured], b: tuple[str, Measured]) -> list[TaskPart]:
    """Return every part of a task that two entries, each with its measures, have in common."""
    first, second = (dict(score_parts(samples, name, task, measures)) for name, measures in (a, b))
    return [TaskPart(task, where, first[where], second[where]) for where in first if where in second]


def score_parts(samples: Samples, name: str, task: str, measures: Measured) -> Iterator[tuple[str, float]]:
    """Yield the mean score of each stratum, or the measures of datasets and conditions for other scores."""
    sample = samples.get((name, task))
    if isinstance(sample, ByUnit):
        strata: dict[str, list[float]] = {}
        for unit, score in sample.score.items():
            strata.setdefault(sample.stratum[unit], []).append(score)
        yield from ((stratum, float(np.mean(scores))) for stratum, scores in strata.items())
    elif sample is not None:
        presentation = TASKS[task].info.presentation
        ideals = {measure: ideal for curve in presentation.measure_curves for _, measure, ideal in curve.points}
        for measure, estimate in measures.items():
            if estimate is not None and (measure in presentation.parts or ": " in measure):
                score = 1 - abs(estimate.value - ideals[measure]) if measure in ideals else estimate.value
                yield presentation.parts.get(measure, measure), score


def largest_differences(parts: Sequence[TaskPart], count: int) -> tuple[list[TaskPart], list[TaskPart]]:
    """Return the parts with the largest lead of the first entry, and those with the largest lead of the second."""
    ahead = sorted((part for part in parts if part.difference >= SMALLEST), key=lambda part: -part.difference)
    behind = sorted((part for part in parts if part.difference <= -SMALLEST), key=lambda part: part.difference)
    return ahead[:count], behind[:count]
