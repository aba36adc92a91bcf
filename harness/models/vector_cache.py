"""A cache of text vectors on disk: every text is embedded once.

The cache of a model is two append-only files: `keys` (the sha256 of each text) and `vectors` (float32 rows in the same order).
Rows are appended to `vectors` first and to `keys` second; a row counts once its key is complete. A process can therefore be
killed at any moment and loses only the current batches. A file lock allows several processes to share a cache.

Which texts share a batch depends on the texts passed to `fill`, not on what is in the cache, and batches are computed and
committed whole. A `fill` that was interrupted and repeated therefore gives bit-identical vectors. Between different calls of
`fill` the vector of a text may differ by rounding (see `SentenceTransformerEncoder`); a text that has a vector keeps it.

The vectors of tokens are kept likewise; after the hash of a text, `keys` has the number of its tokens.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.base.errors import NotApplicable, TouchstoneError
from harness.base.files import file_lock
from harness.base.memory import return_freed_memory
from harness.base.progress import Progress
from harness.models.encoders import Batch, Encoder
from harness.models.registry import find_model

KEY_BYTES, COUNT_BYTES = 32, 4
COMMIT_TEXTS = 256
SEGMENT_ROWS = 1_024                        # rows that are sent to another machine together
REMEMBERED_TEXTS = 16_384                   # whose keys are not computed again


class VectorCache:
    """The cached vectors of one model. Reading does not load the model; `fill` does if a text has no vector yet."""

    kind = ""                                   # the end of the folder's name

    def __init__(self, model: str, folder: Path) -> None:
        self.model = find_model(model)
        self.root = folder
        self._siblings: dict[str, VectorCache] = {model: self}
        self._tokens: TokenVectorCache | None = None
        self.folder = folder / "vectors" / f"{model.replace('/', '--')}-{self.model.fingerprint[:16]}{self.kind}"
        self._rows: dict[bytes, int] = {}
        self._count = 0                         # rows that were read from the file of keys
        self._lock = threading.Lock()
        self.refresh()

    def sibling(self, model: str) -> VectorCache:
        """Return the cache of another model in the same folder."""
        with self._lock:
            if model not in self._siblings:
                self._siblings[model] = VectorCache(model, self.root)
            return self._siblings[model]

    def of_tokens(self) -> TokenVectorCache:
        """Return the cache of the vectors of tokens of this model, in the same folder."""
        if not self.model.has_token_vectors:
            raise NotApplicable(f"the model {self.model.name} has no vectors of tokens")
        with self._lock:
            if self._tokens is None:
                self._tokens = TokenVectorCache(self.model.name, self.root)
            return self._tokens

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector yet, without duplicates."""
        unique = {text_key(text): text for text in texts}
        return [text for key, text in unique.items() if key not in self._rows]

    def has(self, text: str) -> bool:
        """Return whether a text has a vector."""
        return text_key(text) in self._rows

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text; all texts must have been filled before."""
        try:
            return self.vectors_of([text_key(text) for text in texts])
        except KeyError:
            raise LookupError("the vector of a text was requested that `texts` of its task does not return") from None

    def vectors_of(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return one float32 row per key of a text."""
        rows = [self._rows[key] for key in keys]
        found = np.empty((len(rows), self.model.dimensions), np.float32)
        if rows:                                # read, because pages of a mapped file count as memory of this process
            with (self.folder / "vectors").open("rb", buffering=0) as file:
                for place, row in enumerate(rows):
                    os.preadv(file.fileno(), [found[place]], row * found.itemsize * self.model.dimensions)
        return found

    def segments(self, keys: Iterable[bytes]) -> set[int]:
        """Return the numbers of the segments with the vectors of these keys; a segment is `SEGMENT_ROWS` consecutive rows."""
        return {self._rows[key] // SEGMENT_ROWS for key in keys}

    def read_segment(self, number: int) -> bytes:
        """Return the keys of a segment, then its vectors; `add_segment` takes them on another machine."""
        start, count = number * SEGMENT_ROWS, min(SEGMENT_ROWS, self._count - number * SEGMENT_ROWS)
        parts = []
        for name, width in (("keys", KEY_BYTES), ("vectors", 4 * self.model.dimensions)):
            with (self.folder / name).open("rb") as file:
                file.seek(start * width)
                parts.append(file.read(count * width))
        return b"".join(parts)

    def add_segment(self, content: bytes) -> None:
        """Add the vectors of a segment."""
        count = len(content) // (KEY_BYTES + 4 * self.model.dimensions)
        keys = [content[row * KEY_BYTES:(row + 1) * KEY_BYTES] for row in range(count)]
        self.add(keys, np.frombuffer(content, np.float32, offset=count * KEY_BYTES).reshape(count, self.model.dimensions))

    def add(self, keys: Sequence[bytes], vectors: np.ndarray) -> int:
        """Add the vectors of keys that have none yet, and return their number."""
        self.refresh()
        new = [row for row, key in enumerate(keys) if key not in self._rows]
        if new:
            self._append([keys[row] for row in new], vectors[new])
            self.refresh()
        return len(new)

    def fill(self, texts: Iterable[str], progress: Progress, threads: int) -> int:
        """Embed the texts that have no vector yet and return their number; `threads` batches run in parallel."""
        ordered = sorted(set(texts))
        keys = list(map(hash_text, ordered))    # not `text_key`, which would keep texts
        missing = {key for key in keys if key not in self._rows}
        if not missing:
            return 0
        self.model.verify()
        progress.say(missing_message(len(missing), self.model.name))
        encoder = self.model.encoder()
        stage = progress.stage(f"Embedding with {self.model.name}", len(missing), "texts")
        batches = [batch for batch in encoder.batches(ordered) if any(keys[row] in missing for row in batch.rows)]
        del ordered                             # texts can be large, and what is left to do needs their keys only
        return_freed_memory()                   # tokenizing needs more than its result
        try:
            for rows, vectors in embed_batches(encoder, batches, threads):
                new = [i for i, row in enumerate(rows) if keys[row] in missing]
                self._append([keys[rows[i]] for i in new], vectors[new])
                stage.advance(len(new))
        finally:
            stage.close()
            self.refresh()
        return len(missing)

    def embedded_texts(self, texts: Iterable[str]) -> list[tuple[VectorCache, list[str]]]:
        """Return which texts are embedded for the vectors of these texts, by cache."""
        return [(self, list(texts))]

    def refresh(self) -> None:
        """Read the keys, with those that other processes have added; one that is not complete is ignored."""
        keys = self.folder / "keys"
        if not keys.exists():
            return
        with keys.open("rb") as file:
            file.seek(KEY_BYTES * self._count)
            added = file.read()
        for start in range(0, len(added) - KEY_BYTES + 1, KEY_BYTES):
            self._rows[added[start:start + KEY_BYTES]] = self._count
            self._count += 1

    def _append(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Append rows, then keys, each flushed to disk; remains of a killed process are truncated first."""
        try:
            with self._lock, file_lock(self.folder / "lock"), (self.folder / "keys").open("ab") as stored, \
                    (self.folder / "vectors").open("ab") as rows:
                whole_keys, whole_rows = self._whole(os.fstat(stored.fileno()).st_size)
                stored.truncate(whole_keys)
                rows.truncate(whole_rows)
                rows.write(np.ascontiguousarray(vectors, np.float32).tobytes())
                rows.flush()
                os.fsync(rows.fileno())
                stored.write(b"".join(keys))
        except OSError as error:
            raise TouchstoneError(f"The vectors cannot be written to {self.folder} ({error.strerror}). Free disk space there, or "
                                  "set TOUCHSTONE_CACHE to a writable folder; completed work is kept.") from None

    def _whole(self, key_bytes: int) -> tuple[int, int]:
        """Return the bytes of both files that belong to complete keys."""
        return key_bytes // KEY_BYTES * KEY_BYTES, 4 * self.model.dimensions * (key_bytes // KEY_BYTES)


class VectorsInMemory(VectorCache):
    """The vectors of some texts, which are not stored."""

    def __init__(self, model: str, texts: Sequence[str], vectors: np.ndarray) -> None:
        super().__init__(model, Path(os.devnull))           # no file can be below it
        self._vectors = vectors
        self._rows = {text_key(text): row for row, text in enumerate(texts)}

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        return self._vectors[[self._rows[text_key(text)] for text in texts]]


class TokenVectorCache(VectorCache):
    """The cached vectors of tokens: for each text one row per token, its vector followed by its number and its weight."""

    kind = "-tokens"

    def __init__(self, model: str, folder: Path) -> None:
        self._ends: list[int] = [0]             # of the rows of each text
        super().__init__(model, folder)

    def token_vectors(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Return an array per text, read-only; all texts must have been filled before."""
        rows, columns = [self._rows[text_key(text)] for text in texts], self.model.dimensions + 2
        with (self.folder / "vectors").open("rb", buffering=0) as file:
            spans = [(self._ends[row], self._ends[row + 1]) for row in rows]
            return [np.frombuffer(os.pread(file.fileno(), 4 * columns * (stop - start), 4 * columns * start), np.float32)
                    .reshape(-1, columns) for start, stop in spans]

    def fill(self, texts: Iterable[str], progress: Progress, threads: int) -> int:
        """Embed the tokens of the texts that have no vectors yet and return the number of these texts."""
        ordered = sorted(set(texts))
        missing = {text_key(text) for text in self.missing(ordered)}
        if not missing:
            return 0
        self.model.verify()
        encoder: Any = self.model.encoder()
        batches = [batch for batch in encoder.batches(ordered) if any(text_key(ordered[row]) in missing for row in batch.rows)]
        stage = progress.stage(f"Embedding tokens with {self.model.name}", len(missing), "texts")
        try:
            with ThreadPoolExecutor(threads) as pool:
                for batch, arrays in zip(batches, pool.map(encoder.encode_tokens, batches), strict=True):
                    new = {text_key(ordered[row]): array for row, array in zip(batch.rows, arrays, strict=True)
                           if text_key(ordered[row]) in missing}
                    self._append([key + len(array).to_bytes(COUNT_BYTES, "little") for key, array in new.items()],
                                 np.concatenate([*new.values()]))
                    stage.advance(len(new))
        finally:
            stage.close()
            self.refresh()
        return len(missing)

    def add(self, keys: Sequence[bytes], vectors: np.ndarray) -> int:
        """Refuse: vectors of another machine do not say how many tokens a text has."""
        raise NotImplementedError("vectors of tokens are not exchanged between machines")

    def refresh(self) -> None:
        keys = self.folder / "keys"
        if not keys.exists():
            return
        with keys.open("rb") as file:
            file.seek((KEY_BYTES + COUNT_BYTES) * self._count)
            added = file.read()
        size = KEY_BYTES + COUNT_BYTES
        for start in range(0, len(added) - size + 1, size):
            self._rows[added[start:start + KEY_BYTES]] = self._count
            self._ends.append(self._ends[-1] + int.from_bytes(added[start + KEY_BYTES:start + size], "little"))
            self._count += 1

    def _whole(self, key_bytes: int) -> tuple[int, int]:
        self.refresh()
        return self._count * (KEY_BYTES + COUNT_BYTES), 4 * (self.model.dimensions + 2) * self._ends[-1]


def embed_batches(encoder: Encoder, batches: Sequence[Batch], threads: int) -> Iterator[tuple[list[int], np.ndarray]]:
    """Yield row numbers and their vectors in portions that are worth committing; a portion holds whole batches."""
    with ThreadPoolExecutor(threads) as pool:
        running: dict[Future[np.ndarray], Batch] = {}
        rows: list[int] = []
        vectors: list[np.ndarray] = []
        try:
            for batch in batches:
                running[pool.submit(encoder.encode, batch)] = batch
                if len(running) < 2 * threads:
                    continue
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    rows += running.pop(done).rows
                    vectors.append(done.result())
                if len(rows) >= COMMIT_TEXTS:
                    yield rows, np.concatenate(vectors)
                    rows, vectors = [], []
            for done, batch in running.items():
                rows += batch.rows
                vectors.append(done.result())
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    if rows:
        yield rows, np.concatenate(vectors)


def missing_message(count: int, model: str) -> str:
    """Return the message that precedes the embedding of texts."""
    return f"{count:,} texts have no {model} vector yet; each is embedded once and cached."


def hash_text(text: str) -> bytes:
    """Return the cache key of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


text_key = lru_cache(REMEMBERED_TEXTS)(hash_text)
