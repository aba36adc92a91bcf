"""Whether a release still comes out: a sample of its numbers, asked again."""

from __future__ import annotations

import tempfile
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
from harness.submission.submission import Entry
from leaderboard.publishing.release import Release
from leaderboard.scoring.scores import score_suite

TOLERANCE = 1e-3


@dataclass(frozen=True)
class Again:
    """One number of a release, and what came out now; None where it cannot be asked any more, with the reason."""

    entry: str
    task: str
    unit: str
    released: float
    now: float | None
    reason: str = ""

    @property
    def agrees(self) -> bool:
        return self.now is not None and abs(self.now - self.released) <= TOLERANCE


def verify(release: Release, suite: Suite, entries: Sequence[Entry], sample: int, progress: Progress) -> list[Again]:
    """Asks a sample of (entry, unit) again; which ones, the release's name decides."""
    if release.facts["suite"]["fingerprint"] != suite.fingerprint:
        raise TouchstoneError(f"The suite {suite.name} has changed since {release.name}: its fingerprint was "
                              f"{release.facts['suite']['fingerprint'][:6]} and is {suite.fingerprint[:6]}. Check out the commit "
                              f"{(release.facts['harness']['commit'] or 'of the release')[:12]} to verify it.")
    units = release.units[["entry", "digest", "task", "unit", "score"]].values.tolist()
    places = np.random.default_rng(seed_of(release.name)).choice(len(units), min(sample, len(units)), replace=False)
    chosen: dict[tuple[str, str], list[tuple[str, str, float]]] = {}
    for name, digest, *number in sorted(units[place] for place in places):
        chosen.setdefault((name, digest), []).append((number[0], number[1], number[2]))
    here = {entry.name: entry for entry in entries}
    found: list[Again] = []
    with tempfile.TemporaryDirectory() as folder:
        for (name, digest), numbers in chosen.items():
            entry = here.get(name)
            if entry is None or entry.digest != digest:
                reason = "is not among the submissions any more" if entry is None else "has changed since"
                found += [Again(name, task, unit, released, None, reason) for task, unit, released in numbers]
                continue
            asked = {unit for _, unit, _ in numbers}
            wanted = replace(suite, questions=tuple(one for one in suite.questions if one.unit.id in asked))
            path = Path(folder) / f"{entry.digest[:16]}.sqlite"
            run_suite([entry], wanted, path, progress=progress)
            scored, = score_suite(Store(path, read_only=True), wanted)
            by_unit = {unit: score for task in scored.tasks.values() for unit, score in task.by_unit.items()}
            found += [Again(name, task, unit, released, by_unit.get(unit)) for task, unit, released in numbers]
    return found
