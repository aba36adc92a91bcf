"""The report: one model behind release files, the JSON API and the pages.

Version 1 is what releases hold that were made before the model existed: they have no `schema_version`.  Later versions only add
fields.  A field that older releases lack has a default, which `complete` in `leaderboard.report.build` fills in where it can.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict

from harness.base.errors import TouchstoneError, did_you_mean, printable
from harness.evaluation.suite import Axis
from harness.evaluation.task import FaultDetection, Paper, Point, Presentation, Role
from leaderboard.ensembles.summary import AddedValue, EnsembleSummary
from leaderboard.quality.admission import Admission
from leaderboard.quality.statistics import AxisQuality, TaskQuality, by_task
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.insights import Agreement

SCHEMA_VERSION = 3


class Model(BaseModel):
    """Base of all parts of a report: immutable, finite numbers only."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, allow_inf_nan=False)


class SourceVersion(Model):
    """A model by name, with the fingerprint of its contents."""

    name: str
    fingerprint: str


class HarnessVersion(Model):
    """The version and commit of the harness that wrote the report."""

    version: str
    commit: str | None


class DatasetInfo(Model):
    """A dataset of the suite, as the registry describes it.  Since version 2."""

    name: str
    fingerprint: str
    title: str = ""
    licence: str = ""
    citation: str = ""
    stands_for: str | None = None           # the dataset of a paper that it replaces
    displayable: bool = False               # whether its licence allows its texts on a page


class TaskInfo(Model):
    """A task of the suite."""

    name: str
    title: str
    track: str
    score: str
    chance: float
    worst: float
    unit: str
    ranked: bool
    observe_version: int
    measure_version: int
    measures: dict[str, str]
    asks: str
    units: int
    data: list[str]
    paper: Paper | None = None              # since version 2
    presentation: Presentation = Presentation()     # since version 2
    short: str = ""                         # in signatures and narrow tables, since version 2
    descriptive: bool = False               # whether it has no score that can be ranked, since version 3

    def list_verdicts(self, measures: Mapping[str, Estimate | None]) -> list[str]:
        """Return which of the listed measures are 1 and which are not, each as one line of labels."""
        values = {label: measures[measure].value for measure, label in self.presentation.listed.items()      # type: ignore[union-attr]
                  if measures.get(measure) is not None}
        lines = ((self.title, [label for label, value in values.items() if value == 1]),
                 ("Not", [label for label, value in values.items() if value != 1]))
        return [f"{title}: {', '.join(labels)}" for title, labels in lines if labels]


