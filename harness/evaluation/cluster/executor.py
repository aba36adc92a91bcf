"""Execute assignments on the nodes of a Dask cluster, with the interface of the local executor.

Test units of one entry are sent in groups of about 20 seconds, so that the scheduler has little to do. Dask repeats a group on
another node if a node is lost. If nodes are lost repeatedly, the test units of the group are sent one by one; a test unit is
recorded as failed if that happens again. Test units that fail are run once more on another node before their failure is recorded.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from distributed import Future, KilledWorker

from harness.base.errors import TouchstoneError
from harness.evaluation.assignment import Assignment, Conditions
from harness.evaluation.cluster.connection import CHECK_SECONDS, LOST, Connection
from harness.evaluation.cluster.embedding import ClusterEmbedding
from harness.evaluation.cluster.node import run_group
from harness.evaluation.cluster.vectors import MissingVectors, VectorProvider, Vectors
from harness.evaluation.executor import FailureBudget
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.loop import Embedding
from harness.models.embedding_process import EmbeddingProcess
from harness.models.vector_cache import TokenVectorCache, VectorCache
from harness.results.claims import Claims
from harness.results.outcomes import Failure, Outcome, Status
from harness.sandbox.faults import FaultKind

FIRST_SECONDS = 5.0                         # assumed of a test unit before any has been run
LARGEST_GROUP, GROUP_SECONDS, SHORT_GROUP_SECONDS = 2_000, 20.0, 2.0
GROUPS_PER_NODE = 2                         # that are sent in advance
MOST_TRIES = 6                              # to send a group, with vectors that a node lacks
NODE_LOST = "each time it was run, its node was lost"


class Cluster(Connection):
    """A connection that makes executors."""

    def executor(self, expected: int, inputs: InputEncoder, conditions: Conditions, jobs: int, patience: FailureBudget,
                 claims: Claims) -> ClusterExecutor:
        """Return an executor with the arguments of `Executor`; the cluster decides how many test units run at the same time."""
        return ClusterExecutor(self, expected, inputs.cache, conditions, patience, claims)


@dataclass(frozen=True)
class Group:
    """Assignments of one entry that are sent together."""

    assignments: Sequence[Assignment]
    failed_on: str | None = None            # the node where they have failed
    node: str | None = None                 # the node that gets the vectors
    vectors: Sequence[Vectors] = ()
    tries: int = 1
    alone: bool = False


class Costs:
    """Mean seconds of test units by entry and task; where they are not known, those of the task in other entries."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str | None, str | None], tuple[float, int]] = {}

    def note(self, assignment: Assignment, seconds: float) -> None:
        """Record the time of a test unit."""
        digest, task = assignment[0].digest, assignment[1].task.name
        for key in ((digest, task), (None, task), (None, None)):
            total, count = self._sums.get(key, (0.0, 0))
            self._sums[key] = total + seconds, count + 1

    def seconds(self, assignment: Assignment) -> float:
        """Return the probable time of a test unit."""
        digest, task = assignment[0].digest, assignment[1].task.name
        total, count = self._sums.get((digest, task)) or self._sums.get((None, task)) or (FIRST_SECONDS, 1)
        return total / count

    @property
    def mean(self) -> float:
        """Mean seconds of all test units."""
        total, count = self._sums.get((None, None), (FIRST_SECONDS, 1))
        return total / count


