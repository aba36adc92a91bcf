"""Objects that machines share, in a folder or an object store that fsspec can reach (`TOUCHSTONE_CACHE_REMOTE`).

The content of an object is checked by who reads it: its name contains a hash of its content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from harness.base.errors import TouchstoneError, printable

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

VARIABLE = "TOUCHSTONE_CACHE_REMOTE"


class DamagedObject(Exception):
    """An object does not have the content that its name promises."""


class RemoteCache:
    """A folder or a bucket behind an fsspec URL, such as `file:///shared/touchstone` or `s3://bucket/touchstone`."""

    def __init__(self, address: str) -> None:
        import fsspec

        self.address = address
        try:
            self._files: AbstractFileSystem
            self._files, self._root = fsspec.url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise TouchstoneError(f"{VARIABLE} is {printable(address, 80)}, which cannot be used ({error}).") from None
        self._present: set[str] = set()         # objects that this process has written or seen

    def read(self, name: str) -> bytes | None:
        """Return the content of an object, or None if there is none."""
        try:
            content: bytes = self._files.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return None
        except Exception as error:              # noqa: BLE001  # each kind of store raises errors of its own
            raise self._unusable("read", error) from None
        return content

    def write(self, name: str, make: Callable[[], bytes], replace: bool = False) -> None:
        """Write an object unless it is there; its content is made only then."""
        path = f"{self._root}/{name}"
        try:
            if replace or (name not in self._present and not self._files.exists(path)):
                content = make()
                if "file" in self._files.protocol:      # readers never find a part of it; other stores write atomically
                    self._files.makedirs(os.path.dirname(path), exist_ok=True)
                    partial = f"{path}.{os.getpid()}"
                    self._files.pipe_file(partial, content)
                    os.replace(partial, path)
                else:
                    self._files.pipe_file(path, content)
        except Exception as error:              # noqa: BLE001
            raise self._unusable("written", error) from None
        self._present.add(name)

    def read_content(self, digest: str) -> bytes | None:
        """Return the object whose content has this SHA-256 digest, or None; raise `DamagedObject` if it has another one."""
        content = self.read(f"sha256/{digest}")
        if content is not None and hashlib.sha256(content).hexdigest() != digest:
            raise DamagedObject(digest)
        return content

    def write_content(self, content: bytes, replace: bool = False) -> str:
        """Write an object under the SHA-256 digest of its content, and return the digest."""
        digest = hashlib.sha256(content).hexdigest()
        self.write(f"sha256/{digest}", lambda: content, replace)
        return digest

    def _unusable(self, verb: str, error: Exception) -> TouchstoneError:
        return TouchstoneError(f"The remote cache {printable(self.address, 80)} ({VARIABLE}) cannot be {verb}: "
                               f"{printable(str(error), 120) or type(error).__name__}.")


def remote_cache() -> RemoteCache | None:
    """Return the remote cache that `TOUCHSTONE_CACHE_REMOTE` names, or None."""
    address = os.environ.get(VARIABLE)
    return _open_remote(address) if address else None


_open_remote = cache(RemoteCache)
