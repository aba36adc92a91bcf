"""The interface of tasks: test units, observations, and measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from harness.base.hashing import digest_of, seed_of
from harness.base.units import Cluster, Source, Unit

if TYPE_CHECKING:
    from pydantic import BaseModel

    from harness.evaluation.metric_session import MetricSession
    from harness.submission.header import Header
    from harness.submission.submission import Entry

Observation = TypeVar("Observation")
Point = tuple[float, float, float | None, float | None]     # x, y, and the 95% interval of y


@dataclass(frozen=True)
class Context:
    """What a suite provides to all of its tasks."""

    seed: int
    model: Source
    fingerprint: Mapping[str, str]          # by dataset name


@dataclass(frozen=True)
class Measures:
    """The measures of the answers to one test unit; None means unknown, never 0."""

    score: float | None                     # None: unknown, counts as chance
    values: Mapping[str, float | None]
    marks: frozenset[str] = frozenset()     # such as "context-dependent"


@dataclass(frozen=True)
class Paper:
    """The paper that a task is taken from, for citations."""

    key: str                                # in BibTeX
    authors: tuple[str, ...]                # "Family, Given"
    title: str
    where: str
    year: int
    url: str


class Role(StrEnum):
    """The meaning of a measure on the board, independent of the task that declares it."""

    COST = "cost"                           # relative cost, 1 for the reference metric
    MILLISECONDS = "milliseconds"           # of a comparison in the task's track, embedding included
    MILLISECONDS_WITH_VECTORS = "milliseconds_with_vectors"     # the same without embedding
    GROWTH = "growth"                       # exponent of the time against the number of texts
    MEMORY = "memory"                       # peak memory in MB
    SYMMETRIC = "symmetric"                 # share of trials, 1 where the property holds
    REPEATABLE = "repeatable"               # likewise
    HUMAN_AGREEMENT = "human_agreement"     # agreement with human ratings of pairs, from which `RatedValues` are collected


@dataclass(frozen=True)
class Curve:
    """Points of a figure with their 95% intervals; `x` and `y` are the titles of the axes."""

    title: str
    x: str
    y: str
    points: Sequence[Point]
    logarithmic: bool = False


@dataclass(frozen=True)
class MeasureCurve:
    """A curve whose points are measures: x, the name of the measure, and the ideal value."""

    title: str
    x: str
    y: str
    points: tuple[tuple[float, str, float], ...]


@dataclass(frozen=True)
class FaultDetection:
    """Share of the test units in which a fault is detected, and the median of the smallest strength that is."""

    noticed: float
    onset: float | None


@dataclass(frozen=True)
class CombinedColumn:
    """A column with the mean of one measure over all ranked tasks that declare it."""

    measure: str
    title: str
    description: str


@dataclass(frozen=True)
class Presentation:
    """How pages show a task and its measures, as data."""

    origin: str = ""                        # where the task comes from, if no paper is declared
    example: str = ""                       # one item as text
    examples: Mapping[str, str] = field(default_factory=dict)   # of measures, each as text
    columns: tuple[str, ...] = ()           # measures that are columns by default
    titles: Mapping[str, str] = field(default_factory=dict)     # of columns, where not "Task: measure"
    units: Mapping[str, str] = field(default_factory=dict)      # of measures
    roles: Mapping[Role, str] = field(default_factory=dict)     # the measure that plays each role
    radar: Mapping[str, str] = field(default_factory=dict)      # measures that are axes of the radar chart: their labels
    faults: Mapping[str, str] = field(default_factory=dict)     # measures that are sensitivities to a fault: the fault
    parts: Mapping[str, str] = field(default_factory=dict)      # measures on a part of the test units: the part
    listed: Mapping[str, str] = field(default_factory=dict)     # measures that are 0 or 1 and shown in one list: their labels
    axioms: bool = False                    # every measure is a share of trials that is 1 where a property holds
    combined: tuple[CombinedColumn, ...] = ()
    curves_title: str = ""                  # heading of the task's curves
    tables: tuple[str, ...] = ()            # titles of the y axes of curves that are shown as tables
    measure_curves: tuple[MeasureCurve, ...] = ()


Bounds = tuple[float | None, float | None]      # the lowest and highest possible value; None: unbounded
SHARE: Bounds = (0.0, 1.0)
CORRELATION: Bounds = (-1.0, 1.0)
NONNEGATIVE: Bounds = (0.0, None)
AT_MOST_ONE: Bounds = (None, 1.0)


@dataclass(frozen=True)
class TaskInfo:
    """What a task declares about itself."""

    title: str
    short: str                              # in signatures
    score: str
    chance: float
    worst: float
    unit: str
    strata: tuple[str, ...]
    observe_version: int
    measure_version: int
    track: str = "corpus"                   # overall scores are computed per track; "text" accepts text metrics only
    ranked: bool = True
    paper: Paper | None = None              # None: ours
    alone: bool = False                     # run one test unit at a time, for measurements of time
    measures: Mapping[str, str] = field(default_factory=dict)     # description by name, in display order
    presentation: Presentation = Presentation()
    bounds: Mapping[str, Bounds] = field(default_factory=dict)  # of measures, for intervals within them
    refused: str | None = None              # why the score may not be part of a declared axis; None: it may
    axis_measures: tuple[str, ...] = ()     # measures on a scale with chance 0 that a suite may use in an axis besides the score

    def bounds_of(self, measure: str) -> Bounds:
        """Return the bounds of a measure, also of one that is limited to a dataset, or of the score (`score`)."""
        default = (self.worst, 1.0) if measure == "score" and self.ranked else (None, None)
        return self.bounds.get(measure.partition(": ")[0], default)


class Task(Generic[Observation]):
    """A task: add one by subclassing this in a new module of `tasks.corpus`, `tasks.text` or `tasks.properties`."""

    name: ClassVar[str]
    info: ClassVar[TaskInfo]
    settings_type: ClassVar[type[BaseModel]]        # the settings that a suite may contain
    observation_type: ClassVar[type[Any]]           # the dataclass of its observations
    needs_vectors: ClassVar[bool] = False        # whether `observe` uses vectors of the suite's model

    def datasets(self, settings: Any) -> set[str]:
        """Return the names of the datasets that these settings need."""
        raise NotImplementedError

    def units(self, settings: Any, context: Context) -> Iterator[Unit]:
        """Yield the test units."""
        raise NotImplementedError

    def texts(self, unit: Unit) -> Iterable[str]:
        """Return every text that `observe` passes to a metric, so that vectors can be computed beforehand."""
        raise NotImplementedError

    def accepts(self, entry: Entry) -> bool:
        """Return whether an entry is run on this task at all.

        Corpus tasks accept corpus metrics and lifted text metrics (of a family only the default); text tasks accept text metrics.
        """
        header = entry.header
        if self.info.track == "text":
            return header.kind == "text"
        return header.kind == "corpus" or (header.lift and entry.variant is None)

    def inapplicable_reason(self, unit: Unit, header: Header) -> str | None:
        """Return why a metric cannot be run on this test unit, or None."""
        return None

    def observe(self, unit: Unit, metric: MetricSession) -> Observation:
        """Call the metric and return its raw answers; this is the only place where a metric is called."""
        raise NotImplementedError

    def measure(self, unit: Unit, observation: Observation) -> Measures:
        """Return the measures of one test unit's answers; a pure function."""
        raise NotImplementedError

    def measure_all(self, units: Sequence[Unit], observations: Sequence[Observation]) -> list[Measures]:
        """Return the measures of all answered units of one entry; override this if they depend on each other."""
        return [self.measure(unit, observation) for unit, observation in zip(units, observations, strict=True)]

    def clusters(self, units: Sequence[Unit]) -> Sequence[Cluster] | None:
        """Return the clusters to resample, from the test units alone; None if units are resampled and the score is their mean."""
        return None

    def replicates(self, units: Sequence[Unit], observations: Sequence[Observation | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        """Return the score, and the measures that are resampled with it, under every row of `counts` (draws x clusters).

        An element is the number of times that a cluster counts in a draw. An observation of None is a failed test unit, which
        counts as the worst score. A score is always a number (chance where it is unknown); a measure may be nan.
        """
        raise NotImplementedError

    def chance(self, units: Sequence[Unit], observations: Sequence[Observation]) -> float:
        """Return the score of chance; override it if it depends on the data."""
        return self.info.chance

    def answers(self, observation: Observation) -> np.ndarray | None:
        """Return the answers to questions that all entries share, on one scale, to measure redundancy; None if there are none."""
        return None

    def curves(self, title: str, observations: Sequence[Observation]) -> list[Curve]:
        """Return the curves of the observations of one stratum; the title names the stratum."""
        return []

    def detect_faults(self, units: Sequence[Unit], observations: Sequence[Observation]) -> Mapping[str, FaultDetection]:
        """Return how well the faults in `Presentation.faults` are detected."""
        return {}

    def counterexamples(self, observations: Sequence[Observation]) -> Mapping[str, str]:
        """Return the worst case of each measure whose property does not hold, as text."""
        return {}

    def marks(self, measured: Sequence[Measures]) -> frozenset[str]:
        """Return the marks of an entry that follow from all its test units together."""
        return frozenset().union(*(measures.marks for measures in measured)) if measured else frozenset()

    def unit(self, context: Context, stratum: tuple[str, ...], parameters: Mapping[str, Any], data: Iterable[str]) -> Unit:
        """Return a test unit of this task; its seed depends on the suite's seed and the unit's parameters."""
        sources = tuple(Source(name, context.fingerprint[name]) for name in data)
        return Unit(self.name, self.info.observe_version, stratum, parameters, sources, context.model,
                    seed_of(context.seed, self.name, digest_of(dict(parameters))))
