"""Record what a submission attempts and the sandbox refuses, with the line number, for `touchstone check`.

This helps honest authors whose libraries swallow the error; it is no part of the protection.
"""

import os
import sys
from typing import Any

MOST = 20
NETWORK, PROCESS = "open a network socket", "start another process"
VARIABLE = "read the environment variable"
REFUSED = {
    "socket.__new__": NETWORK, "socket.getaddrinfo": "look up a host's name", "socket.gethostbyname": "look up a host's name",
    "os.fork": PROCESS, "os.forkpty": PROCESS, "os.posix_spawn": PROCESS, "os.system": PROCESS, "os.exec": PROCESS,
    "subprocess.Popen": PROCESS, "os.kill": "send a signal", "os.killpg": "send a signal", "os.chmod": "change a file's mode",
    "os.chown": "change a file's owner", "os.link": "make a link", "os.symlink": "make a link",
}


class AuditHook:
    """A Python audit hook; it cannot be removed."""

    def __init__(self, filename: str, readable: list[str]) -> None:
        self.filename = filename
        self.allowed = tuple(os.path.realpath(path) for path in (*readable, os.getcwd(), "/dev/null"))
        self.refused_attempts: dict[tuple[str, str], None] = {}
        sys.addaudithook(self.look)
        encode = os.environ.encodekey   # called for every access; no audit event exists for reading

        def look_up(key: Any) -> Any:
            encoded = encode(key)
            self.note_variable(key, sys._getframe(1))
            return encoded
        os.environ.encodekey = look_up

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Record an event that the sandbox refuses."""
        if event in REFUSED:
            self.note(REFUSED[event], sys._getframe(1), direct=False)
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith(self.allowed):
                self.note(f"open the file {path}", sys._getframe(1), direct=True)

    def note_variable(self, key: str, access: Any) -> None:
        """Record that the submission reads an environment variable that is not set, or a library an API key."""
        if access.f_code.co_name != "__getitem__" or os.fsencode(key) in access.f_locals["self"]._data:
            return
        reader = access
        while reader is not None and reader.f_code.co_filename.startswith(("<frozen", os.__file__)):
            reader = reader.f_back          # methods of os.environ, and os.getenv
        if reader is not None and (reader.f_code.co_filename == self.filename or key.endswith("API_KEY")):
            self.note(f"{VARIABLE} {key}", reader, direct=False)

    def note(self, what: str, frame: Any, direct: bool) -> None:
        """Record an attempt with the submission's own line; what libraries open on their own account is ignored."""
        library = f"{sys.base_prefix}/lib/python"
        while frame is not None and frame.f_code.co_filename != self.filename:
            if direct and not frame.f_code.co_filename.startswith((library, "<frozen")):
                return
            frame = frame.f_back
        if frame is not None and len(self.refused_attempts) < MOST:
            self.refused_attempts[what[:200], f"{self.filename}:{frame.f_lineno}"] = None
