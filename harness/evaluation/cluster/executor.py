"""Execute assignments on the nodes of a Dask cluster, with the interface of the local executor.

Test units of one entry are sent in groups of about 20 seconds, so that the scheduler has little to do. Dask repeats a group on
another node if a node is lost. If nodes are lost repeatedly, the test units of the group are sent one by one; a test unit is
recorded as failed if that happens again.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from distributed import Client, Future, KilledWorker, LocalCluster

from harness.base.errors import TouchstoneError, printable
from harness.evaluation.assignment import Assignment, Conditions
from harness.evaluation.cluster.node import NodeFacts, node_facts, run_group
from harness.evaluation.executor import FailureBudget
from harness.evaluation.input_encoder import InputEncoder
from harness.results.claims import Claims
from harness.results.outcomes import Failure, Outcome, Status
from harness.sandbox.faults import FaultKind

FIRST_GROUP, LARGEST_GROUP, GROUP_SECONDS = 4, 200, 20.0
CONNECT_SECONDS = 10
LOCAL = "local:"
GROUPS_PER_NODE = 2                         # that are sent in advance
START = "Start a scheduler with `dask scheduler`, and workers with `dask worker tcp://… --nthreads 1`."
LOST = "each time it was run, its node was lost"


class Cluster:
    """A connection to a Dask scheduler, or a cluster of processes on this machine.

    Args:
        address: Address of a scheduler (`tcp://host:8786`), or `local:N` for N processes.
        compute: Function without arguments that returns the fingerprint of the suite on a node.
        fingerprint: Fingerprint of the suite here.
    """

    def __init__(self, address: str, compute: Callable[[], str], fingerprint: str) -> None:
        self._local: LocalCluster | None = None
        if address.startswith(LOCAL):
            count = address.removeprefix(LOCAL)
            if not count.isdecimal() or not 1 <= int(count) <= 256:
                raise TouchstoneError(f'"{printable(address, 40)}" names no number of processes; use for example local:2.')
            self._local = LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=None)
        try:
            self.client = Client(self._local or address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            cause = printable(str(error), 100)
            raise TouchstoneError(f"No Dask scheduler answers at {printable(address, 80)} ({cause}). {START}") from None
        try:
            self._check_nodes(compute, fingerprint)
        except BaseException:
            self.close()
            raise

    def _check_nodes(self, compute: Callable[[], str], fingerprint: str) -> None:
        facts: dict[str, NodeFacts] = self.client.run(node_facts)
        if not facts:
            raise TouchstoneError(f"The cluster has no workers. {START}")
        here = node_facts()
        for address, node in facts.items():
            if node.problem is not None:
                raise TouchstoneError(f"The node {address} cannot isolate metrics: {node.problem}")
            if (node.version, node.python) != (here.version, here.python):
                raise TouchstoneError(f"The node {address} has Touchstone {node.version} on Python {node.python}; here it is "
                                      f"{here.version} on Python {here.python}. Install the same versions everywhere.")
        for address, other in self.client.run(compute).items():
            if other != fingerprint:
                raise TouchstoneError(f"The node {address} has another version of the suite ({other[:6]}; here it is "
                                      f"{fingerprint[:6]}). Update it.")

    @property
    def threads(self) -> int:
        """The number of groups that the cluster executes at the same time."""
        return sum(self.client.nthreads().values())

    def executor(self, expected: int, inputs: InputEncoder, conditions: Conditions, jobs: int, patience: FailureBudget,
                 claims: Claims) -> ClusterExecutor:
        """Return an executor with the arguments of `Executor`; the cluster decides how many test units run at the same time."""
        return ClusterExecutor(self, expected, inputs.cache.model.name, conditions, patience, claims)

    def close(self) -> None:
        """Close the connection, and end the processes of a local cluster."""
        self.client.close()
        if self._local is not None:
            self._local.close()


class ClusterExecutor:
    """Groups of assignments on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, expected: int, model: str, conditions: Conditions, patience: FailureBudget,
                 claims: Claims) -> None:
        self._cluster, self._expected, self._model, self._conditions = cluster, expected, model, conditions
        self._patience, self._claims = patience, claims
        self._ready: dict[str, deque[Assignment]] = defaultdict(deque)         # by entry digest
        self._single: deque[Assignment] = deque()                              # after a lost group
        self._results: queue.SimpleQueue[Future | BaseException | None] = queue.SimpleQueue()      # None: something is ready
        self._sent: dict[str, tuple[Future, list[Assignment]]] = {}            # by key
        self._seconds: dict[str, tuple[float, int]] = {}                       # seconds and test units, by entry digest
        self._lock, self._numbers = threading.Lock(), itertools.count()
        self._node: str | None = None       # where test units are run that must run alone

    def add(self, assignments: Iterable[Assignment]) -> None:
        """Add assignments that can be executed now."""
        with self._lock:
            for assignment in assignments:
                self._ready[assignment[0].digest].append(assignment)
                if assignment[1].task.info.alone and self._node is None:
                    self._node = min(self._cluster.client.scheduler_info(n_workers=-1)["workers"])
        self._results.put(None)

    def fail(self, wrong: BaseException) -> None:
        """Raise an exception in the thread that takes the outcomes."""
        self._results.put(wrong)

    def outcomes(self) -> Iterator[Outcome | None]:
        """Yield every outcome as it completes; None for an assignment that another run has claimed."""
        count = 0
        while count < self._expected:
            for result in self._dispatch():
                count += 1
                yield result
            if count == self._expected:
                return
            item = self._results.get()
            if isinstance(item, BaseException):
                raise item
            for outcome in self._collect(item) if item is not None else ():
                count += 1
                yield outcome

    def stop(self) -> list[Outcome]:
        """Cancel what is left; groups that are being executed end by themselves and are discarded."""
        self._cluster.client.cancel([future for future, _ in self._sent.values()])
        outcomes = []
        while not self._results.empty():
            item = self._results.get()
            if isinstance(item, Future) and item.status == "finished":
                outcomes += item.result()
        return outcomes

    def _dispatch(self) -> Iterator[Outcome | None]:
        """Send groups until every node has enough; yield the results of assignments that are not sent."""
        room = 1 if self._node else GROUPS_PER_NODE * max(1, self._cluster.threads)
        while len(self._sent) < room and (group := self._next_group()):
            wanted = []
            for entry, task_unit in group:
                spared = self._patience.spared(entry, task_unit)
                if not self._claims.take((task_unit.unit.id, entry.digest)):
                    yield None
                elif spared is not None:
                    yield spared
                else:
                    wanted.append((entry, task_unit))
            if wanted:
                self._send(wanted)

    def _next_group(self) -> list[Assignment]:
        """Return test units of one entry, as many as probably take GROUP_SECONDS."""
        with self._lock:
            if self._single:
                return [self._single.popleft()]
            digest = max(self._ready, key=lambda digest: len(self._ready[digest]), default=None)
            if digest is None:
                return []
            seconds, units = self._seconds.get(digest, (0.0, 0))
            size = FIRST_GROUP if not units else max(1, min(LARGEST_GROUP, int(GROUP_SECONDS * units / max(seconds, 1e-6))))
            waiting = self._ready[digest]
            group = [waiting.popleft() for _ in range(min(size, len(waiting)))]
            if not waiting:
                del self._ready[digest]
            return group

    def _send(self, group: list[Assignment]) -> None:
        entry = group[0][0]
        future = self._cluster.client.submit(
            run_group, entry, [task_unit for _, task_unit in group], self._conditions.limits, self._model, pure=False,
            key=f"touchstone-{entry.digest[:8]}-{id(self):x}-{next(self._numbers)}", workers=[self._node] if self._node else None)
        self._sent[future.key] = (future, group)
        future.add_done_callback(self._results.put)

    def _collect(self, future: Future) -> Iterator[Outcome]:
        """Yield the outcomes of a group that has ended."""
        _, group = self._sent.pop(future.key)
        if future.status == "finished":
            outcomes: list[Outcome] = future.result()
            seconds, units = self._seconds.get(group[0][0].digest, (0.0, 0))
            self._seconds[group[0][0].digest] = (seconds + sum(outcome.seconds for outcome in outcomes), units + len(outcomes))
            for (entry, _), outcome in zip(group, outcomes, strict=True):
                self._patience.note(entry, outcome)
                yield outcome
            return
        if future.status == "cancelled":
            raise TouchstoneError("The connection to the scheduler was lost. Repeat the command to continue.")
        error: Any = future.exception()
        if not isinstance(error, KilledWorker):
            raise error
        if len(group) > 1:
            with self._lock:
                self._single.extend(group)
            return
        entry, task_unit = group[0]
        yield Outcome(task_unit.unit.id, entry.digest, Status.FAILED, None, Failure(FaultKind.DIED.value, LOST), 0.0)
