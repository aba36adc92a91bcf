"""What a task is: which questions there are, how a metric is asked, what its answers say."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from harness.base.hashing import digest_of, seed_of

if TYPE_CHECKING:
    from pydantic import BaseModel

    from harness.evaluation.metric_session import Asked
    from harness.submission.header import Header
    from harness.submission.submission import Entry

Observation = TypeVar("Observation")
Point = tuple[float, float, float | None, float | None]     # x, y, and the 95% interval of y


@dataclass(frozen=True)
class Source:
    """A dataset or a model a unit rests on, with the fingerprint that makes it this one and no other."""

    name: str
    fingerprint: str


@dataclass(frozen=True)
class Unit:
    """One independent piece of work, named by everything that bears on its answers."""

    task: str
    observe_version: int
    stratum: tuple[str, ...]                # where it belongs in the task's design, for people and for the means
    parameters: Mapping[str, Any]           # plain JSON values
    data: tuple[Source, ...]
    model: Source                           # what `embeddings` and `tokens` mean in this unit
    seed: int

    def __hash__(self) -> int:              # so that what follows from a unit can be kept by it: its parameters have none
        return hash(self.id)

    @cached_property
    def id(self) -> str:
        return digest_of(self.described)[:32]

    @property
    def described(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Cluster:
    """What is drawn again as one when scores are resampled: a document with its summaries, a query over all its units."""

    stratum: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Context:
    """What a suite says to all of its tasks."""

    seed: int
    model: Source
    fingerprint: Mapping[str, str]          # of each dataset, by name


@dataclass(frozen=True)
class Measures:
    """What one unit's answers say.  None is unknown: it is never 0."""

    score: float | None                     # the declared score; None: unknown, to be counted as chance
    values: Mapping[str, float | None]
    marks: frozenset[str] = frozenset()     # such as "context-dependent"


@dataclass(frozen=True)
class Paper:
    """What a task goes back to, for citing."""

    key: str                                # in BibTeX
    authors: tuple[str, ...]                # "Family, Given"
    title: str
    where: str
    year: int
    url: str


class Role(StrEnum):
    """What a measure stands for on the board, whichever task declares it."""

    COST = "cost"                           # relative cost, 1 for the reference metric
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
    columns: tuple[str, ...] = ()           # measures that are columns by default
    titles: Mapping[str, str] = field(default_factory=dict)     # of columns, where not "Task: measure"
    units: Mapping[str, str] = field(default_factory=dict)      # of measures
    roles: Mapping[Role, str] = field(default_factory=dict)     # the measure that plays each role
    radar: Mapping[str, str] = field(default_factory=dict)      # measures that are axes of the radar chart: their labels
    faults: Mapping[str, str] = field(default_factory=dict)     # measures that are sensitivities to a fault: the fault
    axioms: bool = False                    # every measure is a share of trials that is 1 where a property holds
    combined: tuple[CombinedColumn, ...] = ()
    curves_title: str = ""                  # heading of the task's curves
    tables: tuple[str, ...] = ()            # titles of the y axes of curves that are shown as tables
    measure_curves: tuple[MeasureCurve, ...] = ()


@dataclass(frozen=True)
class Declared:
    """What a task says of itself, as data."""

    title: str
    short: str                              # in signatures
    score: str
    chance: float
    worst: float
    unit: str
    strata: tuple[str, ...]
    observe_version: int
    measure_version: int
    track: str = "corpus"                   # an overall score exists only within one; "text": for text metrics alone
    ranked: bool = True
    paper: Paper | None = None              # None: ours
    alone: bool = False                     # its units are asked one at a time, with nothing beside them: they measure time
    measures: Mapping[str, str] = field(default_factory=dict)     # name: what it is, in the order to show them
    presentation: Presentation = Presentation()


class Task(Generic[Observation]):
    """A task; a new one is one new file that subclasses this and is listed in `tasks/__init__.py`."""

    name: ClassVar[str]
    declares: ClassVar[Declared]
    settings_form: ClassVar[type[BaseModel]]        # what a suite may say about it
    observation_form: ClassVar[type[Any]]           # the dataclass of its observations
    looks_at_vectors: ClassVar[bool] = False        # whether `observe` itself does, also where the metric takes no embeddings

    def datasets(self, settings: Any) -> set[str]:
        """The names of the datasets that these settings need."""
        raise NotImplementedError

    def units(self, settings: Any, context: Context) -> Iterator[Unit]:
        """Which questions there are."""
        raise NotImplementedError

    def texts(self, unit: Unit) -> Iterable[str]:
        """Every text that `observe` will show to a metric, so that vectors are there before it starts."""
        raise NotImplementedError

    def meant_for(self, entry: Entry) -> bool:
        """Whether a metric is asked this task at all: corpus metrics their track, text metrics both, if they are lifted.

        Of a family of text metrics the default is lifted: its variants differ in how they treat a pair of texts.
        """
        header = entry.header
        if self.declares.track == "text":
            return header.kind == "text"
        return header.kind == "corpus" or (header.lift and entry.variant is None)

    def applies(self, unit: Unit, header: Header) -> str | None:
        """Why this metric cannot be asked this unit; None if it can."""
        return None

    def observe(self, unit: Unit, metric: Asked) -> Observation:
        """Ask them: the only place a metric is called."""
        raise NotImplementedError

    def measure(self, unit: Unit, seen: Observation) -> Measures:
        """Pure: what the answers say."""
        raise NotImplementedError

    def measure_all(self, units: Sequence[Unit], seen: Sequence[Observation]) -> list[Measures]:
        """What all answered units of one entry say; for tasks whose units are judged against each other."""
        return [self.measure(unit, one) for unit, one in zip(units, seen, strict=True)]

    def clusters(self, units: Sequence[Unit]) -> Sequence[Cluster] | None:
        """What is drawn again; it follows from the units alone.  None: the units themselves, and the score is their mean."""
        return None

    def replicates(self, units: Sequence[Unit], seen: Sequence[Observation | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        """"score" and whatever measures are resampled with it, each under every row of `counts`: draws x clusters of these units.

        An entry of a row is how often that cluster counts.  An observation that is None is a failed unit, which counts as the
        worst.  A score is always a number, chance where it is unknown; a measure may be nan.
        """
        raise NotImplementedError

    def chance(self, units: Sequence[Unit], seen: Sequence[Observation]) -> float:
        """What chance would score; tasks whose data decide it compute it from what was asked."""
        return self.declares.chance

    def answers(self, seen: Observation) -> np.ndarray | None:
        """What a metric answered to questions that all are asked alike, oriented, on one scale; None: nothing of the kind."""
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
        """What all units of an entry together give away about it."""
        return frozenset().union(*(one.marks for one in measured)) if measured else frozenset()

    def unit(self, context: Context, stratum: tuple[str, ...], parameters: Mapping[str, Any], data: Iterable[str]) -> Unit:
        """A unit of this task; its seed depends on the suite's seed and on what the unit is."""
        sources = tuple(Source(name, context.fingerprint[name]) for name in data)
        return Unit(self.name, self.declares.observe_version, stratum, parameters, sources, context.model,
                    seed_of(context.seed, self.name, digest_of(dict(parameters))))
