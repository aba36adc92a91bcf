"""Execute assignments in parallel threads that survive any fault of a metric.

Each thread is pinned to one CPU together with its worker. The outcome of an assignment is an `Outcome`; nothing is stored here.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from harness.base.errors import NotApplicable
from harness.environments.environment import HARNESS_ENVIRONMENT
from harness.evaluation.assignment import Assignment, Conditions, TaskUnit
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.metric_session import MetricSession
from harness.models.embedding_process import EmbeddingProcess
from harness.models.registry import find_models
from harness.models.vector_cache import VectorCache
from harness.results.claims import Claims, SingleRun
from harness.results.outcomes import Failure, Outcome, Status
from harness.sandbox.faults import Fault, FaultKind, SupervisorLost, WorkerLost
from harness.sandbox.layers import WorkerEnvironment
from harness.sandbox.limits import Limits
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.worker_client import Worker
from harness.submission.submission import Entry


class Executor:
    """Threads that execute `expected` assignments as they are added; a thread that loses its worker starts another."""

    def __init__(self, expected: int, inputs: InputEncoder, conditions: Conditions, jobs: int,
                 patience: FailureBudget | None = None, claims: Claims | None = None) -> None:
        self._left: queue.SimpleQueue[Assignment | None] = queue.SimpleQueue()      # None: no more come
        self._expected, self._added, self._conditions, self.jobs = expected, 0, conditions, jobs
        self._claims: Claims = claims or SingleRun()
        self._results: queue.SimpleQueue[Outcome | BaseException | None] = queue.SimpleQueue()
        self._inputs = inputs
        self._stopping = threading.Event()
        self._patience = patience or FailureBudget(conditions.limits)
        self._hosts: list[Supervisor] = []            # every supervisor that was started
        processors = sorted(os.sched_getaffinity(0))
        self._threads = [
            threading.Thread(target=self._work, args=(processors[(os.getpid() + job) % len(processors)],), daemon=True)
            for job in range(min(jobs, expected))]

    def add(self, assignments: Iterable[Assignment]) -> None:
        """Add assignments that can be executed now; not from two threads at once."""
        for assignment in assignments:
            self._left.put(assignment)
            self._added += 1
        if self._added == self._expected:
            self._release_threads()

    def fail(self, error: BaseException) -> None:
        """Raise an exception in the thread that takes the outcomes."""
        self._results.put(error)

    def _release_threads(self) -> None:
        """Let the threads end that find no assignment left."""
        for _ in self._threads:
            self._left.put(None)

    def outcomes(self) -> Iterable[Sequence[Outcome | None]]:
        """Start the threads and yield every outcome as it completes; None for an assignment that another run has claimed."""
        for thread in self._threads:
            thread.start()
        for _ in range(self._expected):
            result = self._results.get()
            if isinstance(result, BaseException):
                raise result
            yield [result]

    def stop(self) -> list[Outcome]:
        """End all workers and return the outcomes that were complete but not yet taken."""
        self._stopping.set()
        self._release_threads()
        for host in list(self._hosts):
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

    def embed(self, cache: VectorCache, texts: Iterable[str], threads: int) -> EmbeddingProcess:
        """Start embedding texts in a child process."""
        return EmbeddingProcess(cache, texts, threads)

    def _adopt(self, host: Supervisor) -> None:
        """Register a supervisor so that `stop` can end it; end it at once if `stop` has been called."""
        self._hosts.append(host)
        if self._stopping.is_set():
            host.kill()

    def _work(self, processor: int) -> None:
        """Execute assignments until none is left.

        The thread and its workers share one CPU: a cross-CPU wake-up costs more than a typical call.
        """
        os.sched_setaffinity(0, {processor})
        slot = None
        try:
            slot = WorkerSlot(self._conditions, self._adopt, self._stopping.is_set)
            while not self._stopping.is_set():
                assignment = self._left.get()
                if assignment is None:
                    return
                entry, task_unit = assignment
                if not self._claims.take((task_unit.unit.id, entry.digest)):
                    self._results.put(None)
                    continue
                outcome = self._patience.spared(entry, task_unit) or slot.run_unit(entry, task_unit, self._inputs)
                if self._stopping.is_set():
                    return                  # `stop` may have caused the fault
                self._patience.note(entry, outcome)
                self._results.put(outcome)
        except BaseException as error:      # noqa: BLE001  # a fault of ours, raised again in the calling thread
            if not self._stopping.is_set():
                self._results.put(error)
        finally:
            if slot is not None:
                slot.close()


MAX_SUPERVISORS = 2                           # one for the metric, one for the reference of timings


class WorkerSlot:
    """Where one thread runs metrics: its supervisors, and the worker of the current entry."""

    def __init__(self, conditions: Conditions, adopt: Callable[[Supervisor], None] | None = None,
                 stopping: Callable[[], bool] = lambda: False) -> None:
        self._conditions, self._adopt, self._stopping = conditions, adopt, stopping
        self._hosts: list[Supervisor] = []            # most recently used last
        self._worker: Worker | None = None
        self._entry: Entry | None = None
        self.loading_seconds = 0.0                    # spent on loading submissions
        # attempts of metrics that were refused, with the line of the submission
        self.refused_attempts: dict[tuple[str, str], None] = {}

    @property
    def limits(self) -> Limits:
        """The limits of each metric."""
        return self._conditions.limits

    def run_unit(self, entry: Entry, task_unit: TaskUnit, inputs: InputEncoder, seconds: float | None = None) -> Outcome:
        """Return the outcome of one assignment; run it once more if the supervisor was lost.

        `seconds` replaces the time limit of the conditions.
        """
        limits = self._conditions.limits
        limits = limits if seconds is None else replace(limits, seconds_per_unit=seconds)
        try:
            return self._ask(entry, task_unit, inputs, limits)
        except SupervisorLost:
            if self._stopping():
                raise
        try:
            return self._ask(entry, task_unit, inputs, limits)
        except WorkerLost:
            failure = Failure(FaultKind.DIED.value, "was run twice, and its supervisor ended both times")
            return Outcome(task_unit.unit.id, entry.digest, Status.FAILED, None, failure, 0.0)

    def _ask(self, entry: Entry, task_unit: TaskUnit, inputs: InputEncoder, limits: Limits) -> Outcome:
        started = time.monotonic()

        def outcome(status: Status, observation: Any = None, failure: Failure | None = None) -> Outcome:
            return Outcome(task_unit.unit.id, entry.digest, status, observation, failure, time.monotonic() - started)

        reason = task_unit.task.inapplicable_reason(task_unit.unit, entry.header)
        if reason is not None:
            return outcome(Status.NOT_APPLICABLE, failure=Failure("not applicable", reason))
        if self._entry is not entry:
            self._let_go()
            self._entry = entry
        session = MetricSession(entry, task_unit.unit, inputs, self.start, self._worker, limits)
        try:
            session.start()
            return outcome(Status.ANSWERED, task_unit.task.observe(task_unit.unit, session))
        except NotApplicable as error:
            return outcome(Status.NOT_APPLICABLE, failure=Failure("not applicable", str(error)))
        except Fault as fault:
            failure = Failure(fault.kind.value, fault.sentence, fault.places, fault.output)
            return outcome(Status.FAILED, failure=failure)
        finally:
            self._worker = session.worker
            self._collect_refused_attempts(self._worker)

    def _collect_refused_attempts(self, worker: Worker | None) -> None:
        if self._conditions.watched and worker is not None and worker.alive:
            with contextlib.suppress(Fault):
                self.refused_attempts |= dict.fromkeys(worker.refused_attempts())

    def start(self, entry: Entry, until: float = math.inf) -> Worker:
        """Return a fresh worker that has loaded the entry; `until` is the time at which loading is given up."""
        started = time.monotonic()
        environment = self._conditions.environments.get(entry.digest, HARNESS_ENVIRONMENT)
        worker = self._fork(environment.ground(entry.submission))
        worker.deadline = min(worker.deadline, until)
        try:
            worker.load(entry.submission.source, entry.submission.filename, entry.parameters,
                        find_models(entry.header.models), self._conditions.watched, environment.command(entry.submission))
            if entry.header.returns not in worker.functions:
                raise Fault(FaultKind.FORM, f"defines no function `{entry.header.returns}`, which the header requires")
        except Fault as fault:
            self._collect_refused_attempts(worker)
            worker.close()
            raise Fault(fault.kind, f"could not be loaded: {fault.sentence}", fault.places, fault.output) from None
        finally:
            self.loading_seconds += time.monotonic() - started
        return worker

    def _fork(self, ground: WorkerEnvironment) -> Worker:
        """Return a worker of a running supervisor with this environment, or of a new one."""
        at_hand = next((host for host in self._hosts if host.ground == ground and host.alive), None)
        if at_hand is not None:
            self._hosts.remove(at_hand)
            self._hosts.append(at_hand)
            with contextlib.suppress(SupervisorLost):
                return at_hand.fork()
        self._dismiss([host for host in self._hosts if not host.alive] or self._hosts[:1 - MAX_SUPERVISORS])
        host = Supervisor(self._conditions.confinement, self._conditions.limits, ground)
        self._hosts.append(host)
        if self._adopt is not None:
            self._adopt(host)
        return host.fork()

    def _dismiss(self, hosts: Sequence[Supervisor]) -> None:
        for host in hosts:
            self._hosts.remove(host)
            host.close()

    def _let_go(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def close(self) -> None:
        """End all workers and supervisors."""
        self._let_go()
        self._dismiss(list(self._hosts))


class FailureBudget:
    """Give up the remaining test units of a metric after several timeouts in a row or when its total time is used up."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._in_a_row: dict[str, int] = defaultdict(int)
        self._spent: dict[str, float] = defaultdict(float)

    def note(self, entry: Entry, outcome: Outcome) -> None:
        """Record the time and the result of an assignment."""
        with self._lock:
            self._spent[entry.digest] += outcome.seconds
            if outcome.failure is not None and outcome.failure.kind == FaultKind.TIME:
                self._in_a_row[entry.digest] += 1
            elif outcome.status is Status.ANSWERED:
                self._in_a_row[entry.digest] = 0

    def spared(self, entry: Entry, task_unit: TaskUnit) -> Outcome | None:
        """Return the failure of an assignment that is not run any more, or None."""
        with self._lock:
            row, spent = self._in_a_row[entry.digest], self._spent[entry.digest]
        if row >= self._limits.failures_in_a_row:
            sentence = (f"was not run: the metric timed out on {row} consecutive test units (raise the limit with "
                        f"--limit failures_in_a_row={2 * row})")
        elif spent >= self._limits.seconds_per_entry:
            sentence = (f"was not run: the metric had used up its {self._limits.seconds_per_entry:,.0f} seconds (raise the "
                        f"limit with --limit seconds_per_entry={2 * self._limits.seconds_per_entry:.0f})")
        else:
            return None
        return Outcome(task_unit.unit.id, entry.digest, Status.FAILED, None, Failure(FaultKind.GIVEN_UP.value, sentence), 0.0)
