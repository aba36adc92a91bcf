"""Compute the scores of entries on the tasks of a suite from stored observations."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from harness.base.units import Unit
from harness.evaluation.suite import Axis, AxisPart, Suite
from harness.evaluation.task import Task
from harness.models.vector_composition import vector_model_id
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.provenance import harness_version
from harness.results.stored_entry import StoredEntry
from harness.submission.submission import Entry
from leaderboard.scoring.estimates import Estimate, above_chance, mean_of_estimates, stratified_mean
from leaderboard.scoring.resampling import Plan, Resampled, resample, resampled_mean, task_clusters
from leaderboard.scoring.signature import Signature
from tasks.text.base import USMB

LARGEST_FAILED_SHARE = 0.20                 # beyond: listed, not ranked
CLAIMED = "claimed: answers supplied"       # the mark of an entry whose answers were computed elsewhere


@dataclass(frozen=True)
class TaskScore:
    """The result of one entry on one task."""

    task: Task[Any]
    score: Estimate | None                  # None: not applicable, or not run yet
    measures: Mapping[str, Estimate]        # means of the known values; measures without any value are absent
    planned: int
    asked: int
    failures: tuple[Failure, ...]
    not_applicable: str | None
    marks: frozenset[str]
    answered: int                           # test units with an observation
    observed: Mapping[str, Any]             # by unit id
    by_unit: Mapping[str, float]            # by unit id: worst if it failed, chance if unknown
    chance: float
    resampled: Resampled | None = None      # if the score is not a mean over test units
    axis_measures: Mapping[str, Resampled] = field(default_factory=dict)    # measures that an axis may use, where resampled
    shared_answers: np.ndarray | None = None    # of the test units in order, to questions that all entries share
    scale: float = 1.0                      # by which the axis divides the score above chance

    def in_axis(self, part: AxisPart) -> TaskScore:
        """Return the result with the measure that an axis uses in place of the score."""
        if part.measure is None:
            return replace(self, scale=part.scale)
        return replace(self, score=self.measures.get(part.measure), chance=0.0, scale=part.scale, by_unit={},
                       resampled=self.axis_measures.get(part.measure))

    @property
    def complete(self) -> bool:
        """Whether all test units have an outcome."""
        return self.asked == self.planned

    @property
    def above_chance(self) -> float | None:
        """The score above chance, (score - chance)/(1 - chance): 0 is chance, 1 is perfect."""
        return None if self.score is None else above_chance(self.score.value, self.chance)

    @property
    def corrected(self) -> Estimate | None:
        """The score above chance, divided by the constant of the axis, with its interval."""
        if self.score is None:
            return None
        value, low, high = (None if edge is None else above_chance(edge, self.chance) / self.scale
                            for edge in (self.score.value, self.score.low, self.score.high))
        return Estimate(value or 0.0, low, high, self.score.units)

    @property
    def meanings(self) -> dict[str, str]:
        """The measures and their descriptions: declared ones first, then those of single datasets."""
        declared = self.task.info.measures
        return {**declared, **{name: "" for name in self.measures if name not in declared}}

    @property
    def too_many_failed(self) -> bool:
        """Whether too many test units failed for a rank."""
        return self.asked > 0 and len(self.failures) / self.asked > LARGEST_FAILED_SHARE


@dataclass(frozen=True)
class Scored:
    """The results of one entry on the tasks of one track."""

    stored: StoredEntry
    suite: Suite
    tasks: Mapping[str, TaskScore]
    track: str = "corpus"
    axis_name: str | None = None            # None: the axis that the track is ranked by

    @property
    def entry(self) -> Entry:
        """The entry."""
        return self.stored.entry

    @property
    def name(self) -> str:
        """The entry's name."""
        return self.entry.name

    @property
    def lifted(self) -> bool:
        """Whether a text metric is lifted in this track."""
        return self.entry.header.kind == "text" and self.track == "corpus"

    @property
    def axis(self) -> Axis:
        """The axis by which the entry is ordered."""
        return self.suite.axis(self.track, self.axis_name)

    def in_track(self, track: str, axis: str | None = None) -> Scored:
        """Return the same results for another track, or for another axis of the track."""
        return replace(self, track=track, axis_name=axis)

    @property
    def tracks(self) -> list[str]:
        """The tracks in which the entry was run; tasks that accept all entries, such as axioms, do not count."""
        ranked = {score.task.info.track for score in self.tasks.values() if self.suite.is_ranked(score.task)}
        return [track for track in self.suite.tracks if (track in ranked or not ranked)
                and any(score.asked for score in self.tasks.values() if score.task.info.track == track)]

    @cached_property
    def marks(self) -> frozenset[str]:
        """The marks of all tasks."""
        claimed = {CLAIMED} if self.entry.header.supplied_answers else set()
        return frozenset(claimed).union(*(score.marks for score in self.tasks.values()))

    @cached_property
    def ranked_tasks(self) -> list[TaskScore]:
        """The results on the tasks of the axis, in the order of the suite; without those that were not run."""
        parts = {part.task: part for part in self.axis.parts}
        return [score.in_axis(parts[name]) for name, score in self.tasks.items() if name in parts]

    @property
    def shown_tasks(self) -> list[TaskScore]:
        """The results on the tasks of the track and on properties."""
        return [score for score in self.tasks.values()
                if not score.task.info.ranked or score.task.info.track == self.track]

    @property
    def overall(self) -> float | None:
        """The overall score, the value on the axis; None while a ranked task has no score."""
        parts = [score.corrected.value for score in self.ranked_tasks if score.corrected is not None]
        return sum(parts) / len(parts) if parts and len(parts) == len(self.axis.parts) else None

    @property
    def overall_estimate(self) -> Estimate | None:
        """The overall score with its interval."""
        parts = [score.corrected for score in self.ranked_tasks if score.corrected is not None]
        return mean_of_estimates(parts) if parts and len(parts) == len(self.axis.parts) else None

    @property
    def usmb(self) -> float | None:
        """The mean of the USMB tasks' scores as USMB computes them; None while one of these tasks has no score."""
        parts = [score.measures.get(USMB) for score in self.tasks.values()
                 if USMB in score.task.info.measures and score.task.info.track == self.track]
        values = [part.value for part in parts if part is not None]
        return sum(values) / len(values) if parts and len(values) == len(parts) else None

    def signature(self, score: TaskScore) -> Signature:
        """Return the signature of a score, or of the overall score."""
        header, declares = self.entry.header, score.task.info
        model = vector_model_id(self.entry.vectors, self.suite.model) if header.input != "texts" else None
        return Signature(
            entry=self.name, digest=self.stored.digest, suite=self.suite.name, fingerprint=self.suite.fingerprint,
            task=declares.short, measure_version=declares.measure_version, version=harness_version(),
            lifted=header.kind == "text" and declares.track == "corpus" and declares.ranked,
            model=model.name if model is not None else None, model_fingerprint=model.fingerprint if model is not None else None)


