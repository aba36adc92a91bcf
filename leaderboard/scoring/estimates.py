"""Estimates with confidence intervals: pure functions over arrays.

A matrix of scores has one row per entry and one column per test unit. Units carry weights, so that a weighted row sum is a score
(see `unit_weights`). All random draws come from a generator that the caller seeds. Quantiles are from `scipy.special`, because
`scipy.stats` takes long to import.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from harness.evaluation.task import Bounds

CONFIDENCE = 0.95
FEW_UNITS = 10                              # with fewer, an interval is shown in grey and no difference is significant
MIN_UNITS = 5                               # with fewer, there is no interval


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95% confidence interval; None if there are too few test units for one."""

    value: float
    low: float | None
    high: float | None
    units: int

    @property
    def few(self) -> bool:
        """Whether too few units support the interval."""
        return self.units < FEW_UNITS

    def to_dict(self) -> dict[str, float | int | None]:
        """Return the estimate as plain values."""
        return {"value": self.value, "low": self.low, "high": self.high, "units": self.units}


def stratified_mean(strata: Iterable[Sequence[float]], bounds: Bounds = (None, None)) -> Estimate | None:
    """Return the mean over strata of the means within them, with an interval within the bounds of the values.

    The variance is the sum of s_c^2/n_c over the C strata, divided by C^2; the degrees of freedom are Welch and Satterthwaite's,
    (sum v_c)^2 / sum(v_c^2/(n_c - 1)) with v_c = s_c^2/n_c. With fewer than five values there is no interval.
    """
    cells = [np.asarray(values, dtype=float) for values in strata if len(values)]
    if not cells:
        return None
    value, units = float(np.mean([cell.mean() for cell in cells])), sum(map(len, cells))
    if units < MIN_UNITS or any(len(cell) < 2 for cell in cells):
        return Estimate(value, None, None, units)
    variances = np.array([cell.var(ddof=1) / len(cell) for cell in cells])
    error = float(np.sqrt(variances.sum())) / len(cells)
    degrees = np.array([len(cell) - 1 for cell in cells])
    freedom = variances.sum() ** 2 / np.sum(variances ** 2 / degrees) if error else degrees.sum()
    return Estimate(value, *interval_of_mean(value, error, float(freedom), bounds, units), units)


def interval_of_mean(value: float, error: float, freedom: float, bounds: Bounds, units: int) -> tuple[float, float]:
    """Return a 95% interval of a mean from its standard error and the degrees of freedom.

    - Without bounds, Student's t interval.
    - With one bound, the t interval of the logarithm of the distance from it.
    - With two, Wilson's interval with t for z and the number of yes/no trials that has this standard error. Values that are
      all at a bound count as so many trials.
    """
    low, high = bounds
    t = float(scipy.special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
    if low is not None and high is not None:
        share, spread = min(max((value - low) / (high - low), 0.0), 1.0), error / (high - low)
        variance = share * (1 - share)
        if variance and not spread:
            return value, value
        trials = variance / spread ** 2 if variance else units
        center = (share + t ** 2 / (2 * trials)) / (1 + t ** 2 / trials)
        reach = t * math.sqrt(variance / trials + (t / trials) ** 2 / 4) / (1 + t ** 2 / trials)
        return low + max(center - reach, 0.0) * (high - low), low + min(center + reach, 1.0) * (high - low)
    bound = low if low is not None else high
    distance = 0.0 if bound is None else abs(value - bound)
    if bound is None or not distance:
        return value - t * error, value + t * error
    factor = math.exp(min(t * error / distance, 700.0))
    ends = (bound + math.copysign(distance / factor, value - bound), bound + math.copysign(distance * factor, value - bound))
    return min(ends), max(ends)


def mean_of_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates, with an interval by MOVER (Zou and Donner 2008).

    low = mean - sqrt(sum((value - low)^2))/n, and accordingly for high: exact for symmetric intervals, first-order correct for
    others.
    """
    value = float(np.mean([estimate.value for estimate in estimates]))
    units = min(estimate.units for estimate in estimates)
    if any(estimate.low is None or estimate.high is None for estimate in estimates):
        return Estimate(value, None, None, units)
    below, above = (
        math.sqrt(sum((estimate.value - (edge or 0.0)) ** 2 for estimate, edge in zip(estimates, edges, strict=True)))
        / len(estimates)
        for edges in ([estimate.low for estimate in estimates], [estimate.high for estimate in estimates])
    )
    return Estimate(value, value - below, value + above, units)


def unit_weights(strata: Sequence[object]) -> np.ndarray:
    """Return the weight of each test unit in the mean over strata of the means within them: 1/(C n_c)."""
    _, stratum_of, sizes = np.unique(np.array([str(stratum) for stratum in strata]), return_inverse=True, return_counts=True)
    return 1 / (len(sizes) * sizes[stratum_of])


def above_chance(value: float, chance: float) -> float:
    """Return (value - chance)/(1 - chance): 0 is chance, 1 is perfect."""
    return (value - chance) / (1 - chance)


def borda_share(value: float, panel: Sequence[float]) -> float:
    """Return the share of a panel that a value beats; ties count one half."""
    return sum(1.0 if value > other else 0.5 if value == other else 0.0 for other in panel) / len(panel)


def answer_correlation(answers: np.ndarray) -> np.ndarray:
    """Return the m x m Spearman correlations of the entries' answers (one row each); nan for constant rows."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.atleast_2d(np.corrcoef(average_ranks(answers)))


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks within each row, from 1; equal values share their mean rank, and a row with nan is nan throughout."""
    ranks = np.empty(values.shape)
    for row, found in zip(values, ranks, strict=True):
        ordered = np.sort(row)
        found[:] = (np.searchsorted(ordered, row, "left") + np.searchsorted(ordered, row, "right") + 1) / 2
    ranks[np.isnan(values).any(axis=1)] = np.nan
    return ranks


def pareto_front(cost: Sequence[float], value: Sequence[float]) -> list[int]:
    """Return the indices of the Pareto-optimal entries (no other is better at no higher cost), cheapest first."""
    kept: list[int] = []
    for i in sorted(range(len(cost)), key=lambda i: (cost[i], -value[i])):
        if not kept or value[i] > value[kept[-1]]:
            kept.append(i)
    return kept
