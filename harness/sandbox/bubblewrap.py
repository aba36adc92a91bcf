"""Run a supervisor in bubblewrap: separate namespaces that contain only what a metric may see.

Landlock prevents a worker from opening other files; in the namespaces other files, processes and networks do not exist.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from functools import cache

NOBODY = "65534"


@cache
def find_bubblewrap() -> str | None:
    """Return the path of the bubblewrap program, or None."""
    return shutil.which("bwrap", path="/usr/bin:/usr/local/bin:/bin")


def bubblewrap_command(command: Sequence[str], readable: Iterable[str], writable: str) -> list[str]:
    """Return the command that runs another command with only the given files and one writable folder."""
    bwrap = find_bubblewrap()
    assert bwrap is not None
    visible = sorted({path for path in readable if not path.startswith(("/proc/", "/dev/")) and os.path.exists(path)})
    return [bwrap, "--unshare-all", "--unshare-user", "--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL",
            "--die-with-parent", "--new-session", "--proc", "/proc", "--dev", "/dev",
            *(word for path in visible for word in ("--ro-bind", path, path)),
            "--bind", writable, writable, "--remount-ro", "/", "--chdir", writable, "--", *command]
