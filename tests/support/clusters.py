"""Dask clusters of real processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import distributed

from harness.base.errors import TouchstoneError
from harness.results.store import Store
from tasks.suite_files import load_suite
from tests.support.serving import free_port

TASKS = ("--only", "known_similarity", "--only", "sensitivity", "--only", "axioms")
SLEEPY = "import time\ndef distance(p, q):\n    time.sleep(0.02)\n    return float(abs(len(set(p)) - len(set(q))))\n"


@dataclass
class Nodes:
    """A scheduler and workers, as processes."""

    address: str
    prefix: Sequence[str] = ()              # of the command of the scheduler
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_scheduler(self) -> None:
        self.scheduler = subprocess.Popen([*self.prefix, sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", self.address,
                                           "--no-dashboard", "--no-show"], stderr=subprocess.DEVNULL)

    def start_worker(self, prefix: Sequence[str] = (), **environment: object) -> subprocess.Popen[bytes]:
        command = [*prefix, sys.executable, "-P", "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        worker = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, **{name: str(value) for name, value in environment.items()}})
        self.workers.append(worker)
        return worker

    def wait(self, count: int) -> None:
        with distributed.Client(self.address, timeout=30) as client:
            client.wait_for_workers(count, timeout=60)

    def stop(self) -> None:
        for process in [*self.workers, *filter(None, [self.scheduler])]:
            process.kill()
            process.wait()


@contextlib.contextmanager
def nodes(environments: Sequence[dict[str, object]] = ({}, {})) -> Iterator[Nodes]:
    """Start a scheduler, and a worker for each environment."""
    cluster = Nodes(f"tcp://127.0.0.1:{free_port()}")
    try:
        cluster.start_scheduler()
        for environment in environments:
            cluster.start_worker(**environment)
        if environments:
            cluster.wait(len(environments))
        yield cluster
    finally:
        cluster.stop()


def start_run(store: Path | str, *words: object, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start a run on the suite smoke in a process."""
    return subprocess.Popen([*prefix, sys.executable, "-m", "leaderboard", "run", *map(str, words), "--suite", "smoke", "--store", str(store)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def count_stored(store: Path | str) -> int:
    """Return the number of outcomes in a store that may not exist yet."""
    with contextlib.suppress(TouchstoneError):
        opened = Store(store, read_only=True)
        try:
            return len(opened.completed())
        finally:
            opened.close()
    return 0


def wait_for(condition: Callable[[], bool], command: subprocess.Popen[str], seconds: float = 90) -> None:
    """Wait until a condition holds, while a command works."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "took too long"
        assert command.poll() is None, command.stdout.read()
        time.sleep(0.05)


def answers(store: Path | str) -> list[tuple[str, str, str, str]]:
    """Return all observations, timings aside."""
    timed = {task_unit.unit.id for task_unit in load_suite("smoke").task_units if task_unit.task.info.alone}
    return [row for row in Store(store, read_only=True).raw() if row[0] not in timed]
