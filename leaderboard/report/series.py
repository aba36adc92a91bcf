"""The curves of an entry as numbers, small enough for a release to keep."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from leaderboard.report.schema import FigureData, Series
from leaderboard.scoring.scores import Scored, TaskScore


def collect_curves(scored: Scored) -> list[FigureData]:
    """Return every curve that the entry's tasks draw from its observations."""
    return [figure for score in scored.tasks.values() for figure in task_curves(scored, score)]


def task_curves(scored: Scored, score: TaskScore) -> list[FigureData]:
    """Return the curves of one task, stratum by stratum."""
    strata: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for unit in scored.suite.units(score.task):
        if unit.id in score.observed:
            strata[unit.stratum].append(score.observed[unit.id])
    return [FigureData(task=score.task.name, title=curve.title, x=curve.x, y=curve.y, logarithmic=curve.logarithmic,
                       series=[Series(name="", points=list(curve.points))])
            for stratum, observations in strata.items() for curve in score.task.curves(" · ".join(stratum), observations)]
