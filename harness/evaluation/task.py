"""What a task is: which questions there are, how a metric is asked, what its answers say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class TaskInfo:
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


class Task(Generic[Observation]):
    """A task; a new one is one new file that subclasses this and is listed in `tasks/__init__.py`."""

    name: ClassVar[str]
    info: ClassVar[TaskInfo]
    settings_type: ClassVar[type[BaseModel]]        # what a suite may say about it
    observation_type: ClassVar[type[Any]]           # the dataclass of its observations
    needs_vectors: ClassVar[bool] = False        # whether `observe` itself does, also where the metric takes no embeddings

    def datasets(self, settings: Any) -> set[str]:
        """The names of the datasets that these settings need."""
        raise NotImplementedError

    def units(self, settings: Any, context: Context) -> Iterator[Unit]:
        """Which questions there are."""
        raise NotImplementedError

    def texts(self, unit: Unit) -> Iterable[str]:
        """Every text that `observe` will show to a metric, so that vectors are there before it starts."""
        raise NotImplementedError

    def accepts(self, entry: Entry) -> bool:
        """Whether a metric is asked this task at all: corpus metrics their track, text metrics both, if they are lifted.

        Of a family of text metrics the default is lifted: its variants differ in how they treat a pair of texts.
        """
        header = entry.header
        if self.info.track == "text":
            return header.kind == "text"
        return header.kind == "corpus" or (header.lift and entry.variant is None)

    def inapplicable_reason(self, unit: Unit, header: Header) -> str | None:
        """Why this metric cannot be asked this unit; None if it can."""
        return None

    def observe(self, unit: Unit, metric: MetricSession) -> Observation:
        """Ask them: the only place a metric is called."""
        raise NotImplementedError

    def measure(self, unit: Unit, observation: Observation) -> Measures:
        """Pure: what the answers say."""
        raise NotImplementedError

    def measure_all(self, units: Sequence[Unit], observations: Sequence[Observation]) -> list[Measures]:
        """What all answered units of one entry say; for tasks whose units are judged against each other."""
        return [self.measure(unit, observation) for unit, observation in zip(units, observations, strict=True)]

    def clusters(self, units: Sequence[Unit]) -> Sequence[Cluster] | None:
        """What is drawn again; it follows from the units alone.  None: the units themselves, and the score is their mean."""
        return None

    def replicates(self, units: Sequence[Unit], observations: Sequence[Observation | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        """"score" and whatever measures are resampled with it, each under every row of `counts`: draws x clusters of these units.

        An entry of a row is how often that cluster counts.  An observation that is None is a failed unit, which counts as the
        worst.  A score is always a number, chance where it is unknown; a measure may be nan.
        """
        raise NotImplementedError

    def chance(self, units: Sequence[Unit], observations: Sequence[Observation]) -> float:
        """What chance would score; tasks whose data decide it compute it from what was asked."""
        return self.info.chance

    def answers(self, observation: Observation) -> np.ndarray | None:
        """What a metric answered to questions that all are asked alike, oriented, on one scale; None: nothing of the kind."""
        return None

    def marks(self, measured: Sequence[Measures]) -> frozenset[str]:
        """What all units of an entry together give away about it."""
        return frozenset().union(*(measures.marks for measures in measured)) if measured else frozenset()

    def unit(self, context: Context, stratum: tuple[str, ...], parameters: Mapping[str, Any], data: Iterable[str]) -> Unit:
        """A unit of this task; its seed depends on the suite's seed and on what the unit is."""
        sources = tuple(Source(name, context.fingerprint[name]) for name in data)
        return Unit(self.name, self.info.observe_version, stratum, parameters, sources, context.model,
                    seed_of(context.seed, self.name, digest_of(dict(parameters))))
