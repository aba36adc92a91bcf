"""Embed texts in a subprocess, so that a server does not load the embedding model.

Usage: `python -m leaderboard.workflows.embed_in_subprocess MODEL FOLDER < texts.json`
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from harness.base.progress import NoProgress
from harness.models.registry import find_model
from harness.models.vector_cache import VectorCache


class EmbeddingProcess:
    """A subprocess that embeds texts into a vector cache in a folder."""

    def __init__(self, model: str, texts: Sequence[str], folder: Path) -> None:
        self._model, self._folder = model, folder
        self._process: subprocess.Popen[bytes] | None = None
        try:
            find_model(model).path()
        except TouchstoneError as wrong:            # such as a paid web API, which would charge the owner of the server
            self._lacking = str(wrong)
            return
        with tempfile.TemporaryFile() as request:         # an unnamed file, so that no text remains on disk
            request.write(json.dumps(list(texts)).encode())
            request.seek(0)
            self._process = subprocess.Popen([sys.executable, "-m", __name__, model, str(folder)], stdin=request,
                                             stdout=subprocess.DEVNULL, cwd=PROJECT)

    def vectors(self, until: float) -> VectorCache:
        """Wait for the vectors and return their cache; raise if they are not complete in time."""
        if self._process is None:
            raise TouchstoneError(self._lacking)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        if self._process.returncode != 0:
            raise TouchstoneError("The texts could not be embedded in time; try fewer or shorter texts."
                                  if self._process.returncode is None else
                                  "The texts could not be embedded; the error is in the output of the server.")
        return VectorCache(self._model, self._folder)

    def close(self) -> None:
        """End the subprocess."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def main() -> None:
    """Embed the texts on standard input."""
    model, folder = sys.argv[1:]
    VectorCache(model, Path(folder)).fill(json.load(sys.stdin.buffer), NoProgress(), threads=len(os.sched_getaffinity(0)))


if __name__ == "__main__":
    main()
