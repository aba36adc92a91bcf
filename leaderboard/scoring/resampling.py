"""What is drawn again when scores are resampled whole: one plan for each task of a suite, the same for all entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.base.hashing import seed_of
from harness.evaluation.task import Cluster, Task, Unit
from leaderboard.scoring.estimates import FEW_UNITS, Resampled, stratified_plan
from tasks.suite_files import Suite

DRAWS = 2_000


@dataclass(frozen=True)
class Plan:
    """How often each cluster of a task counts in each draw."""

    clusters: tuple[Cluster, ...]
    counts: np.ndarray                      # draws x clusters

    @property
    def strata(self) -> np.ndarray:
        """The stratum of each cluster, as a number."""
        return np.unique([repr(cluster.stratum) for cluster in self.clusters], return_inverse=True)[1]

    @property
    def tells(self) -> bool:
        """Whether it parts anybody: enough clusters, and more than one in each stratum."""
        return len(self.clusters) >= FEW_UNITS and bool(np.bincount(self.strata).min() > 1)

    def restricted(self, clusters: Sequence[Cluster]) -> Plan:
        """The same draws of some of the clusters."""
        column = {cluster: place for place, cluster in enumerate(self.clusters)}
        return Plan(tuple(clusters), self.counts[:, [column[cluster] for cluster in clusters]])


def plans(suite: Suite) -> dict[str, Plan]:
    """The plan of every ranked task of a suite, by its name; drawn from the suite's fingerprint and that name."""
    found = {}
    for task in suite.tasks:
        if task.declares.ranked:
            clusters = clusters_of(task, suite.units(task))
            rng = np.random.default_rng(seed_of("what is drawn again", suite.fingerprint, task.name))
            found[task.name] = Plan(clusters, stratified_plan([cluster.stratum for cluster in clusters], DRAWS, rng))
    return found


def clusters_of(task: Task[Any], units: Sequence[Unit]) -> tuple[Cluster, ...]:
    """What a task says is drawn again; where it says nothing, its units."""
    named = task.clusters(units)
    return tuple(Cluster(unit.stratum, unit.id) for unit in units) if named is None else tuple(named)


def resample(task: Task[Any], units: Sequence[Unit], seen: Sequence[Any], plan: Plan) -> dict[str, Resampled]:
    """The score of some units, as "score", and the measures that are resampled with it.  None among `seen` is a failed unit."""
    mine = plan.restricted(clusters_of(task, units))
    count = len(mine.clusters)
    rows = np.concatenate([np.ones((1, count)), 1 - np.eye(count), mine.counts])
    return {name: Resampled(float(values[0]), values[1:count + 1], values[count + 1:], mine.strata)
            for name, values in task.replicates(units, seen, rows).items()}


def resampled_mean(units: Sequence[Unit], by_unit: Mapping[str, float], plan: Plan) -> Resampled:
    """The score of a task without clusters, the mean over strata of the means within them, under its plan."""
    values, strata, count = np.array([by_unit[unit.id] for unit in units]), plan.strata, len(units)
    rows = np.concatenate([np.ones((1, count)), 1 - np.eye(count), plan.counts])
    means = np.mean([rows[:, strata == one] @ values[strata == one] / np.maximum(rows[:, strata == one].sum(axis=1), 1)
                     for one in np.unique(strata)], axis=0)
    return Resampled(float(means[0]), means[1:count + 1], means[count + 1:], strata)
