"""Notices what a submission tries that the walls refuse, and in which of its lines: for `touchstone check`.

A help for honest authors, whose libraries may swallow the refusal; no part of the walls.  On the standard library alone,
since it runs inside the worker.
"""

import os
import sys
from typing import Any

MOST = 20
NETWORK, PROCESS = "open a network socket", "start another process"
REFUSED = {
    "socket.__new__": NETWORK, "socket.getaddrinfo": "look up a host's name", "socket.gethostbyname": "look up a host's name",
    "os.fork": PROCESS, "os.forkpty": PROCESS, "os.posix_spawn": PROCESS, "os.system": PROCESS, "os.exec": PROCESS,
    "subprocess.Popen": PROCESS, "os.kill": "send a signal", "os.killpg": "send a signal", "os.chmod": "change a file's mode",
    "os.chown": "change a file's owner", "os.link": "make a link", "os.symlink": "make a link",
}


class AuditHook:
    """An audit hook of Python's; it cannot be taken off again."""

    def __init__(self, filename: str, readable: list[str]) -> None:
        self.filename = filename
        self.allowed = tuple(os.path.realpath(path) for path in (*readable, os.getcwd(), "/dev/null"))
        self.noticed: dict[tuple[str, str], None] = {}
        sys.addaudithook(self.look)

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in REFUSED:
            self.note(REFUSED[event], sys._getframe(1), direct=False)
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith(self.allowed):
                self.note(f"open the file {path}", sys._getframe(1), direct=True)

    def note(self, what: str, frame: Any, direct: bool) -> None:
        """Keeps it with the submission's own line; what libraries try to open on their own account is not its doing."""
        library = f"{sys.base_prefix}/lib/python"
        while frame is not None and frame.f_code.co_filename != self.filename:
            if direct and not frame.f_code.co_filename.startswith((library, "<frozen")):
                return
            frame = frame.f_back
        if frame is not None and len(self.noticed) < MOST:
            self.noticed[what[:200], f"{self.filename}:{frame.f_lineno}"] = None
