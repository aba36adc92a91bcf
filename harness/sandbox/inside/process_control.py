"""What a supervisor does to its workers: burying them, and reading what memory they have held.

On the standard library alone, as everything that runs in a worker's environment.
"""

import os
import signal
import time


def reap(worker: int, patience: float) -> int | None:
    """How a worker ended, as os.waitpid puts it; None if it had to be killed, with all of its process group."""
    until = time.monotonic() + patience
    while True:
        reaped, status = os.waitpid(worker, os.WNOHANG)
        if reaped:
            kill_group(worker)
            return status
        if time.monotonic() >= until:
            break
        time.sleep(0.002)
    kill_group(worker)
    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)
    return None


def peak_memory(worker: int) -> int | None:
    """The most bytes that a worker has held at once, by the kernel's account; 0 if it has ended, None where nobody counts."""
    peak = peak_of_process(worker)
    return 0 if peak is None and peak_of_process(os.getpid()) is not None else peak


def peak_of_process(process: int) -> int | None:
    try:
        with open(f"/proc/{process}/status", "rb") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"VmHWM:")), None)
    except OSError:
        return None


def kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return                          # the group ended with its leader, or never came to be
