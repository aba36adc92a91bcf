"""Set the limits of a worker before its interpreter starts, then become that interpreter.

Run as `python -I -S launcher.py '<json>'` with the standard library only, so that nothing of a metric's environment has run when
the limits are set. The JSON holds: parent (process id), memory (bytes), groups (files through which to enter control groups),
command, environment.
"""

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Set the limits and execute the command."""
    wanted = json.loads(sys.argv[1])
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        sys.exit("prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != wanted["parent"]:        # the parent died before the call above, so the signal would never come
        sys.exit("the harness is gone")
    for entrance in wanted["groups"]:
        with open(entrance, "w") as file:
            file.write("0")                     # the writing process
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (wanted["memory"], wanted["memory"]))
    os.execve(wanted["command"][0], wanted["command"], wanted["environment"])


main()
