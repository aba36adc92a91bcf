"""Estimates, their intervals, and what parts two of them: pure functions over arrays.

Axes: a matrix of scores has a row an entry and a column a unit of work; units carry weights, so that a weighted sum of a
row is its score (see `weights`).  All draws come from a generator that the caller seeds: one plan for all entries.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
FEW_UNITS = 10                              # below, an interval is shown grey and parts nobody
LENT_UNITS = 30                             # at most, what the other pairs' spread counts for beside a pair's own
DRAWS_AT_ONCE = 128                         # keeps 19,900 pairs of 200 entries below 50 MB


@dataclass(frozen=True)
class Estimate:
    """A statistic with its 95% interval; None where too few units tell nothing about the spread."""

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


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates; its interval recovers their variances from their own (Zou and Donner 2008).

    low = mean - sqrt(sum((value - low)^2))/n, and the same upwards: exact for symmetric intervals, right in order for others.
    """
    value = float(np.mean([one.value for one in estimates]))
    units = min(one.units for one in estimates)
    if any(one.low is None or one.high is None for one in estimates):
        return Estimate(value, None, None, units)
    below, above = (math.sqrt(sum((one.value - (edge or 0.0)) ** 2 for one, edge in zip(estimates, edges, strict=True)))
                    / len(estimates) for edges in ([one.low for one in estimates], [one.high for one in estimates]))
    return Estimate(value, value - below, value + above, units)


def weights(strata: Sequence[object]) -> np.ndarray:
    """Of each unit in the mean over strata of the means within them: 1/(C n_c)."""
    _, place, sizes = np.unique(np.array([str(stratum) for stratum in strata]), return_inverse=True, return_counts=True)
    return 1 / (len(sizes) * sizes[place])


# ---- intervals of statistics that are not means ------------------------------------------------------------------------

