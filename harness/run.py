"""The run loop: plan what is missing, ask it in workers, keep each answer the moment it is there.

The loop is handed tasks; it does not know them.  Jobs are threads, each pinned to a processor together with the worker it
talks to; the calling thread alone writes to the store.
"""

from __future__ import annotations

import os
import queue
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.asking import Asked, Inputs, find_models
from harness.embeddings import EmbeddingCache
from harness.errors import NotApplicable, Refusal
from harness.isolation import Confinement, Limits
from harness.progress import Progress
from harness.records import Failure, Outcome, Status
from harness.store import Store
from harness.submission import Entry, unmet_dependencies
from harness.task import Task, Unit
from harness.workers import Fault, FaultKind, Host, Worker


@dataclass(frozen=True)
class Question:
    """A unit and the task that knows how to ask it."""

    task: Task[Any]
    unit: Unit


Asking = tuple[Entry, Question]


@dataclass
class Tally:
    """What a run did."""

    planned: int = 0
    answered: int = 0
    not_applicable: int = 0
    failures: list[tuple[str, Question, Failure]] = field(default_factory=list)
    failed_in_store: int = 0                # of all units that were meant, now or in earlier runs
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
    """What is to be asked: everything the store has no outcome of; with `retry` what failed, with `again` all."""
    kept = (Status.ANSWERED, Status.NOT_APPLICABLE) if retry else tuple(Status)
    done = set() if again else store.done(kept)
    return [(entry, question) for entry in entries for question in questions
            if (question.unit.id, entry.digest) not in done]


def execute(asking: Sequence[Asking], store: Store, run: int, cache: EmbeddingCache, confinement: Confinement,
            limits: Limits, jobs: int, progress: Progress) -> Tally:
    """Asks everything that is planned and stores each outcome as it comes."""
    started = time.monotonic()
    tally = Tally(planned=len(asking))
    if not asking:
        return tally
    announce(asking, cache, progress, jobs)
    pool = Pool(asking, cache, confinement, limits, jobs)
    forecast = Forecast(asking, jobs)
    stage = progress.stage("Asking", len(asking), "units")
    questions = {question.unit.id: question for _, question in asking}
    names = {entry.digest: entry.name for entry, _ in asking}
    try:
        for outcome in pool.outcomes():
            store.put(outcome, run)
            count(tally, outcome, questions[outcome.unit_id], names[outcome.entry_digest])
            stage.advance(1, forecast.left_after(outcome), names[outcome.entry_digest])
    except KeyboardInterrupt:
        for outcome in pool.stop():
            store.put(outcome, run)
            count(tally, outcome, questions[outcome.unit_id], names[outcome.entry_digest])
        raise Interrupted(tally) from None
    finally:
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
    seen: dict[str, Question] = {}
    for entry, question in asking:
        if entry.header.input == "embeddings" and question.task.applies(question.unit, entry.header) is None:
            seen.setdefault(question.unit.id, question)
    texts = {text for question in seen.values() for text in question.task.texts(question.unit)}
    cache.fill(sorted(texts), progress, threads=jobs)


def refuse_unmet(entries: Iterable[Entry]) -> None:
    """Refuses a submission that needs packages which are not here."""
    for submission in {entry.submission.filename: entry.submission for entry in entries}.values():
        unmet = unmet_dependencies(submission.header)
        if unmet:
            packages = [line for line in unmet if not line.startswith("Python ")]
            mend = f"pip install {' '.join(repr(line) for line in packages)}" if packages else "use another Python"
            raise Refusal(f"{submission.filename} needs {', '.join(unmet)}, which this environment does not have: {mend}.")


class Pool:
    """Jobs that ask, side by side; one that loses its worker forks another."""

    def __init__(self, asking: Sequence[Asking], cache: EmbeddingCache, confinement: Confinement, limits: Limits,
                 jobs: int) -> None:
        self._left: queue.SimpleQueue[Asking] = queue.SimpleQueue()
        for one in asking:
            self._left.put(one)
        self._expected, self._limits, self._confinement = len(asking), limits, confinement
        self._results: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        self._inputs = Inputs(cache)
        self._stopping = threading.Event()
        self._patience = Patience(limits)
        self._hosts: list[Host] = []
        processors = sorted(os.sched_getaffinity(0))
        self._threads = [
            threading.Thread(target=self._work, args=(processors[(os.getpid() + job) % len(processors)],), daemon=True)
            for job in range(min(jobs, len(asking)))]

    def outcomes(self) -> Iterable[Outcome]:
        """Every outcome, as they come."""
        for thread in self._threads:
            thread.start()
        for _ in range(self._expected):
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            yield result

    def stop(self) -> list[Outcome]:
        """Ends all workers; the outcomes that were complete but not yet taken."""
        self._stopping.set()
        for host in self._hosts:
            host.kill()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        left = []
        while not self._results.empty():
            result = self._results.get()
            if isinstance(result, Outcome):
                left.append(result)
        return left

    def _work(self, processor: int) -> None:
        """One job: the same processor for it and its workers, since waking another one costs more than a question."""
        os.sched_setaffinity(0, {processor})
        desk = None
        try:
            desk = Desk(self._confinement, self._limits, self._hosts)
            while not self._stopping.is_set():
                try:
                    entry, question = self._left.get_nowait()
                except queue.Empty:
                    return
                outcome = self._patience.spared(entry, question) or desk.ask(entry, question, self._inputs)
                if self._stopping.is_set():
                    return                  # the fault may be our own doing
                self._patience.note(entry, question, outcome)
                self._results.put(outcome)
        except BaseException as wrong:      # noqa: BLE001  # a fault of ours, raised again in the calling thread
            self._results.put(wrong)
        finally:
            if desk is not None:
                desk.close()


