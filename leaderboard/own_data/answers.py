"""Run metrics on texts of a user: pairs of texts, or groups of corpora. Answers are kept in a temporary store only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.hashing import digest_of, seed_of
from harness.base.paths import SUBMISSIONS
from harness.base.progress import Progress
from harness.base.units import Source, Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.open_metric import SUITE_MODEL
from harness.evaluation.run import run_suite
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.suite import Suite
from harness.evaluation.task import Task, TaskInfo
from harness.models.api_services import SERVICES
from harness.models.registry import model_fingerprint
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.submission.selection import scan_folder, select_entries
from harness.submission.submission import Entry
from tasks.common.consistency import RecheckedAnswer, context_marks
from tasks.text.base import score_in_mixed_order

BATCH = 250                                 # pairs per test unit: small enough for progress and for both processors
TIMED_PAIRS = 50
SEED = 17
LIMITS = Limits(seconds_per_unit=60.0, seconds_per_entry=120.0)


@dataclass(frozen=True)
class PairAnswers:
    """The raw answers to a batch of pairs."""

    answers: tuple[float, ...]
    rechecked: tuple[RecheckedAnswer, ...]


class OwnPairs(Task[PairAnswers]):
    """Scores of the pairs of a user."""

    name: ClassVar[str] = "own_pairs"
    observation_type: ClassVar[type[Any]] = PairAnswers
    info: ClassVar[TaskInfo] = TaskInfo("Own pairs", "own", "none", 0.0, 0.0, "batch of pairs", (), 1, 1, track="text",
                                        ranked=False)

    def __init__(self, a: Sequence[str], b: Sequence[str], collection: Sequence[str]) -> None:
        self._a, self._b = a, b
        self._collection = list(dict.fromkeys(collection))

    def texts(self, unit: Unit) -> Iterable[str]:
        return self._collection             # metrics with `fit` get all texts

    def observe(self, unit: Unit, metric: MetricSession) -> PairAnswers:
        a, b = self._a[rows_of(unit)], self._b[rows_of(unit)]
        return PairAnswers(*score_in_mixed_order(metric, list(zip(a, b, strict=True)), self._collection))


@dataclass(frozen=True)
class PairCost:
    """The seconds per pair on one thread, with embedding."""

    seconds: float


class OwnPairsCost(Task[PairCost]):
    """The time that metrics take for pairs of a user, measured one metric at a time."""

    name: ClassVar[str] = "own_pairs_cost"
    observation_type: ClassVar[type[Any]] = PairCost
    info: ClassVar[TaskInfo] = TaskInfo("Cost", "cost", "none", 0.0, 0.0, "sample of pairs", (), 1, 1, track="text",
                                        ranked=False, alone=True)

    def __init__(self, a: Sequence[str], b: Sequence[str], collection: Sequence[str]) -> None:
        self._a, self._b, self._collection = a[:TIMED_PAIRS], b[:TIMED_PAIRS], list(dict.fromkeys(collection))

    def texts(self, unit: Unit) -> Iterable[str]:
        return self._collection

    def observe(self, unit: Unit, metric: MetricSession) -> PairCost:
        embedding = metric.embedding_seconds(list(dict.fromkeys([*self._a, *self._b])))
        return PairCost((metric.time_pairs(self._a, self._b, 1, self._collection) + embedding) / len(self._a))


@dataclass(frozen=True)
class Distances:
    """The distances of pairs of corpora; larger means more different."""

    distances: tuple[float, ...]


class OwnCorpora(Task[Distances]):
    """Distances between corpora of a user: one test unit per group, a collection with the pairs to compare."""

    name: ClassVar[str] = "own_corpora"
    observation_type: ClassVar[type[Any]] = Distances
    info: ClassVar[TaskInfo] = TaskInfo("Own corpora", "own", "none", 0.0, 0.0, "group of corpora", (), 1, 1, ranked=False)

    def __init__(self, groups: Mapping[str, CorpusGroup]) -> None:
        self._groups = groups

    def texts(self, unit: Unit) -> Iterable[str]:
        return {text for corpus in self._groups[unit.parameters["group"]].corpora for text in corpus}

    def observe(self, unit: Unit, metric: MetricSession) -> Distances:
        group = self._groups[unit.parameters["group"]]
        return Distances(tuple(metric.scale.as_distance(np.array(metric.corpus_distances(group.corpora, group.pairs))).tolist()))


@dataclass(frozen=True)
class CorpusGroup:
    """Corpora, and the pairs of them to compare, by position."""

    corpora: Sequence[Sequence[str]]
    pairs: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class MetricAnswers:
    """The answers of one metric; empty with the reason if it failed."""

    entry: Entry
    values: np.ndarray = field(default_factory=lambda: np.empty(0))     # similarities of pairs, as answered, or distances
    seconds: float | None = None            # per pair on one thread, embedding included
    failure: str | None = None
    dependent: bool = False                 # its answers depend on the other pairs of a call, or change when repeated

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self.entry.name

    @property
    def trivial(self) -> bool:
        """Whether the metric is a trivial baseline."""
        return self.entry.header.control

    @property
    def similarities(self) -> np.ndarray:
        """The values oriented so that larger means more similar."""
        return ScoreScale.from_header(self.entry.header).as_similarity(self.values)


def score_pairs(a: Sequence[str], b: Sequence[str], entries: Sequence[Entry], progress: Progress, *, model: str = SUITE_MODEL,
                jobs: int | None = None, limits: Limits = LIMITS, collection: Sequence[str] | None = None,
                timed: bool = False) -> list[MetricAnswers]:
    """Return the scores of the pairs (a[0], b[0]), ... by text metrics, in the order of `entries`.

    Metrics with `fit` are fitted on the collection; default: all texts. If `timed`, the time is measured on some of the pairs.
    """
    a, b, collection = list(a), list(b), [*a, *b] if collection is None else list(collection)
    texts, scoring, costs = digest_of([a, b]), OwnPairs(a, b, collection), OwnPairsCost(a, b, collection)
    units: list[TaskParameters] = [(scoring, {"texts": texts, "start": start, "stop": min(start + BATCH, len(a))})
                                   for start in range(0, len(a), BATCH)]
    units += [(costs, {"texts": texts})] * timed
    answers = []
    for entry, observed, failure in run_own(units, entries, progress, model, jobs, limits):
        if failure is not None:
            answers.append(MetricAnswers(entry, failure=failure))
            continue
        parts = [part for part in observed if isinstance(part, PairAnswers)]
        seconds = next((part.seconds for part in observed if isinstance(part, PairCost)), None)
        answers.append(MetricAnswers(entry, np.array([value for part in parts for value in part.answers]), seconds,
                                     dependent=any(context_marks(part.rechecked) for part in parts)))
    return answers


def corpus_distances(groups: Mapping[str, CorpusGroup], entries: Sequence[Entry], progress: Progress, *,
                     model: str = SUITE_MODEL, jobs: int | None = None, limits: Limits = LIMITS) -> list[MetricAnswers]:
    """Return the distances of the pairs of all groups, one group after the other, in the order of `entries`."""
    task = OwnCorpora(groups)
    units = [(task, {"group": name, "texts": digest_of([list(map(list, group.corpora)), list(map(list, group.pairs))])})
             for name, group in groups.items()]
    return [MetricAnswers(entry, failure=failure) if failure is not None else
            MetricAnswers(entry, np.array([value for part in observed for value in part.distances]))
            for entry, observed, failure in run_own(units, entries, progress, model, jobs, limits)]


TaskParameters = tuple[Task[Any], Mapping[str, Any]]


def run_own(parameters: Sequence[TaskParameters], entries: Sequence[Entry], progress: Progress, model: str, jobs: int | None,
            limits: Limits) -> Iterator[tuple[Entry, list[Any], str | None]]:
    """Run entries on test units and yield each with its observations, or with the reason of its first failure."""
    models = (model, *(name for entry in entries for name in entry.vectors.models))
    remote = next((name for name in models if name in SERVICES), None)
    if remote is not None:
        raise TouchstoneError(f"{remote} is a service that texts would be sent to; choose a model that runs on this machine.")
    source = Source(model, model_fingerprint(model))
    units = [Unit(task.name, 1, (), values, (), source, seed_of(SEED, task.name, digest_of(dict(values))))
             for task, values in parameters]
    suite = Suite("own_data", "Own data", source, tuple(TaskUnit(task, unit) for (task, _), unit in zip(
        parameters, units, strict=True)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        run = run_suite(entries, suite, path, limits=limits, jobs=jobs, progress=progress)
        for sentence in run.refused:
            progress.say(sentence)
        store = Store(path, read_only=True)
        try:
            for entry in entries:
                outcomes = store.outcomes(entry.digest, suite.observation_types)
                failure = next((str(outcome.failure) for outcome in outcomes.values() if outcome.failure is not None),
                               None if len(outcomes) == len(units) else "was not run")
                yield entry, [outcomes[unit.id].observation for unit in units] if failure is None else [], failure
        finally:
            store.close()


def rows_of(unit: Unit) -> slice:
    """Return the pairs of a unit."""
    return slice(unit.parameters["start"], unit.parameters["stop"])


def select_candidates(kind: str, names: Sequence[str], progress: Progress) -> list[Entry]:
    """Return the named entries, or all that are fast enough and whose models are available: text metrics, or those for corpora.

    Names that start with "+" are added to the default selection. Text metrics are lifted to corpora if they are named.
    """
    added = [name.removeprefix("+") for name in names if name.startswith("+")]
    named = [name for name in names if not name.startswith("+")]
    entries = select_entries([*named, *added], SUBMISSIONS) if names else []
    if not named:
        here, absent = scan_folder(SUBMISSIONS)
        if absent:
            progress.say(f"Skipped because models are missing: {', '.join(absent)}; see `touchstone models list`.")
        entries = list({entry.name: entry for entry in [
            *(entry for submission in here for entry in submission.entries if not entry.on_request), *entries]}.values())
    if kind == "text":
        unfit = [entry.name for entry in entries if entry.header.kind != "text"]
        if unfit and named:
            raise TouchstoneError(f'"{unfit[0]}" compares corpora, not pairs of texts; name text metrics.')
        return [entry for entry in entries if entry.header.kind == "text"]
    return [entry for entry in entries
            if entry.header.kind == "corpus" or (names and entry.header.lift and entry.variant is None)]
