"""The results of entries on a suite: outcomes and scores from a store, from a release, or from both together."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness import results as stores
from harness.base.errors import TouchstoneError
from harness.evaluation.suite import Suite
from harness.evaluation.task import Task
from harness.results.outcomes import Outcome
from harness.results.stored_entry import StoredEntry
from leaderboard.scoring.kept_scores import (
    KeptTests,
    LazyObservations,
    Observations,
    PackedScore,
    name_clusters,
    pack_score,
    stamp_score,
    unpack_score,
)
from leaderboard.scoring.resampling import Plan, make_plans
from leaderboard.scoring.scores import Scored, TaskScore, score_task

if TYPE_CHECKING:
    from harness.results.store import Store

Details = dict[str, Any]                    # parts of an entry's report that are computed from observations
Derived = dict[str, Any]                    # values derived from answers, by key
RunValues = dict[str, Any]                  # the provenance of a run


class PublishedResults(Protocol):
    """What a release has of the entries of one suite."""

    name: str

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the published entries."""

    def entries(self) -> list[StoredEntry]:
        """Return the published entries."""

    def outcomes(self, digest: str, forms: Mapping[str, type[Any]]) -> dict[str, Outcome]:
        """Return the published outcomes of an entry, for the test units whose observation types are given."""

    def packed_score(self, digest: str, task: str) -> PackedScore:
        """Return the published score of an entry on a task as plain values."""

    def details(self, digest: str, track: str) -> Details | None:
        """Return the published parts of an entry's report that are computed from observations."""

    def provenance(self, digest: str) -> list[RunValues]:
        """Return the provenance of the run of an entry."""

    def cache_get(self, kind: str) -> Derived:
        """Return published values derived from answers, by key."""


