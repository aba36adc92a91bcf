"""Which layers stand between a metric and the machine.

One interface, whatever can be had: `confine()` says which layers are in force and how a supervisor of workers is launched.
The layers: a process of its own with bounds and a death signal (`harness/launcher.py`), and walls that each worker puts up
around itself before it sees a line of the submission (`harness/sandbox.py`).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

PROCESS = ("process", "rlimits", "death-signal")
WALLS = ("landlock", "seccomp", "no-new-privileges", "unprivileged")
SYSTEM_FILES = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo",
                "/dev/urandom", "/proc/self/maps", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")


@dataclass(frozen=True)
class Limits:
    """What a metric may use.  A limit that bites is named in the record."""

    seconds_per_unit: float = 300.0
    seconds_to_start: float = 120.0         # to load the file: importing torch cold is slow
    seconds_per_entry: float = 14_400.0     # all units together; then the rest is given up
    failures_in_a_row: int = 5              # units of one task out of time, before the rest of them is given up
    memory_bytes: int = 8_000_000_000       # of address space; torch alone maps more than two
    file_bytes: int = 256_000_000           # the largest file it may write
    open_files: int = 256
    output_characters: int = 2_000          # of what it prints, kept for a failure record


@dataclass(frozen=True)
class Confinement:
    """The layers in force, named as they are recorded with every result."""

    layers: tuple[str, ...]

    def command(self, worker: Sequence[str], environment: Mapping[str, str], limits: Limits) -> list[str]:
        """The command that sets the bounds and then becomes the worker's interpreter."""
        launch = {"parent": os.getpid(), "memory": limits.memory_bytes, "command": list(worker),
                  "environment": dict(environment)}
        return [sys.executable, "-I", "-S", str(HERE / "launcher.py"), json.dumps(launch)]

    def walls(self, limits: Limits) -> dict[str, Any] | None:
        """What a worker's own walls leave open; None for no walls."""
        if "landlock" not in self.layers:
            return None
        return {"readable": [f"{sys.base_prefix}/lib", *libraries(), *SYSTEM_FILES],
                "bounds": {"RLIMIT_NOFILE": limits.open_files, "RLIMIT_FSIZE": limits.file_bytes}}


TRUSTING = Confinement(PROCESS)             # for one's own files: `--trust`
CONFINING = Confinement((*PROCESS, *WALLS))


def interpreter() -> list[str]:
    """Python for a worker.  Not -I, which would ignore PYTHONHASHSEED: its parts, and an environment that is all ours."""
    return [sys.executable, "-P", "-s", "-S", "-B", "-X", "utf8"]


def libraries() -> list[str]:
    """The folders of installed packages, without the places that editable installs add."""
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]


def environment(temporary: Path) -> dict[str, str]:
    """Everything a worker finds in its environment: one thread, one hash seed, no network libraries, no home."""
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
    return {**dict.fromkeys(one_thread, "1"),
            "MALLOC_TRIM_THRESHOLD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "67108864",
            "PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin", "HOME": str(temporary),
            "TMPDIR": str(temporary), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
