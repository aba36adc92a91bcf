"""Look at processes through /proc."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def descendants(process: int) -> set[int]:
    """Every living process below one, whatever namespace it is in."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(path.parent.name)] = int(parent)
    found: set[int] = set()
    level = {process}
    while level := {child for child, parent in parents.items() if parent in level} - found:
        found |= level
    return found


def is_other_program(process: int) -> bool:
    """Return whether a process runs another program than this one.

    A process that was started a moment ago still has the memory of the process that started it, until it calls exec.
    """
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != Path("/proc/self/cmdline").read_bytes()
    except OSError:
        return False


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processor_seconds(processes: set[int]) -> float:
    """Return the processor time of living processes, children that they have waited for included."""
    ticks = 0
    for process in processes:
        with contextlib.suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def read_memory(process: int) -> list[bytes]:
    """Return the readable memory of a process, region by region."""
    regions = []
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in maps.readlines():
            (start, end), mode = (int(edge, 16) for edge in line.split()[0].split("-")), line.split()[1]
            if "r" not in mode or "[v" in line:                     # [vvar] and [vsyscall] belong to the kernel
                continue
            content = bytearray()
            with contextlib.suppress(OSError):                      # pages of a file beyond its end
                memory.seek(start)
                while len(content) < end - start and (chunk := memory.read(end - start - len(content))):
                    content += chunk
            regions.append(bytes(content))
    return regions
