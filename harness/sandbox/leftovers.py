"""Remove what killed runs left behind: processes, temporary folders, control groups."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.sandbox.cgroups import left_over
from harness.sandbox.inside.remove_tree import remove_tree

LEFT = re.compile(r"touchstone-([0-9]+)-[a-z0-9_]{8}")


@cache
def sweep() -> None:
    """Removes what runs of this user that were killed have left: processes, temporary folders, control groups."""
    for process in orphans():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for left in Path(tempfile.gettempdir()).glob("touchstone-*"):
        if of_the_dead(left) and left.lstat().st_uid == os.getuid():
            remove_tree(str(left))
    for left in left_over("touchstone-*"):
        if of_the_dead(left):
            with contextlib.suppress(OSError):
                left.rmdir()


def orphans() -> Iterator[int]:
    """Processes in the folder of a run that is no longer there: bubblewrap's, if it was killed while it started."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes().split(b"\0")
            if b"--chdir" not in words[:-1] or place.stat().st_uid != os.getuid():
                continue
            folder = Path(os.fsdecode(words[words.index(b"--chdir") + 1]))
            if folder.parent == Path(tempfile.gettempdir()) and of_the_dead(folder):
                yield int(place.name)


def of_the_dead(left: Path) -> bool:
    """Whether it is one of ours, of a process that is no longer there."""
    named = LEFT.fullmatch(left.name)
    return named is not None and not Path(f"/proc/{named[1]}").exists()
