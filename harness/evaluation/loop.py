"""The run loop: plan what is missing, ask it in workers, keep each answer the moment it is there.

The loop is handed tasks; it does not know them.  Jobs ask (`executor.py`); the calling thread alone writes to the store.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.base.progress import Progress
from harness.evaluation.assignment import Asking, Conditions, Question
from harness.evaluation.executor import Pool
from harness.evaluation.time_left import Forecast
from harness.models.vector_cache import EmbeddingCache
from harness.models.vector_composition import SUITE_VECTORS, Composed, VectorSpec, vector_source
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.store import Store
from harness.submission.submission import Entry


@dataclass
class Tally:
    """What a run did."""

    planned: int = 0
    answered: int = 0
    not_applicable: int = 0
    failures: list[tuple[str, Question, Failure]] = field(default_factory=list)
    failed_in_store: int = 0                # of all units that were meant, now or in earlier runs
    refused: list[str] = field(default_factory=list)        # submissions that could not be asked here, each in a sentence
    seconds: float = 0.0

    @property
    def done(self) -> int:
        return self.answered + self.not_applicable + len(self.failures)


class Interrupted(Exception):
    """The run was stopped by its user; what was done is stored."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally


def plan(entries: Iterable[Entry], questions: Sequence[Question], store: Store, *, again: bool = False,
         retry: bool = False) -> list[Asking]:
    """What is to be asked: everything meant for an entry that the store has no outcome of; with `retry` what failed too, with
    `again` all.
    """
    kept = (Status.ANSWERED, Status.NOT_APPLICABLE) if retry else tuple(Status)
    done = set() if again else store.done(kept)
    return [(entry, question) for entry in entries for question in questions
            if question.task.meant_for(entry) and (question.unit.id, entry.digest) not in done]


def execute(asking: Sequence[Asking], store: Store, run: int, cache: EmbeddingCache, conditions: Conditions,
            jobs: int, progress: Progress) -> Tally:
    """Asks everything that is planned and stores each outcome as it comes."""
    started = time.monotonic()
    tally = Tally(planned=len(asking))
    try:
        announce(asking, cache, progress, jobs)
    except KeyboardInterrupt:
        raise Interrupted(tally) from None
    beside = [one for one in asking if not one[1].task.declares.alone]
    alone = [one for one in asking if one[1].task.declares.alone]
    pools = [Pool(beside, cache, conditions, jobs), Pool(alone, cache, conditions, 1)]
    forecast = Forecast(asking, jobs)
    stage = progress.stage("Asking", len(asking), "units")
    questions = {question.unit.id: question for _, question in asking}
    names = {entry.digest: entry.name for entry, _ in asking}

    def keep(outcome: Outcome) -> None:
        store.put(outcome, run)
        count(tally, outcome, questions[outcome.unit_id], names[outcome.entry_digest])

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
        raise Interrupted(tally) from None
    finally:
        for pool in pools:
            pool.stop()
        stage.close()
        tally.seconds = time.monotonic() - started
    return tally


def count(tally: Tally, outcome: Outcome, question: Question, name: str) -> None:
    if outcome.failure is not None and outcome.status is Status.FAILED:
        tally.failures.append((name, question, outcome.failure))
    elif outcome.status is Status.ANSWERED:
        tally.answered += 1
    else:
        tally.not_applicable += 1


def announce(asking: Sequence[Asking], cache: EmbeddingCache, progress: Progress, jobs: int) -> None:
    """Sees to it that every text has its vector before a metric waits for it."""
    seen: dict[VectorSpec, dict[str, Question]] = {}
    givers: dict[VectorSpec, EmbeddingCache | Composed] = {SUITE_VECTORS: cache}
    for entry, question in asking:
        if question.task.applies(question.unit, entry.header) is not None:
            continue
        if question.task.looks_at_vectors:
            seen.setdefault(SUITE_VECTORS, {}).setdefault(question.unit.id, question)
        if entry.header.input == "embeddings":
            wanted = entry.vectors
            if wanted not in givers:
                givers[wanted] = vector_source(entry.vectors, cache)
            seen.setdefault(wanted, {}).setdefault(question.unit.id, question)
    for wanted, questions in seen.items():
        texts = {text for question in questions.values() for text in question.task.texts(question.unit)}
        givers[wanted].fill(sorted(texts), progress, threads=jobs)

