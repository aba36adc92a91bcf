"""What was noted about something at its first fetch, in a JSON file of ours: `data.lock`, `models.lock` in the cache folder."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from harness.base.errors import TouchstoneError
from harness.base.locks import file_lock


def read_entries(path: Path) -> dict[str, Any]:
    """Name: what was noted; nothing where nothing has been."""
    try:
        notes: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as wrong:
        raise TouchstoneError(f"{path} cannot be read ({wrong}); remove it to start a new one.") from None
    if not isinstance(notes, dict):
        raise TouchstoneError(f"{path} cannot be read (it holds no table); remove it to start a new one.")
    return notes


def write_entry(path: Path, name: str, said: Any) -> None:
    """Writes or replaces one note; a process that is killed leaves the file as it was."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with file_lock(path.with_name(f"{path.name}.guard")):
            partial.write_text(json.dumps({**read_entries(path), name: said}, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            partial.replace(path)
    except OSError as wrong:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise TouchstoneError(f"{path} cannot be written ({wrong.strerror}), so {name} could not be noted. Make room there, or "
                              "set TOUCHSTONE_CACHE to a folder that can be written.") from None
