"""Scores, observations and curves of the entries in a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.base.errors import TouchstoneError
from harness.evaluation.task import Point
from leaderboard.report.series import collect_curves
from leaderboard.scoring.scores import Scored, TaskScore


def task_score(scored: Scored, task: str) -> TaskScore:
    """Return the score of an entry on a task."""
    if task not in scored.tasks:
        raise TouchstoneError(f'The figure needs the task {task}, which the suite "{scored.suite.name}" does not have.')
    return scored.tasks[task]


def missing_results(scored: Scored, task: str) -> TouchstoneError:
    """Return the error for an entry without results on a task."""
    return TouchstoneError(f'The store has no results of "{scored.name}" on {task}. Run `touchstone run {scored.name} '
                           f"--suite {scored.suite.name} --only {task}`.")


def observations_by_stratum(scored: Sequence[Scored], task: str) -> dict[tuple[str, ...], dict[str, list[Any]]]:
    """Return the observations of a task by stratum and entry; every entry must have some."""
    by_stratum: dict[tuple[str, ...], dict[str, list[Any]]] = {}
    for entry in scored:
        observed = task_score(entry, task).observed
        if not observed:
            raise missing_results(entry, task)
        for unit in entry.suite.units(entry.tasks[task].task):
            if unit.id in observed:
                by_stratum.setdefault(unit.stratum, {}).setdefault(entry.name, []).append(observed[unit.id])
    return by_stratum


def curves_by_title(scored: Sequence[Scored], task: str) -> dict[str, dict[str, list[Point]]]:
    """Return the points of each curve of a report by title and entry; every entry must have observations of the task."""
    observations_by_stratum(scored, task)
    by_title: dict[str, dict[str, list[Point]]] = {}
    for entry in scored:
        for curve in collect_curves(entry):
            if curve.task == task:
                by_title.setdefault(curve.title, {})[entry.name] = curve.series[0].points
    if not by_title:
        raise TouchstoneError(f"None of these metrics has a curve of {task}, because no reference distance is positive.")
    return by_title
