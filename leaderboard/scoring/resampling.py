"""Resampling plans: one per task of a suite, shared by all entries, for scores that are not means over test units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from harness.base.hashing import seed_of
from harness.base.units import Cluster, Unit
from harness.evaluation.suite import Suite
from harness.evaluation.task import Task
from leaderboard.scoring.estimates import CONFIDENCE, FEW_UNITS, MIN_UNITS, Estimate
from leaderboard.scoring.significance import degrees_of_freedom, jackknife_influences

DRAWS = 2_000
BLOCK = 4_000_000                           # weights of clusters that are computed at a time: 32 MB


@dataclass(frozen=True)
class Plan:
    """How often each cluster of a task counts in each bootstrap draw."""

    clusters: tuple[Cluster, ...]
    draw: Callable[[], np.ndarray]          # returns the counts, which kept results need not

    @cached_property
    def counts(self) -> np.ndarray:
        """The counts (draws x clusters)."""
        return self.draw()

    @property
    def strata(self) -> np.ndarray:
        """The stratum of each cluster, as a number."""
        return np.unique([repr(cluster.stratum) for cluster in self.clusters], return_inverse=True)[1]

    @property
    def tells(self) -> bool:
        """Whether there are enough clusters for tests, and more than one in each stratum."""
        return len(self.clusters) >= FEW_UNITS and bool(np.bincount(self.strata).min() > 1)

    def restricted(self, clusters: Sequence[Cluster]) -> Plan:
        """Return the same draws for a subset of the clusters."""
        if tuple(clusters) == self.clusters:
            return self
        column = {cluster: index for index, cluster in enumerate(self.clusters)}
        return Plan(tuple(clusters), lambda: self.counts[:, [column[cluster] for cluster in clusters]])


_PLANS: dict[str, dict[str, Plan]] = {}     # by fingerprint, because drawing takes long


def make_plans(suite: Suite) -> dict[str, Plan]:
    """Return the plan of every ranked task of a suite by name, drawn from the suite's fingerprint and that name."""
    if suite.fingerprint not in _PLANS:
        _PLANS[suite.fingerprint] = {task.name: make_plan(suite, task) for task in suite.tasks if task.info.ranked}
    return _PLANS[suite.fingerprint]


def make_plan(suite: Suite, task: Task[Any]) -> Plan:
    """Return a new plan of a task; see `make_plans`."""
    clusters = task_clusters(task, suite.units(task))
    seed = seed_of("what is drawn again", suite.fingerprint, task.name)
    return Plan(clusters, lambda: stratified_plan([cluster.stratum for cluster in clusters], DRAWS, np.random.default_rng(seed)))


def task_clusters(task: Task[Any], units: Sequence[Unit]) -> tuple[Cluster, ...]:
    """Return the clusters of a task; by default its test units."""
    named = task.clusters(units)
    return tuple(Cluster(unit.stratum, unit.id) for unit in units) if named is None else tuple(named)


def resample(task: Task[Any], units: Sequence[Unit], observations: Sequence[Any], plan: Plan) -> dict[str, Resampled]:
    """Return the score, and the measures that are resampled with it; None in `observations` is a failed test unit."""
    mine = plan.restricted(task_clusters(task, units))
    count = len(mine.clusters)
    blocks = [task.replicates(units, observations, rows) for rows in weight_blocks(mine.counts)]
    joined = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return {name: Resampled(float(values[0]), values[1:count + 1], values[count + 1:], mine.strata)
            for name, values in joined.items()}


