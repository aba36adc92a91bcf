"""Plan a run, execute it, and store every outcome as soon as it is complete.

Tasks are passed in; the loop knows none by name. Threads execute (`executor.py`); only the calling thread writes to the store.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from harness.base.memory import return_freed_memory
from harness.base.progress import Progress
from harness.evaluation.assignment import Assignment, Conditions, TaskUnit
from harness.evaluation.executor import Executor, FailureBudget
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.time_left import PublishedTimes, TimeEstimate
from harness.models.registry import find_model
from harness.models.vector_cache import VectorCache, missing_message
from harness.models.vector_composition import SUITE_VECTORS, VectorSpec, vector_source
from harness.results.claims import Claims
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.provenance import Machine, Provenance
from harness.results.store import Store
from harness.submission.submission import Entry

SECONDS_TO_CHECK = 3.0                      # from one look at which vectors have come to the next


class AssignmentExecutor(Protocol):
    """Executes assignments: in threads of this process, or on the nodes of a cluster; outcomes come in groups."""

    jobs: int                               # assignments that are executed at the same time

    def add(self, assignments: Iterable[Assignment]) -> None: ...
    def fail(self, error: BaseException) -> None: ...
    def outcomes(self) -> Iterable[Sequence[Outcome | None]]: ...
    def stop(self) -> list[Outcome]: ...
    def embed(self, cache: VectorCache, texts: Iterable[str], threads: int) -> Embedding: ...


class Embedding(Protocol):
    """Embedding texts into a cache."""

    def advances(self) -> Iterator[float]: ...
    def close(self) -> None: ...


MakeExecutor = Callable[[int, InputEncoder, Conditions, int, FailureBudget, Claims], AssignmentExecutor]


@dataclass
class RunSummary:
    """The summary of a run: counts of outcomes, failures, refused entries, and the duration."""

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


class RunRecord:
    """The record of a run in the store; on a cluster every node that runs test units has one."""

    def __init__(self, store: Store, provenance: Provenance) -> None:
        self._store, self._provenance = store, provenance
        self.numbers: dict[str | None, int] = {None: store.begin_run(provenance)}       # by node

    def save(self, outcomes: Iterable[Outcome]) -> None:
        """Store outcomes with the record of their node."""
        self._store.save_outcomes([(outcome, self._number(outcome.machine)) for outcome in outcomes])

    def _number(self, machine: Machine | None) -> int:
        """Return the number of the record of a node, or of this machine."""
        node = None if machine is None else machine.node
        if machine is not None and node not in self.numbers:
            self.numbers[node] = self._store.begin_run(self._provenance.on(machine))
        return self.numbers[node]


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


def execute_run(assignments: Sequence[Assignment], runs: RunRecord, cache: VectorCache, conditions: Conditions, jobs: int,
                progress: Progress, claims: Claims, published: PublishedTimes | None = None,
                make_executor: MakeExecutor = Executor) -> RunSummary:
    """Execute the planned assignments that no other run claims, and store each outcome as it completes.

    With the times of published metrics, the time left is known sooner, and a metric that is slower than all of them is reported.
    """
    started = time.monotonic()
    summary = RunSummary(planned=len(assignments))
    shared_units = [assignment for assignment in assignments if not assignment[1].task.info.alone]
    exclusive_units = [assignment for assignment in assignments if assignment[1].task.info.alone]
    patience, inputs = FailureBudget(conditions.limits), InputEncoder(cache)
    shared, exclusive = pools = [make_executor(len(shared_units), inputs, conditions, jobs, patience, claims),
                                 make_executor(len(exclusive_units), inputs, conditions, 1, patience, claims)]
    exclusive.add(exclusive_units)
    embedding = BackgroundEmbedding(assignments, cache, progress, jobs, shared)
    forecast = TimeEstimate(assignments, shared.jobs, published)
    stage = progress.stage("Running", len(assignments), "units")
    task_units = {task_unit.unit.id: task_unit for _, task_unit in assignments}
    names = {entry.digest: entry.name for entry, _ in assignments}

    unsaved: list[Outcome] = []                 # a signal can strike while an outcome is written

    def save(outcomes: Sequence[Outcome]) -> None:
        unsaved[:] = outcomes
        runs.save(outcomes)
        while unsaved:
            outcome = unsaved.pop()
            claims.release((outcome.unit_id, outcome.entry_digest))
            count_outcome(summary, outcome, task_units[outcome.unit_id], names[outcome.entry_digest])

    try:
        embedding.start()
        for pool in pools:
            for group in pool.outcomes():
                outcomes = [outcome for outcome in group if outcome is not None]
                if elsewhere := len(group) - len(outcomes):
                    summary.elsewhere += elsewhere
                    stage.advance(elsewhere)
                save(outcomes)
                for outcome in outcomes:
                    stage.advance(1, forecast.left_after(outcome), names[outcome.entry_digest])
                    slow = forecast.slow_entry(outcome.entry_digest)
                    if slow is not None:
                        progress.say(f"{names[outcome.entry_digest]} {slow}")
            embedding.wait()
            pool.stop()                     # its workers end before exclusive units start
    except KeyboardInterrupt:
        embedding.stop()
        save([*unsaved, *(outcome for pool in pools for outcome in pool.stop())])
        raise RunInterrupted(summary) from None
    finally:
        embedding.stop()
        for pool in pools:
            pool.stop()
        inputs.close()
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


@dataclass
class EmbeddingRequest:
    """Texts that are embedded into one cache together: which of them share a batch depends on all of them."""

    cache: VectorCache
    texts: set[str] = field(default_factory=set)
    waiting: list[tuple[list[str], list[Assignment]]] = field(default_factory=list)     # texts without a vector, and for whom

    def completed(self) -> Iterator[Assignment]:
        """Yield the assignments whose texts have got vectors since the last call."""
        self.cache.refresh()
        for lacking, assignments in self.waiting:
            while lacking and self.cache.has(lacking[-1]):
                lacking.pop()
            if not lacking:
                yield from assignments
        self.waiting = [one for one in self.waiting if one[0]]


def required_vectors(assignment: Assignment) -> list[VectorSpec]:
    """Return which vectors an assignment needs."""
    entry, task_unit = assignment
    if task_unit.task.inapplicable_reason(task_unit.unit, entry.header) is not None:
        return []
    if entry.vectors.of_tokens and not find_model(task_unit.unit.model.name).has_token_vectors:
        return []                           # not applicable
    specs = [SUITE_VECTORS] * task_unit.task.needs_vectors + [entry.vectors] * entry.takes_vectors
    return list(dict.fromkeys(specs))


def plan_embedding(assignments: Iterable[Assignment], cache: VectorCache) -> list[EmbeddingRequest]:
    """Return what must be embedded for the assignments, and which of them wait for it."""
    units_by_spec: dict[VectorSpec, dict[str, list[Assignment]]] = {}
    for assignment in assignments:
        for spec in required_vectors(assignment):
            units_by_spec.setdefault(spec, {}).setdefault(assignment[1].unit.id, []).append(assignment)
    requests: dict[tuple[VectorSpec, int], EmbeddingRequest] = {}
    for spec, units in units_by_spec.items():
        source = vector_source(spec, cache)
        for group in units.values():
            task_unit = group[0][1]
            for part, (of_part, texts) in enumerate(source.embedded_texts(task_unit.task.texts(task_unit.unit))):
                request = requests.setdefault((spec, part), EmbeddingRequest(of_part))
                request.texts.update(texts)
                request.waiting.append((of_part.missing(texts), group))
    return list(requests.values())


def embed_required_texts(assignments: Sequence[Assignment], cache: VectorCache, progress: Progress, jobs: int) -> None:
    """Embed every text that the planned test units need, in this process."""
    for request in plan_embedding(assignments, cache):
        request.cache.fill(request.texts, progress, jobs)


class BackgroundEmbedding:
    """Embeds the texts of a run in a child process, and gives each assignment to an executor once its vectors are there."""

    def __init__(self, assignments: Sequence[Assignment], cache: VectorCache, progress: Progress, jobs: int,
                 executor: AssignmentExecutor) -> None:
        self._assignments, self._cache, self._progress, self._jobs = assignments, cache, progress, jobs
        self._executor = executor
        self._open: Counter[int] = Counter()            # requests that an assignment waits for
        self._process: Embedding | None = None
        self._lock, self._stopping = threading.Lock(), False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Give the assignments that need no vectors to the executor, and start embedding."""
        self._executor.add(one for one in self._assignments if not one[1].task.info.alone and not required_vectors(one))
        self._thread.start()

    def wait(self) -> None:
        """Wait for all vectors; raise the error of the embedding."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End the child process; completed vectors are kept."""
        with self._lock:
            self._stopping = True
            if self._process is not None:
                self._process.close()
        if self._thread.is_alive():
            self._thread.join(SECONDS_TO_CHECK)         # it may be planning, which takes long and starts nothing

    def _run(self) -> None:
        try:
            self._embed()
        except BaseException as error:      # noqa: BLE001  # raised again in the calling thread
            if not self._stopping:
                self._error = error
                self._executor.fail(error)

    def _embed(self) -> None:
        requests = plan_embedding(self._assignments, self._cache)
        for request in requests:
            for _, group in request.waiting:
                self._open.update(map(id, group))
        for request in requests:
            self._hand_on(request)
        requests = [request for request in requests if request.waiting]
        return_freed_memory()
        for request in requests:
            self._embed_request(request)
            self._hand_on(request)

    def _embed_request(self, request: EmbeddingRequest) -> None:
        model, missing = request.cache.model.name, len(request.cache.missing(request.texts))
        if not missing:                     # an earlier request has embedded them
            return
        self._progress.say(missing_message(missing, model))
        with self._lock:
            if self._stopping:
                return
            self._process = self._executor.embed(request.cache, request.texts, self._jobs)
        request.texts.clear()
        return_freed_memory()
        stage, checked = self._progress.stage(f"Embedding with {model}", missing, "texts"), time.monotonic()
        try:
            for count in self._process.advances():
                stage.advance(int(count))
                if time.monotonic() - checked > SECONDS_TO_CHECK:
                    self._hand_on(request)
                    checked = time.monotonic()
        finally:
            stage.close()

    def _hand_on(self, request: EmbeddingRequest) -> None:
        """Give the executor the assignments whose vectors are now complete."""
        for assignment in request.completed():
            self._open[id(assignment)] -= 1
            if not self._open[id(assignment)] and not assignment[1].task.info.alone:
                self._executor.add([assignment])
