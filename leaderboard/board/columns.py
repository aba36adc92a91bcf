"""The columns of the ranked table, from what the tasks of a report declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller

from harness.evaluation.task import Role
from leaderboard.report.schema import EntryReport, SuiteInfo, TaskInfo

DEFAULT_SCORES, DEFAULT_MEASURES = 10, 2    # columns by default, as many as a desktop has space for; the others can be selected


@dataclass(frozen=True)
class Column:
    """A column: its key in addresses, its title and description, and how an entry's value is read."""

    key: str
    title: str
    description: str
    value: Callable[[EntryReport], float | None]
    default: bool = False
    score: bool = False                     # the score of a ranked task


def list_columns(suite: SuiteInfo, track: str) -> list[Column]:
    """Return the scores of a track's ranked tasks, its other axes, combined columns, and all measures of tasks and properties."""
    tasks = suite.tasks
    ranked = [task for task in tasks if task.ranked and task.track == track]
    scores = [Column(task.name, task.title, task.score, methodcaller("value_on", task.name), index < DEFAULT_SCORES, True)
              for index, task in enumerate(ranked)]
    axes = [Column(f"axis.{axis.name}", axis.title, axis.description, partial(axis_value, axis=axis.name), default=True)
            for axis in suite.other_axes(track)]
    combined = {column.measure: column for task in ranked for column in task.presentation.combined
                if not any(axis.name == column.measure for axis in suite.axes)}
    means = [Column(column.measure, column.title, column.description, partial(
        combined_value, measure=column.measure,
        tasks=[task.name for task in ranked if column in task.presentation.combined])) for column in combined.values()]
    in_other_track = [task.name for task in tasks if Role.MILLISECONDS in task.presentation.roles and task.track != track]
    measures = [column for task in tasks if (task.descriptive or task.track == track) and task.name not in in_other_track
                for column in measure_columns(task, suite.cost(track))]
    default = [column for column in measures if column.default][:DEFAULT_MEASURES]
    return [*scores, *axes, *means, *(replace(column, default=column in default) for column in measures)]


def measure_columns(task: TaskInfo, cost: tuple[str, str] | None = None) -> Iterator[Column]:
    """Return the columns of a task's measures; of several measures of cost only the given one is a default."""
    presentation = task.presentation
    if presentation.axioms:
        yield Column(task.name, task.title, f"Share of the {task.title.lower()} that hold in every trial",
                     partial(held_share, task=task.name), default=True)
    for measure, description in task.measures.items():
        if measure in presentation.listed:
            continue
        title = presentation.titles.get(measure, f"{task.title}: {measure.replace('_', ' ')}")
        yield Column(f"{task.name}.{measure}", title, description, partial(measure_value, task=task.name, measure=measure),
                     measure in presentation.columns and (presentation.roles.get(Role.COST) != measure or cost == (task.name, measure)))


def axis_value(entry: EntryReport, axis: str) -> float | None:
    """Return the entry's value on an axis."""
    standing = entry.axes.get(axis)
    return standing.value.value if standing is not None and standing.value is not None else None


def measure_value(entry: EntryReport, task: str, measure: str) -> float | None:
    """Return the entry's value of a measure."""
    result = entry.tasks.get(task)                          # not `measures_on`: a table has thousands of cells
    estimate = result.measures.get(measure) if result is not None else None
    return estimate.value if estimate is not None else None


def held_share(entry: EntryReport, task: str) -> float | None:
    """Return the share of a task's measures that equal 1."""
    measures = entry.measures_on(task)
    return sum(estimate.value == 1 for estimate in measures.values()) / len(measures) if measures else None


def combined_value(entry: EntryReport, measure: str, tasks: Sequence[str]) -> float | None:
    """Return the mean of a measure over tasks; None if one of them lacks it."""
    values = [measure_value(entry, task, measure) for task in tasks]
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if values and len(numbers) == len(values) else None


def above_chance(entry: EntryReport, task: str) -> float | None:
    """Return the entry's score on a task above chance."""
    result = entry.tasks.get(task)
    return result.above_chance if result is not None else None


def corrected_tasks(entries: Sequence[EntryReport], tasks: Sequence[TaskInfo]) -> set[str]:
    """Return the tasks on which chance is not 0, so that scores above chance differ from scores."""
    return {task.name for entry in entries for task in tasks if task.name in entry.tasks and entry.tasks[task.name].chance}
