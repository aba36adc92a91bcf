"""From stored observations to scores: what each metric got on each task of one suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harness.provenance import version
from harness.records import Failure, Outcome, Status
from harness.signature import Signature
from harness.statistics import Estimate, stratified_mean
from harness.store import Store, StoredEntry
from harness.submission import Entry
from harness.task import Task, Unit
from tasks.suite import Suite

LARGEST_FAILED_SHARE = 0.20                 # beyond: listed, not ranked


@dataclass(frozen=True)
class TaskScore:
    """What one entry got on one task."""

    task: Task[Any]
    score: Estimate | None                  # None: nothing to score (not applicable, or nothing asked yet)
    measures: Mapping[str, Estimate]        # means of the known values; a measure unknown everywhere is not there
    planned: int
    asked: int
    failures: tuple[Failure, ...]
    not_applicable: str | None
    marks: frozenset[str]
    observed: Mapping[str, Any]             # the observation of each answered unit
    by_unit: Mapping[str, float]            # the score of each unit that was asked: worst where it failed, chance where unknown

    @property
    def complete(self) -> bool:
        return self.asked == self.planned

    @property
    def above_chance(self) -> float | None:
        """(score - chance)/(1 - chance): 0 is chance, 1 is perfect."""
        chance = self.task.declares.chance
        return None if self.score is None else (self.score.value - chance) / (1 - chance)

    @property
    def too_many_failed(self) -> bool:
        return self.asked > 0 and len(self.failures) / self.asked > LARGEST_FAILED_SHARE


@dataclass(frozen=True)
class Scored:
    """What one entry got on all tasks of a suite."""

    stored: StoredEntry
    suite: Suite
    tasks: Mapping[str, TaskScore]

    @property
    def entry(self) -> Entry:
        return self.stored.entry

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def lifted(self) -> bool:
        return self.entry.header.kind == "text"

    @cached_property
    def marks(self) -> frozenset[str]:
        return frozenset().union(*(score.marks for score in self.tasks.values()))

    @property
    def ranked_tasks(self) -> list[TaskScore]:
        return [score for score in self.tasks.values() if score.task.declares.ranked]

    @property
    def overall(self) -> float | None:
        """Mean of the chance-corrected scores of the ranked tasks; None while one of them has none."""
        parts = [score.above_chance for score in self.ranked_tasks]
        known = [part for part in parts if part is not None]
        return sum(known) / len(known) if parts and len(known) == len(parts) else None

    def signature(self, score: TaskScore) -> Signature:
        header, declares = self.entry.header, score.task.declares
        vectors = header.input != "texts"
        return Signature(
            entry=self.name, digest=self.stored.digest, suite=self.suite.name, fingerprint=self.suite.fingerprint,
            task=declares.short, measure_version=declares.measure_version, version=version(),
            lifted=self.lifted and declares.ranked,
            model=self.suite.model.name if vectors else None,
            model_fingerprint=self.suite.model.fingerprint if vectors else None)


def score_suite(store: Store, suite: Suite) -> list[Scored]:
    """Every entry of the store that was asked anything of this suite."""
    scored = [score_entry(store, suite, stored) for stored in store.entries()]
    return [one for one in scored if any(score.asked for score in one.tasks.values())]


def score_entry(store: Store, suite: Suite, stored: StoredEntry) -> Scored:
    forms = {task.name: task.observation_form for task in suite.tasks}
    outcomes = store.outcomes(stored.digest, forms)
    return Scored(stored, suite, {task.name: score_task(task, suite.units(task), outcomes) for task in suite.tasks})


def score_task(task: Task[Any], units: Sequence[Unit], outcomes: Mapping[str, Outcome]) -> TaskScore:
    """Pure: the score of one entry on one task from its outcomes.  A failed unit counts as the declared worst."""
    scores: dict[tuple[str, ...], list[float]] = defaultdict(list)
    values: dict[str, dict[tuple[str, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    answered: list[Unit] = []
    scored: dict[str, float] = {}
    failures: list[Failure] = []
    observed: dict[str, Any] = {}
    inapplicable = None
    asked = 0
    for unit in units:
        outcome = outcomes.get(unit.id)
        if outcome is None:
            continue
        asked += 1
        if outcome.status is Status.NOT_APPLICABLE:
            inapplicable = outcome.failure.sentence if outcome.failure else "not applicable"
        elif outcome.status is Status.FAILED:
            failures.append(outcome.failure or Failure("failed", "no reason was recorded"))
            scored[unit.id] = task.declares.worst
        else:
            answered.append(unit)
            observed[unit.id] = outcome.observation
    measured = task.measure_all(answered, [observed[unit.id] for unit in answered])
    for unit, measures in zip(answered, measured, strict=True):
        scored[unit.id] = task.declares.chance if measures.score is None else measures.score
        for name, value in measures.values.items():
            if value is not None:
                values[name][unit.stratum].append(value)
    if not task.declares.ranked and all(measures.score is None for measures in measured):
        scored.clear()                      # a property that is no single number
    for unit in units:
        if unit.id in scored:
            scores[unit.stratum].append(scored[unit.id])
    estimates = {name: stratified_mean(strata.values()) for name, strata in values.items()}
    return TaskScore(
        task=task, score=None if inapplicable else stratified_mean(scores.values()),
        measures={name: estimate for name, estimate in estimates.items() if estimate is not None},
        planned=len(units), asked=asked, failures=tuple(failures), not_applicable=inapplicable,
        marks=task.marks(measured), observed=observed, by_unit=scored)
