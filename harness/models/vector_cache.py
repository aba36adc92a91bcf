"""A cache of text vectors on disk: every text is embedded once.

The cache of a model is two append-only files: `keys` (the sha256 of each text) and `vectors` (float32 rows in the same order).
Rows are appended to `vectors` first and to `keys` second; a row counts once its key is complete. A process can therefore be
killed at any moment and loses only the current batches. A file lock allows several processes to share a cache.

Which texts share a batch depends on the texts passed to `fill`, not on what is in the cache, and batches are computed and
committed whole. A `fill` that was interrupted and repeated therefore gives bit-identical vectors. Between different calls of
`fill` the vector of a text may differ by rounding (see `SentenceTransformerEncoder`); a text that has a vector keeps it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.files import file_lock
from harness.base.progress import Progress
from harness.models.encoders import Batch, Encoder
from harness.models.registry import find_model

KEY_BYTES = 32
COMMIT_TEXTS = 256


class VectorCache:
    """The cached vectors of one model. Reading does not load the model; `fill` does if a text has no vector yet."""

    def __init__(self, model: str, folder: Path) -> None:
        self.model = find_model(model)
        self.root = folder
        self._siblings: dict[str, VectorCache] = {model: self}
        self.folder = folder / "vectors" / f"{model.replace('/', '--')}-{self.model.fingerprint[:16]}"
        self._rows: dict[bytes, int] = {}
        self._row_of: dict[str, int] = {}
        self._vectors = np.empty((0, self.model.dimensions), np.float32)
        self._lock = threading.Lock()
        self._read()

    def sibling(self, model: str) -> VectorCache:
        """Return the cache of another model in the same folder."""
        with self._lock:
            if model not in self._siblings:
                self._siblings[model] = VectorCache(model, self.root)
            return self._siblings[model]

    def missing(self, texts: Iterable[str]) -> list[str]:
        """Return the texts that have no vector yet, without duplicates."""
        unique = {text_key(text): text for text in texts}
        return [text for key, text in unique.items() if key not in self._rows]

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Return one float32 row per text; all texts must have been filled before."""
        try:
            rows = [self._row(text) for text in texts]
        except KeyError:
            raise LookupError("a text was asked for that its task had not announced") from None
        return self._vectors[rows]

    def _row(self, text: str) -> int:
        """Return the row number of a text, memoized by text."""
        row = self._row_of.get(text)
        if row is None:
            row = self._row_of[text] = self._rows[text_key(text)]
        return row

    def fill(self, texts: Iterable[str], progress: Progress, threads: int) -> int:
        """Embed the texts that have no vector yet and return their number; `threads` batches run in parallel."""
        all_texts = sorted(set(texts))
        missing = set(self.missing(all_texts))
        if not missing:
            return 0
        self.model.verify()
        progress.say(f"{len(missing):,} texts have no {self.model.name} vector yet; each is embedded once and cached.")
        encoder = self.model.encoder()
        stage = progress.stage(f"Embedding with {self.model.name}", len(missing), "texts")
        batches = [batch for batch in encoder.batches(all_texts) if any(all_texts[row] in missing for row in batch.rows)]
        try:
            for rows, vectors in embed_batches(encoder, batches, threads):
                new = [i for i, row in enumerate(rows) if all_texts[row] in missing]
                self._append([all_texts[rows[i]] for i in new], vectors[new])
                stage.advance(len(new))
        finally:
            stage.close()
            self._read()
        return len(missing)

    def _read(self) -> None:
        """Map the files into memory; rows without a complete key are ignored."""
        keys, vectors = self.folder / "keys", self.folder / "vectors"
        if not keys.exists():
            return
        stored_keys = keys.read_bytes()
        count = len(stored_keys) // KEY_BYTES
        self._rows = {stored_keys[i * KEY_BYTES:(i + 1) * KEY_BYTES]: i for i in range(count)}
        if count:
            self._vectors = np.memmap(vectors, np.float32, "r", shape=(count, self.model.dimensions))

    def _append(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        """Append rows, then keys, each flushed to disk; remains of a killed process are truncated first."""
        row_bytes = 4 * self.model.dimensions
        try:
            with self._lock, file_lock(self.folder / "lock"), (self.folder / "keys").open("ab") as keys, \
                    (self.folder / "vectors").open("ab") as rows:
                whole = os.fstat(keys.fileno()).st_size // KEY_BYTES
                keys.truncate(whole * KEY_BYTES)
                rows.truncate(whole * row_bytes)
                rows.write(np.ascontiguousarray(vectors, np.float32).tobytes())
                rows.flush()
                os.fsync(rows.fileno())
                keys.write(b"".join(map(text_key, texts)))
        except OSError as wrong:
            raise TouchstoneError(f"The vectors cannot be written to {self.folder} ({wrong.strerror}). Free disk space there, or "
                                  "set TOUCHSTONE_CACHE to a writable folder; completed work is kept.") from None


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


def text_key(text: str) -> bytes:
    """Return the cache key of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
