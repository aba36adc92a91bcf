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

from harness.sandbox.cgroups import find_groups
from harness.sandbox.inside.remove_tree import remove_tree

FOLDER_NAME = re.compile(r"touchstone-([0-9]+)-[a-z0-9_]{8}")


@cache
def remove_leftovers() -> None:
    """Remove what killed runs of this user left behind: processes, temporary folders, control groups."""
    for process in orphan_processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for left in Path(tempfile.gettempdir()).glob("touchstone-*"):
        if has_dead_owner(left) and left.lstat().st_uid == os.getuid():
            remove_tree(str(left))
    for left in find_groups("touchstone-*"):
        if has_dead_owner(left):
            with contextlib.suppress(OSError):
                left.rmdir()


def orphan_processes() -> Iterator[int]:
    """Yield processes whose run has ended, such as a bubblewrap that was killed while starting."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"--chdir" not in words[:-1] or process.stat().st_uid != os.getuid():
                continue
            folder = Path(os.fsdecode(words[words.index(b"--chdir") + 1]))
            if folder.parent == Path(tempfile.gettempdir()) and has_dead_owner(folder):
                yield int(process.name)


def has_dead_owner(left: Path) -> bool:
    """Return whether a folder belongs to a process of this project that has ended."""
    named = FOLDER_NAME.fullmatch(left.name)
    return named is not None and not Path(f"/proc/{named[1]}").exists()