class Desk:
    """Where one job asks: a host, and the worker that holds the entry at hand."""

    def __init__(self, confinement: Confinement, limits: Limits, hosts: list[Host]) -> None:
        self._confinement, self._limits, self._hosts = confinement, limits, hosts
        self._host: Host | None = None
        self._worker: Worker | None = None
        self._entry: Entry | None = None

    def ask(self, entry: Entry, question: Question, inputs: Inputs) -> Outcome:
        """What becomes of one unit."""
        started = time.monotonic()

        def outcome(status: Status, observation: Any = None, failure: Failure | None = None) -> Outcome:
            return Outcome(question.unit.id, entry.digest, status, observation, failure, time.monotonic() - started)

        reason = question.task.applies(question.unit, entry.header)
        if reason is not None:
            return outcome(Status.NOT_APPLICABLE, failure=Failure("not applicable", reason))
        if self._entry is not entry:
            self._let_go()
            self._entry = entry
        asked = Asked(entry, question.unit, inputs, lambda: self.start(entry), self._worker, self._limits)
        try:
            asked.begin()
            return outcome(Status.ANSWERED, question.task.observe(question.unit, asked))
        except NotApplicable as wrong:
            return outcome(Status.NOT_APPLICABLE, failure=Failure("not applicable", str(wrong)))
        except Fault as fault:
            failure = Failure(fault.kind.value, fault.sentence, fault.places, fault.output)
            return outcome(Status.FAILED, failure=failure)
        finally:
            self._worker = asked.worker

    def start(self, entry: Entry) -> Worker:
        """A fresh worker that holds the entry and has seen nothing."""
        if self._host is None or not self._host.alive:
            self._host = Host(self._confinement, self._limits)
            self._hosts.append(self._host)
        self._host.preload(entry.header.distributions)
        worker = self._host.fork()
        try:
            worker.load(entry.submission.source, entry.submission.filename, entry.parameters,
                        find_models(entry.header.models))
            if entry.header.returns not in worker.functions:
                raise Fault(FaultKind.FORM, f"defines no function `{entry.header.returns}`, which the header promises")
        except Fault as fault:
            worker.close()
            raise Fault(fault.kind, f"could not be loaded: {fault.sentence}", fault.places, fault.output) from None
        return worker

    def _let_go(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def close(self) -> None:
        if self._host is not None:
            self._host.close()


class Patience:
    """Keeps one hanging metric from costing hours: after some timeouts in a row the rest of its units is given up."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._in_a_row: dict[tuple[str, str], int] = defaultdict(int)
        self._spent: dict[str, float] = defaultdict(float)

    def note(self, entry: Entry, question: Question, outcome: Outcome) -> None:
        with self._lock:
            self._spent[entry.digest] += outcome.seconds
            key = entry.digest, question.task.name
            timed_out = outcome.failure is not None and outcome.failure.kind == FaultKind.TIME
            if timed_out:
                self._in_a_row[key] += 1
            elif outcome.status is Status.ANSWERED:
                self._in_a_row[key] = 0

    def spared(self, entry: Entry, question: Question) -> Outcome | None:
        """The failure of a unit that is not asked any more."""
        with self._lock:
            row, spent = self._in_a_row[entry.digest, question.task.name], self._spent[entry.digest]
        if row >= self._limits.failures_in_a_row:
            sentence = f"was not asked: {row} units of this task before it ran out of time, one after the other"
        elif spent >= self._limits.seconds_per_entry:
            sentence = f"was not asked: the metric had used up its {self._limits.seconds_per_entry:,.0f} seconds"
        else:
            return None
        return Outcome(question.unit.id, entry.digest, Status.FAILED, None, Failure(FaultKind.GIVEN_UP.value, sentence), 0.0)


class Forecast:
    """The time left: for each unit the typical time of its entry and stratum, so far as these are known."""

    def __init__(self, asking: Sequence[Asking], jobs: int) -> None:
        self._jobs = jobs
        self._left = {(question.unit.id, entry.digest): self._keys(entry.digest, question) for entry, question in asking}
        self._times: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._seen = 0
        self._answer: float | None = None

    @staticmethod
    def _keys(digest: str, question: Question) -> tuple[tuple[str, ...], ...]:
        stratum = (question.unit.task, *question.unit.stratum)
        return (digest, *stratum), stratum, (digest,), ()

    def left_after(self, outcome: Outcome) -> float | None:
        """Seconds until all is done, as far as can be told after one more outcome."""
        for key in self._left.pop((outcome.unit_id, outcome.entry_digest), ()):
            self._times[key].append(outcome.seconds)
        self._seen += 1
        if self._seen < 8 or self._seen % 20 == 0:
            typical = {key: statistics.fmean(times) for key, times in self._times.items()}
            self._answer = sum(next((typical[key] for key in keys if key in typical), 0.0)
                               for keys in self._left.values()) / self._jobs
        return self._answer
