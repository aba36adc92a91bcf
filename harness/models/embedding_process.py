"""Embed texts in a child process, so that this process never holds the embedding model.

Usage: `python -m harness.models.embedding_process < request`, where a request is JSON lines: the settings, then one text a line.
The child writes how many texts have got vectors, one number a line, or the sentence of an error. With the setting `timed` it
stores no vectors and writes the seconds that the texts take.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.base.errors import TouchstoneError
from harness.base.memory import limit_arenas, return_freed_memory
from harness.base.paths import PROJECT
from harness.base.progress import NoProgress
from harness.models.encoders import Encoder
from harness.models.vector_cache import VectorCache

PR_SET_PDEATHSIG = 1
MAPPED_BYTES = 8 << 20                      # an allocation of this size is returned as soon as it is freed
NICENESS = 10                               # metrics that run meanwhile have limits on their time, embedding has none


class EmbeddingProcess:
    """A child process that fills a vector cache, or measures how long that takes; it ends with this process."""

    def __init__(self, cache: VectorCache, texts: Iterable[str], threads: int, timed: bool = False) -> None:
        self._model = cache.model.name
        settings = {"model": self._model, "folder": str(cache.root.absolute()), "threads": threads, "parent": os.getpid(),
                    "timed": timed}
        packages = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))
        with tempfile.TemporaryFile() as request:         # an unnamed file, so that no text remains on disk
            request.writelines(json.dumps(item).encode() + b"\n" for item in (settings, *texts))
            request.seek(0)
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__], stdin=request, stdout=subprocess.PIPE, start_new_session=True,
                env={**os.environ, "MALLOC_MMAP_THRESHOLD_": str(MAPPED_BYTES), "PYTHONPATH": packages})

    def advances(self) -> Iterator[float]:
        """Yield how many texts have got vectors, whenever some have, or the seconds; raise if the process fails."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if isinstance(message, str):
                raise TouchstoneError(message)
            yield message
        code = self._process.wait()
        if code:
            how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            raise TouchstoneError(f"The process that embeds texts with {self._model} {how}; completed vectors are kept. Repeat "
                                  "the command to continue, with --jobs 1 if memory is short.")

    def wait(self, seconds: float) -> int | None:
        """Return the exit code, or None if the process is running after so many seconds."""
        try:
            return self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


class _PrintedProgress(NoProgress):
    """Progress as lines for the parent process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        os.write(self._descriptor, f"{amount}\n".encode())
        return_freed_memory()


def time_embedding(cache: VectorCache, texts: Iterable[str]) -> float:
    """Return the seconds that embedding texts takes on one thread, without loading the model."""
    return sum(EmbeddingProcess(cache, texts, threads=1, timed=True).advances())


def time_encoder(encoder: Encoder, texts: Sequence[str]) -> float:
    """Return the seconds that an encoder takes, after a first text that pays for what is initialised once."""
    encode_texts(encoder, texts[:1])
    started = time.perf_counter()
    encode_texts(encoder, texts)
    return time.perf_counter() - started


def encode_texts(encoder: Encoder, texts: Sequence[str]) -> None:
    """Encode texts and discard the vectors."""
    for batch in encoder.batches(texts):
        encoder.encode(batch)


def main() -> None:
    """Embed the texts of the request on standard input."""
    answers = os.dup(1)
    os.dup2(2, 1)                           # whatever a library prints is no answer
    settings = json.loads(sys.stdin.buffer.readline())
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != settings["parent"]:  # it ended before the call above
        sys.exit(1)
    if not settings["timed"]:
        os.nice(NICENESS)
    limit_arenas(1)
    try:
        cache, texts = VectorCache(settings["model"], Path(settings["folder"])), map(json.loads, sys.stdin.buffer)
        if settings["timed"]:
            os.write(answers, f"{time_encoder(cache.model.encoder(), list(texts))}\n".encode())
        else:
            cache.fill(texts, _PrintedProgress(answers), settings["threads"])
    except TouchstoneError as wrong:
        os.write(answers, json.dumps(str(wrong)).encode() + b"\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
