"""A connection to a Dask scheduler: whether the nodes may run test units, which of them are there, and what was lost."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from distributed import Client, Future, KilledWorker, LocalCluster

from harness.base.errors import TouchstoneError, printable
from harness.base.paths import DISTRIBUTION
from harness.evaluation.cluster.node import Requirements, find_refusal

CONNECT_SECONDS = 10
CHECK_SECONDS = 2.0                         # without a result, after which the connection is checked
WAIT_SECONDS = 300                          # for a node, while there is none
THREADS_SECONDS = 2.0                       # for which the number of threads is taken as constant
LOCAL = "local:"
START = "Start a scheduler with `dask scheduler`, and workers with `dask worker tcp://… --nthreads 1`."
LOST = "The connection to the scheduler was lost. Repeat the command to continue."


class Connection:
    """A connection to a Dask scheduler, or a cluster of processes on this machine.

    Args:
        address: Address of a scheduler (`tcp://host:8786`), `local:N` for N processes, or the path of a scheduler file.
        required: What every node must have in common with this process.
    """

    def __init__(self, address: str, required: Requirements) -> None:
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)      # the messages below replace its warnings
        self.required = required
        self._local: LocalCluster | None = None
        if address.startswith(LOCAL):
            count = address.removeprefix(LOCAL)
            if not count.isdecimal() or not 1 <= int(count) <= 256:
                raise TouchstoneError(f'"{printable(address, 40)}" has no number of processes; write for example local:2.')
            self._local = LocalCluster(n_workers=int(count), threads_per_worker=1, dashboard_address=None)
        if address.endswith(".json"):
            address = read_address(Path(address))
        try:
            self.client = Client(self._local or address, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            cause = printable(str(error), 100)
            raise TouchstoneError(f"No Dask scheduler answers at {printable(address, 80)} ({cause}). {START}") from None
        self._threads, self._nodes, self._counted, self._occupied = 0, list[str](), 0.0, time.monotonic()
        try:
            self._check_nodes()
        except BaseException:
            self.close()
            raise

    def _check_nodes(self) -> None:
        """Raise if a node may not run test units."""
        def on_nodes(function: Callable[..., Any], *arguments: object) -> dict[str, Any]:
            answers: dict[str, Any] = self.client.run(function, *arguments, on_error="return")
            return answers

        versions, pythons = on_nodes(importlib.metadata.version, DISTRIBUTION), on_nodes(platform.python_version)
        if not versions:
            raise TouchstoneError(f"The cluster has no workers. {START}")
        for node, version in versions.items():      # before a node imports anything of this project
            if (version, pythons[node]) != (self.required.version, self.required.python):
                installed = f"Touchstone {version}" if isinstance(version, str) else "no Touchstone"
                raise TouchstoneError(f"The node {node} has {installed} on Python {pythons[node]}; this "
                                      f"machine has Touchstone {self.required.version} on Python {self.required.python}. Install "
                                      "the same versions everywhere.")
        for node, reason in on_nodes(find_refusal, self.required).items():
            if reason is not None:
                raise TouchstoneError(f"The node {node} {reason}")

    @property
    def threads(self) -> int:
        """The number of groups that the cluster executes at the same time."""
        if time.monotonic() > self._counted + THREADS_SECONDS:
            self.nodes()
        return self._threads

    def nodes(self) -> list[str]:
        """Return the addresses of the workers that the scheduler knows; while it does not answer, those of the last answer."""
        workers = self.client.scheduler_info(n_workers=-1).get("workers")
        if workers is None:
            self._raise_if_closed()
        else:
            self._nodes, self._threads = sorted(workers), sum(worker["nthreads"] for worker in workers.values())
        self._counted = time.monotonic()
        return self._nodes

    def _raise_if_closed(self) -> None:
        if self.client.status in ("closing", "closed"):
            raise TouchstoneError(LOST)

    def others(self, node: str) -> list[str]:
        """Return the workers on other hosts than a worker; those of its own host if there is no other."""
        rest = [other for other in self.nodes() if other != node]
        return [other for other in rest if host_of(other) != host_of(node)] or rest

    def submit(self, function: Callable[..., Any], *arguments: object, workers: list[str] | None = None,
               strict: bool = False) -> Future:
        """Send a call to the cluster; with `strict` to one of the workers, otherwise to one of them if possible."""
        self._raise_if_closed()
        return self.client.submit(function, *arguments, pure=False, workers=workers or None,
                                  allow_other_workers=bool(workers) and not strict)

    def cancel(self, futures: list[Future]) -> None:
        """Cancel what has not been executed."""
        if self.client.status == "running":
            self.client.cancel(futures)

    def result(self, future: Future, action: str) -> Any:
        """Return the result of a call that has ended; a lost node or connection is one sentence."""
        try:
            return future.result()
        except KilledWorker:
            raise TouchstoneError(f"Several nodes were lost, each while {action}; look at the output of `dask worker`.") from None
        except (CancelledError, OSError):
            raise TouchstoneError(LOST) from None

    def lost(self, futures: Iterable[Future]) -> list[str]:
        """Return the keys of calls that a broken connection has lost; raise if the scheduler or all nodes are away for long."""
        self._raise_if_closed()
        if self.client.status != "running":
            return []
        if self.nodes():
            self._occupied = time.monotonic()
        elif time.monotonic() > self._occupied + WAIT_SECONDS:
            raise TouchstoneError(f"The cluster has had no workers for {WAIT_SECONDS} seconds. Start workers, then repeat the "
                                  "command to continue.")
        return [future.key for future in futures if future.status in ("lost", "cancelled")]

    def close(self) -> None:
        """Close the connection, and end the processes of a local cluster."""
        self.client.close()
        if self._local is not None:
            self._local.close()


def read_address(file: Path) -> str:
    """Return the address in the file that `dask scheduler --scheduler-file` writes."""
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TouchstoneError(f"The scheduler file {file} cannot be read ({type(error).__name__}). Write it with `dask scheduler "
                              "--scheduler-file`.") from None


def host_of(node: str) -> str:
    """Return the host in the address of a worker."""
    return node.rpartition(":")[0]
