"""Arrays of answers, kept beside the store in files named by their content."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import zstandard

from harness.errors import Refusal


@dataclass(frozen=True)
class StoredArray:
    """Where an array is, and how large: what a record says of it."""

    digest: str
    shape: tuple[int, ...]
    bytes: int                              # on disk


class ArrayFolder:
    """float32 arrays, compressed; one that is there already is not written again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, array: np.ndarray) -> StoredArray:
        plain = np.ascontiguousarray(array, np.float32)
        content = repr(plain.shape).encode() + b"\n" + plain.tobytes()
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}.partial")
            partial.write_bytes(zstandard.compress(content))
            partial.replace(path)
        return StoredArray(digest, plain.shape, path.stat().st_size)

    def get(self, stored: StoredArray) -> np.ndarray:
        path = self._path(stored.digest)
        try:
            content = zstandard.decompress(path.read_bytes())
        except (OSError, zstandard.ZstdError):
            content = b""
        if hashlib.sha256(content).hexdigest() != stored.digest:
            raise Refusal(f"The array {stored.digest[:12]} of the store is missing or damaged ({path}); "
                          "restore the folder beside the store, or run the metric again with --refresh-env.")
        return np.frombuffer(content, np.float32, offset=content.index(b"\n") + 1).reshape(stored.shape)

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.zst"
