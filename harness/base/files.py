"""File locks, and lock files (`data.lock`, `models.lock`): JSON files that record fingerprints at the first fetch."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.base.errors import TouchstoneError


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; other processes block until it is released.

    The file is never deleted, because deleting it would create a race.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_entries(path: Path) -> dict[str, Any]:
    """Return the entries of a lock file by name; empty if the file does not exist."""
    try:
        notes: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TouchstoneError(f"{path} cannot be read ({error}); delete it, and a new file is created.") from None
    if not isinstance(notes, dict):
        raise TouchstoneError(f"{path} cannot be read (it is not a JSON object); delete it, and a new file is created.")
    return notes


def write_entry(path: Path, name: str, value: Any) -> None:
    """Write or replace one entry; the file is replaced atomically."""
    _replace_entries(path, name, lambda entries: {**entries, name: value})


def remove_entry(path: Path, name: str) -> bool:
    """Remove one entry atomically; return whether there was one."""
    present = name in read_entries(path)
    if present:
        _replace_entries(path, name, lambda entries: {key: value for key, value in entries.items() if key != name})
    return present


def _replace_entries(path: Path, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with file_lock(path.with_name(f"{path.name}.guard")):
            partial.write_text(json.dumps(change(read_entries(path)), indent=1, sort_keys=True) + "\n", encoding="utf-8")
            partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise TouchstoneError(f"{path} cannot be written ({error.strerror}), so {name} could not be recorded. Free disk space, "
                              "or set TOUCHSTONE_CACHE to a writable folder.") from None
