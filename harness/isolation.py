"""Which layers stand between a metric and the machine, and the command that puts them there.

One interface, whatever can be had: `confine()` says which layers are in force and how the supervisor of the workers is
launched.  Today the layers are a process of its own, resource bounds and a death signal; nothing here stops a file that
means harm.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Limits:
    """What a metric may use.  A limit that bites is named in the record."""

    seconds_per_unit: float = 300.0
    seconds_to_start: float = 120.0         # to load the file: importing torch cold is slow
    seconds_per_entry: float = 14_400.0     # all units together; then the rest is given up
    failures_in_a_row: int = 5              # units of one task out of time, before the rest of them is given up
    memory_bytes: int = 8_000_000_000       # of address space; torch alone maps more than two
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


def confine() -> Confinement:
    """The strongest set of layers that can be had here."""
    return Confinement(layers=("process", "rlimits", "death-signal"))


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
