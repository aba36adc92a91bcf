"""Estimates and their intervals: pure functions over arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
FEW_UNITS = 10                              # below, an interval is shown grey and parts nobody


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval; None where too few units tell nothing about the spread."""

    value: float
    low: float | None
    high: float | None
    units: int

    @property
    def few(self) -> bool:
        return self.units < FEW_UNITS


def stratified_mean(strata: Iterable[Sequence[float]]) -> Estimate | None:
    """The mean over strata of the means within them, with Student's t interval.

    Its variance is the sum of s_c^2/n_c over the C strata, divided by C^2; the degrees of freedom are Welch and
    Satterthwaite's, (sum v_c)^2 / sum(v_c^2/(n_c - 1)) with v_c = s_c^2/n_c.
    """
    cells = [np.asarray(values, dtype=float) for values in strata if len(values)]
    if not cells:
        return None
    value, units = float(np.mean([cell.mean() for cell in cells])), sum(map(len, cells))
    if any(len(cell) < 2 for cell in cells):
        return Estimate(value, None, None, units)
    variances = np.array([cell.var(ddof=1) / len(cell) for cell in cells])
    if not variances.any():
        return Estimate(value, value, value, units)
    error = float(np.sqrt(variances.sum())) / len(cells)
    freedom = variances.sum() ** 2 / np.sum(variances ** 2 / np.array([len(cell) - 1 for cell in cells]))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * error
    return Estimate(value, value - reach, value + reach, units)
