"""Sets the bounds of a worker before its interpreter starts, then becomes that interpreter.

Run as `python -I -S launcher.py '<json>'` with the standard library alone, so that nothing of a metric's environment has
run yet when the bounds are set.  The JSON: parent (process id), memory (bytes), groups (files to enter control groups by),
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
    wanted = json.loads(sys.argv[1])
    if ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        sys.exit("prctl(PR_SET_PDEATHSIG) was refused")
    if os.getppid() != wanted["parent"]:        # it died before the call above: nobody would be told
        sys.exit("the harness is gone")
    for entrance in wanted["groups"]:
        with open(entrance, "w") as file:
            file.write("0")                     # whoever writes this
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (wanted["memory"], wanted["memory"]))
    os.execve(wanted["command"][0], wanted["command"], wanted["environment"])


main()