class Results:
    """The results of a suite.

    An entry of the store takes precedence over a published one of the same name. If both are the same code, the outcomes of
    the store complement the published ones. `only` limits the entries of the store, by digest.
    """

    def __init__(self, suite: Suite, store: Store | Path | str | None, published: PublishedResults | None = None,
                 only: Container[str] | None = None) -> None:
        self.suite, self.published, self._only = suite, published, only
        self.store = None if store is None else stores.open_store(store)
        self._unsaved: dict[str, PackedScore] = {}

    @cached_property
    def _finished(self) -> Mapping[str, Mapping[str, str]]:
        """When each outcome of the store was stored, by digest and test unit."""
        finished = {} if self.store is None else self.store.finished_by_entry(self.suite.observation_types)
        return {digest: times for digest, times in finished.items() if self._only is None or digest in self._only}

    @cached_property
    def _kept(self) -> dict[str, PackedScore]:
        return {} if self.store is None else self.store.cache_get(self._kind)

    @property
    def _kind(self) -> str:
        return f"score {self.suite.fingerprint}"

    @cached_property
    def own(self) -> frozenset[str]:
        """The digests of the entries that the store has outcomes of."""
        return frozenset(self._finished)

    def entries(self) -> list[StoredEntry]:
        """Return the current entry of every name."""
        own = [] if self.store is None else [stored for stored in self.store.entries() if stored.digest in self._finished]
        published = [] if self.published is None else self.published.entries()
        return list({stored.entry.name: stored for stored in [*published, *own]}.values())

    def outcomes(self, digest: str, task: Task[Any]) -> dict[str, Outcome]:
        """Return the outcomes of an entry on a task, by test unit."""
        own = self.own_outcomes(digest, task)
        others = {unit.id: task.observation_type for unit in self.suite.units(task) if unit.id not in own}
        if self.published is None or not others or digest not in self.published.digests:
            return own
        return own | self.published.outcomes(digest, others)

    def _observations(self, digest: str, task: Task[Any]) -> Observations:
        """Return the observations of an entry on a task, in the order of the test units."""
        outcomes = self.outcomes(digest, task)
        return {unit.id: outcomes[unit.id].observation for unit in self.suite.units(task)
                if unit.id in outcomes and outcomes[unit.id].observation is not None}

    def own_outcomes(self, digest: str, task: Task[Any]) -> dict[str, Outcome]:
        """Return the outcomes of an entry on a task that are in the store, by test unit."""
        finished = self._finished.get(digest, {})
        forms = {unit.id: task.observation_type for unit in self.suite.units(task) if unit.id in finished}
        return {} if self.store is None or not forms else self.store.outcomes(digest, forms)

    def published_details(self, scored: Scored) -> Details | None:
        """Return what a release says of an entry besides its scores; None if the store has answers to everything itself."""
        digest = scored.stored.digest
        if self.published is None or digest not in self.published.digests:
            return None
        outcomes = sum(score.asked for score in scored.tasks.values())
        return self.published.details(digest, scored.track) if len(self._finished.get(digest, ())) < outcomes else None

    def task_score(self, digest: str, task: Task[Any], plan: Plan | None) -> TaskScore:
        """Return the score of an entry on a task, as published or as kept if nothing has changed since, or computed."""
        units, finished = self.suite.units(task), self._finished.get(digest, {})
        present = any(unit.id in finished for unit in units)
        observed = LazyObservations(lambda: self._observations(digest, task))
        if not present and self.published is not None and digest in self.published.digests:
            packed = self.published.packed_score(digest, task.name)
            if packed["resampled"] is not None and (plan is None or packed["resampled"]["clusters"] != name_clusters(plan)):
                raise TouchstoneError(f"The release {self.published.name} resampled other clusters of {task.name} than this "
                                      "version does; check out the version that wrote it.")
            return unpack_score(packed, task, observed)
        if not present:
            return score_task(task, units, {}, plan)
        published = "" if self.published is None or digest not in self.published.digests else self.published.name
        key, stamp = f"{digest} {task.name}", stamp_score(task, units, finished, self.suite.fingerprint, published)
        kept = self._kept.get(key)
        if kept is not None and kept["stamp"] == stamp:
            return unpack_score(kept, task, observed)
        packed = pack_score(score_task(task, units, self.outcomes(digest, task), plan), plan)
        if self.store is not None and not self.store.read_only:
            self._unsaved[key] = {"stamp": stamp, **packed}
        return unpack_score(packed, task, observed)

    @cached_property
    def tests(self) -> KeptTests:
        """The tests of all pairs of entries that the store keeps."""
        return KeptTests(lambda: {} if self.store is None else self.store.cache_get(self._kind_of_tests))

    @property
    def _kind_of_tests(self) -> str:
        return f"tests {self.suite.fingerprint}"

    def keep(self) -> None:
        """Keep the scores and tests that were computed in the store, unless it was opened for reading only."""
        self.keep_scores()
        if self.store is not None and not self.store.read_only and self.tests.unsaved:
            self.store.cache_put(self._kind_of_tests, self.tests.unsaved)

    def keep_scores(self) -> None:
        """Keep the scores that were computed since the last call."""
        if self.store is not None and self._unsaved:
            self.store.cache_put(self._kind, self._unsaved)
            self._unsaved = {}

    def provenance(self, digest: str) -> list[RunValues]:
        """Return the provenance of every run of an entry, most recent first."""
        own = [] if self.store is None else self.store.provenance(digest)
        return own or ([] if self.published is None else self.published.provenance(digest))

    def cache_get(self, kind: str) -> Derived:
        """Return values derived from answers, by key."""
        published = {} if self.published is None else self.published.cache_get(kind)
        return published | ({} if self.store is None else self.store.cache_get(kind))

    @cached_property
    def scored(self) -> list[Scored]:
        """The scores of every entry that has an outcome on this suite."""
        plans, scored = make_plans(self.suite), []
        for stored in self.entries():
            scored.append(Scored(stored, self.suite, {task.name: self.task_score(stored.digest, task, plans.get(task.name))
                                                      for task in self.suite.tasks if task.accepts(stored.entry)}))
            self.keep_scores()              # of one entry at a time, because all of them take much memory
        self.__dict__.pop("_kept", None)
        return [entry for entry in scored if any(score.asked for score in entry.tasks.values())]


def results_of(source: Results | Store | Path | str | None, suite: Suite, published: PublishedResults | None = None) -> Results:
    """Return results as they are, or those of a store (open, a path or an address) among published ones."""
    return source if isinstance(source, Results) else Results(suite, source, published)


def score_suite(source: Results | Store | Path | str | None, suite: Suite,
                published: PublishedResults | None = None) -> list[Scored]:
    """Return the scores of every entry that was run on a suite.

    Args:
        source: An open store, or its path or address; None for published results alone.
        suite: The suite.
        published: Published results, such as `load_release().results(suite)`.
    """
    return results_of(source, suite, published).scored
