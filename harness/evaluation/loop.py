"""Plan a run, execute it, and store every outcome as soon as it is complete.

Tasks are passed in; the loop knows none by name. Threads execute (`executor.py`); only the calling thread writes to the store.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.base.progress import Progress
from harness.evaluation.assignment import Assignment, Conditions, TaskUnit
from harness.evaluation.executor import Executor, FailureBudget
from harness.evaluation.time_left import TimeEstimate
from harness.models.vector_cache import VectorCache
from harness.models.vector_composition import SUITE_VECTORS, ComposedVectors, VectorSpec, vector_source
from harness.results.claims import Claims
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.store import Store
from harness.submission.submission import Entry


@dataclass
class RunSummary:
    """What a run did."""

    planned: int = 0
    answered: int = 0
    not_applicable: int = 0
    elsewhere: int = 0                      # left to other runs on the same store
    failures: list[tuple[str, TaskUnit, Failure]] = field(default_factory=list)
    failed_in_store: int = 0                # among all selected assignments, now or in earlier runs
    refused: list[str] = field(default_factory=list)        # submissions that cannot be run here, one sentence each
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """The number of completed assignments."""
        return self.answered + self.not_applicable + len(self.failures)


class RunInterrupted(Exception):
    """The user stopped the run; all completed outcomes are stored."""

    def __init__(self, tally: RunSummary) -> None:
        super().__init__()
        self.tally = tally


def plan_run(entries: Iterable[Entry], task_units: Sequence[TaskUnit], store: Store, *, rerun: bool = False,
             retry_failed: bool = False) -> list[Assignment]:
    """Return the assignments without an outcome in the store; with `retry_failed` also failed ones, with `rerun` all."""
    final_statuses = (Status.ANSWERED, Status.NOT_APPLICABLE) if retry_failed else tuple(Status)
    done = set() if rerun else store.completed(final_statuses)
    return [(entry, task_unit) for entry in entries for task_unit in task_units
            if task_unit.task.accepts(entry) and (task_unit.unit.id, entry.digest) not in done]


def execute_run(assignments: Sequence[Assignment], store: Store, run: int, cache: VectorCache, conditions: Conditions,
                jobs: int, progress: Progress, claims: Claims) -> RunSummary:
    """Execute the planned assignments that no other run claims, and store each outcome as it completes."""
    started = time.monotonic()
    summary = RunSummary(planned=len(assignments))
    try:
        embed_required_texts(assignments, cache, progress, jobs)
    except KeyboardInterrupt:
        raise RunInterrupted(summary) from None
    shared_units = [assignment for assignment in assignments if not assignment[1].task.info.alone]
    exclusive_units = [assignment for assignment in assignments if assignment[1].task.info.alone]
    patience = FailureBudget(conditions.limits)
    pools = [Executor(shared_units, cache, conditions, jobs, patience, claims),
             Executor(exclusive_units, cache, conditions, 1, patience, claims)]
    forecast = TimeEstimate(assignments, jobs)
    stage = progress.stage("Running", len(assignments), "units")
    task_units = {task_unit.unit.id: task_unit for _, task_unit in assignments}
    names = {entry.digest: entry.name for entry, _ in assignments}

    unsaved: list[Outcome] = []                 # a signal can strike while an outcome is written

    def save(outcome: Outcome) -> None:
        unsaved.append(outcome)
        store.save_outcome(outcome, run)
        claims.release((outcome.unit_id, outcome.entry_digest))
        count_outcome(summary, outcome, task_units[outcome.unit_id], names[outcome.entry_digest])
        unsaved.clear()

    try:
        for pool in pools:
            for outcome in pool.outcomes():
                if outcome is None:
                    summary.elsewhere += 1
                    stage.advance()
                    continue
                save(outcome)
                stage.advance(1, forecast.left_after(outcome), names[outcome.entry_digest])
            pool.stop()                     # its workers end before exclusive units start
    except KeyboardInterrupt:
        for outcome in [*unsaved, *(outcome for pool in pools for outcome in pool.stop())]:
            save(outcome)
        raise RunInterrupted(summary) from None
    finally:
        for pool in pools:
            pool.stop()
        stage.close()
        summary.seconds = time.monotonic() - started
    return summary


def count_outcome(summary: RunSummary, outcome: Outcome, task_unit: TaskUnit, name: str) -> None:
    """Add one outcome to the summary."""
    if outcome.failure is not None and outcome.status is Status.FAILED:
        summary.failures.append((name, task_unit, outcome.failure))
    elif outcome.status is Status.ANSWERED:
        summary.answered += 1
    else:
        summary.not_applicable += 1


def embed_required_texts(assignments: Sequence[Assignment], cache: VectorCache, progress: Progress, jobs: int) -> None:
    """Embed every text that the planned test units need, before any metric waits for it."""
    units_by_spec: dict[VectorSpec, dict[str, TaskUnit]] = {}
    sources: dict[VectorSpec, VectorCache | ComposedVectors] = {SUITE_VECTORS: cache}
    for entry, task_unit in assignments:
        if task_unit.task.inapplicable_reason(task_unit.unit, entry.header) is not None:
            continue
        if task_unit.task.needs_vectors:
            units_by_spec.setdefault(SUITE_VECTORS, {}).setdefault(task_unit.unit.id, task_unit)
        if entry.header.input == "embeddings":
            spec = entry.vectors
            if spec not in sources:
                sources[spec] = vector_source(entry.vectors, cache)
            units_by_spec.setdefault(spec, {}).setdefault(task_unit.unit.id, task_unit)
    for spec, task_units in units_by_spec.items():
        texts = {text for task_unit in task_units.values() for text in task_unit.task.texts(task_unit.unit)}
        sources[spec].fill(sorted(texts), progress, threads=jobs)