class SuiteInfo(Model):
    """The suite: tasks, datasets, and the default embedding model."""

    name: str
    title: str
    fingerprint: str
    model: SourceVersion
    tasks: list[TaskInfo]
    data: list[tuple[str, str]]             # names and fingerprints
    datasets: list[DatasetInfo] = []        # the same with descriptions, since version 2
    version: int = 1                        # of the suite file, since version 3
    axes: list[Axis] = []                   # of a track, the one that it is ranked by first; since version 3

    @property
    def label(self) -> str:
        """The name with the start of the fingerprint."""
        return f"{self.name}@{self.fingerprint[:6]}"

    @property
    def tracks(self) -> list[str]:
        """The tracks with ranked tasks."""
        return list(dict.fromkeys(task.track for task in self.tasks if task.ranked))

    def ranked_tasks(self, track: str) -> list[TaskInfo]:
        """Return the ranked tasks of a track."""
        return [task for task in self.tasks if task.ranked and task.track == track]

    def headline(self, track: str) -> Axis:
        """Return the axis that a track is ranked by."""
        return next(axis for axis in self.axes if axis.track == track)

    def other_axes(self, track: str) -> list[Axis]:
        """Return the other axes of a track."""
        return [axis for axis in self.axes if axis.track == track][1:]

    def axis(self, name: str) -> Axis:
        """Return an axis by name."""
        names = [axis.name for axis in self.axes]
        if name not in names:
            raise TouchstoneError(f'The suite {self.label} has no axis "{printable(name, 40)}".{did_you_mean(name, names)} '
                                  f"It has {', '.join(dict.fromkeys(names))}.")
        return self.axes[names.index(name)]

    def axes_with(self, task: str) -> list[Axis]:
        """Return the axes that contain a task."""
        return [axis for axis in self.axes if task in axis.tasks]

    def on_axis(self, axis: Axis) -> SuiteInfo:
        """Return the suite as if the axis were the one that its track is ranked by."""
        tasks = [task.model_copy(update={"ranked": task.name in axis.tasks}) if task.track == axis.track else task
                 for task in self.tasks]
        return self.model_copy(update={"tasks": tasks, "axes": [axis, *(other for other in self.axes if other != axis)]})

    def task(self, name: str) -> TaskInfo:
        """Return a task by name."""
        return next(task for task in self.tasks if task.name == name)

    def role(self, role: Role) -> tuple[str, str] | None:
        """Return the task and the measure that play a role in this suite, or None."""
        return next(((task.name, task.presentation.roles[role]) for task in self.tasks if role in task.presentation.roles), None)

    def cost(self, track: str) -> tuple[str, str] | None:
        """Return the task and the measure of what a comparison costs: milliseconds, or else a relative cost."""
        return next(((task.name, task.presentation.roles[Role.MILLISECONDS]) for task in self.tasks
                     if task.track == track and Role.MILLISECONDS in task.presentation.roles), self.role(Role.COST))

    def measure_in_role(self, entry: Standing, role: Role) -> Estimate | None:
        """Return the entry's measure that plays a role."""
        task, measure = self.role(role) or ("", "")
        return entry.measures_on(task).get(measure)


class PairwiseP(Model):
    """Adjusted p-values of the differences of overall scores between all ranked entries of a track."""

    entries: list[str]
    values: list[list[float]]

    def between(self, a: str, b: str) -> float | None:
        """Return the p-value of two entries, or None if one of them is not ranked."""
        if a not in self.entries or b not in self.entries:
            return None
        return self.values[self.entries.index(a)][self.entries.index(b)]


class UnitCounts(Model):
    """Test units of a task."""

    planned: int
    asked: int
    failed: int


class AxisStanding(Model):
    """An entry's value on an axis, and its rank or the reason why it has none."""

    value: Estimate | None
    rank: int | None
    rank_interval: tuple[int, int] | None
    not_ranked: str | None
    of: int                                 # ranked entries


class TaskResult(Model):
    """The result of an entry on a task."""

    signature: str
    score: Estimate | None
    chance: float
    above_chance: float | None
    units: UnitCounts
    not_applicable: str | None
    failures: list[str]
    measures: dict[str, Estimate | None]


class TaskRank(Model):
    """The rank of an entry on one task, with its 95% rank range."""

    rank: int | None
    rank_interval: tuple[int, int] | None


class Series(Model):
    """Points of a curve."""

    name: str
    points: list[Point]


class FigureData(Model):
    """A curve of a task."""

    task: str
    title: str
    x: str
    y: str
    series: list[Series]
    logarithmic: bool = False

    @property
    def points(self) -> list[Point]:
        """All points of the figure."""
        return [point for series in self.series for point in series.points]


class TrackQuality(Model):
    """How well the tasks of a track measure, and whether they may be ranked.  Since version 3."""

    axis: AxisQuality | None                # None with fewer than three ranked entries
    admission: list[Admission]              # empty if the suite has no rule
    problems: list[str]                     # why the ranking would not be released

    def task(self, name: str) -> TaskQuality | None:
        """Return the quality of a task of the axis."""
        return by_task(self.axis).get(name)

    def verdict(self, name: str) -> Admission | None:
        """Return the verdict on a task."""
        return next((admission for admission in self.admission if admission.task == name), None)


class RatedClass(Model):
    """Percentiles of a metric's values on human-rated pairs of one class."""

    pairs: int
    percentiles: list[float]