def bootstrap_plan(clusters: Sequence[object], draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each unit counts in each draw, draws x units: whole clusters are drawn with replacement."""
    _, place = np.unique(np.array([str(cluster) for cluster in clusters]), return_inverse=True)
    count = int(place.max()) + 1
    times = rng.multinomial(count, np.full(count, 1 / count), size=draws)
    return np.asarray(times[:, place])


def stratified_plan(strata: Sequence[object], draws: int, rng: np.random.Generator) -> np.ndarray:
    """How often each cluster counts in each draw, draws x clusters: of a stratum's n, n - 1 are drawn with replacement.

    With one less than there are (Rao and Wu 1988) the replicates of a mean vary as the mean does, however few there are; with
    all n they vary by (n - 1)/n of that, which three samples of a dataset would feel.  A stratum of one cannot be drawn again.
    """
    _, place = np.unique(np.array([str(stratum) for stratum in strata]), return_inverse=True)
    counts = np.ones((draws, len(place)))
    for stratum in range(int(place.max()) + 1):
        mine = np.flatnonzero(place == stratum)
        if len(mine) > 1:
            counts[:, mine] = rng.multinomial(len(mine) - 1, np.full(len(mine), 1 / len(mine)), size=draws)
    return counts


@dataclass(frozen=True)
class Resampled:
    """A statistic, without each of its clusters in turn, and under every draw of a `stratified_plan`."""

    value: float
    left_out: np.ndarray                    # clusters
    replicates: np.ndarray                  # draws
    strata: np.ndarray                      # of each cluster: a number

    def estimate(self) -> Estimate:
        """The statistic with its BCa interval; unknown where a stratum has but one cluster."""
        count = len(self.strata)
        if np.bincount(self.strata).min() < 2:
            return Estimate(self.value, None, None, count)
        return bca_interval(self.value, self.left_out, self.replicates, self.strata, planned=True)

    def minus(self, other: Resampled) -> Resampled:
        """The difference of two statistics under one plan."""
        return Resampled(self.value - other.value, self.left_out - other.left_out, self.replicates - other.replicates,
                         self.strata)


def bca(statistic: Callable[[np.ndarray], float], clusters: Sequence[object], replicates: np.ndarray,
        expanded: bool = True) -> Estimate:
    """Efron's bias-corrected and accelerated interval (Efron and Tibshirani 1993, equation 14.10), clustered.

    `statistic` takes how often each unit counts; `replicates` are its values under a `bootstrap_plan`.
    """
    _, place = np.unique(np.array([str(cluster) for cluster in clusters]), return_inverse=True)
    count = int(place.max()) + 1
    value = statistic(np.ones(len(place)))
    left_out = np.array([statistic((place != cluster).astype(float)) for cluster in range(count)])
    return bca_interval(value, left_out, replicates, np.zeros(count, dtype=int), expanded=expanded)


def bca_interval(value: float, left_out: np.ndarray, replicates: np.ndarray, strata: np.ndarray, *, expanded: bool = True,
                 planned: bool = False) -> Estimate:
    """The interval from a statistic, its jackknife over clusters, and its replicates; what is not finite does not count.

    Of few clusters it is too narrow: 88% instead of 95% at 12.  So it reaches, for n clusters, sqrt(n/(n-1)) t(n-1) instead of
    the normal quantile, as Hesterberg (2015) expands percentile intervals; `expanded=False` leaves that out.  Replicates of a
    `stratified_plan` (`planned`) vary as they should, so of them t alone, with the degrees of freedom of Welch and Satterthwaite.
    """
    count = len(left_out)
    found = np.sort(replicates[np.isfinite(replicates)])
    flat = len(found) > 1 and found[-1] - found[0] <= 1e-12 * max(1.0, abs(found[0]))
    if count < 2 or len(found) < 2 or flat or not math.isfinite(value):
        same = count > 1 and flat and math.isclose(found[0], value, rel_tol=0, abs_tol=1e-12)
        return Estimate(value, value if same else None, value if same else None, count)
    parts = influences(left_out[None, :], strata)
    influence, freedom = np.concatenate(parts, axis=1)[0], float(freedoms(parts, np.array([0]), np.array([0]))[0])
    squares = float(np.sum(influence ** 2))
    acceleration = float(np.sum(influence ** 3)) / (6 * squares ** 1.5) if squares > 0 else 0.0
    below = (np.sum(found < value) + np.sum(found == value) / 2) / len(found)
    bias = float(stats.norm.ppf(np.clip(below, 1 / (2 * len(found)), 1 - 1 / (2 * len(found)))))
    tail = (1 + CONFIDENCE) / 2
    wider = 1.0 if planned else math.sqrt(count / (count - 1))
    reach = wider * stats.t.ppf(tail, freedom) if expanded else stats.norm.ppf(tail)
    z = bias + np.array([-reach, reach])
    low, high = np.quantile(found, stats.norm.cdf(bias + z / (1 - acceleration * z)))
    return Estimate(value, float(low), float(high), count)


def influences(left_out: np.ndarray, strata: np.ndarray) -> list[np.ndarray]:
    """What each cluster does to each of m statistics, by the jackknife within strata: m x clusters, an array a stratum."""
    found = []
    for stratum in np.unique(strata):
        mine = left_out[:, strata == stratum]
        mine = mine[:, np.isfinite(mine).all(axis=0)]
        found.append((mine.shape[1] - 1) / max(1, mine.shape[1]) * (mine.mean(axis=1, keepdims=True) - mine)
                     if mine.shape[1] > 1 else np.zeros((len(mine), 0)))
    return found


def freedoms(parts: Sequence[np.ndarray], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Welch and Satterthwaite's degrees of freedom of the difference of two statistics, or of one (`first` is `second`)."""
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


# ---- what parts two entries --------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Parted:
    """All pairs of m entries, judged at once."""

    p: np.ndarray                           # m x m, symmetric: adjusted for the number of pairs
    difference: np.ndarray                  # m x m: row less column

    def better(self, level: float = 1 - CONFIDENCE) -> np.ndarray:
        """m x m: whether the row is better than the column for sure."""
        return np.asarray((self.p <= level) & (self.difference > 0))


def part_means(scores: np.ndarray, unit_weights: np.ndarray, draws: int, rng: np.random.Generator,
               groups: Sequence[int] | None = None) -> Parted:
    """Which weighted means differ: step-down max-T (Westfall and Young 1993) over all pairs, by flipping the signs of residuals.

    A unit's residual is its weighted score less the mean of its group, the units of one task.  For a pair T = sum(w D)/s, with
    s^2 = (n S + m S')/(n + m): S is the variance of the sum from the n residuals, S' the median of S over all pairs, and m, what
    that counts for, the number of the other entries, at most 30.  Under the null T is drawn from residuals with their signs
    flipped, all pairs together, and s is found anew in every draw.

    Flipping the signs of the differences themselves is exact for two metrics whose differences are symmetric.  But a difference
    is then part of its own spread, and where noise is unequal and skewed the differences are not symmetric: with 15 units half
    of the metrics 2 standard errors apart are parted by a line in 47% of runs (here 61%), and equal metrics of unequal noise in
    11% (here 5.5%).  See `tests/benchmarks/test_calibration.py`.
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
    units, lent = weighted.shape[1], min(LENT_UNITS, count - 2)
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
    return Parted(*matrices(count, first, second, p, observed))


def part_replicates(values: np.ndarray, replicates: np.ndarray, parts: Sequence[np.ndarray] = ()) -> Parted:
    """Which statistics differ: step-down max-T over all pairs, from bootstrap replicates (entries x draws) of one plan.

    T is the difference over its standard deviation among the replicates; under the null it is drawn about the observed one.
    That standard deviation is itself uncertain where there are few clusters: with the `influences` of the statistics (`parts`)
    the observed T is taken for Student's, with the degrees of freedom of its pair, and turned into the normal's quantile
    before it is judged.  Without that 7.5% of runs among equals part somebody where half of the score rests on 12 units.
    """
    first, second = np.triu_indices(len(values), 1)
    covariance = np.atleast_2d(np.cov(replicates))
    variances = np.diagonal(covariance)
    spread = np.sqrt(np.maximum(variances[first] + variances[second] - 2 * covariance[first, second], 0))
    scale = np.where(spread > 1e-12, spread, np.inf)
    difference = values[first] - values[second]
    observed = np.abs(difference) / scale
    if parts:
        observed = stats.norm.isf(stats.t.sf(observed, freedoms(parts, first, second)))

    def drawn() -> Iterator[np.ndarray]:
        for start in range(0, replicates.shape[1], DRAWS_AT_ONCE):
            some = replicates[:, start:start + DRAWS_AT_ONCE]
            yield np.abs((some[first] - some[second]).T - difference) / scale
    p = step_down(observed, drawn(), replicates.shape[1])
    return Parted(*matrices(len(values), first, second, p, values))


def step_down(observed: np.ndarray, drawn: Iterable[np.ndarray], draws: int) -> np.ndarray:
    """Adjusted p-values, (c + 1)/(B + 1): each statistic against the largest drawn of itself and all smaller ones."""
    order = np.argsort(-observed, kind="stable")
    exceeded = np.zeros(len(observed))
    for block in drawn:
        largest = np.maximum.accumulate(block[:, order[::-1]], axis=1)[:, ::-1]
        exceeded += (largest >= observed[order] - 1e-12).sum(axis=0)
    p = np.empty(len(observed))
    p[order] = np.maximum.accumulate((exceeded + 1) / (draws + 1)) if len(observed) else []
    return p


def matrices(m: int, first: np.ndarray, second: np.ndarray, p: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    square = np.ones((m, m))
    square[first, second] = square[second, first] = p
    return square, values[:, None] - values[None, :]


# ---- what follows from it ----------------------------------------------------------------------------------------------

def rank_intervals(better: np.ndarray) -> list[tuple[int, int]]:
    """Of each entry: 1 + how many are better for sure, m - how many are worse for sure."""
    return [(1 + int(better[:, i].sum()), len(better) - int(better[i].sum())) for i in range(len(better))]


def dividing_lines(order: Sequence[int], better: np.ndarray) -> list[int]:
    """After how many entries of the order a line is drawn: everybody above is better for sure than everybody below."""
    ordered = better[np.ix_(order, order)]
    return [i for i in range(1, len(order)) if ordered[:i, i:].all()]


def at_least(p: Sequence[float], u: int) -> float:
    """The p-value of "true in at least u of n": (n - u + 1) p_(u), of Benjamini and Heller 2008."""
    ordered = sorted(p)
    return min(1.0, (len(ordered) - u + 1) * ordered[u - 1])


def above_chance(value: float, chance: float) -> float:
    """(value - chance)/(1 - chance): 0 is chance, 1 is perfect."""
    return (value - chance) / (1 - chance)


def borda(value: float, panel: Sequence[float]) -> float:
    """The share of a panel that is beaten, ties one half: nobody else's presence changes it."""
    return sum(1.0 if value > other else 0.5 if value == other else 0.0 for other in panel) / len(panel)


def redundancy(answers: np.ndarray) -> np.ndarray:
    """m x m: Spearman correlation of the entries' answers (a row each) to the same questions; not a number for constants."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.atleast_2d(np.corrcoef(stats.rankdata(answers, axis=1)))


def frontier(cost: Sequence[float], value: Sequence[float]) -> list[int]:
    """Whom nobody beats at a cost that is no higher, cheapest first."""
    kept: list[int] = []
    for i in sorted(range(len(cost)), key=lambda i: (cost[i], -value[i])):
        if not kept or value[i] > value[kept[-1]]:
            kept.append(i)
    return kept
