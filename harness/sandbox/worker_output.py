"""The output of a worker: drained so that the worker never blocks; the end of it is kept."""

from __future__ import annotations

import contextlib
import os
import select

from harness.base.errors import printable

READS = 64                                  # reads per call: a fast writer would otherwise block forever


class WorkerOutput:
    """The reading end of a pipe."""

    def __init__(self, descriptor: int, characters: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor, self._characters = descriptor, characters
        self._kept = b""

    def drain(self) -> None:
        """Read what was printed and keep the end of it."""
        with contextlib.suppress(OSError):
            for _ in range(READS):
                printed = os.read(self.descriptor, 65_536)
                self._kept = (self._kept + printed)[-self._characters:]
                if not printed:
                    break

    def last(self) -> str:
        """Return the end of what was printed since the last call, safe for a terminal."""
        if self.descriptor >= 0:
            self.drain()
        kept, self._kept = self._kept, b""
        return printable(kept.decode("utf-8", "replace"), self._characters)

    def wait_closed(self, seconds: float) -> None:
        """Wait until no process can print any more, for at most the given time."""
        if self.descriptor >= 0:
            end = select.poll()
            end.register(self.descriptor, 0)        # POLLHUP, when the last writer has closed, is always reported
            end.poll(seconds * 1000)

    def close(self) -> None:
        """Read the rest and close the pipe."""
        if self.descriptor >= 0:
            self.drain()
            os.close(self.descriptor)
            self.descriptor = -1
