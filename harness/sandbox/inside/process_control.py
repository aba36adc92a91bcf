"""What a supervisor does to its workers: wait for their end, kill them, and read their peak memory."""

import os
import signal
import time


def reap(worker: int, patience: float) -> int | None:
    """Return how a worker ended, as given by os.waitpid; None if it and its process group had to be killed."""
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
    """Return a worker's peak memory in bytes as counted by the kernel; 0 if it has ended, None if unknown."""
    peak = peak_of_process(worker)
    if peak is not None:
        peak += sum(peak_of_process(program) or 0 for program in children(worker))
    return 0 if peak is None and peak_of_process(os.getpid()) is not None else peak


def children(process: int) -> list[int]:
    """Return the child processes: of a worker, the program that it runs."""
    try:
        with open(f"/proc/{process}/task/{process}/children", "rb") as file:
            return [int(number) for number in file.read().split()]
    except OSError:
        return []


def peak_of_process(process: int) -> int | None:
    """Return the peak memory of one process from /proc."""
    try:
        with open(f"/proc/{process}/status", "rb") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"VmHWM:")), None)
    except OSError:
        return None


def kill_group(leader: int) -> None:
    """Kill all processes of a process group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return                          # the group ended with its leader, or never existed