def score_task(task: Task[Any], units: Sequence[Unit], outcomes: Mapping[str, Outcome], plan: Plan | None = None) -> TaskScore:
    """Return the result of one entry on one task; a pure function. A failed test unit counts as the worst score.

    The plan is needed if the score is not a mean over test units.
    """
    run_units = [unit for unit in units if unit.id in outcomes]
    failures, observed, inapplicable = [], {}, None
    for unit in run_units:
        outcome = outcomes[unit.id]
        if outcome.status is Status.NOT_APPLICABLE:
            inapplicable = outcome.failure.sentence if outcome.failure else "not applicable"
        elif outcome.status is Status.FAILED:
            failures.append(outcome.failure or Failure("failed", "no reason was recorded"))
        else:
            observed[unit.id] = outcome.observation
    answered = [unit for unit in run_units if unit.id in observed]
    scored = [unit for unit in run_units if outcomes[unit.id].status is not Status.NOT_APPLICABLE]
    chance = task.chance(answered, list(observed.values()))
    measured = task.measure_all(answered, list(observed.values()))
    by_unit = dict.fromkeys((unit.id for unit in scored), task.info.worst)
    by_unit |= {unit.id: chance if one.score is None else one.score for unit, one in zip(answered, measured, strict=True)}
    if not task.info.ranked and all(measures.score is None for measures in measured):
        by_unit.clear()                     # a property without a single score
    values: dict[str, dict[tuple[str, ...], list[float]]] = defaultdict(lambda: defaultdict(list))
    for unit, measures in zip(answered, measured, strict=True):
        for name, value in measures.values.items():
            if value is not None:
                values[name][unit.stratum].append(value)
    estimates = {name: stratified_mean(strata.values(), task.info.bounds_of(name)) for name, strata in values.items()}
    drawn: dict[str, Resampled] = {}
    if plan is not None and scored and task.clusters(scored) is not None:
        drawn = resample(task, scored, [observed.get(unit.id) for unit in scored], plan)
        estimates |= {name: one.estimate() for name, one in drawn.items() if name != "score" and math.isfinite(one.value)}
    elif plan is not None and scored and task.info.axis_measures:
        mine = plan.restricted(task_clusters(task, scored))
        for name in task.info.axis_measures:
            of_unit = dict.fromkeys((unit.id for unit in scored), task.info.worst)
            of_unit |= {unit.id: measures.values.get(name) or 0.0 for unit, measures in zip(answered, measured, strict=True)}
            drawn[name] = resampled_mean(scored, of_unit, mine)
    strata: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for unit in scored:
        if unit.id in by_unit:
            strata[unit.stratum].append(by_unit[unit.id])
    score = drawn["score"].estimate() if "score" in drawn else stratified_mean(strata.values(), task.info.bounds_of("score"))
    shared = [part for part in map(task.answers, observed.values()) if part is not None]
    return TaskScore(
        task=task, score=None if inapplicable else score,
        measures={name: estimate for name, estimate in estimates.items() if estimate is not None},
        planned=len(units), asked=len(run_units), answered=len(answered), failures=tuple(failures),
        not_applicable=inapplicable, marks=task.marks(measured), observed=observed, by_unit=by_unit, chance=chance,
        resampled=drawn.get("score"), axis_measures={name: drawn[name] for name in task.info.axis_measures if name in drawn},
        shared_answers=np.concatenate(shared) if shared else None)
