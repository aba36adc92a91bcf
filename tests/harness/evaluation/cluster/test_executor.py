"""Runs on Dask clusters: the observations of a local run, lost workers, bad addresses, nodes that differ."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.results.store import Store
from tasks.suite_files import load_suite, suite_fingerprint
from tests.support.command import touchstone
from tests.support.processes import descendants
from tests.support.serving import free_port

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.sandbox, pytest.mark.cli]
TASKS = ("--only", "known_similarity", "--only", "sensitivity", "--only", "axioms")
SLEEPY = "import time\ndef distance(p, q):\n    time.sleep(0.02)\n    return float(abs(len(set(p)) - len(set(q))))\n"


def run(store: Path, *words: object):
    return touchstone("run", *words, "--suite", "smoke", "--store", store, timeout=180)


def answers(store: Path) -> list[tuple[str, str, str, str]]:
    """Return all observations, timings aside."""
    timed = {task_unit.unit.id for task_unit in load_suite("smoke").task_units if task_unit.task.info.alone}
    return [row for row in Store(store, read_only=True).raw() if row[0] not in timed]


def test_a_cluster_gives_the_observations_of_a_local_run(tmp_path):
    """Texts, vectors and tokens; timings run alone on one node."""
    metrics = ("energy", "jaccard", "cosine", "zipf", *TASKS, "--only", "timing")
    for store, options in ((tmp_path / "local.sqlite", ()), (tmp_path / "cluster.sqlite", ("--cluster", "local:2"))):
        done = run(store, *metrics, *options)
        assert done.returncode == 0, done.stderr
    assert len(answers(tmp_path / "local.sqlite")) > 40
    assert answers(tmp_path / "cluster.sqlite") == answers(tmp_path / "local.sqlite")
    assert {row[:3] for row in Store(tmp_path / "cluster.sqlite", read_only=True).raw()} == {
        row[:3] for row in Store(tmp_path / "local.sqlite", read_only=True).raw()}


@pytest.fixture
def scheduler() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and two workers as processes."""
    address = f"tcp://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", address, "--no-dashboard", "--no-show"]
    processes = [subprocess.Popen(command, stderr=subprocess.DEVNULL), *(start_worker(address) for _ in range(2))]
    with distributed.Client(address, timeout=30) as client:
        client.wait_for_workers(2, timeout=60)
    yield address, processes
    for process in processes:
        process.kill()
        process.wait()


def start_worker(address: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
                            stderr=subprocess.DEVNULL)


def test_a_killed_worker_loses_nothing(tmp_path, write, scheduler):
    address, processes = scheduler
    path = write("sleepy", SLEEPY)
    store = tmp_path / "cluster.sqlite"
    command = subprocess.Popen([sys.executable, "-m", "leaderboard", "run", str(path), "--suite", "smoke", "--store", str(store), *TASKS,
                                "--cluster", address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until = time.monotonic() + 60
    while not store.exists() or not Store(store, read_only=True).raw():
        assert time.monotonic() < until
        assert command.poll() is None, command.stdout.read()
        time.sleep(0.05)
    victim = next(process for process in processes[1:] if descendants(process.pid))          # it runs a metric
    os.kill(victim.pid, signal.SIGKILL)
    stored = len(Store(store, read_only=True).raw())
    output, _ = command.communicate(timeout=120)
    assert command.returncode == 0, output
    rows = Store(store, read_only=True).raw()
    assert stored < len(rows), "nothing was pending"
    assert {row[2] for row in rows} <= {"answered", "not applicable"}
    local = tmp_path / "local.sqlite"
    assert run(local, path, *TASKS).returncode == 0
    assert answers(store) == answers(local)


@pytest.mark.parametrize(("address", "sentence"), [
    ("tcp://127.0.0.1:1", "No Dask scheduler answers at tcp://127.0.0.1:1"), ("local:none", '"local:none" names no number of processes'),
    ("nonsense://x", "No Dask scheduler answers at nonsense://x")])
def test_bad_addresses(tmp_path, address, sentence):
    done = run(tmp_path / "store.sqlite", "zipf", "--cluster", address)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_nodes_with_another_suite_are_refused():
    from harness.evaluation.cluster.executor import Cluster
    from harness.evaluation.cluster.node import Requirements

    with pytest.raises(TouchstoneError, match=r"The node tcp://\S+ has another version of the suite \(\w{6}; the command has 000000\)"):
        Cluster("local:1", Requirements(SmokeFingerprint(), "0" * 64))


class SmokeFingerprint:
    """A function that nodes can import."""

    def __call__(self) -> str:
        return suite_fingerprint("smoke")
