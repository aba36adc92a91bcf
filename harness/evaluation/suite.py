"""A suite: tasks on datasets with parameters and seeds, identified by a fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.hashing import digest_of
from harness.base.progress import Progress
from harness.base.units import Source, Unit
from harness.evaluation.task import Task

if TYPE_CHECKING:
    from harness.evaluation.assignment import TaskUnit

OVERALL = "overall"                         # the axis of a track whose suite declares none


@dataclass(frozen=True)
class AxisPart:
    """A task of an axis: the score or measure that counts, and the constant by which it is divided."""

    task: str
    scale: float = 1.0
    measure: str | None = None              # None: the score above chance


@dataclass(frozen=True)
class Axis:
    """A value that orders the entries of a track: the mean over tasks of scores above chance, each divided by its constant.

    The constants are part of the suite, so the value of an entry does not depend on the other entries.
    """

    name: str
    title: str
    track: str
    parts: tuple[AxisPart, ...]
    description: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks."""
        return tuple(part.task for part in self.parts)

    @property
    def unit(self) -> str:
        """The meaning of 0 and 1, as part of a sentence; empty if the description states it."""
        if any(part.measure is not None for part in self.parts):
            return ""
        scaled = any(part.scale != 1 for part in self.parts)
        return "0 is chance, 1 is one standard deviation of a frozen panel of metrics" if scaled else "0 is chance, 1 is perfect"


def overall_axis(track: str, tasks: Iterable[str]) -> Axis:
    """Return the axis of a track whose suite declares none: the mean score above chance."""
    return Axis(OVERALL, "Overall score", track, tuple(map(AxisPart, tasks)))


@dataclass(frozen=True)
class AdmissionRule:
    """The conditions for ranking a task and for releasing an axis; scores are scores above chance."""

    controls: Mapping[str, tuple[str, ...]]     # trivial baselines that must be at chance, by track
    score: float = 0.10                     # highest score of a baseline
    lower_end: float = 0.05                 # highest lower end of its interval
    stratum: float = 0.20                   # highest score of a baseline on a stratum
    signal_to_noise: float = 8.0            # SD of the ranked entries over the median standard error
    clusters: int = 10
    weights: tuple[float, float] = (0.5, 1.5)   # effective weights of tasks, in equal shares
    alpha: float = 0.6                      # Cronbach's alpha over one entry per family
    on_axis: float = 0.25                   # highest value of a baseline on the axis, if the lowest tenth of entries is below


@dataclass(frozen=True)
class Suite:
    """Test units and the tasks they belong to, with a function that loads a dataset by name."""

    name: str
    title: str
    model: Source
    task_units: tuple[TaskUnit, ...]
    load_dataset: Callable[[str, Progress], object] = field(default=lambda name, progress: None, compare=False)
    declared_axes: tuple[Axis, ...] = ()
    version: int = 1
    admission: AdmissionRule | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the ids of all test units, of the versions of all measures, and of the declared axes."""
        axes = [[axis.track, axis.name, [[part.task, part.measure, part.scale] for part in axis.parts]]
                for axis in self.declared_axes]
        return digest_of([sorted(task_unit.unit.id for task_unit in self.task_units),
                          sorted({f"{q.task.name}.m{q.task.info.measure_version}" for q in self.task_units}),
                          *([axes] if axes else [])])

    @cached_property
    def observation_types(self) -> dict[str, type[Any]]:
        """The dataclass of observations of each test unit, by unit id."""
        return {question.unit.id: question.task.observation_type for question in self.task_units}

    @property
    def tasks(self) -> tuple[Task[Any], ...]:
        """The tasks of the suite, in order."""
        return tuple({question.task.name: question.task for question in self.task_units}.values())

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The declared axes, and for each other track the mean score above chance of all tasks that may be ranked."""
        declared = {axis.track for axis in self.declared_axes}
        rest: dict[str, list[str]] = {}
        for task in self.tasks:
            if task.info.ranked and task.info.track not in declared:
                rest.setdefault(task.info.track, []).append(task.name)
        return (*self.declared_axes, *(overall_axis(track, names) for track, names in rest.items()))

    @property
    def tracks(self) -> tuple[str, ...]:
        """The tracks with ranked tasks, in the order of the tasks."""
        ranked = {axis.track for axis in self.axes}
        return tuple(dict.fromkeys(task.info.track for task in self.tasks if task.info.track in ranked and task.info.ranked))

    def axis(self, track: str, name: str | None = None) -> Axis:
        """Return an axis of a track by name; without a name, the first axis, which ranks the track."""
        names = [axis.name for axis in self.axes if axis.track == track]
        for axis in self.axes:
            if axis.track == track and name in (None, axis.name):
                return axis
        raise TouchstoneError(f'The suite {self.name} has no axis "{name}" of {track} metrics.{did_you_mean(name or "", names)} '
                              f"It has {', '.join(names) or 'none'}.")

    def is_ranked(self, task: Task[Any]) -> bool:
        """Return whether a task counts in the rank of its track."""
        return task.info.track in self.tracks and task.name in self.axis(task.info.track).tasks

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
