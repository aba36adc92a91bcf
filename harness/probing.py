"""Whether the walls stand here: found out by running at them, once a process."""

from __future__ import annotations

from functools import cache

from harness.errors import Refusal
from harness.faults import Fault
from harness.isolation import CONFINING, TRUSTING, Confinement, Limits
from harness.workers import Host

# Each attempt answers 1 if it got through.
PROBE = b"""
import os, socket

def attempt(what):
    try:
        what()
    except OSError:
        return 0
    return 1

def fork():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

def distance(p, q):
    return float(1 * attempt(lambda: open("/etc/passwd").close())
                 + 2 * attempt(lambda: open(f"/tmp/touchstone-probe-{os.getpid()}", "x").close())
                 + 4 * attempt(lambda: socket.socket().close()) + 8 * attempt(fork) + 16 * (os.getuid() == 0))
"""
ATTEMPTS = {1: "read /etc/passwd", 2: "write outside its folder", 4: "open a socket", 8: "start a process", 16: "be root"}


def breaches(confinement: Confinement) -> list[str]:
    """What a metric could do here behind these layers, though it should not."""
    host = Host(confinement, Limits())
    try:
        worker = host.fork()
        worker.load(PROBE, "probe.py", {}, {})
        got_through = int(worker.number("distance", [["a"], ["b"]], 0))
    finally:
        host.close()
    return [what for bit, what in ATTEMPTS.items() if got_through & bit]


@cache
def confine(trust: bool = False) -> Confinement:
    """The layers for a run: all walls, tried; or, for files that the user trusts, a process of its own."""
    if trust:
        return TRUSTING
    try:
        found = breaches(CONFINING)
    except (Fault, RuntimeError) as wrong:
        raise Refusal(f"A metric cannot be walled in on this machine ({wrong}), and a stranger's file is not run without. "
                      "On Linux 6.7 or later it can; files whose source you have read run with --trust.") from None
    if found:
        raise Refusal(f"The walls around a metric do not hold on this machine: it could {', '.join(found)}. "
                      "Files whose source you have read run with --trust.")
    return CONFINING
