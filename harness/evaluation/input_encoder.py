"""Encode texts as what metrics take: texts, tokens, vectors, or vectors of tokens."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from harness.base.hashing import digest_of
from harness.models.embedding_process import EmbeddingTimer
from harness.models.vector_cache import VectorCache, text_key
from harness.models.vector_composition import ComposedVectors, VectorSpec, vector_source
from harness.sandbox.shared_memory import Content
from harness.submission.submission import Entry

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class InputEncoder:
    """Encode texts as the input that an entry takes; close it to end the processes that it started."""

    def __init__(self, cache: VectorCache) -> None:
        self.cache = cache
        self._vocabulary: dict[str, int] = {}               # numbers of tokens, in order
        self._tokens: dict[bytes, array[int]] = {}          # by key of the text, as numbers
        self._lock = threading.Lock()                       # threads share the vocabulary
        self._composed: dict[VectorSpec, VectorCache | ComposedVectors] = {}
        self._timer = EmbeddingTimer()
        self._embedding_seconds: dict[tuple[VectorSpec, str], float] = {}       # by the digest of the texts

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """The tokenizer, loaded when the first metric needs tokens."""
        return self.cache.model.tokenizer()

    def of(self, texts: Sequence[str], entry: Entry) -> Content:
        """Return the texts as the entry's input: texts, tokens, vectors, or vectors of tokens."""
        kind = entry.header.input
        if kind == "embeddings":
            return self.vectors_for(entry.vectors).vectors(texts)
        if kind == "tokens":
            return self._tokenized(texts)
        if kind == "texts":
            return list(texts)
        return self.cache.of_tokens().token_vectors(texts)

    def vectors_for(self, spec: VectorSpec) -> VectorCache | ComposedVectors:
        """Return the source of the vectors that `spec` names."""
        if spec not in self._composed:
            self._composed.setdefault(spec, vector_source(spec, self.cache))
        return self._composed[spec]

    def embedding_seconds(self, texts: Sequence[str], entry: Entry) -> float:
        """Return the seconds that one thread takes to embed texts for an entry; 0 if it takes no vectors.

        They are measured once for all entries that take the same vectors of the same texts.
        """
        if not entry.takes_vectors:
            return 0.0
        key = (entry.vectors, digest_of(list(texts)))
        if key not in self._embedding_seconds:
            self._embedding_seconds[key] = sum(
                self._timer.seconds(cache.model.name, list(some))
                for cache, some in self.vectors_for(entry.vectors).embedded_texts(texts))
        return self._embedding_seconds[key]

    def close(self) -> None:
        """End the processes that measure embedding."""
        self._timer.close()

    def _tokenized(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the tokens of each text, memoized because many test units share texts."""
        keys = list(map(text_key, texts))
        with self._lock:
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._tokens}
            encodings = self._tokenizer.encode_batch(list(new.values()), add_special_tokens=False)
            for key, encoding in zip(new, encodings, strict=True):
                numbers = (self._vocabulary.setdefault(token, len(self._vocabulary)) for token in encoding.tokens)
                self._tokens[key] = array("I", numbers)
            words = list(self._vocabulary)
        return [[words[number] for number in self._tokens[key]] for key in keys]
