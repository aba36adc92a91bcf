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
from leaderboard.scoring.results import score_suite
from tasks.suite_files import list_suites, load_suite

TOLERANCE = 1e-3


@dataclass(frozen=True)
class Recomputed:
    """A released score and its recomputed value; None if the metric fails now."""

    entry: str
    task: str
    unit: str
    released: float
    now: float | None

    @property
    def agrees(self) -> bool:
        """Whether both values agree within the tolerance."""
        return self.now is not None and abs(self.now - self.released) <= TOLERANCE


def find_suite(release: Release) -> Suite:
    """Return the suite that has the most test units of a release: the one of its name, or an earlier version of it."""
    name, released = release.report.suite.name, set(release.units["unit"])
    names = [name, *(other for other in list_suites() if other.startswith(f"{name}_"))]
    return max(map(load_suite, names), key=lambda suite: len(released & suite.observation_types.keys()))


def find_changed_tasks(release: Release, suite: Suite) -> dict[str, str]:
    """Return the tasks of a release that are not defined any more as they were, with the reason."""
    changed: dict[str, str] = {}
    current = {task.name: task for task in suite.tasks}
    units = {task_unit.unit.id for task_unit in suite.task_units}
    released_units = release.units.groupby("task")["unit"].unique()
    for task in release.report.suite.tasks:
        if task.name not in current:
            changed[task.name] = f"it is no longer in the suite {suite.name}"
        elif not units.issuperset(released_units.get(task.name, ())):
            changed[task.name] = "its test units differ from those of the release"
        elif task.measure_version != current[task.name].info.measure_version:
            version = current[task.name].info.measure_version
            changed[task.name] = f"its measures have version {version}, those of the release version {task.measure_version}"
    return changed


def find_changed_entries(release: Release, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the released entries whose source is not the present one, with the reason."""
    digests = {entry.name: entry.digest for entry in entries}
    return {entry.name: "it has changed since the release" if entry.name in digests else "it is no longer in submissions/"
            for entry in release.report.entries if digests.get(entry.name) != current_digest(entry.digest)}


def verify(release: Release, suite: Suite, entries: Sequence[Entry], sample: int, progress: Progress) -> list[Recomputed]:
    """Recompute a sample of (entry, unit) of unchanged entries and tasks; the release's name seeds the sample."""
    report, changed = release.report, find_changed_tasks(release, suite)
    if changed.keys() >= {task.name for task in report.suite.tasks}:
        raise TouchstoneError(f"The suite {suite.name} has changed since {release.name}: no task of "
                      f"{report.suite.name}@{report.suite.fingerprint[:6]} is unchanged. Check out the commit "
                      f"{(report.harness.commit or 'of the release')[:12]} to verify it.")
    changed_entries = find_changed_entries(release, entries)
    rows = [row for row in release.units[["entry", "task", "unit", "score"]].values.tolist()
            if row[0] not in changed_entries and row[1] not in changed]
    if not rows:
        raise TouchstoneError(f"No score of {release.name} can be recomputed: every entry has changed since. Check out commit "
                              f"{(report.harness.commit or 'of the release')[:12]} to verify it.")
    indices = np.random.default_rng(seed_of(release.name)).choice(len(rows), min(sample, len(rows)), replace=False)
    sampled: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
    for name, task, unit, score in sorted(rows[index] for index in indices):
        sampled[name].append((task, unit, score))
    current = {entry.name: entry for entry in entries}
    results: list[Recomputed] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, scores in sampled.items():
            entry = current[name]
            units = {unit for _, unit, _ in scores}
            part = replace(suite, task_units=tuple(question for question in suite.task_units if question.unit.id in units))
            path = Path(folder) / f"{entry.digest[:16]}.sqlite"
            run_suite([entry], part, path, progress=progress)
            scored, = score_suite(Store(path, read_only=True), part)
            by_unit = {unit: score for task_score in scored.tasks.values() for unit, score in task_score.by_unit.items()}
            results += [Recomputed(name, task, unit, score, by_unit.get(unit)) for task, unit, score in scores]
    return results
