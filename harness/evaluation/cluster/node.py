"""What a Dask worker executes: the test units of one entry, in the same sandbox as in a local run.

A Dask worker has one thread; it keeps one slot for metrics from one group of test units to the next.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from distributed import get_worker

from harness.base.errors import TouchstoneError
from harness.base.paths import cache_folder
from harness.base.progress import NoProgress
from harness.environments.environment import Environment, prepare_environments
from harness.evaluation.assignment import Conditions, TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.loop import plan_embedding
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Outcome
from harness.results.provenance import harness_version
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.submission import Entry


@dataclass(frozen=True)
class NodeFacts:
    """What the nodes of a cluster must have in common, and why nothing can run on a node."""

    version: str
    python: str
    problem: str | None = None


def node_facts() -> NodeFacts:
    """Return the facts of this node."""
    problem = None
    try:
        probe_sandbox(False)
    except TouchstoneError as error:
        problem = str(error)
    return NodeFacts(harness_version(), platform.python_version(), problem)


@dataclass
class Node:
    """The slot of this process, and the environments of the entries that it has run."""

    limits: Limits
    model: str
    environments: dict[str, Environment] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.inputs = InputEncoder(VectorCache(self.model, cache_folder()))
        self.slot = WorkerSlot(Conditions(probe_sandbox(False), self.limits, self.environments))

    def run(self, entry: Entry, task_units: Sequence[TaskUnit]) -> list[Outcome]:
        """Return the outcomes of an entry on test units."""
        if entry.digest not in self.environments:
            prepared, refused = prepare_environments([entry], self.limits, NoProgress())
            if refused:
                raise TouchstoneError(refused[0])
            self.environments |= prepared
        self.inputs.cache.refresh()
        assignments = [(entry, task_unit) for task_unit in task_units]
        requests = plan_embedding(assignments, self.inputs.cache)
        missing = sum(len(request.cache.missing(request.texts)) for request in requests)
        if missing:
            raise TouchstoneError(f"{missing:,} vectors are missing in the cache folder {cache_folder()} of the node "
                                  f"{platform.node()}; give all nodes the same folder with TOUCHSTONE_CACHE.")
        return [self.slot.run_unit(entry, task_unit, self.inputs) for task_unit in task_units]


@cache
def get_node(limits: Limits, model: str) -> Node:
    """Return the node of this process; metrics and the thread that serves them share one processor."""
    processors = sorted(os.sched_getaffinity(0))
    number = get_worker().name
    os.sched_setaffinity(0, {processors[(number if isinstance(number, int) else os.getpid()) % len(processors)]})
    return Node(limits, model)


def run_group(entry: Entry, task_units: Sequence[TaskUnit], limits: Limits, model: str) -> list[Outcome]:
    """Return the outcomes of an entry on test units, on the node that executes this."""
    return get_node(limits, model).run(entry, task_units)