class ClusterExecutor:
    """Groups of assignments on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, expected: int, cache: VectorCache, conditions: Conditions, patience: FailureBudget,
                 claims: Claims) -> None:
        self._cluster, self._expected, self._cache, self._conditions = cluster, expected, cache, conditions
        self.jobs = max(1, cluster.threads)
        self._patience, self._claims, self._provider, self._costs = patience, claims, VectorProvider(cache), Costs()
        self._ready: dict[str, deque[Assignment]] = defaultdict(deque)         # by entry digest
        self._waiting = 0                                                      # assignments in `_ready`
        self._again: deque[Group] = deque()                                    # groups that are sent once more
        self._results: queue.SimpleQueue[Future | BaseException | None] = queue.SimpleQueue()      # None: something is ready
        self._sent: dict[str, tuple[Future, Group]] = {}                       # by key
        self._sent_of: Counter[str] = Counter()                                # groups by entry digest
        self._lock = threading.Lock()
        self._alone = False                 # whether one group is run at a time
        self._node: str | None = None       # where it is run

    def add(self, assignments: Iterable[Assignment]) -> None:
        """Add assignments that can be executed now."""
        with self._lock:
            for assignment in assignments:
                self._ready[assignment[0].digest].append(assignment)
                self._waiting += 1
                self._alone = self._alone or assignment[1].task.info.alone
        self._results.put(None)

    def fail(self, error: BaseException) -> None:
        """Raise an exception in the thread that takes the outcomes."""
        self._results.put(error)

    def embed(self, cache: VectorCache, texts: Iterable[str], threads: int) -> Embedding:
        """Start embedding texts on the nodes, or in a child process with a model that is not a file."""
        if isinstance(cache, TokenVectorCache):
            raise TouchstoneError("Clusters do not support vectors of tokens yet; run metrics that take them without --cluster.")
        try:
            cache.model.path()
        except TouchstoneError:
            return EmbeddingProcess(cache, texts, threads)
        return ClusterEmbedding(self._cluster, cache, texts)

    def outcomes(self) -> Iterator[Sequence[Outcome | None]]:
        """Yield the outcomes of every group as it completes; None for an assignment that another run has claimed."""
        count = 0
        while count < self._expected:
            not_sent = self._dispatch()
            count += len(not_sent)
            yield not_sent
            if count == self._expected:
                return
            try:
                item = self._results.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                self._send_lost_groups()
                continue
            if isinstance(item, BaseException):
                raise item
            outcomes = self._collect(item) if item is not None else []
            count += len(outcomes)
            yield outcomes

    def stop(self) -> list[Outcome]:
        """Cancel what is left; groups that are being executed end by themselves and are discarded."""
        self._cluster.cancel([future for future, _ in self._sent.values()])
        outcomes: list[Outcome] = []
        while not self._results.empty():
            item = self._results.get()
            if isinstance(item, Future) and item.status == "finished" and isinstance(result := item.result(), list):
                outcomes += result
        return outcomes

    def _dispatch(self) -> list[Outcome | None]:
        """Send groups until every node has enough; return the results of assignments that are not sent."""
        not_sent: list[Outcome | None] = []
        room = 1 if self._alone else GROUPS_PER_NODE * max(1, self._cluster.threads)
        while len(self._sent) < room:
            if self._again:
                self._send(self._again.popleft())
                continue
            assignments = self._next_assignments()
            if not assignments:
                break
            wanted = []
            for entry, task_unit in assignments:
                spared = self._patience.spared(entry, task_unit)
                if not self._claims.take((task_unit.unit.id, entry.digest)):
                    not_sent.append(None)
                elif spared is not None:
                    not_sent.append(spared)
                else:
                    wanted.append((entry, task_unit))
            if wanted:
                self._send(Group(wanted, alone=self._alone))
        return not_sent

    def _next_assignments(self) -> list[Assignment]:
        """Return test units of the entry with the fewest groups at work, as many as probably take `GROUP_SECONDS`.

        Towards the end of a run groups are smaller, so that all nodes finish at about the same time.
        """
        with self._lock:
            digest = min(self._ready, key=lambda digest: (self._sent_of[digest], -len(self._ready[digest])), default=None)
            if digest is None:
                return []
            share = self._waiting * self._costs.mean / (2 * GROUPS_PER_NODE * max(1, self._cluster.threads))
            left, waiting = max(SHORT_GROUP_SECONDS, min(GROUP_SECONDS, share)), self._ready[digest]
            group: list[Assignment] = []
            while waiting and left > 0 and len(group) < LARGEST_GROUP:
                left -= self._costs.seconds(waiting[0])
                group.append(waiting.popleft())
            self._waiting -= len(group)
            if not waiting:
                del self._ready[digest]
            return group

    def _send(self, group: Group) -> None:
        entry = group.assignments[0][0]
        workers = self._cluster.others(group.failed_on) if group.failed_on else [group.node] if group.node else None
        if group.alone and not group.failed_on:
            nodes = self._cluster.nodes()
            self._node = self._node if self._node in nodes or not nodes else nodes[0]
            workers = [self._node] if self._node else None
        future = self._cluster.submit(
            run_group, entry, [task_unit for _, task_unit in group.assignments], self._conditions.limits, self._cache.model.name,
            self._cluster.required, group.vectors, workers=workers, strict=group.alone)
        self._sent[future.key] = future, group
        self._sent_of[entry.digest] += 1
        future.add_done_callback(self._results.put)

    def _take(self, key: str) -> Group:
        """Forget a group that was sent, and return it."""
        _, group = self._sent.pop(key)
        self._sent_of[group.assignments[0][0].digest] -= 1
        return group

    def _send_lost_groups(self) -> None:
        """Send again what a broken connection has lost, and what waits for a node that is away."""
        keys = self._cluster.lost(future for future, _ in self._sent.values())
        if self._alone and not keys and self._node not in self._cluster.nodes():
            keys = list(self._sent)
            self._cluster.cancel([future for future, _ in self._sent.values()])
        self._again += map(self._take, keys)

    def _collect(self, future: Future) -> list[Outcome]:
        """Return the outcomes of a group that has ended."""
        if future.key not in self._sent or future.status in ("lost", "cancelled"):
            return []                       # `_send_lost_groups` sends it again
        group = self._take(future.key)
        try:
            result: list[Outcome] | MissingVectors = future.result()
        except KilledWorker:
            if len(group.assignments) > 1:
                self._again += [replace(group, assignments=[assignment]) for assignment in group.assignments]
                return []
            (entry, task_unit), = group.assignments
            return [Outcome(task_unit.unit.id, entry.digest, Status.FAILED, None, Failure(FaultKind.DIED.value, NODE_LOST), 0.0)]
        except OSError:
            raise TouchstoneError(LOST) from None
        if isinstance(result, MissingVectors):
            if group.tries == MOST_TRIES:
                raise TouchstoneError(f"The node {result.node} does not keep the vectors that are sent to it. "
                                  "Check that its disk is not full.")
            self._again.append(replace(group, node=result.node, vectors=self._provider.provide(result), tries=group.tries + 1))
            return []
        return self._accept(group, result)

    def _accept(self, group: Group, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Return outcomes without those that have failed on one node only, which are sent to another one, if there is one."""
        failed, accepted = [], []
        failures = group.failed_on is None and any(outcome.status is Status.FAILED for outcome in outcomes)
        others = failures and len(self._cluster.nodes()) > 1
        for assignment, outcome in zip(group.assignments, outcomes, strict=True):
            self._costs.note(assignment, outcome.seconds)
            if others and outcome.status is Status.FAILED:
                failed.append(assignment)
                continue
            self._patience.note(assignment[0], outcome)
            accepted.append(outcome)
        if failed:
            assert outcomes[0].machine is not None
            self._again.append(Group(failed, failed_on=outcomes[0].machine.address, alone=group.alone))
        return accepted
