"""Hosts: where workers come from.

A `Host` is one supervisor process (`harness/worker.py`) behind the layers that can be had, from which fresh workers are
forked in milliseconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from harness.cgroups import left_over
from harness.errors import printable
from harness.faults import Fault, FaultKind
from harness.isolation import HERE, Confinement, Ground, Limits, interpreter, libraries
from harness.worker import FRAME_BYTES, remove_tree
from harness.workers import Worker

DRAINED_READS = 64
PRELOADED = {                               # by distribution: what is worth importing once, before workers are forked
    "numpy": ["numpy", "numpy.random", "numpy.linalg"],
    "scipy": ["scipy.linalg", "scipy.sparse", "scipy.spatial.distance", "scipy.special", "scipy.stats"],
    "rapidfuzz": ["rapidfuzz.distance", "rapidfuzz.process"],
    "scikit-learn": ["sklearn.neighbors", "sklearn.linear_model", "sklearn.cluster"],
}


class Host:
    """One supervisor process and the workers it forks.  To be used by one thread, the one that made it."""

    def __init__(self, confinement: Confinement, limits: Limits, ground: Ground | None = None) -> None:
        self.ground = ground or our_ground()
        self.limits = limits
        sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"touchstone-{os.getpid()}-"))
        self.group = confinement.group(self._folder.name, limits)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wanted = {"control": theirs.fileno(), "libraries": self.ground.libraries, "preload": self.ground.preload,
                  "walls": confinement.walls(self.ground, limits)}
        worker = [*interpreter(), str(HERE / "worker.py"), json.dumps(wanted)]
        self._process = subprocess.Popen(
            confinement.command(worker, self.ground, self._folder, limits, self.group),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self._folder,
            start_new_session=True, pass_fds=[theirs.fileno()], close_fds=True)
        theirs.close()
        self.control = ours
        self.control.settimeout(limits.seconds_to_start)
        self._streams = [stream.fileno() for stream in (self._process.stdout, self._process.stderr) if stream]
        for stream in self._streams:
            os.set_blocking(stream, False)
        self._output = b""
        try:
            self._control({})
        except (OSError, ValueError):
            output = self.output()
            self.close()
            raise RuntimeError(f"the worker's supervisor did not start: {output}") from None

    def _control(self, frame: dict[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Tells the supervisor something and takes its answer; one that does not answer is ended."""
        try:
            if frame:
                socket.send_fds(self.control, [json.dumps(frame).encode()], descriptors)
            reply: dict[str, Any] = json.loads(self.control.recv(FRAME_BYTES))
        except (OSError, ValueError):
            self.kill()
            raise
        return reply

    def fork(self) -> Worker:
        """A fresh worker: it has seen nothing, and what others printed is not laid at its door."""
        self.output()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            process = self._control({"do": "fork"}, [theirs.fileno()])["worker"]
        except (OSError, ValueError):
            ours.close()
            raise Fault(FaultKind.DIED, "the worker's supervisor was gone") from None
        finally:
            theirs.close()
        return Worker(self, process, ours)

    def bury(self, process: int, patience: float) -> int | None:
        """The wait status of a worker that ended, None if it had to be killed or the supervisor is gone too."""
        try:
            status: int | None = self._control({"do": "bury", "worker": process, "patience": patience})["status"]
        except (OSError, ValueError):
            return None
        return status

    def ran_out_of_memory(self) -> bool:
        """Whether the control group has ended a process since this was last asked."""
        return self.group is not None and self.group.bit()

    def drain(self) -> None:
        """Takes what was printed, so that no printer waits for us; keeps the last of it."""
        for stream in self._streams:
            with contextlib.suppress(OSError):
                for _ in range(DRAINED_READS):          # a printer as quick as we are would keep us for ever
                    printed = os.read(stream, 65_536)
                    self._output = (self._output + printed)[-self.limits.output_characters:]
                    if not printed:
                        break

    def output(self) -> str:
        """The last of what was printed since this was last asked, harmless in a terminal."""
        self.drain()
        printed, self._output = self._output, b""
        return printable(printed.decode("utf-8", "replace"), self.limits.output_characters)

    @property
    def streams(self) -> list[int]:
        return self._streams

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the supervisor, and by its death its workers.  Any thread may call this; the owner still closes."""
        self._process.kill()

    def close(self) -> None:
        """Ends the supervisor and cleans up after it."""
        self.control.close()
        self.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()
        self._streams = []
        if self.group is not None:
            self.group.remove()
        remove_tree(str(self._folder))


def our_ground(distributions: Iterable[str] = (), models: Iterable[str] = ()) -> Ground:
    """The harness's own environment; of a submission's dependencies those are preloaded that take long to import.

    No more than it needs, since a larger process forks more slowly.
    """
    named = sorted({"numpy", *(set(distributions) & PRELOADED.keys())})
    return Ground(libraries(), tuple(module for name in named for module in PRELOADED[name]), tuple(sorted(models)))


@cache
def sweep() -> None:
    """Removes what runs that were killed have left: temporary folders, control groups."""
    pattern = "touchstone-[0-9]*-*"
    for left in Path(tempfile.gettempdir()).glob(pattern):
        if of_the_dead(left):
            remove_tree(str(left))
    for left in left_over(pattern):
        if of_the_dead(left):
            with contextlib.suppress(OSError):
                left.rmdir()


def of_the_dead(left: Path) -> bool:
    return not Path(f"/proc/{left.name.split('-')[1]}").exists()
