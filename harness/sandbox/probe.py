"""Test which layers of the sandbox work on this machine, by attacking them once per process."""

from __future__ import annotations

import os
import secrets
from functools import cache

from harness.base.errors import TouchstoneError
from harness.sandbox import bubblewrap
from harness.sandbox.cgroups import ControlGroup
from harness.sandbox.faults import Fault, SupervisorLost
from harness.sandbox.layers import (
    BUBBLEWRAP,
    CGROUP,
    NO_SANDBOX,
    OPTIONAL_LAYERS,
    PROCESS_LAYERS,
    REQUIRED_LAYERS,
    SIZED_TMPFS,
    Sandbox,
    disable_ptrace,
)
from harness.sandbox.limits import Limits
from harness.sandbox.supervisor import Supervisor

# Each attack returns 1 if it succeeded.
PROBE = b"""
import os, socket, threading, time

def attempt(what):
    try:
        what()
    except (OSError, RuntimeError):
        return 0
    return 1

def fork():
    if os.fork() == 0:
        os._exit(0)
    os.wait()

def fill():
    with open("full", "wb") as file:
        file.write(bytes(2_000_000))

def crowd():
    for _ in range(40):
        threading.Thread(target=time.sleep, args=(0.2,), daemon=True).start()

def distance(p, q):
    return float(1 * attempt(lambda: open("/etc/passwd").close())
                 + 2 * attempt(lambda: open(f"/tmp/touchstone-probe-{os.getpid()}", "x").close())
                 + 4 * attempt(lambda: socket.socket().close()) + 8 * attempt(fork) + 16 * (os.getuid() == 0)
                 + 32 * attempt(fill) + 64 * attempt(lambda: os.stat("/etc/passwd")) + 128 * attempt(crowd))
"""
BREACHES = {1: "read /etc/passwd", 2: "write outside its folder", 4: "open a socket", 8: "start a process", 16: "be root"}
PROVED_BY = {32: SIZED_TMPFS, 64: BUBBLEWRAP, 128: CGROUP}
PROBED = Limits(temporary_bytes=1_000_000, threads=8)


def find_breaches(confinement: Sandbox) -> int:
    """Return what a metric could do inside these layers: one bit for each attack."""
    host = Supervisor(confinement, PROBED)
    try:
        worker = host.fork()
        worker.load(PROBE, "probe.py", {}, {})
        return int(worker.call("distance", [["a"], ["b"]], 0))
    finally:
        host.close()


@cache
def probe_sandbox(trust: bool = False) -> Sandbox:
    """Return the sandbox for a run: all required layers, and the optional ones that work.

    With `trust`, a separate process and nothing more.
    """
    disable_ptrace()
    if trust:
        return NO_SANDBOX
    lacking = at_hand()
    while True:
        optional = [layer for layer in OPTIONAL_LAYERS if layer not in lacking]
        confinement = Sandbox((*PROCESS_LAYERS, *REQUIRED_LAYERS, *optional), lacking)
        try:
            breaches_bits = find_breaches(confinement)
        except (Fault, SupervisorLost, OSError) as error:
            if optional:
                lacking[optional[-1]] = str(error)
                continue
            raise TouchstoneError(f"The sandbox does not work on this machine ({error}), so no metric is run. It needs "
                                  "Linux 6.7 or later. Use --trust for files that you have reviewed.") from None
        breaches = [what for bit, what in BREACHES.items() if breaches_bits & bit]
        if breaches:
            raise TouchstoneError(f"The sandbox is not effective on this machine: a metric could {', '.join(breaches)}. "
                                  "Use --trust for files that you have reviewed.")
        useless = [layer for bit, layer in PROVED_BY.items() if breaches_bits & bit and layer in optional]
        if not useless:
            return confinement
        lacking |= dict.fromkeys(useless, "it is available, but not effective")


def at_hand() -> dict[str, str]:
    """Return why optional layers are not available, by layer."""
    lacking = {}
    if bubblewrap.find_bubblewrap() is None:
        lacking[BUBBLEWRAP] = "not installed (on Debian and Ubuntu: apt-get install bubblewrap)"
    try:
        ControlGroup(f"touchstone-{os.getpid()}-{secrets.token_hex(4)}", PROBED.memory_bytes, PROBED.threads).remove()
    except OSError as error:
        lacking[CGROUP] = f"{error}; with systemd, start Touchstone with systemd-run --user --scope -p Delegate=yes"
    return lacking
