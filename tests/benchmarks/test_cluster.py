"""What a cluster costs: against the local pool, per test unit, and in memory of the coordinator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import touchstone

pytest.importorskip("distributed")

from tests.support.clusters import nodes

pytestmark = pytest.mark.benchmark
OVERHEAD, RATE, COORDINATOR = 1.15, 300, 600    # a ratio, test units per second, MB
METRICS = ("energy", "fid", "mmd", "pr", "cosine[minilm]", "levenshtein", "rouge1", "--only", "known_similarity", "--only", "sensitivity")


def run_many(folder: Path, workers: int, entries: int, units: int, seconds: float) -> dict[str, float]:
    """Run made entries on made test units."""
    with nodes([{}] * workers) as cluster:
        done = subprocess.run([sys.executable, "-c", "from tests.support.many_units import main\n"
                               f"main({str(folder)!r}, {cluster.address!r}, {entries}, {units}, {seconds})"],
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert measured["answered"] == entries * units
    return measured


def test_short_units(tmp_path, report):
    """10,000 units of 5 ms on eight nodes that mostly sleep, so that the scheduler and the store are the limit."""
    measured = run_many(tmp_path, 8, 10, 1_000, 0.005)
    rate = measured["answered"] / measured["seconds"]
    report(f"10,000 test units of 5 ms on eight nodes: {rate:.0f} per second (at least {RATE})")
    assert rate >= RATE


def test_memory_of_the_coordinator(tmp_path, report):
    measured = run_many(tmp_path, 4, 100, 1_000, 0)
    report(f"coordinator of 100,000 test units: {measured['peak']} MB (at most {COORDINATOR}), "
           f"{measured['answered'] / measured['seconds']:.0f} units per second")
    assert measured["peak"] <= COORDINATOR


@pytest.mark.network
def test_overhead_against_the_local_pool(tmp_path, report):
    """The same part of core, vectors at hand, local and on a cluster in turn; the best of two, both with two processors."""
    def run(name: str, *options: str) -> float:
        started = time.monotonic()
        done = touchstone("run", *METRICS, "--suite", "core", "--store", tmp_path / f"{name}.sqlite", "--jobs", 2, *options,
                          timeout=900, separate=True)
        assert done.returncode == 0, done.stderr
        return time.monotonic() - started

    run("first")
    with nodes() as cluster:
        run("warm", "--cluster", cluster.address)           # nodes have imported what they need
        local, remote = [], []
        for number in range(2):
            local.append(run(f"local{number}"))
            remote.append(run(f"remote{number}", "--cluster", cluster.address))
    ratio = min(remote) / min(local)
    report(f"a part of core with vectors at hand on {len(os.sched_getaffinity(0))} processors: {min(local):.1f} s in the local pool, "
           f"{min(remote):.1f} s on a cluster of two nodes, ratio {ratio:.2f} (at most {OVERHEAD})")
    assert ratio <= OVERHEAD
