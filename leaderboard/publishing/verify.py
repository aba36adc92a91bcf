"""Verification of a release: recompute a sample of its numbers and compare."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.hashing import seed_of
from harness.base.progress import Progress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.submission import Entry, current_digest
from leaderboard.publishing.release import Release
from leaderboard.scoring.scores import score_suite

TOLERANCE = 1e-3


@dataclass(frozen=True)
class Recomputed:
    """A released score and its recomputed value; None where it cannot be recomputed, with the reason."""

    entry: str
    task: str
    unit: str
    released: float
    now: float | None
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both values agree within the tolerance."""
        return self.now is not None and abs(self.now - self.released) <= TOLERANCE


def verify(release: Release, suite: Suite, entries: Sequence[Entry], sample: int, progress: Progress) -> list[Recomputed]:
    """Recompute a sample of (entry, unit); the release's name seeds the sample."""
    report = release.report
    if report.suite.fingerprint != suite.fingerprint:
        raise TouchstoneError(f"The suite {suite.name} has changed since {release.name}: its fingerprint was "
                      f"{report.suite.fingerprint[:6]} and is {suite.fingerprint[:6]}. Check out the commit "
                      f"{(report.harness.commit or 'of the release')[:12]} to verify it.")
    rows = release.units[["entry", "digest", "task", "unit", "score"]].values.tolist()
    indices = np.random.default_rng(seed_of(release.name)).choice(len(rows), min(sample, len(rows)), replace=False)
    sampled: dict[tuple[str, str], list[tuple[str, str, float]]] = defaultdict(list)
    for name, digest, task, unit, score in sorted(rows[index] for index in indices):
        sampled[name, digest].append((task, unit, score))
    current = {entry.name: entry for entry in entries}
    results: list[Recomputed] = []
    with tempfile.TemporaryDirectory() as folder:
        for (name, digest), scores in sampled.items():
            entry = current.get(name)
            if entry is None or entry.digest != current_digest(digest):
                reason = "no longer among the submissions" if entry is None else "changed since the release"
                results += [Recomputed(name, task, unit, score, None, reason) for task, unit, score in scores]
                continue
            units = {unit for _, unit, _ in scores}
            part = replace(suite, questions=tuple(question for question in suite.questions if question.unit.id in units))
            path = Path(folder) / f"{entry.digest[:16]}.sqlite"
            run_suite([entry], part, path, progress=progress)
            scored, = score_suite(Store(path, read_only=True), part)
            by_unit = {unit: score for task_score in scored.tasks.values() for unit, score in task_score.by_unit.items()}
            results += [Recomputed(name, task, unit, score, by_unit.get(unit)) for task, unit, score in scores]
    return results
