"""Bubblewrap around a host: namespaces of its own, in which nothing exists but what a metric may see.

Landlock keeps a worker from opening other files; in here there are none, no other processes and no network to be seen either.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from functools import cache

NOBODY = "65534"


@cache
def find_bubblewrap() -> str | None:
    """Where bubblewrap is installed."""
    return shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")


def bubblewrap_command(command: Sequence[str], readable: Iterable[str], writable: str) -> list[str]:
    """The command that runs another one where only these files and that folder are."""
    bwrap = find_bubblewrap()
    assert bwrap is not None
    visible = sorted({path for path in readable if not path.startswith(("/proc/", "/dev/")) and os.path.exists(path)})
    return [bwrap, "--unshare-all", "--unshare-user", "--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL",
            "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev",
            *(word for path in visible for word in ("--ro-bind", path, path)),
            "--bind", writable, writable, "--remount-ro", "/", "--chdir", writable, "--", *command]
