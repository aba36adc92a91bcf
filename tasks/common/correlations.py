"""Correlations, effect sizes, and means under resampling."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def next_power_of_two(largest: float) -> float:
    """Return the largest power of two that is not above a number: dividing by it is exact and avoids overflow of squares."""
    return float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's correlation."""
    return float(np.corrcoef(x, y)[0, 1])


def omega_squared(values: np.ndarray, factor: np.ndarray) -> float:
    """Return (SS_l - df_l MS_res) / (SS_tot + MS_res) of a one-way analysis of variance."""
    groups = [values[factor == level] for level in np.unique(factor)]
    mean = values.mean()
    between = sum(len(group) * (group.mean() - mean) ** 2 for group in groups)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups)
    residual = within / (len(values) - len(groups))
    return float((between - (len(groups) - 1) * residual) / (between + within + residual))


def weighted_means(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean of the finite values under each row of counts or weights; NaN if there are none."""
    finite = np.isfinite(values)
    weight = counts[:, finite].sum(axis=1)
    return np.asarray(np.divide(counts[:, finite] @ values[finite], weight, out=np.full(len(counts), np.nan), where=weight > 0))


def mean_of_arrays(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Return the elementwise mean of the finite values of several arrays; NaN if there are none."""
    stacked = np.array(list(parts))
    finite = np.isfinite(stacked)
    count = finite.sum(axis=0)
    total = np.where(finite, stacked, 0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(stacked.shape[1:], np.nan), where=count > 0))


def weighted_correlations(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return Pearson's r under each row of counts; NaN if x or y is constant."""
    x, y = x - x.mean(), y - y.mean()       # centring reduces cancellation below
    sums = counts @ np.column_stack([np.ones_like(x), x, y, x ** 2, y ** 2, x * y])         # counts is large: pass over it once
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my, xx, yy, xy = (sums[:, 1:] / sums[:, :1]).T
        vx, vy = xx - mx ** 2, yy - my ** 2
        r = (xy - mx * my) / np.sqrt(vx * vy)
    tiny = 1e-12 * np.array([np.mean(x ** 2), np.mean(y ** 2)])
    return np.where((vx > tiny[0]) & (vy > tiny[1]), np.clip(r, -1, 1), np.nan)
