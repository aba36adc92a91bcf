"""Estimates, their intervals, and what parts two of them: pure functions over arrays.

Axes: a matrix of scores has a row an entry and a column a unit of work; units carry weights, so that a weighted sum of a
row is its score (see `weights`).  All draws come from a generator that the caller seeds: one plan for all entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
FEW_UNITS = 10                              # below, an interval is shown grey and parts nobody


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95% interval; None where too few units tell nothing about the spread."""

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


def mean_of_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates; its interval recovers their variances from their own (Zou and Donner 2008).

    low = mean - sqrt(sum((value - low)^2))/n, and the same upwards: exact for symmetric intervals, right in order for others.
    """
    value = float(np.mean([estimate.value for estimate in estimates]))
    units = min(estimate.units for estimate in estimates)
    if any(estimate.low is None or estimate.high is None for estimate in estimates):
        return Estimate(value, None, None, units)
    below, above = (math.sqrt(sum((estimate.value - (edge or 0.0)) ** 2 for estimate, edge in zip(estimates, edges, strict=True)))
                    / len(estimates) for edges in ([estimate.low for estimate in estimates], [estimate.high for estimate in estimates]))
    return Estimate(value, value - below, value + above, units)


def unit_weights(strata: Sequence[object]) -> np.ndarray:
    """Of each unit in the mean over strata of the means within them: 1/(C n_c)."""
    _, stratum_of, sizes = np.unique(np.array([str(stratum) for stratum in strata]), return_inverse=True, return_counts=True)
    return 1 / (len(sizes) * sizes[stratum_of])


# ---- intervals of statistics that are not means ------------------------------------------------------------------------



# ---- what parts two entries --------------------------------------------------------------------------------------------



# ---- what follows from it ----------------------------------------------------------------------------------------------



def above_chance(value: float, chance: float) -> float:
    """(value - chance)/(1 - chance): 0 is chance, 1 is perfect."""
    return (value - chance) / (1 - chance)


def borda_share(value: float, panel: Sequence[float]) -> float:
    """The share of a panel that is beaten, ties one half: nobody else's presence changes it."""
    return sum(1.0 if value > other else 0.5 if value == other else 0.0 for other in panel) / len(panel)


def answer_correlation(answers: np.ndarray) -> np.ndarray:
    """m x m: Spearman correlation of the entries' answers (a row each) to the same questions; not a number for constants."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.atleast_2d(np.corrcoef(stats.rankdata(answers, axis=1)))


def pareto_front(cost: Sequence[float], value: Sequence[float]) -> list[int]:
    """Whom nobody beats at a cost that is no higher, cheapest first."""
    kept: list[int] = []
    for i in sorted(range(len(cost)), key=lambda i: (cost[i], -value[i])):
        if not kept or value[i] > value[kept[-1]]:
            kept.append(i)
    return kept
