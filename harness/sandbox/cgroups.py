"""Limit the total memory and threads of a supervisor and its workers with a control group, where possible.

Both versions of control groups are supported. A group is created beside or above the current one, in the nearest place where this
is allowed: almost anywhere as root; as an ordinary user inside a systemd session (`systemd-run --user --scope -p Delegate=yes
touchstone run`).
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
    """Where groups of one kind are mounted, and the files that limit them."""

    mounted: Path
    ours: Path                              # the current group
    bounds: dict[str, str]
    optional: dict[str, str]                # set if the file exists: not all machines have swap accounting

    def places(self) -> Iterator[Path]:
        """Yield the current group and all groups above it."""
        here = self.ours
        while here.is_relative_to(self.mounted):
            yield here
            here = here.parent


def find_hierarchies() -> list[Hierarchy]:
    """Return the hierarchies of this machine that limit memory and processes."""
    ours = {controllers: path for _, controllers, path in
            (line.split(":", 2) for line in OURS.read_text().splitlines())}
    available = []
    for line in MOUNTS.read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        mounted = Path(mount.split()[4])
        if kind.startswith("cgroup2 "):
            available.append(
                Hierarchy(
                    mounted,
                    group_folder(mounted, ours.get("", "/")),
                    {"memory.max": "memory", "pids.max": "processes"},
                    {"memory.swap.max": "nothing"},
                )
            )
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
    """Return a group's folder, or the mount itself if the path lies outside the visible part."""
    folder = mounted / path.lstrip("/")
    return folder if folder.is_dir() else mounted


class ControlGroup:
    """The control group of one supervisor."""

    def __init__(self, name: str, memory: int, processes: int) -> None:
        """Create the group; raise OSError with the reason if that is impossible."""
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
                raise OSError(f"no control group that limits {' and '.join(sorted(missing))} can be created here")
        except OSError:
            self.remove()
            raise
        self._killed = self._out_of_memory()

    @property
    def entrances(self) -> list[str]:
        """The files to which a process writes 0 in order to enter the group."""
        return [str(folder / "cgroup.procs") for folder in self._folders]

    def bit(self) -> bool:
        """Return whether the memory limit has killed a process since the last call."""
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
        """Kill all processes in the group and remove it."""
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
                        break               # a later run removes it
                    time.sleep(0.002)
        self._folders = []


def create_group(hierarchy: Hierarchy, name: str) -> Path | None:
    """Create a group in the nearest place that allows it, with all files that limit it; None if there is none."""
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
    """Write the limits of a group."""
    for file, which in hierarchy.bounds.items():
        (folder / file).write_text(str(values[which]))
    for file, which in hierarchy.optional.items():
        with contextlib.suppress(OSError):
            (folder / file).write_text(str(values[which]))


def find_groups(pattern: str) -> Iterator[Path]:
    """Yield groups whose name matches the pattern, of any run."""
    with contextlib.suppress(OSError):
        for hierarchy in find_hierarchies():
            for parent in hierarchy.places():
                yield from parent.glob(pattern)