class RatedValues(Model):
    """A text metric's values on human-rated pairs, by class."""

    told_apart: float | None                # share of (paraphrase, random) in the right order
    classes: dict[str, RatedClass]


class ExamplePairs(Model):
    """Human-rated pairs that may be displayed, with their relative ranks from 0 to 1 by people and by each metric."""

    texts: list[tuple[str, str]]
    people: list[float]
    metrics: dict[str, list[float]]


class RunInfo(Model):
    """The conditions under which an entry was last run."""

    version: str
    commit: str | None
    python: str
    platform: str
    processor: str
    processors: int
    packages: dict[str, str]
    layers: list[str]
    limits: dict[str, float | None]
    environments: dict[str, list[str]]
    suite: str
    fingerprint: str
    started: str
    node: str | None = None                 # of a cluster; None: the machine that the command was run on


class Standing(Model):
    """An entry in one track: its rank, or the reason why it has none, and its scores."""

    name: str
    track: str
    title: str
    kind: str
    lifted: bool
    digest: str
    license: str
    rank: int | None
    rank_interval: tuple[int, int] | None
    not_ranked: str | None
    overall_above_chance: float | None      # the value on the axis that the track is ranked by
    overall: Estimate | None
    usmb: float | None                      # superseded by `axes`, kept for readers of version 1
    marks: list[str]
    tasks: dict[str, TaskResult]
    axes: dict[str, AxisStanding] = {}      # other axes than the one that the track is ranked by, since version 3

    def on_axis(self, axis: Axis) -> Self:
        """Return the entry as the ranking by another axis of its track has it."""
        on_axis = self.axes.get(axis.name)
        if axis.track != self.track or on_axis is None:
            return self
        tasks = dict(self.tasks)
        for part in axis.parts:
            if part.measure is not None and part.task in tasks:
                estimate = tasks[part.task].measures.get(part.measure)
                tasks[part.task] = tasks[part.task].model_copy(update={
                    "score": estimate, "chance": 0.0, "above_chance": estimate and estimate.value})
        return self.model_copy(update={
            "rank": on_axis.rank, "rank_interval": on_axis.rank_interval, "not_ranked": on_axis.not_ranked, "tasks": tasks,
            "overall": on_axis.value, "overall_above_chance": on_axis.value and on_axis.value.value,
            **{name: value for name, value in (("task_ranks", {}), ("unseen", None), ("borda", None))
               if name in type(self).model_fields}})

    def score_on(self, task: str) -> Estimate | None:
        """Return the score on a task, or None if there is none."""
        return self.tasks[task].score if task in self.tasks else None

    def value_on(self, task: str) -> float | None:
        """Return the score on a task without its interval."""
        score = self.score_on(task)
        return score.value if score is not None else None

    def measures_on(self, task: str) -> dict[str, Estimate]:
        """Return the measures of a task that are known."""
        measures = self.tasks[task].measures if task in self.tasks else {}
        return {name: estimate for name, estimate in measures.items() if estimate is not None}


class DescribedEntry(Standing):
    """An entry in one track, with what its submission declares, its counterexamples, and the conditions of its last run."""

    family: str
    variant: str | None
    summary: str
    input: str
    returns: str
    range: tuple[float | None, float | None]
    symmetric: bool
    repeatable: bool
    control: bool
    paper: str | None
    models: list[str]
    trained_on: list[str]
    filename: str
    source_sha256: str
    first_seen: str
    worst_cases: dict[str, str]
    task_ranks: dict[str, TaskRank]
    environment: RunInfo | None
    authors: list[str] = []                 # of the paper, since version 2
    year: int | None = None                 # of the paper, since version 2
    unseen: tuple[int, int] | None = None   # the range of the ranks on single tasks, since version 3


class EntryReport(DescribedEntry):
    """Everything about an entry in one track."""

    borda: float | None
    curves: list[FigureData]
    faults_noticed: dict[str, FaultDetection]
    known_values: RatedValues | None
    adds: dict[str, AddedValue] | None


