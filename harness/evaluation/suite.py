"""A suite: tasks on datasets with parameters and seeds, identified by a fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.hashing import digest_of
from harness.base.progress import Progress
from harness.base.units import Source, Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.task import Task


@dataclass(frozen=True)
class Suite:
    """Test units and the tasks they belong to, with a function that loads a dataset by name."""

    name: str
    title: str
    model: Source
    task_units: tuple[TaskUnit, ...]
    load_dataset: Callable[[str, Progress], object] = field(default=lambda name, progress: None, compare=False)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the ids of all test units and of the versions of all measures."""
        return digest_of([sorted(task_unit.unit.id for task_unit in self.task_units),
                          sorted({f"{q.task.name}.m{q.task.info.measure_version}" for q in self.task_units})])

    @cached_property
    def observation_types(self) -> dict[str, type[Any]]:
        """The dataclass of observations of each test unit, by unit id."""
        return {question.unit.id: question.task.observation_type for question in self.task_units}

    @property
    def tasks(self) -> tuple[Task[Any], ...]:
        """The tasks of the suite, in order."""
        return tuple({question.task.name: question.task for question in self.task_units}.values())

    @property
    def tracks(self) -> tuple[str, ...]:
        """The tracks with ranked tasks."""
        return tuple(dict.fromkeys(task.info.track for task in self.tasks if task.info.ranked))

    def units(self, task: Task[Any]) -> list[Unit]:
        """Return the test units of a task."""
        return [task_unit.unit for task_unit in self.task_units if task_unit.task.name == task.name]

    def select(self, only: Iterable[str]) -> list[TaskUnit]:
        """Return the test units of the named tasks, or all if none is named."""
        names = set(only)
        task_names = [task.name for task in self.tasks]
        for name in names:
            if name not in task_names:
                raise TouchstoneError(f'The suite "{self.name}" has no task "{name}".{did_you_mean(name, task_names)} '
                                      f"It has {', '.join(task_names)}.")
        return [task_unit for task_unit in self.task_units if not names or task_unit.task.name in names]
