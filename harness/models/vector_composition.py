"""Vectors composed of cached vectors: several models concatenated, or means over the chunks of long texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from harness.base.hashing import digest_of
from harness.base.progress import Progress
from harness.base.units import Source
from harness.models.registry import model_fingerprint
from harness.models.vector_cache import VectorCache

READ_AT_ONCE = 256                          # texts


class VectorSpec(NamedTuple):
    """Which vectors an entry takes; the default is the vectors of the suite's model."""

    models: tuple[str, ...] = ()            # several: their unit vectors are concatenated
    in_chunks: bool = False                 # a text longer than the model's window is the mean of its chunks
    of_tokens: bool = False                 # a vector per token


SUITE_VECTORS = VectorSpec()
TOKEN_VECTORS = VectorSpec(of_tokens=True)


class ComposedVectors:
    """The unit vectors of several models, concatenated; a cosine of rows is the mean of the models' cosines."""

    def __init__(self, caches: Sequence[VectorCache], in_chunks: bool) -> None:
        self._parts: list[VectorCache | ChunkedVectors] = [ChunkedVectors(cache) if in_chunks else cache for cache in caches]

    def fill(self, texts: Iterable[str], progress: Progress, threads: int) -> int:
        """Embed missing texts and return their number, summed over the models."""
        return sum(cache.fill(wanted, progress, threads) for cache, wanted in self.embedded_texts(texts))

    def embedded_texts(self, texts: Iterable[str]) -> list[tuple[VectorCache, list[str]]]:
        """Return which texts or chunks are embedded for the vectors of these texts, by cache."""
        wanted = list(texts)
        return [request for part in self._parts for request in part.embedded_texts(wanted)]

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text; all texts must have been filled before."""
        return np.hstack([normalize_rows(part.vectors(texts)) for part in self._parts])


class ChunkedVectors:
    """For each text the mean of the unit vectors of its chunks, each as long as the model's window."""

    def __init__(self, cache: VectorCache) -> None:
        self._cache = cache
        self._chunks: dict[str, list[str]] = {}         # chunks of texts that were split before

    def embedded_texts(self, texts: Iterable[str]) -> list[tuple[VectorCache, list[str]]]:
        """Return the chunks of the texts, with their cache."""
        return [(self._cache, list(dict.fromkeys(chunk for some in self.chunks(list(texts)) for chunk in some)))]

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return one row per text; all texts must have been filled before."""
        cut = self.chunks(texts)
        rows = normalize_rows(self._cache.vectors([chunk for some in cut for chunk in some]))
        counts = np.array([len(some) for some in cut], dtype=int)
        starts = np.cumsum(counts) - counts
        return np.add.reduceat(rows, starts, axis=0) / counts[:, None].astype(np.float32) if len(cut) else rows

    def chunks(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the consecutive chunks of each text."""
        window = self._cache.model.window
        new = [text for text in dict.fromkeys(texts) if text not in self._chunks] if window is not None else []
        if window is not None and new:
            tokenizer = self._cache.model.tokenizer()
            most = max(1, window - tokenizer.num_special_tokens_to_add(False))
            for start in range(0, len(new), READ_AT_ONCE):
                some = new[start:start + READ_AT_ONCE]
                for text, read in zip(some, tokenizer.encode_batch(some, add_special_tokens=False), strict=True):
                    self._chunks[text] = split_text(text, read.offsets, read.word_ids, most)
        return [self._chunks.get(text) or [text] for text in texts]


def split_text(text: str, offsets: Sequence[tuple[int, int]], words: Sequence[int | None], most: int) -> list[str]:
    """Split a text into pieces of at most `most` tokens, between words unless a single word is longer."""
    pieces, start = [], 0
    if len(offsets) <= most:
        return [text]
    while start < len(offsets):
        stop = min(start + most, len(offsets))
        between = stop
        while start < between < len(offsets) and words[between] is not None and words[between] == words[between - 1]:
            between -= 1
        stop = between if between > start else stop
        pieces.append(text[offsets[start][0]:offsets[stop - 1][1]])
        start = stop
    return pieces


def vector_source(spec: VectorSpec, cache: VectorCache) -> VectorCache | ComposedVectors:
    """Return the source of the vectors that `spec` names; `cache` holds the vectors of the suite's model."""
    if spec == SUITE_VECTORS:
        return cache
    if spec == TOKEN_VECTORS:
        return cache.of_tokens()
    return ComposedVectors([cache.sibling(name) for name in spec.models] or [cache], spec.in_chunks)


def vector_model_id(spec: VectorSpec, suite_model: Source) -> Source:
    """Return name and fingerprint of the vectors that `spec` names, for signatures."""
    if spec in (SUITE_VECTORS, TOKEN_VECTORS):
        return suite_model
    models = [Source(name, model_fingerprint(name)) for name in spec.models] or [suite_model]
    names = [model.name for model in models] + ["chunks"] * spec.in_chunks
    if len(names) == 1:
        return models[0]
    return Source("+".join(names), digest_of([[model.fingerprint for model in models], spec.in_chunks]))


def normalize_rows(rows: np.ndarray) -> np.ndarray:
    """Scale rows to length one; rows of zeros are kept."""
    lengths: np.ndarray = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, np.float32(1e-12)))
