"""Points of curves: means over repetitions with their 95% intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from harness.evaluation.task import Point

RISING = 0.8                                # Spearman's correlation of a curve that rises


def mean_points(x: Sequence[float], rows: np.ndarray) -> list[Point]:
    """Return (x, mean, low, high) of each column with Student's interval over the rows; no interval for a single row."""
    n, mean = len(rows), rows.mean(axis=0)
    reach = scipy.stats.t.ppf(0.975, n - 1) * rows.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else None
    return [(float(at), round_value(mean[i]), None if reach is None else round_value(mean[i] - reach[i]),
             None if reach is None else round_value(mean[i] + reach[i])) for i, at in enumerate(x)]


def rises(x: Sequence[float], mean: np.ndarray) -> bool:
    """Return whether a curve rises with few exceptions: Spearman's correlation is at least 0.8."""
    return bool(np.ptp(mean) > 0 and scipy.stats.spearmanr(x, mean).statistic >= RISING)


def standardise_rows(distances: np.ndarray) -> np.ndarray:
    """Return the rows as z-scores; a constant row becomes 0."""
    spread = distances.std(axis=1, keepdims=True)
    centred = distances - distances.mean(axis=1, keepdims=True)
    return np.asarray(np.divide(centred, spread, out=np.zeros_like(distances), where=spread > 0))


def round_value(value: float) -> float:
    """Return the value with five significant digits, which keeps releases small."""
    return float(f"{value:.5g}")
