"""Agreement of the order of datasets by a metric and by raters (Yamshchikov et al. 2020), and agreement among raters.

`metric` and `human` hold one similarity per dataset.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import ArrayLike


def rank_means(means: Sequence[float]) -> np.ndarray:
    """Return the rank of each dataset, 1 for the largest similarity; ties share the mean of their ranks."""
    return np.asarray(scipy.stats.rankdata(-np.asarray(means, dtype=float)))


def count_coinciding_ranks(metric: np.ndarray, human: np.ndarray) -> int:
    """Return the number of datasets with the same rank in both orders."""
    return int(np.sum(metric == human))


def count_swaps(metric: np.ndarray, human: np.ndarray) -> float:
    """Return half the Spearman footrule, sum|rank_m - rank_h|/2; it is not the number of inversions or transpositions."""
    return float(np.abs(metric - human).sum() / 2)


def variability(metric: Sequence[float], random: Sequence[bool]) -> float | None:
    """Return (max - min over the random sets)/(max - min over all)."""
    means, chosen = np.asarray(metric, dtype=float), np.asarray(random, dtype=bool)
    if not chosen.any() or np.ptp(means) == 0:
        return None
    return float(np.ptp(means[chosen]) / np.ptp(means))


def separates(metric: Sequence[float], random: Sequence[bool], among: Sequence[bool]) -> bool:
    """Return whether no random set is more similar than any of the sets in `among`: inequality 1."""
    means = np.asarray(metric, dtype=float)
    return bool(means[np.asarray(random, dtype=bool)].max() <= means[np.asarray(among, dtype=bool)].min())


def correlate(x: ArrayLike, y: ArrayLike) -> float | None:
    """Return Pearson's correlation of means or of ranks, or None for fewer than three or constant values."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return float(np.corrcoef(x, y)[0, 1])


# ---- agreement of raters --------------------------------------------------------------------------------------------------

def reliability_of_ratings(ratings: np.ndarray) -> tuple[float, float] | None:
    """Return ICC(1) and ICC(1, k) of pairs x k ratings by one-way analysis of variance, or None if there is no variance.

    See Shrout and Fleiss (1979). Each pair has its own k raters.
    """
    pairs, k = ratings.shape
    if pairs < 3 or k < 2:
        return None
    between = k * ratings.mean(axis=1).var(ddof=1)
    within = ratings.var(axis=1, ddof=1).mean()
    if between == 0:
        return None
    return float((between - within) / (between + (k - 1) * within)), float((between - within) / between)


def correlation_bound(ratings: np.ndarray) -> float | None:
    """Return the largest correlation with the mean rating to be expected: the root of its reliability ICC(1, k)."""
    reliability = reliability_of_ratings(ratings)
    return None if reliability is None or reliability[1] <= 0 else float(np.sqrt(reliability[1]))
