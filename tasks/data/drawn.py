"""A cache on disk of what test units draw, where that takes long: generated texts, and the accuracies of classifiers.

It is off until `keep_drawn` is called, so that no text of a private draw or of a user remains on disk.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from harness.base.hashing import code_digest
from harness.base.paths import cache_folder
from harness.base.units import Unit

Drawn = TypeVar("Drawn")
CODE, LIBRARIES = ("tasks",), ("numpy", "scipy", "scikit-learn")
FOLDER = "drawn"

_kept: list[Path] = []                      # the folder, once there is one


def keep_drawn() -> None:
    """Keep what is drawn from now on, for later processes; what other versions of the code have drawn is deleted."""
    folder = cache_folder() / FOLDER / code_digest(CODE, LIBRARIES)[:16]
    with contextlib.suppress(OSError):      # without the cache, units are drawn anew
        folder.mkdir(parents=True, exist_ok=True)
        for other in set(folder.parent.iterdir()) - {folder}:
            shutil.rmtree(other, ignore_errors=True)
        _kept[:] = [folder]


def draw_once(unit: Unit, form: type[Drawn], draw: Callable[[], Drawn]) -> Drawn:
    """Return what a unit has drawn, a dataclass of plain values, or draw it now."""
    if not _kept:
        return draw()
    path, adapter = _kept[0] / f"{unit.id}.json.z", TypeAdapter(form)
    with contextlib.suppress(OSError, zlib.error, ValidationError):         # not drawn yet, or damaged
        return adapter.validate_json(zlib.decompress(path.read_bytes()))
    drawn = draw()
    partial = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):      # a full disk
        partial.write_bytes(zlib.compress(adapter.dump_json(drawn), 1))
        partial.replace(path)
    return drawn
