"""Runs that are interrupted."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

SLOW = """
import time
def similarity(a, b):
    time.sleep(0.01)
    return [len(set(x) & set(y)) / max(1, len(set(x) | set(y))) for x, y in zip(a, b)]
"""


def start(path: Path, *words: str, interrupt: signal.Handlers = signal.SIG_DFL) -> subprocess.Popen[str]:
    """Starts a run; a shell that starts it in the background sets `interrupt` to SIG_IGN."""
    return subprocess.Popen([sys.executable, "-m", "leaderboard", "run", *words, "--suite", "smoke", "--only", SAME[0], "--only", SAME[1], "--store", str(path), "--jobs", "2"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ},
                            preexec_fn=lambda: signal.signal(signal.SIGINT, interrupt))


def stored(path: Path) -> int:
    """Outcomes in the store; looked up so that the run at work hardly notices."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM outcomes").fetchone()[0]
    except sqlite3.Error:                               # not there yet
        return 0


def killed_and_resumed(path: Path, words: list[str], planned: int, times: int, rng: random.Random) -> int:
    """Kills a run at random moments while work is pending; how often that was. Then lets it end."""
    pending = 0
    for _ in range(20 * times):
        if pending == times:
            break
        before = stored(path)
        process = start(path, *words)
        until = time.monotonic() + 60
        while process.poll() is None and stored(path) <= before and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = stored(path)
        if done < planned:
            pending += 1
        else:
            for part in path.parent.glob(f"{path.name}*"):      # it was quicker: begin again, without its write-ahead log
                part.unlink()
    process = start(path, *words)
    _, said = process.communicate()
    assert process.returncode == 0, said
    return pending

SAME = ["known_similarity", "axioms"]       # five units of smoke; seconds, as `timing` answers, are never the same twice