class Overview(Model):
    """Dividing lines, tasks on which trivial baselines score high, and every entry's scores."""

    lines: dict[str, list[int]]
    gameable: dict[str, dict[str, list[str]]]
    entries: list[Standing]

    def of_tracks(self, tracks: Container[str], names: Container[str] | None = None) -> Overview:
        """Return the part on some tracks and, if any are named, on some entries."""
        return Overview(lines={track: lines for track, lines in self.lines.items() if track in tracks},
                        gameable={track: tasks for track, tasks in self.gameable.items() if track in tracks},
                        entries=[entry for entry in self.entries
                                 if entry.track in tracks and (names is None or entry.name in names)])

    def on_axis(self, axis: Axis) -> Overview:
        """Return the entries in their order on an axis."""
        return self.model_copy(update=changes_on_axis(self, axis))

    def standings(self, track: str) -> dict[str, Standing]:
        """Return the entries of a track by name, the ranked ones first and in their order."""
        return {entry.name: entry for entry in self.entries if entry.track == track}

    def ranked(self, track: str) -> list[Standing]:
        """Return the ranked entries of a track in their order."""
        return [entry for entry in self.entries if entry.track == track and entry.rank is not None]

    def results(self, name: str) -> dict[str, TaskResult]:
        """Return an entry's results on the tasks of all its tracks."""
        return {task: result for entry in self.entries if entry.name == name for task, result in entry.tasks.items()}


class TrackStanding(Model):
    """An entry's rank and overall score in one track."""

    rank: int | None
    rank_interval: tuple[int, int] | None
    not_ranked: str | None
    overall_above_chance: float | None
    usmb: float | None


class Card(Standing):
    """One entry as in its first track, with the tasks of all tracks and its standing in each track."""

    tracks: dict[str, TrackStanding]


class PairedDifference(Model):
    """The score of one metric minus the score of another on their common test units; `p` is one-sided."""

    value: float
    low: float | None
    high: float | None
    units: int
    p: float


class MetricPair(Model):
    """Paired differences of two metrics by task, and the number of tasks on which each is significantly better."""

    a: str
    b: str
    tasks: dict[str, PairedDifference]
    a_better_on: int
    b_better_on: int
    of: int
    p_of_overall: float | None = None       # adjusted for all pairs


class Comparison(Model):
    """Paired comparison of some metrics."""

    entries: list[str]
    pairs: list[MetricPair]


class Report(Model):
    """Everything that the board, the API and a release show."""

    schema_version: int = 1
    made: str | None = None                 # the date of a release
    release: str | None
    licence: str
    harness: HarnessVersion
    suite: SuiteInfo
    lines: dict[str, list[int]]
    gameable: dict[str, dict[str, list[str]]]
    p: dict[str, PairwiseP]
    agreement: dict[str, Agreement | None]
    shown_pairs: dict[str, ExamplePairs | None] = {}
    ensembles: EnsembleSummary | None = None
    quality: dict[str, TrackQuality] = {}   # since version 3
    entries: list[EntryReport]

    def on_axis(self, axis: Axis) -> Report:
        """Return the report as if the axis were the one that its track is ranked by; without significance."""
        return self.model_copy(update={
            **changes_on_axis(self, axis), "suite": self.suite.on_axis(axis),
            "p": {track: p for track, p in self.p.items() if track != axis.track}})


def changes_on_axis(ranking: Overview | Report, axis: Axis) -> dict[str, object]:
    """Return the fields that differ if a track is ranked by an axis; its ranked entries are first, those of others unchanged."""
    mine = [entry.on_axis(axis) for entry in ranking.entries if entry.track == axis.track]
    mine.sort(key=lambda entry: (entry.rank is None, entry.rank or 0))
    return {"lines": {**ranking.lines, axis.track: []}, "gameable": {**ranking.gameable, axis.track: {}},
            "entries": [*mine, *(entry for entry in ranking.entries if entry.track != axis.track)]}
