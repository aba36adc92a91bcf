"""Bounds on the memory and the threads of a host and its workers in sum: a control group, where one can be made.

Both versions of control groups are known.  A group is made beside or above our own, in the nearest place where that is
allowed: as root nearly everywhere; as an ordinary user inside a session of systemd, `systemd-run --user --scope touchstone run`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MOUNTS, OURS = Path("/proc/self/mountinfo"), Path("/proc/self/cgroup")
REAP_SECONDS = 2.0


@dataclass(frozen=True)
class Hierarchy:
    """Where groups of one kind live, and the files that bound them: {file: which bound}."""

    mounted: Path
    ours: Path                              # the group we are in ourselves
    bounds: dict[str, str]
    optional: dict[str, str]                # set where there is such a file: swap is not there everywhere

    def places(self) -> Iterator[Path]:
        """Our own group and every one above it."""
        here = self.ours
        while here.is_relative_to(self.mounted):
            yield here
            here = here.parent


def find_hierarchies() -> list[Hierarchy]:
    """The hierarchies of this machine that bound memory and processes."""
    ours = {controllers: path for _, controllers, path in
            (line.split(":", 2) for line in OURS.read_text().splitlines())}
    available = []
    for line in MOUNTS.read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        mounted = Path(mount.split()[4])
        if kind.startswith("cgroup2 "):
            available.append(Hierarchy(mounted, group_folder(mounted, ours.get("", "/")), {"memory.max": "memory", "pids.max": "processes"},
                                       {"memory.swap.max": "nothing"}))
        elif kind.startswith("cgroup "):
            controllers = kind.split()[2].split(",")
            path = next((path for names, path in ours.items() if set(names.split(",")) & set(controllers)), "/")
            if "memory" in controllers:
                available.append(Hierarchy(mounted, group_folder(mounted, path), {"memory.limit_in_bytes": "memory"},
                                           {"memory.memsw.limit_in_bytes": "memory"}))
            if "pids" in controllers:
                available.append(Hierarchy(mounted, group_folder(mounted, path), {"pids.max": "processes"}, {}))
    return available


def group_folder(mounted: Path, path: str) -> Path:
    """A group's folder; the mount itself if what we are told lies outside of what we can see."""
    folder = mounted / path.lstrip("/")
    return folder if folder.is_dir() else mounted


class ControlGroup:
    """A control group, made for one host."""

    def __init__(self, name: str, memory: int, processes: int) -> None:
        """Makes it, or raises OSError with the reason why none can be made."""
        values = {"memory": memory, "processes": processes, "nothing": 0}
        self._folders: list[Path] = []
        missing = set(values) - {"nothing"}
        try:
            for hierarchy in find_hierarchies():
                if set(hierarchy.bounds.values()) & missing:
                    folder = create_group(hierarchy, name)
                    if folder is not None:
                        self._folders.append(folder)
                        write_bounds(folder, hierarchy, values)
                        missing -= set(hierarchy.bounds.values())
            if missing:
                raise OSError(f"no control group that bounds {' and '.join(sorted(missing))} can be made here")
        except OSError:
            self.remove()
            raise
        self._killed = self._out_of_memory()

    @property
    def entrances(self) -> list[str]:
        """The files that a process writes 0 to in order to be in it, and everything it starts."""
        return [str(folder / "cgroup.procs") for folder in self._folders]

    def bit(self) -> bool:
        """Whether the bound on memory has ended a process since this was last asked."""
        before, self._killed = self._killed, self._out_of_memory()
        return self._killed > before

    def _out_of_memory(self) -> int:
        for folder in self._folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    for line in (folder / name).read_text().splitlines():
                        if line.startswith("oom_kill "):
                            return int(line.split()[1])
        return 0

    def remove(self) -> None:
        """Ends whatever is still in it, then the group itself."""
        until = time.monotonic() + REAP_SECONDS
        for folder in self._folders:
            while True:
                with contextlib.suppress(OSError):
                    for process in (folder / "cgroup.procs").read_text().split():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(process), signal.SIGKILL)
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > until:
                        break               # a later run sweeps it up
                    time.sleep(0.002)
        self._folders = []


def create_group(hierarchy: Hierarchy, name: str) -> Path | None:
    """A new group in the nearest place that lets us, with all the files that bound it."""
    for parent in hierarchy.places():
        folder = parent / name
        try:
            folder.mkdir()
        except OSError:
            continue
        if all(os.access(folder / file, os.W_OK) for file in (*hierarchy.bounds, "cgroup.procs")):
            return folder
        folder.rmdir()
    return None


def write_bounds(folder: Path, hierarchy: Hierarchy, values: dict[str, int]) -> None:
    for file, which in hierarchy.bounds.items():
        (folder / file).write_text(str(values[which]))
    for file, which in hierarchy.optional.items():
        with contextlib.suppress(OSError):
            (folder / file).write_text(str(values[which]))


def find_groups(pattern: str) -> Iterator[Path]:
    """Groups of that name, of whatever run."""
    with contextlib.suppress(OSError):
        for hierarchy in find_hierarchies():
            for parent in hierarchy.places():
                yield from parent.glob(pattern)
