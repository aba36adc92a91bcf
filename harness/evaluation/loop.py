"""The run loop: plan what is missing, ask it in workers, keep each answer the moment it is there.

The loop is handed tasks; it does not know them.  Jobs ask (`executor.py`); the calling thread alone writes to the store.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.base.progress import Progress
from harness.evaluation.assignment import Assignment, Conditions, TaskUnit
from harness.evaluation.executor import Executor
from harness.evaluation.time_left import TimeEstimate
from harness.models.vector_cache import VectorCache
from harness.models.vector_composition import SUITE_VECTORS, ComposedVectors, VectorSpec, vector_source
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.store import Store
from harness.submission.submission import Entry


@dataclass
class RunSummary:
    """What a run did."""

    planned: int = 0
    answered: int = 0
    not_applicable: int = 0
    failures: list[tuple[str, TaskUnit, Failure]] = field(default_factory=list)
    failed_in_store: int = 0                # of all units that were meant, now or in earlier runs
    refused: list[str] = field(default_factory=list)        # submissions that could not be asked here, each in a sentence
    seconds: float = 0.0

    @property
    def done(self) -> int:
        return self.answered + self.not_applicable + len(self.failures)


class RunInterrupted(Exception):
    """The run was stopped by its user; what was done is stored."""

    def __init__(self, tally: RunSummary) -> None:
        super().__init__()
        self.tally = tally


def plan_run(entries: Iterable[Entry], questions: Sequence[TaskUnit], store: Store, *, again: bool = False,
             retry: bool = False) -> list[Assignment]:
    """What is to be asked: everything meant for an entry that the store has no outcome of; with `retry` what failed too, with
    `again` all.
    """
    kept = (Status.ANSWERED, Status.NOT_APPLICABLE) if retry else tuple(Status)
    done = set() if again else store.completed(kept)
    return [(entry, question) for entry in entries for question in questions
            if question.task.accepts(entry) and (question.unit.id, entry.digest) not in done]


def execute_run(asking: Sequence[Assignment], store: Store, run: int, cache: VectorCache, conditions: Conditions,
                jobs: int, progress: Progress) -> RunSummary:
    """Asks everything that is planned and stores each outcome as it comes."""
    started = time.monotonic()
    tally = RunSummary(planned=len(asking))
    try:
        embed_required_texts(asking, cache, progress, jobs)
    except KeyboardInterrupt:
        raise RunInterrupted(tally) from None
    beside = [one for one in asking if not one[1].task.info.alone]
    alone = [one for one in asking if one[1].task.info.alone]
    pools = [Executor(beside, cache, conditions, jobs), Executor(alone, cache, conditions, 1)]
    forecast = TimeEstimate(asking, jobs)
    stage = progress.stage("Asking", len(asking), "units")
    questions = {question.unit.id: question for _, question in asking}
    names = {entry.digest: entry.name for entry, _ in asking}

    def keep(outcome: Outcome) -> None:
        store.save_outcome(outcome, run)
        count_outcome(tally, outcome, questions[outcome.unit_id], names[outcome.entry_digest])

    try:
        for pool in pools:
            for outcome in pool.outcomes():
                keep(outcome)
                stage.advance(1, forecast.left_after(outcome), names[outcome.entry_digest])
            pool.stop()                     # its workers are gone before those that want to be alone start
    except KeyboardInterrupt:
        for pool in pools:
            for outcome in pool.stop():
                keep(outcome)
        raise RunInterrupted(tally) from None
    finally:
        for pool in pools:
            pool.stop()
        stage.close()
        tally.seconds = time.monotonic() - started
    return tally


def count_outcome(tally: RunSummary, outcome: Outcome, question: TaskUnit, name: str) -> None:
    if outcome.failure is not None and outcome.status is Status.FAILED:
        tally.failures.append((name, question, outcome.failure))
    elif outcome.status is Status.ANSWERED:
        tally.answered += 1
    else:
        tally.not_applicable += 1


def embed_required_texts(asking: Sequence[Assignment], cache: VectorCache, progress: Progress, jobs: int) -> None:
    """Sees to it that every text has its vector before a metric waits for it."""
    seen: dict[VectorSpec, dict[str, TaskUnit]] = {}
    givers: dict[VectorSpec, VectorCache | ComposedVectors] = {SUITE_VECTORS: cache}
    for entry, question in asking:
        if question.task.inapplicable_reason(question.unit, entry.header) is not None:
            continue
        if question.task.needs_vectors:
            seen.setdefault(SUITE_VECTORS, {}).setdefault(question.unit.id, question)
        if entry.header.input == "embeddings":
            wanted = entry.vectors
            if wanted not in givers:
                givers[wanted] = vector_source(entry.vectors, cache)
            seen.setdefault(wanted, {}).setdefault(question.unit.id, question)
    for wanted, questions in seen.items():
        texts = {text for question in questions.values() for text in question.task.texts(question.unit)}
        givers[wanted].fill(sorted(texts), progress, threads=jobs)

