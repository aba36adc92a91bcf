"""Store arrays of answers by content hash, in files beside a store or in a table of its database."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import zstandard

from harness.base.errors import TouchstoneError


@dataclass(frozen=True)
class StoredArray:
    """A reference to a stored array: its digest, shape and stored size."""

    digest: str
    shape: tuple[int, ...]
    bytes: int                              # compressed


class ArrayStore(Protocol):
    """Stores and returns arrays."""

    def put(self, array: np.ndarray) -> StoredArray:
        """Store an array and return the reference."""

    def get(self, stored: StoredArray) -> np.ndarray:
        """Return the array of a reference."""


def encode_array(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    """Return an array's digest, shape and compressed float32 content."""
    plain = np.ascontiguousarray(array, np.float32)
    content = repr(plain.shape).encode() + b"\n" + plain.tobytes()
    return hashlib.sha256(content).hexdigest(), plain.shape, zstandard.compress(content)


def decode_array(stored: StoredArray, compressed: bytes | None, location: str) -> np.ndarray:
    """Return the array, or raise if its content is missing or damaged."""
    try:
        content = zstandard.decompress(compressed or b"")
    except zstandard.ZstdError:
        content = b""
    if hashlib.sha256(content).hexdigest() != stored.digest:
        raise TouchstoneError(f"The array {stored.digest[:12]} of the store is missing or damaged ({location}); restore it from "
                              "a copy, or run the metric again with --refresh-env.")
    return np.frombuffer(content, np.float32, offset=content.index(b"\n") + 1).reshape(stored.shape)


class ArrayFolder:
    """One file per array."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, array: np.ndarray) -> StoredArray:
        digest, shape, content = encode_array(array)
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}.partial")
            partial.write_bytes(content)
            partial.replace(path)
        return StoredArray(digest, shape, path.stat().st_size)

    def get(self, stored: StoredArray) -> np.ndarray:
        path = self._path(stored.digest)
        return decode_array(stored, path.read_bytes() if path.exists() else None, str(path))

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / f"{digest}.zst"
