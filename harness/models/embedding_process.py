"""Embed texts in a child process, so that this process never holds the embedding model.

Usage: `python -m harness.models.embedding_process < request`, where a request is JSON lines: the settings, then one text a line.
The child writes how many texts have got vectors, one number a line, or the sentence of an error. With the purpose `plan` it
stores no vectors and writes the rows of each batch. With the setting `resident` it keeps the model loaded: every further line is
a list of texts, and the child writes their number and their dimensions as JSON, then the vectors.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.memory import limit_arenas, return_freed_memory
from harness.base.paths import PROJECT
from harness.base.progress import NoProgress
from harness.models.api_services import SERVICES
from harness.models.encoders import Encoder
from harness.models.registry import find_model
from harness.models.vector_cache import TokenVectorCache, VectorCache, VectorsInMemory, embed_batches

Purpose = Literal["fill", "plan"]
PR_SET_PDEATHSIG = 1
MAPPED_BYTES = 8 << 20                      # an allocation of this size is returned as soon as it is freed
NICENESS = 10                               # metrics that run meanwhile have limits on their time, embedding has none
TIMED_SECONDS = 3_600                       # within which texts must be embedded whose embedding is timed
IDLE_SECONDS = 900                          # without a request, after which a resident process ends
WAKE_SECONDS = 0.5                          # between checks of whether to wait any longer
PIPE_BYTES = 1 << 20


class EmbeddingProcess:
    """A child process that fills a vector cache, or plans it; it ends with this process."""

    def __init__(self, cache: VectorCache, texts: Iterable[str], threads: int, purpose: Purpose = "fill") -> None:
        self._model = cache.model.name
        settings = {"model": self._model, "folder": str(cache.root.absolute()), "threads": threads, "parent": os.getpid(),
                    "purpose": purpose, "tokens": isinstance(cache, TokenVectorCache)}
        with tempfile.TemporaryFile() as request:         # an unnamed file, so that no text remains on disk
            request.writelines(json.dumps(item).encode() + b"\n" for item in (settings, *texts))
            request.seek(0)
            self._process = start_process(request)

    def advances(self) -> Iterator[Any]:
        """Yield how many texts have got vectors, whenever some have, or batches; raise if the process fails."""
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


class ResidentEmbedding:
    """A child process that keeps a model loaded and embeds texts; use it from one thread at a time.

    It starts at the first request or with `start`. It ends with this process, whose end closes its standard input, and after
    `IDLE_SECONDS` without a request; the next request then starts another.
    """

    def __init__(self, model: str, threads: int) -> None:
        self.model, self._threads = model, threads
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process unless it is running; it accepts requests while it loads the model."""
        if not self.alive:
            find_model(self.model).path()       # raises for a paid web API, which would charge the owner of the server
            self.close()
            self._process = start_process(subprocess.PIPE)
            self._send({"model": self.model, "threads": self._threads, "resident": True})

    def embed(self, texts: Sequence[str], seconds: float) -> VectorsInMemory:
        """Return the vectors of texts; raise if they are not complete after so many seconds."""
        deadline = time.monotonic() + seconds
        for attempt in (1, 2):                  # the process may have ended since the last request
            try:
                self.start()
                self._send(list(texts))
                return VectorsInMemory(self.model, texts, self._receive(deadline))
            except (BrokenPipeError, EOFError) as error:
                self.close()
                if attempt == 2:
                    raise TouchstoneError("The texts could not be embedded; the error is in the output of the server.") from error
        raise AssertionError("unreachable")

    def _send(self, message: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _receive(self, deadline: float) -> np.ndarray:
        """Return the vectors that the process writes."""
        assert self._process is not None
        assert self._process.stdout is not None
        content, shape, size = bytearray(), None, 0
        output = select.poll()                  # select() takes no descriptor above 1023
        output.register(self._process.stdout, select.POLLIN)
        while shape is None or len(content) < size:
            while not output.poll(1000 * WAKE_SECONDS):
                if time.monotonic() > deadline or not threading.main_thread().is_alive():
                    self.close()
                    raise TouchstoneError("The texts could not be embedded in time; try fewer or shorter texts.")
            part = os.read(self._process.stdout.fileno(), PIPE_BYTES)
            if not part:
                raise EOFError
            content += part
            if shape is None and b"\n" in content:
                head, _, content = content.partition(b"\n")
                shape = json.loads(head)
                if isinstance(shape, str):
                    raise TouchstoneError(shape)
                size = 4 * shape[0] * shape[1]
        return np.frombuffer(bytes(content), np.float32).reshape(shape)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class EmbeddingTimer:
    """Measures how long one thread takes to embed texts, in processes that keep their models loaded."""

    def __init__(self) -> None:
        self._processes: dict[str, ResidentEmbedding] = {}

    def seconds(self, model: str, texts: Sequence[str]) -> float:
        """Return the seconds that embedding texts takes, without loading the model."""
        if model in SERVICES:
            return time_encoder(find_model(model).encoder(), texts)
        process = self._processes.setdefault(model, ResidentEmbedding(model, threads=1))
        process.embed(texts[:1], TIMED_SECONDS)             # starts the process, which loads the model
        started = time.perf_counter()
        process.embed(texts, TIMED_SECONDS)
        return time.perf_counter() - started

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.close()


def start_process(request: BinaryIO | int) -> subprocess.Popen[bytes]:
    """Start the child process with a request as its standard input."""
    packages = os.pathsep.join(filter(None, [str(PROJECT), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen([sys.executable, "-m", __name__], stdin=request, stdout=subprocess.PIPE, start_new_session=True,
                            env={**os.environ, "MALLOC_MMAP_THRESHOLD_": str(MAPPED_BYTES), "PYTHONPATH": packages})


class _PrintedProgress(NoProgress):
    """Progress as lines for the parent process."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        os.write(self._descriptor, f"{amount}\n".encode())
        return_freed_memory()


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


def serve_requests(model: str, threads: int, answers: int) -> None:
    """Embed the texts of every further line of standard input until it is closed or idle for too long."""
    source = find_model(model)
    source.verify()
    encoder = source.encoder()
    encode_texts(encoder, ["warm"])             # pays for what is initialised once
    signal.alarm(IDLE_SECONDS)                  # whose signal ends the process
    for line in sys.stdin.buffer:
        signal.alarm(0)
        texts = json.loads(line)
        vectors = np.zeros((len(texts), source.dimensions), np.float32)
        for rows, part in embed_batches(encoder, encoder.batches(texts), threads):
            vectors[rows] = part
        with os.fdopen(os.dup(answers), "wb") as output:
            output.write(json.dumps(vectors.shape).encode() + b"\n")
            output.write(vectors.tobytes())
        return_freed_memory()
        signal.alarm(IDLE_SECONDS)


def main() -> None:
    """Embed the texts of the request on standard input."""
    answers = os.dup(1)
    os.dup2(2, 1)                           # whatever a library prints is no answer
    settings = json.loads(sys.stdin.buffer.readline())
    limit_arenas(1)
    try:
        if settings.get("resident"):
            serve_requests(settings["model"], settings["threads"], answers)
        else:
            fill_cache(settings, answers)
    except TouchstoneError as error:
        os.write(answers, json.dumps(str(error)).encode() + b"\n")
        sys.exit(2)


def fill_cache(settings: dict[str, Any], answers: int) -> None:
    """Embed the texts of standard input, or plan it; end with the parent process."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != settings["parent"]:  # it ended before the call above
        sys.exit(1)
    os.nice(NICENESS)
    cache = (TokenVectorCache if settings["tokens"] else VectorCache)(settings["model"], Path(settings["folder"]))
    texts = map(json.loads, sys.stdin.buffer)
    if settings["purpose"] == "plan":
        cache.model.verify()
        with os.fdopen(answers, "w") as output:
            output.writelines(json.dumps(batch.rows) + "\n" for batch in cache.model.encoder().batches(list(texts)))
    else:
        cache.fill(texts, _PrintedProgress(answers), settings["threads"])


if __name__ == "__main__":
    main()
