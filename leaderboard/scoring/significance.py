"""Significance tests of all pairs of metrics at once, by step-down max-T."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from leaderboard.scoring.estimates import CONFIDENCE

BORROWED_UNITS = 30                             # maximal weight of the other pairs' spread beside a pair's own

DRAWS_AT_ONCE = 128                         # keeps the memory for 19,900 pairs of 200 entries below 50 MB


def jackknife_influences(left_out: np.ndarray, strata: np.ndarray) -> list[np.ndarray]:
    """Return the jackknife influence of each cluster on each of m statistics: one m x clusters array per stratum."""
    influences = []
    for stratum in np.unique(strata):
        mine = left_out[:, strata == stratum]
        mine = mine[:, np.isfinite(mine).all(axis=0)]
        influences.append((mine.shape[1] - 1) / max(1, mine.shape[1]) * (mine.mean(axis=1, keepdims=True) - mine)
                          if mine.shape[1] > 1 else np.zeros((len(mine), 0)))
    return influences


def degrees_of_freedom(parts: Sequence[np.ndarray], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the Welch-Satterthwaite degrees of freedom of differences of two statistics, or of one (`first` is `second`)."""
    whole, squared = np.zeros(len(first)), np.zeros(len(first))
    for part in parts:
        count = part.shape[1]
        if count > 1:
            gram = part @ part.T
            both = gram[first, first] + np.where(first == second, 0.0, gram[second, second] - 2 * gram[first, second])
            variance = np.maximum(both, 0) * count / (count - 1)
            whole += variance
            squared += variance ** 2 / (count - 1)
    most = max(1, sum(part.shape[1] - 1 for part in parts if part.shape[1] > 1))
    return np.asarray(np.divide(whole ** 2, squared, out=np.full(len(first), float(most)), where=squared > 0))


@dataclass(frozen=True)
class PairwiseTests:
    """Tests of all pairs of m entries."""

    p: np.ndarray                           # m x m, symmetric, adjusted for all pairs
    difference: np.ndarray                  # m x m: row - column

    def better(self, level: float = 1 - CONFIDENCE) -> np.ndarray:
        """Matrix (m x m): whether the row is significantly better than the column."""
        return np.asarray((self.p <= level) & (self.difference > 0))


def pairwise_tests_of_means(scores: np.ndarray, unit_weights: np.ndarray, draws: int, rng: np.random.Generator,
                            groups: Sequence[int] | None = None) -> PairwiseTests:
    """Test which weighted means differ, by step-down max-T (Westfall and Young 1993) with sign-flipped residuals.

    A unit's residual is its weighted score minus the mean of its group, the units of one task. For a pair T = sum(w D)/s, with
    s^2 = (n S + m S')/(n + m): S is the variance of the sum from the n residuals, S' the median of S over all pairs, and the
    weight m is the number of other entries, at most 30. Under the null, T is drawn from residuals with flipped signs, for all
    pairs together, and s is recomputed in every draw.

    Flipping the signs of the differences themselves is exact for two metrics with symmetric differences. But then a difference is
    part of its own spread, and with unequal, skewed noise the differences are not symmetric: with 15 units, half of the metrics 2
    standard errors apart are separated by a line in 47% of runs (here 61%), and equal metrics of unequal noise in 11% (here
    5.5%). See `tests/benchmarks/test_calibration.py`.
    """
    count = len(scores)
    first, second = np.triu_indices(count, 1)
    weighted = scores * unit_weights
    members = np.zeros(weighted.shape[1], dtype=int) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    parts, freed = [], []
    for group in range(members.max() + 1):
        inside = weighted[:, members == group]
        size = inside.shape[1]
        parts.append((inside - inside.mean(axis=1, keepdims=True)) * math.sqrt(size / (size - 1)) if size > 1 else inside)
        freed.append((size, size / (size - 1)) if size > 1 else (math.inf, 1.0))
    grams = [part @ part.T for part in parts]
    squares = [np.maximum(gram[first, first] + gram[second, second] - 2 * gram[first, second], 0) for gram in grams]
    shared = float(np.median(sum(squares))) if len(first) else 0.0
    units, lent = weighted.shape[1], min(BORROWED_UNITS, count - 2)
    sizes = (weighted ** 2).sum(axis=1)
    least = 1e-12 * np.maximum(sizes[first], sizes[second])

    def over_spread(difference: np.ndarray, variance: np.ndarray) -> np.ndarray:
        moderated = (units * variance + lent * shared) / (units + lent)
        moderated = np.where(moderated > least, moderated, np.inf)      # equal on every unit: T = 0
        return np.asarray(np.abs(difference) / np.sqrt(moderated))

    def drawn() -> Iterator[np.ndarray]:
        for start in range(0, draws, DRAWS_AT_ONCE):
            now = min(DRAWS_AT_ONCE, draws - start)
            difference, variance = np.zeros((now, len(first))), np.zeros((now, len(first)))
            for part, square, (size, correction) in zip(parts, squares, freed, strict=True):
                signs = rng.integers(0, 2, (now, part.shape[1]), dtype=np.int8) * 2.0 - 1
                flipped = signs @ part.T
                flipped = flipped[:, first] - flipped[:, second]
                difference += flipped
                variance += np.maximum(square - flipped ** 2 / size, 0) * correction
            yield over_spread(difference, variance)
    observed = weighted.sum(axis=1)
    p = step_down(over_spread(observed[first] - observed[second], sum(squares)), drawn(), draws)
    return PairwiseTests(*fill_matrices(count, first, second, p, observed))


