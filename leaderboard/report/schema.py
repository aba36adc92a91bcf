"""The report: one model behind release files, the JSON API and the pages.

Version 1 is what releases hold that were made before the model existed: they have no `schema_version`.  Later versions only add
fields.  A field that older releases lack has a default, which `complete` in `leaderboard.report.build` fills in where it can.
"""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from harness.evaluation.task import FaultDetection, Paper, Point, Presentation, Role
from leaderboard.ensembles.summary import AddedValue, EnsembleSummary
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.insights import Agreement

SCHEMA_VERSION = 2


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


class SuiteInfo(Model):
    """The suite: tasks, datasets, and the default embedding model."""

    name: str
    title: str
    fingerprint: str
    model: SourceVersion
    tasks: list[TaskInfo]
    data: list[tuple[str, str]]             # names and fingerprints
    datasets: list[DatasetInfo] = []        # the same with descriptions, since version 2

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

    def task(self, name: str) -> TaskInfo:
        """Return a task by name."""
        return next(task for task in self.tasks if task.name == name)

    def role(self, role: Role) -> tuple[str, str] | None:
        """Return the task and the measure that play a role in this suite, or None."""
        return next(((task.name, task.presentation.roles[role]) for task in self.tasks if role in task.presentation.roles), None)

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


class TaskResult(Model):
    """What an entry scored on a task."""

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


class Standing(Model):
    """An entry in one track: its rank, or why it has none, and its scores."""

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
    overall_above_chance: float | None
    overall: Estimate | None
    usmb: float | None                      # superseded by `CombinedColumn`, kept for readers of version 1
    marks: list[str]
    tasks: dict[str, TaskResult]

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
    """One entry: as its first track has it, with the tasks of all tracks and its standing in each."""

    tracks: dict[str, TrackStanding]


class PairedDifference(Model):
    """The score of one metric minus that of another on the test units that both have; `p` is one-sided."""

    value: float
    low: float | None
    high: float | None
    units: int
    p: float


class MetricPair(Model):
    """Paired differences of two metrics by task, and on how many of them each is significantly better."""

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
    entries: list[EntryReport]