def weight_blocks(counts: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the weights of clusters in blocks of rows: all clusters once, then each left out, then the draws."""
    draws, clusters = counts.shape
    step = max(1, BLOCK // max(1, clusters))
    for start in range(0, 1 + clusters + draws, step):
        rows = np.arange(start, min(start + step, 1 + clusters + draws))
        block = np.ones((len(rows), clusters))
        left_out = np.flatnonzero((rows >= 1) & (rows <= clusters))
        block[left_out, rows[left_out] - 1] = 0
        drawn = rows > clusters
        block[drawn] = counts[rows[drawn] - 1 - clusters]
        yield block


def resampled_mean(units: Sequence[Unit], by_unit: Mapping[str, float], plan: Plan) -> Resampled:
    """Return the resampled score of a task without clusters: the mean over strata of the means within them."""
    values, strata, count = np.array([by_unit[unit.id] for unit in units]), plan.strata, len(units)
    means = np.concatenate([np.mean(
        [rows[:, strata == stratum] @ values[strata == stratum] / np.maximum(rows[:, strata == stratum].sum(axis=1), 1)
         for stratum in np.unique(strata)], axis=0) for rows in weight_blocks(plan.counts)])
    return Resampled(float(means[0]), means[1:count + 1], means[count + 1:], strata)


def bootstrap_plan(clusters: Sequence[object], draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return how often each test unit counts in each draw (draws x units); whole clusters are drawn with replacement."""
    _, cluster_of = np.unique(np.array([str(cluster) for cluster in clusters]), return_inverse=True)
    count = int(cluster_of.max()) + 1
    times = rng.multinomial(count, np.full(count, 1 / count), size=draws)
    return np.asarray(times[:, cluster_of])


def stratified_plan(strata: Sequence[object], draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return how often each cluster counts in each draw (draws x clusters); n - 1 of a stratum's n are drawn.

    With n - 1 draws (Rao and Wu 1988) the variance of a mean's replicates is unbiased however small n is; with n draws it would
    be too small by (n - 1)/n, which matters for three samples of a dataset. A stratum of one cannot be resampled.
    """
    _, stratum_of = np.unique(np.array([str(stratum) for stratum in strata]), return_inverse=True)
    counts = np.ones((draws, len(stratum_of)), dtype=np.uint16)
    for stratum in range(int(stratum_of.max()) + 1):
        mine = np.flatnonzero(stratum_of == stratum)
        if len(mine) > 1:
            counts[:, mine] = rng.multinomial(len(mine) - 1, np.full(len(mine), 1 / len(mine)), size=draws)
    return counts


@dataclass(frozen=True)
class Resampled:
    """A statistic, its jackknife values over clusters, and its replicates under a `stratified_plan`."""

    value: float
    left_out: np.ndarray                    # clusters
    replicates: np.ndarray                  # draws
    strata: np.ndarray                      # stratum number of each cluster

    def estimate(self) -> Estimate:
        """Return the statistic with its BCa interval; no interval with few clusters, or only one in a stratum."""
        count = len(self.strata)
        if count < MIN_UNITS or np.bincount(self.strata).min() < 2:
            return Estimate(self.value, None, None, count)
        return bca_interval(self.value, self.left_out, self.replicates, self.strata, planned=True)

    def minus(self, other: Resampled) -> Resampled:
        """Return the difference of two statistics under one plan."""
        return Resampled(self.value - other.value, self.left_out - other.left_out, self.replicates - other.replicates,
                         self.strata)


def bca(statistic: Callable[[np.ndarray], float], clusters: Sequence[object], replicates: np.ndarray,
        expanded: bool = True) -> Estimate:
    """Return the clustered BCa interval (Efron and Tibshirani 1993, equation 14.10).

    `statistic` takes how often each test unit counts; `replicates` are its values under a `bootstrap_plan`.
    """
    _, cluster_of = np.unique(np.array([str(cluster) for cluster in clusters]), return_inverse=True)
    count = int(cluster_of.max()) + 1
    value = statistic(np.ones(len(cluster_of)))
    left_out = np.array([statistic((cluster_of != cluster).astype(float)) for cluster in range(count)])
    return bca_interval(value, left_out, replicates, np.zeros(count, dtype=int), expanded=expanded)


def bca_interval(value: float, left_out: np.ndarray, replicates: np.ndarray, strata: np.ndarray, *, expanded: bool = True,
                 planned: bool = False) -> Estimate:
    """Return the BCa interval from a statistic, its jackknife over clusters, and its replicates; non-finite values are ignored.

    With few clusters BCa is too narrow (88% instead of 95% with 12), so for n clusters the normal quantile is replaced by
    sqrt(n/(n-1)) t(n-1), as Hesterberg (2015) does for percentile intervals; `expanded=False` omits this. Replicates of a
    `stratified_plan` (`planned`) have the right variance, so they need t only, with the degrees of freedom of Welch and
    Satterthwaite.
    """
    count = len(left_out)
    ordered = np.sort(replicates[np.isfinite(replicates)])
    flat = len(ordered) > 1 and ordered[-1] - ordered[0] <= 1e-12 * max(1.0, abs(ordered[0]))
    if count < 2 or len(ordered) < 2 or flat or not math.isfinite(value):
        same = count > 1 and flat and math.isclose(ordered[0], value, rel_tol=0, abs_tol=1e-12)
        return Estimate(value, value if same else None, value if same else None, count)
    parts = jackknife_influences(left_out[None, :], strata)
    influence, freedom = np.concatenate(parts, axis=1)[0], float(degrees_of_freedom(parts, np.array([0]), np.array([0]))[0])
    squares = float(np.sum(influence ** 2))
    acceleration = float(np.sum(influence ** 3)) / (6 * squares ** 1.5) if squares > 0 else 0.0
    below = (np.sum(ordered < value) + np.sum(ordered == value) / 2) / len(ordered)
    bias = float(scipy.special.ndtri(np.clip(below, 1 / (2 * len(ordered)), 1 - 1 / (2 * len(ordered)))))
    tail = (1 + CONFIDENCE) / 2
    wider = 1.0 if planned else math.sqrt(count / (count - 1))
    reach = wider * scipy.special.stdtrit(freedom, tail) if expanded else scipy.special.ndtri(tail)
    z = bias + np.array([-reach, reach])
    low, high = np.quantile(ordered, scipy.special.ndtr(bias + z / (1 - acceleration * z)))
    return Estimate(value, float(low), float(high), count)
