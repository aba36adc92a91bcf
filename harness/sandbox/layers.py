"""The layers of the sandbox.

A `Sandbox` names the active layers and builds the command that launches a supervisor. The layers are: a separate process with
limits and a death signal (`inside/launcher.py`), restrictions that each worker applies to itself before it loads a submission
(`inside/syscall_filter.py`), and where the machine supports them a control group (`cgroups.py`) and namespaces (`bubblewrap.py`).
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base.paths import PROJECT
from harness.sandbox.bubblewrap import bubblewrap_command
from harness.sandbox.cgroups import ControlGroup
from harness.sandbox.limits import Limits

INSIDE = Path(__file__).parent / "inside"     # what runs in the sandbox, loaded by path
PROJECT_FOLDERS = ("harness", "tasks", "submissions", "leaderboard", "results")      # where the project is installed as a package

PROCESS_LAYERS = ("process", "rlimits", "death-signal")
REQUIRED_LAYERS = ("landlock", "seccomp", "no-new-privileges", "unprivileged")    # without these, untrusted files are refused
SIZED_TMPFS, CGROUP, BUBBLEWRAP = "sized-tmpfs", "cgroup", "bubblewrap"
OPTIONAL_LAYERS = (SIZED_TMPFS, CGROUP, BUBBLEWRAP)                            # total limits, and namespaces
SYSTEM_FILES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo",
                "/dev/urandom", "/proc/self/maps", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
PROGRAM_FILES = ("/etc/perl", "/usr/share/perl", "/usr/share/perl5", "/usr/share/nodejs", "/usr/share/java")       # libraries
SUPERVISOR_BYTES = 300_000_000              # memory of a supervisor beside its worker, libraries included
SUPERVISOR_THREADS = 8
PR_SET_DUMPABLE = 4


@dataclass(frozen=True)
class WorkerEnvironment:
    """What the workers of a supervisor get: library folders, preloaded modules, model folders."""

    libraries: tuple[str, ...]
    preload: tuple[str, ...] = ()           # only from the harness's own environment: it happens outside the sandbox
    models: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()        # for a metric that is a program: the interpreter, and the loader of its libraries


@dataclass(frozen=True)
class Sandbox:
    """The active layers, as recorded with every result, and why others are missing."""

    layers: tuple[str, ...]
    lacking: dict[str, str] = field(default_factory=dict, compare=False)

    def group(self, name: str, limits: Limits) -> ControlGroup | None:
        """Return a new control group for a supervisor of that name, or None."""
        if CGROUP not in self.layers:
            return None
        return ControlGroup(name, limits.memory_bytes + SUPERVISOR_BYTES, limits.threads + SUPERVISOR_THREADS)

    def command(
        self, worker: Sequence[str], ground: WorkerEnvironment, folder: Path, limits: Limits, group: ControlGroup | None
    ) -> list[str]:
        """Return the command that sets the limits, enters the outer layers and becomes the worker's interpreter."""
        if BUBBLEWRAP in self.layers:
            worker = bubblewrap_command(worker, [*readable_paths(ground), *ground.models, worker[0], str(INSIDE)], str(folder))
        launch = {"parent": os.getpid(), "memory": limits.memory_bytes, "groups": group.entrances if group else [],
                  "command": list(worker), "environment": environment_variables(folder)}
        return [sys.executable, "-I", "-S", str(INSIDE / "launcher.py"), json.dumps(launch)]

    def entry_settings(self, ground: WorkerEnvironment, limits: Limits) -> dict[str, Any] | None:
        """Return the settings with which each worker restricts itself; None without a sandbox."""
        if "landlock" not in self.layers:
            return None
        bounds = {"RLIMIT_NOFILE": limits.open_files, "RLIMIT_FSIZE": limits.file_bytes,
                  "RLIMIT_CPU": limits.processor_seconds, "RLIMIT_NPROC": limits.threads}
        temporary = {"size": limits.temporary_bytes, "nr_inodes": limits.temporary_files} if SIZED_TMPFS in self.layers else None
        files = [*readable_paths(ground), str(INSIDE / "audit_hook.py"), str(INSIDE / "program.py")]
        return {"readable": files, "listed": shared_library_folders(ground), "bounds": bounds, "temporary": temporary,
                "executable": list(ground.executable)}


NO_SANDBOX = Sandbox(PROCESS_LAYERS)             # for trusted files: `--trust`
CONFINING = Sandbox((*PROCESS_LAYERS, *REQUIRED_LAYERS))


def interpreter_command() -> list[str]:
    """Return the Python command of a worker.

    The flags are those of -I, except that PYTHONHASHSEED is respected. Output is unbuffered, so that what a metric prints before
    it fails is recorded.
    """
    return [os.path.realpath(sys.executable), "-P", "-s", "-S", "-B", "-u", "-X", "utf8"]


def library_folders() -> tuple[str, ...]:
    """Return the folders of installed packages, without those that editable installs add."""
    return tuple(path for path in sys.path if Path(path).name in ("site-packages", "dist-packages"))


def shared_library_folders(ground: WorkerEnvironment) -> list[str]:
    """Return the library folders in which this project itself is installed."""
    return [folder for folder in ground.libraries if Path(folder).resolve() == PROJECT]


def readable_paths(ground: WorkerEnvironment) -> list[str]:
    """Return the readable paths: Python, libraries, and system files; never the files of this project."""
    shared = shared_library_folders(ground)
    beside = [str(path) for folder in shared for path in Path(folder).iterdir() if path.name not in PROJECT_FOLDERS]
    return [f"{sys.base_prefix}/lib", *(folder for folder in ground.libraries if folder not in shared), *beside, *SYSTEM_FILES,
            *(PROGRAM_FILES if ground.executable else ()), *ground.executable]


def environment_variables(temporary: Path) -> dict[str, str]:
    """Return all environment variables of a worker: one thread, a fixed hash seed, no network libraries, no home."""
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
    # it imports any backend that is installed
    backends = (f"POT_BACKEND_DISABLE_{name}" for name in ("JAX", "PYTORCH", "TENSORFLOW", "CUPY"))
    return {**dict.fromkeys((*one_thread, *backends), "1"),
            "MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 29),   # freed memory is reused
            "PYTHONHASHSEED": "0", "JOBLIB_MULTIPROCESSING": "0", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
            "HOME": str(temporary), "TMPDIR": str(temporary), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def disable_ptrace() -> None:
    """Prevent other processes of this user from reading this process's memory, environment and descriptors."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
