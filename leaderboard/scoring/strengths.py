"""Where one metric beats another: the parts of tasks (a dataset, a condition, a fault) on which they differ most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.scoring.comparison import ByUnit, Samples
from leaderboard.scoring.estimates import Estimate
from tasks.text.sensitivity import CONDITIONS, name_of

CHANGED = "found "                          # retrieval's measures of single conditions
BY_MEASURE = {name_of(condition): condition for condition in CONDITIONS}
Measured = Mapping[str, Estimate | None]
SMALLEST = 0.005                            # a difference that is shown as 0 says nothing


@dataclass(frozen=True)
class Part:
    """Some of a task's questions, and what two metrics score on them; 1 is perfect."""

    task: str
    where: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.a - self.b


def parts(samples: Samples, task: str, a: tuple[str, Measured], b: tuple[str, Measured]) -> list[Part]:
    """Return every part of a task that two entries, each with its measures, have in common."""
    first, second = (dict(scored_parts(samples, name, task, measures)) for name, measures in (a, b))
    return [Part(task, where, first[where], second[where]) for where in first if where in second]


def scored_parts(samples: Samples, name: str, task: str, measures: Measured) -> Iterator[tuple[str, float]]:
    """The mean score of each stratum where a score is a mean over units; else the measures of single datasets and conditions."""
    sample = samples.get((name, task))
    if isinstance(sample, ByUnit):
        strata: dict[str, list[float]] = {}
        for unit, score in sample.score.items():
            strata.setdefault(sample.stratum[unit], []).append(score)
        yield from ((stratum, float(np.mean(scores))) for stratum, scores in strata.items())
    elif sample is not None:
        for measure, estimate in measures.items():
            if estimate is None:
                continue
            condition = BY_MEASURE.get(measure)
            if condition is not None:
                where = f"{condition.kind} of {condition.size:.0%} of the tokens, {condition.place}"
                yield where, 1 - abs(estimate.value - condition.ideal)
            elif ": " in measure:
                yield measure, estimate.value
            elif measure.startswith(CHANGED):
                yield f"documents with {measure.removeprefix(CHANGED).replace('_', ' ')}", estimate.value


def largest(found: Sequence[Part], count: int) -> tuple[list[Part], list[Part]]:
    """Those on which the first is furthest ahead, and those on which the second is, the largest first."""
    ahead = sorted((part for part in found if part.difference >= SMALLEST), key=lambda part: -part.difference)
    behind = sorted((part for part in found if part.difference <= -SMALLEST), key=lambda part: part.difference)
    return ahead[:count], behind[:count]
