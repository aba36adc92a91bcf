"""Texts embedded by a process of their own: a server must not grow by what a model takes.

    python -m leaderboard.embedding_once MODEL FOLDER < texts.json
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from harness.embeddings import EmbeddingCache
from harness.models import find_model
from harness.places import PROJECT
from harness.progress import Silent


class Embedding:
    """Texts on their way to vectors in a folder of one's own; refuses a model that has no files here."""

    def __init__(self, model: str, texts: Sequence[str], folder: Path) -> None:
        find_model(model).path()            # a service would be paid for by whoever serves
        self._model, self._folder = model, folder
        asked = folder / "texts.json"
        asked.write_text(json.dumps(list(texts)))
        with asked.open("rb") as read:
            self._process = subprocess.Popen([sys.executable, "-m", __name__, model, str(folder)], stdin=read,
                                             stdout=subprocess.DEVNULL, cwd=PROJECT)

    def vectors(self, until: float) -> EmbeddingCache | None:
        """The vectors when they are there; None if they are not by then."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, until - time.monotonic()))
        return EmbeddingCache(self._model, self._folder) if self._process.returncode == 0 else None

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def main() -> None:
    model, folder = sys.argv[1:]
    EmbeddingCache(model, Path(folder)).fill(json.load(sys.stdin.buffer), Silent(), threads=len(os.sched_getaffinity(0)))


if __name__ == "__main__":
    main()
