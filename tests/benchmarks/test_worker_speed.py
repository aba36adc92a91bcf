"""What asking through a worker costs.  Medians of many questions; every figure is asserted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.metric_session import MetricSession
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.sandbox.supervisor import Supervisor
from harness.sandbox.worker_client import Worker
from tasks.common.mixtures import separated_pairs

pytestmark = pytest.mark.benchmark

ARRAY = np.random.default_rng(1).random((100, 384), dtype=np.float32)


@pytest.fixture
def worker(one_processor) -> Iterator[Worker]:
    host = Supervisor(probe_sandbox(), Limits())
    made = host.fork()
    made.load(b"def distance(p, q): return 1.0\n", "empty.py", {}, {})
    made.deadline = time.monotonic() + 600
    yield made
    host.close()


def median_microseconds(ask: Callable[[], object], times: int = 3000) -> float:
    for _ in range(200):
        ask()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1e6


def test_start(one_processor, report):
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        host = Supervisor(probe_sandbox(), Limits())
        made = host.fork()
        made.load(b"import numpy\ndef distance(p, q): return 1.0\n", "empty.py", {}, {})
        made.call("distance", [ARRAY, ARRAY], 1)
        taken.append(time.perf_counter() - started)
        host.close()
    report(f"start to the first answer: {statistics.median(taken):.3f} s (at most 0.25)")
    assert statistics.median(taken) <= 0.25


def test_empty_round_trip(worker, report):
    worker.store_corpus(0, ARRAY, 1)
    taken = median_microseconds(lambda: worker.call("distance", [0, 0], 1))
    report(f"empty round trip: {taken:.0f} µs (at most 50)")
    assert taken <= 50


def test_two_arrays(worker, report):
    taken = median_microseconds(lambda: worker.call("distance", [ARRAY, ARRAY], 1))
    report(f"two arrays of 100 x 384: {taken:.0f} µs (at most 100)")
    assert taken <= 100


METRIC = """
import time
def busy(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass
def prepare(corpus):
    busy(0.001)
    return corpus
def distance(p, q):
    busy(0.001)
    return 1.0
"""


def test_a_collection_costs_at_most_a_tenth_more_than_a_bare_loop(one_processor, entry_of, unit, inputs, report):
    """66 pairs of 12 corpora of 100 vectors, a metric of 1 ms a call; `prepare` included, the worker's start not."""
    entry = entry_of("busy", METRIC, input="embeddings")
    corpora = [[str(i)] * 100 for i in range(12)]

    class Rows(InputEncoder):
        """Vectors of the benchmark's own; looking texts up is not what is measured."""

        def of(self, texts, kind):
            return ARRAY

    namespace: dict = {}
    exec(METRIC, namespace)
    worker_slot = WorkerSlot(Conditions(probe_sandbox()))
    metric = MetricSession(entry, unit, Rows(inputs.cache), worker_slot.start, None, Limits())
    metric.start()
    pairs = separated_pairs(12)
    ratios = []
    for _ in range(7):
        started = time.perf_counter()
        prepared = [namespace["prepare"](ARRAY) for _ in corpora]
        for i, j in pairs:
            namespace["distance"](prepared[i], prepared[j])
        bare = time.perf_counter() - started
        started = time.perf_counter()
        metric.corpus_distances(corpora, pairs)
        ratios.append((time.perf_counter() - started) / bare)
    worker_slot.close()
    report(f"a collection of 66 pairs at 1 ms a call: {statistics.median(ratios):.3f} times a bare loop (at most 1.10)")
    assert statistics.median(ratios) <= 1.10
