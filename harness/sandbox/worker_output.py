"""What a worker prints: taken so that it never waits for us, and the last of it kept."""

from __future__ import annotations

import contextlib
import os
import select

from harness.base.errors import printable

READS = 64                                  # at a time: a printer as quick as we are would keep us for ever


class WorkerOutput:
    """The reading end of a pipe."""

    def __init__(self, descriptor: int, characters: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor, self._characters = descriptor, characters
        self._kept = b""

    def drain(self) -> None:
        """Takes what was printed, and keeps the last of it."""
        with contextlib.suppress(OSError):
            for _ in range(READS):
                printed = os.read(self.descriptor, 65_536)
                self._kept = (self._kept + printed)[-self._characters:]
                if not printed:
                    break

    def last(self) -> str:
        """The last of what was printed since this was last asked, harmless in a terminal."""
        if self.descriptor >= 0:
            self.drain()
        kept, self._kept = self._kept, b""
        return printable(kept.decode("utf-8", "replace"), self._characters)

    def outlast(self, seconds: float) -> None:
        """Waits until nobody can print any more, at most so long."""
        if self.descriptor >= 0:
            end = select.poll()
            end.register(self.descriptor, 0)        # that the last one who could print has gone is told unasked
            end.poll(seconds * 1000)

    def close(self) -> None:
        """Takes what is left, then lets the pipe go."""
        if self.descriptor >= 0:
            self.drain()
            os.close(self.descriptor)
            self.descriptor = -1
