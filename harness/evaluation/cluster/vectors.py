"""Vectors for nodes that do not have them: as objects of the remote cache, or with the test units that need them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.remote_cache import DamagedObject, remote_cache
from harness.models.vector_cache import KEY_BYTES, SEGMENT_ROWS, VectorCache

LOG = logging.getLogger("touchstone.cluster")


@dataclass(frozen=True)
class MissingVectors:
    """What a node answers instead of outcomes: keys of texts without a vector, by model, and segments that it could not read."""

    node: str
    keys: dict[str, list[bytes]]
    unreadable: dict[str, str]              # why, by digest


@dataclass(frozen=True)
class SentVectors:
    """Vectors that are sent with test units, by key."""

    model: str
    keys: list[bytes]
    vectors: np.ndarray

    def add_to(self, cache: VectorCache) -> None:
        """Add the vectors to the cache of the node."""
        cache.add(self.keys, self.vectors)


@dataclass(frozen=True)
class StoredVectors:
    """A segment of a cache in the remote cache, by the SHA-256 digest of its content."""

    model: str
    digest: str

    def add_to(self, cache: VectorCache) -> None:
        """Add the vectors to the cache of the node; raise if the object cannot be read or has another content."""
        remote = remote_cache()
        if remote is None:
            raise TouchstoneError("TOUCHSTONE_CACHE_REMOTE is not set on this node")
        content = remote.read_content(self.digest)
        if content is None:
            raise TouchstoneError("there is no such object")
        cache.add_segment(content)


Vectors = SentVectors | StoredVectors


def add_vectors(vectors: Sequence[Vectors], cache: VectorCache) -> dict[str, str]:
    """Add vectors to the cache of a node; return why objects could not be used, by digest."""
    unreadable = {}
    for part in vectors:
        try:
            part.add_to(cache.sibling(part.model))
        except (DamagedObject, TouchstoneError) as error:
            if not isinstance(part, StoredVectors):     # the cache of the node cannot be written
                raise
            unreadable[part.digest] = "its content is damaged" if isinstance(error, DamagedObject) else str(error)
    return unreadable


class VectorProvider:
    """Provides nodes with the vectors of a cache."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache, self._remote = cache, remote_cache()
        self._digests: dict[tuple[str, int], str] = {}      # of complete segments

    def provide(self, missing: MissingVectors) -> list[Vectors]:
        """Return the vectors that a node needs; what the node could not read is written again, and sent this time."""
        provided: list[Vectors] = []
        for digest, reason in missing.unreadable.items():
            LOG.warning("The object %s of the remote cache was refused by the node %s (%s).", digest[:16], missing.node, reason)
        for model, keys in missing.keys.items():
            cache = self._cache.sibling(model)
            cache.refresh()
            if self._remote is not None:
                stored = [StoredVectors(model, self._store(cache, number, missing)) for number in sorted(cache.segments(keys))]
                if not missing.unreadable:
                    provided += stored
                    continue
            provided.append(SentVectors(model, keys, cache.vectors_of(keys)))
        return provided

    def _store(self, cache: VectorCache, number: int, missing: MissingVectors) -> str:
        """Write a segment to the remote cache unless it is there, and return its digest."""
        assert self._remote is not None
        digest = self._digests.get((cache.model.name, number))
        if digest is None or digest in missing.unreadable:
            content = cache.read_segment(number)
            digest = self._remote.write_content(content, replace=bool(missing.unreadable))
            if len(content) == SEGMENT_ROWS * (KEY_BYTES + 4 * cache.model.dimensions):
                self._digests[cache.model.name, number] = digest
        return digest
