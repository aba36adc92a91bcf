"""Peak memory of the process that coordinates a run, and of the one that embeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.base.paths import PROJECT
from harness.models.embedding_process import EmbeddingProcess
from harness.models.vector_cache import VectorCache
from tests.benchmarks.test_embedding_speed import sentences

pytestmark = pytest.mark.benchmark
COORDINATOR, EMBEDDING = 600, 1000          # MB


def peak_of(process: int) -> int:
    """Return the peak memory of a living process in MB."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) // 1000


def test_the_process_that_embeds(tmp_path, report):
    process, peak = EmbeddingProcess(VectorCache("minilm", tmp_path), sentences(4000), 2), 0
    for _ in process.advances():
        peak = peak_of(process._process.pid)
    report(f"embedding 4,000 short sentences: {peak} MB at most (at most {EMBEDDING})")
    assert 0 < peak <= EMBEDDING


def test_the_coordinator_of_a_run(tmp_path, report):
    """A whole run of a small suite, ranking included; its own memory, not that of workers."""
    script = ("import atexit, resource; from leaderboard.cli.app import app\n"
              "atexit.register(lambda: print('peak', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000, flush=True))\n"
              f"app(['run', 'energy', 'zipf', 'rouge1', '--suite', 'smoke', '--store', {str(tmp_path / 'store.sqlite')!r}])\n")
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=False,
                          env={**os.environ, "TOUCHSTONE_CACHE": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    peak = int(done.stdout.split()[-1])
    report(f"touchstone run of three submissions on smoke, vectors embedded: {peak} MB at most (at most {COORDINATOR})")
    assert peak <= COORDINATOR
