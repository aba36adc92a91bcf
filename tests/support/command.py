"""Run the real command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def touchstone(*words: object, environment: dict[str, str] | None = None, timeout: float = 240,
               folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    return subprocess.run([sys.executable, "-m", "leaderboard", *map(str, words)], capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(environment or {})}, cwd=folder, stdin=subprocess.DEVNULL)
