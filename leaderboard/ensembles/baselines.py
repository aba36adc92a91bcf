"""Ensembles as baselines of the text track, and what each text metric adds to them; computed once and kept in the store.

The ensemble of USMB's five metrics is learned and evaluated per task as in `learning.py`. A forest takes seconds per split, so it
gets few splits, and added values are measured with forests trained on fewer pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from harness.base.errors import TouchstoneError
from harness.base.hashing import digest_of
from harness.base.progress import Progress
from harness.evaluation.suite import Suite
from leaderboard.ensembles.learning import Reference, TrainingTable, general, learn, value_added
from leaderboard.ensembles.training_tables import MADE, task_of, training_tables
from leaderboard.scoring.scores import Scored

if TYPE_CHECKING:
    from harness.results.store import Store

MEMBERS = ("cosine", "levenshtein", "rouge", "jaccard", "bm25_plus")        # the metrics of USMB's ensembles
KIND, VERSION = "ensemble", 2               # kind of stored values; change the version with the computation
LINEAR_SPLITS, LINEAR_DRAWS, FOREST_SPLITS = 100, 200, 5
ADDED_SPLITS, ADDED_FOREST_SPLITS, ADDED_PAIRS = 20, 3, 5_000
LEAVES, GENERAL = "leaves", "general"       # kinds of ensembles in addition to the paper's


@dataclass(frozen=True)
class LearnedEnsemble:
    """An ensemble on one table, with its members on the same held-out parts."""

    table: str
    learner: str
    splits: int
    score: float
    units: int                              # documents, queries, texts or pairs; a fifth is held out
    low: float | None = None
    high: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    members: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class AddedValue:
    """What a metric adds on one table: the ensemble with it minus the ensemble without it."""

    table: str
    learner: str
    splits: int
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Job:
    """A computation and the key of its result, which names everything that it depends on."""

    key: str
    title: str
    table: str
    compute: Callable[[], list[LearnedEnsemble] | AddedValue]


class Baselines:
    """The ensembles of a suite, from the results that a store keeps."""

    def __init__(self, suite: Suite, scored: Sequence[Scored], kept: Mapping[str, object]) -> None:
        self.suite, self.kept = suite, kept
        self.scored = {entry.name: entry for entry in scored if entry.entry.header.kind == "text"}
        self._references: dict[str, Reference] = {}         # the five, which all other metrics are compared with, by table

    @cached_property
    def members(self) -> list[Scored]:
        """The entries that the ensembles combine."""
        return [self.scored[name] for name in MEMBERS if name in self.scored]

    def reason(self) -> str | None:
        """Why no ensemble can be computed yet, or None."""
        lacking = [name for name in MEMBERS if name not in self.scored or not self.tables_of([self.scored[name]])]
        if lacking:
            return (f"some test units of {', '.join(lacking)} have not been run; run `touchstone run {' '.join(lacking)} "
                    f"--suite {self.suite.name}`")
        return None

    def tables_of(self, scored: Sequence[Scored]) -> list[str]:
        """Return the tables for which all given entries answered every test unit."""
        return [name for name in MADE if all(
            task_of(name) in entry.tasks and entry.tasks[task_of(name)].planned == entry.tasks[task_of(name)].answered > 0
            for entry in scored)]

    def jobs(self) -> Iterator[Job]:
        """Return all computations: the ensembles, then what each metric adds."""
        if self.reason() is not None:
            return
        digests = [entry.stored.digest for entry in self.members]
        named = self.tables_of(self.members)
        for name in named:
            yield Job(self.key(name, "learned", digests), "the five together", name, partial(self.learn, name))
        yield Job(self.key("all", GENERAL, digests, named), "the five, for all tasks at once", "all tasks",
                  partial(self.learn_general, named))
        for entry in self.scored.values():
            for name in self.tables_of([entry, *self.members]):
                yield Job(
                    self.key(name, "added", digests, [entry.stored.digest]), entry.name, name, partial(self.worth, entry, name)
                )

    @cached_property
    def questions(self) -> str:
        """What identifies the questions that are learned from, independent of other tasks."""
        learned_from = {task_of(name) for name in MADE}
        return digest_of([[task.name, task.info.measure_version, [unit.id for unit in self.suite.units(task)]]
                          for task in self.suite.tasks if task.name in learned_from])

    def key(self, table: str, what: str, *names: Sequence[str]) -> str:
        """Return the key of a result."""
        settings = (LINEAR_SPLITS, LINEAR_DRAWS, FOREST_SPLITS) if what != "added" else (ADDED_SPLITS, LINEAR_DRAWS,
                                                                                        ADDED_FOREST_SPLITS, ADDED_PAIRS)
        return digest_of([VERSION, self.questions, table, what, list(settings), [list(group) for group in names]])

    # ---- computing -------------------------------------------------------------------------------------------------------

    def table(self, name: str, scored: Sequence[Scored]) -> TrainingTable:
        """Return a training table."""
        return training_tables(scored, name)[0]

    def learn(self, name: str) -> list[LearnedEnsemble]:
        """Learn the ensembles of a table."""
        table = self.table(name, self.members)
        if table.learner == "linear":
            return [learn_ensemble(table, "linear regression without intercept", LINEAR_SPLITS, LINEAR_DRAWS)]
        splits = ADDED_SPLITS if small(table) else FOREST_SPLITS
        return [learn_ensemble(table, "random forest", splits), learn_ensemble(table, LEAVES, splits)]

    def learn_general(self, names: Sequence[str]) -> list[LearnedEnsemble]:
        """Learn one linear combination for several tables."""
        made = [self.table(name, self.members) for name in names]
        scores = general(made, LINEAR_SPLITS)
        return [LearnedEnsemble(table.task, GENERAL, LINEAR_SPLITS, scores[table.task], len(table.names)) for table in made]

    def worth(self, entry: Scored, name: str) -> AddedValue:
        """Return what an entry adds on a table."""
        table = self.table(name, [*(member for member in self.members if member.name != entry.name), entry])
        others = table.leaving_out(entry.name)
        if table.learner == "linear":
            learner = "linear regression"
            reference = Reference(others, ADDED_SPLITS, LINEAR_DRAWS)
        else:
            learner = "random forest, leaves of at least 10"
            splits = ADDED_SPLITS if small(table) else ADDED_FOREST_SPLITS
            reference = Reference(others, splits, learner="leaves", most=ADDED_PAIRS)
        if entry.name not in MEMBERS and (kept := self._references.setdefault(name, reference)).fits(others):
            reference = kept
        added = value_added(table, reference)
        return AddedValue(name, learner, reference.seeds, added.value, added.low, added.high)

    # ---- reading ---------------------------------------------------------------------------------------------------------

    def missing(self) -> list[Job]:
        """Return the computations without a stored result."""
        return [job for job in self.jobs() if job.key not in self.kept]

    def learned(self) -> list[LearnedEnsemble]:
        """The stored ensembles of all tables."""
        kept = [adapter().validate_python(self.kept[job.key]) for job in self.jobs() if job.key in self.kept]
        return [ensemble for some in kept if isinstance(some, list) for ensemble in some]

    def added_by(self) -> dict[str, list[AddedValue]]:
        """Return what each metric adds, as far as it is stored."""
        added: dict[str, list[AddedValue]] = {}
        for job in self.jobs():
            worth = adapter().validate_python(self.kept[job.key]) if job.key in self.kept else None
            if isinstance(worth, AddedValue):
                added.setdefault(job.title, []).append(worth)
        return added


@cache
def adapter() -> TypeAdapter[list[LearnedEnsemble] | AddedValue]:
    """Return the converter of stored ensembles."""
    return TypeAdapter(list[LearnedEnsemble] | AddedValue)


def learn_ensemble(table: TrainingTable, learner: str, splits: int, draws: int = 0) -> LearnedEnsemble:
    """Learn one ensemble on a table."""
    ensemble = learn(table, splits, draws, "leaves" if learner == LEAVES else None)
    return LearnedEnsemble(
        table.task,
        learner,
        splits,
        ensemble.score,
        len(table.names),
        ensemble.low,
        ensemble.high,
        ensemble.weights,
        ensemble.members,
    )


def compute_baselines(suite: Suite, scored: Sequence[Scored], store: Store, progress: Progress) -> int:
    """Compute and store missing results one by one, and return their number."""
    baselines = Baselines(suite, scored, store.cache_get(KIND))
    reason = baselines.reason()
    if reason is not None:
        raise TouchstoneError(f"There is no ensemble yet: {reason}.")
    missing = baselines.missing()
    with store.writing():
        stage = progress.stage("Learning", len(missing), "ensembles")
        try:
            for job in missing:
                store.cache_put(KIND, {job.key: plain(job.compute())})
                stage.advance(1, note=f"{job.title}, {job.table}")
        finally:
            stage.close()
    return len(missing)


def small(table: TrainingTable) -> bool:
    """Return whether a forest is fast enough on a table for many splits."""
    return len(table.target) <= ADDED_PAIRS


def plain(result: list[LearnedEnsemble] | AddedValue) -> Any:
    """Return a result as plain values."""
    return [asdict(ensemble) for ensemble in result] if isinstance(result, list) else asdict(result)
