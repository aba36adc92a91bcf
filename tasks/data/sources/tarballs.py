"""Read members of npm tarballs and Debian packages into memory; nothing is extracted, installed or executed.

Archives are read once, from front to back. Names that leave the archive, links in place of files, and archives that grow beyond
bounds are refused.
"""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

import zstandard

MEMBER_BYTES = 64 << 20
UNPACKED_BYTES = 1 << 30
AR_MAGIC, AR_HEADER = b"!<arch>\n", 60
DECOMPRESSORS: dict[str, Callable[[IO[bytes]], Any]] = {
    "data.tar": lambda file: file,
    "data.tar.gz": partial(gzip.GzipFile, None, "rb", 9),
    "data.tar.xz": lzma.LZMAFile,
    "data.tar.zst": lambda file: zstandard.ZstdDecompressor().stream_reader(file),
}


class BoundedReader(io.RawIOBase):
    """A decompressed stream that ends with an error at a number of bytes."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream, self._left, self._limit = stream, limit, limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        content: bytes = self._stream.read(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(content)
        if self._left < 0:
            raise ValueError(f"it is larger than {self._limit:,} bytes when decompressed")
        return content


def read_tarball(path: Path, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return the wanted files of an npm tarball or a Debian package by name.

    Raises:
        ValueError: A name leaves the archive, a wanted member is no regular file, or a size exceeds its bound.
    """
    members: dict[str, bytes] = {}
    with path.open("rb") as file, gzip.open(path) as unzipped:
        stream = open_data(file) if file.read(len(AR_MAGIC)) == AR_MAGIC else unzipped
        with tarfile.open(fileobj=BoundedReader(stream, UNPACKED_BYTES), mode="r|") as archive:
            for entry in archive:
                name = entry.name.removeprefix("./")
                if entry.name.startswith("/") or ".." in PurePosixPath(name).parts:
                    raise ValueError(f"the name {entry.name[:80]!r} leaves the archive")
                if entry.size > MEMBER_BYTES:
                    raise ValueError(f"{name[:80]!r} has {entry.size:,} bytes; at most {MEMBER_BYTES:,} are read")
                if entry.isdir() or not wanted(name):
                    continue
                content = archive.extractfile(entry) if entry.isreg() else None
                if content is None or name in members:
                    raise ValueError(f"{name[:80]!r} is {'there twice' if name in members else 'no regular file'}")
                members[name] = content.read()
    return members


def open_data(file: IO[bytes]) -> Any:
    """Return the decompressed files of a Debian package, an ar archive whose magic number has been read."""
    while header := file.read(AR_HEADER):
        name, size = header[:16].decode("ascii").rstrip(" /"), int(header[48:58])
        if name in DECOMPRESSORS:
            return DECOMPRESSORS[name](io.BytesIO(file.read(size)))
        file.seek(size + size % 2, io.SEEK_CUR)
    raise ValueError(f"it has none of {', '.join(DECOMPRESSORS)}")
