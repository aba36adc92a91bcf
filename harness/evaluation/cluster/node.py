"""What a Dask worker executes: the test units of one entry, in the same sandbox as in a local run, and batches of texts.

A Dask worker has one thread; it keeps one slot for metrics from one group of test units to the next.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from distributed import get_worker

from harness.base.errors import TouchstoneError
from harness.base.paths import cache_folder
from harness.base.progress import NoProgress
from harness.environments.environment import Environment, prepare_environments
from harness.evaluation.assignment import Assignment, Conditions, TaskUnit
from harness.evaluation.cluster.vectors import MissingVectors, Vectors, add_vectors
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.loop import plan_embedding, required_vectors
from harness.models.embedding_process import ResidentEmbedding
from harness.models.package_index import fetch_models
from harness.models.vector_cache import VectorCache, text_key
from harness.models.vector_composition import VectorSpec
from harness.results.outcomes import Outcome
from harness.results.provenance import describe_machine, harness_version
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.submission import Entry

BATCH_SECONDS = 600.0                       # in which a batch of texts must be embedded


@dataclass(frozen=True)
class Requirements:
    """What every node must have in common with the coordinator; `compute` returns the fingerprint of the suite."""

    compute: Callable[[], str]
    fingerprint: str
    version: str = field(default_factory=harness_version)
    python: str = field(default_factory=platform.python_version)


CHECKED: set[str] = set()                   # fingerprints of suites that this process has compared


def find_refusal(required: Requirements) -> str | None:
    """Return why this node may not run test units, or None."""
    here = (harness_version(), platform.python_version())
    if here != (required.version, required.python):
        return (f"has Touchstone {here[0]} on Python {here[1]}; the command has {required.version} on Python {required.python}. "
                "Install the same versions everywhere.")
    if required.fingerprint in CHECKED:
        return None
    try:
        probe_sandbox(False)
        fingerprint = required.compute()
    except TouchstoneError as error:
        return f"cannot run metrics: {error}"
    if fingerprint != required.fingerprint:
        return f"has another version of the suite ({fingerprint[:6]}; the command has {required.fingerprint[:6]}). Update it."
    CHECKED.add(required.fingerprint)
    return None


@dataclass
class Node:
    """The slot of this process, and the environments of the entries that it has run."""

    limits: Limits
    model: str
    environments: dict[str, Environment] = field(default_factory=dict)
    complete: set[tuple[str, tuple[VectorSpec, ...]]] = field(default_factory=set)      # test units whose vectors are here

    def __post_init__(self) -> None:
        sandbox = probe_sandbox(False)
        self.inputs = InputEncoder(VectorCache(self.model, cache_folder()))
        self.slot = WorkerSlot(Conditions(sandbox, self.limits, self.environments))
        self.address = get_worker().address
        self.machine = describe_machine(f"{platform.node()} ({self.address})", sandbox.layers)

    def run(self, entry: Entry, task_units: Sequence[TaskUnit], vectors: Sequence[Vectors]) -> list[Outcome] | MissingVectors:
        """Return the outcomes of an entry on test units, or which vectors this node lacks for them."""
        if entry.digest not in self.environments:
            fetch_models(entry.header.models, NoProgress())
            prepared, refused = prepare_environments([entry], self.limits, NoProgress())
            if refused:
                raise TouchstoneError(refused[0])
            self.environments |= prepared
        unreadable = add_vectors(vectors, self.inputs.cache)
        missing = self.missing([(entry, task_unit) for task_unit in task_units])
        if missing:
            return MissingVectors(self.address, missing, unreadable)
        return [replace(self.slot.run_unit(entry, task_unit, self.inputs), machine=self.machine) for task_unit in task_units]

    def missing(self, assignments: Sequence[Assignment]) -> dict[str, list[bytes]]:
        """Return the keys of the texts without a vector, by model."""
        needed = {(assignment[1].unit.id, tuple(required_vectors(assignment))): assignment for assignment in assignments}
        self.inputs.cache.refresh()
        keys: dict[str, dict[bytes, None]] = {}
        for request in plan_embedding([needed[key] for key in needed if key not in self.complete], self.inputs.cache):
            request.cache.refresh()
            lacking = request.cache.missing(request.texts)
            if lacking:
                keys.setdefault(request.cache.model.name, {}).update(dict.fromkeys(map(text_key, lacking)))
        if not keys:
            self.complete.update(needed)
        return {model: list(some) for model, some in keys.items()}


@cache
def get_node(limits: Limits, model: str) -> Node:
    """Return the node of this process; metrics and the thread that serves them share one processor."""
    processors = sorted(os.sched_getaffinity(0))
    number = get_worker().name
    os.sched_setaffinity(0, {processors[(number if isinstance(number, int) else os.getpid()) % len(processors)]})
    return Node(limits, model)


def run_group(entry: Entry, task_units: Sequence[TaskUnit], limits: Limits, model: str, required: Requirements,
              vectors: Sequence[Vectors]) -> list[Outcome] | MissingVectors:
    """Return the outcomes of an entry on test units, on the node that executes this."""
    reason = find_refusal(required)
    if reason is not None:                  # of a node that has joined after the start
        raise TouchstoneError(f"The node {get_worker().address} {reason}")
    return get_node(limits, model).run(entry, task_units, vectors)


get_embedding = cache(ResidentEmbedding)


def embed_on_node(model: str, batches: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """Return the vectors of batches, each of texts that one call of the encoder takes together."""
    fetch_models([model], NoProgress())
    embedding = get_embedding(model, 1)
    return [embedding.embed(batch, BATCH_SECONDS).vectors(batch) for batch in batches]
