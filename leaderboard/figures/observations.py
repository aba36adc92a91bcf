"""Scores, observations and curves of the entries in a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def measures_by_stratum(scored: Scored, task: str) -> dict[tuple[str, ...], list[Mapping[str, float | None]]]:
    """Return the measures of every answered test unit of a task, by stratum."""
    score = task_score(scored, task)
    if not score.observed:
        raise missing_results(scored, task)
    units = [unit for unit in scored.suite.units(score.task) if unit.id in score.observed]
    by_stratum: dict[tuple[str, ...], list[Mapping[str, float | None]]] = {}
    for unit, measures in zip(units, score.task.measure_all(units, [score.observed[unit.id] for unit in units]), strict=True):
        by_stratum.setdefault(unit.stratum, []).append(measures.values)
    return by_stratum


def select_strata(strata: Iterable[tuple[str, ...]], pair: str | None, k: int | None) -> list[tuple[str, ...]]:
    """Return the strata of known similarity (pair, level) that belong to a pair and a k, or all."""
    available = list(strata)
    selected = [stratum for stratum in available
                if pair in (None, stratum[0]) and (k is None or stratum[1].startswith(f"k={k} "))]
    if not selected:
        names = "; ".join(f"--pair {name!r} with {level}" for name, level in available)
        raise TouchstoneError(f"The suite does not contain this combination of --pair and --k; it contains {names}.")
    return selected


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