def pairwise_tests_of_replicates(values: np.ndarray, replicates: np.ndarray, parts: Sequence[np.ndarray] = ()) -> PairwiseTests:
    """Test which statistics differ, by step-down max-T from bootstrap replicates (entries x draws) of one plan.

    T is the difference over its standard deviation among the replicates; under the null it is drawn around the observed
    difference. With few clusters this standard deviation is itself uncertain: given the `influences` of the statistics (`parts`),
    the observed T is treated as Student's t with the degrees of freedom of its pair and converted to a normal quantile. Without
    this, 7.5% of runs among equals have a significant difference if half of the score rests on 12 test units.
    """
    first, second = np.triu_indices(len(values), 1)
    covariance = np.atleast_2d(np.cov(replicates))
    variances = np.diagonal(covariance)
    spread = np.sqrt(np.maximum(variances[first] + variances[second] - 2 * covariance[first, second], 0))
    scale = np.where(spread > 1e-12, spread, np.inf)
    difference = values[first] - values[second]
    observed = np.abs(difference) / scale
    if parts:
        # norm.isf(t.sf(...))
        observed = -scipy.special.ndtri(scipy.special.stdtr(degrees_of_freedom(parts, first, second), -observed))

    def drawn() -> Iterator[np.ndarray]:
        for start in range(0, replicates.shape[1], DRAWS_AT_ONCE):
            some = replicates[:, start:start + DRAWS_AT_ONCE]
            yield np.abs((some[first] - some[second]).T - difference) / scale
    p = step_down(observed, drawn(), replicates.shape[1])
    return PairwiseTests(*fill_matrices(len(values), first, second, p, values))


def step_down(observed: np.ndarray, drawn: Iterable[np.ndarray], draws: int) -> np.ndarray:
    """Return adjusted p-values (c + 1)/(B + 1): each statistic against the maximum of its own and all smaller ones' draws."""
    order = np.argsort(-observed, kind="stable")
    exceeded = np.zeros(len(observed))
    for block in drawn:
        largest = np.maximum.accumulate(block[:, order[::-1]], axis=1)[:, ::-1]
        exceeded += (largest >= observed[order] - 1e-12).sum(axis=0)
    p = np.empty(len(observed))
    p[order] = np.maximum.accumulate((exceeded + 1) / (draws + 1)) if len(observed) else []
    return p


def fill_matrices(
    m: int, first: np.ndarray, second: np.ndarray, p: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric matrix of p-values and the antisymmetric matrix of differences."""
    square = np.ones((m, m))
    square[first, second] = square[second, first] = p
    return square, values[:, None] - values[None, :]


def rank_intervals(better: np.ndarray) -> list[tuple[int, int]]:
    """Return each entry's rank range: 1 + number significantly better, m - number significantly worse."""
    return [(1 + int(better[:, i].sum()), len(better) - int(better[i].sum())) for i in range(len(better))]


def dividing_lines(order: Sequence[int], better: np.ndarray) -> list[int]:
    """Return the positions after which every entry above is significantly better than every entry below."""
    ordered = better[np.ix_(order, order)]
    return [i for i in range(1, len(order)) if ordered[:i, i:].all()]


def partial_conjunction_p(p: Sequence[float], u: int) -> float:
    """Return the p-value of "true for at least u of n": (n - u + 1) p_(u) (Benjamini and Heller 2008)."""
    ordered = sorted(p)
    return min(1.0, (len(ordered) - u + 1) * ordered[u - 1])
