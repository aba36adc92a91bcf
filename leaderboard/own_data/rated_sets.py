"""What differences of text metrics mean on sets of rated pairs, measured beforehand or from stored answers.

Two samples of n pairs are drawn from a set of rated pairs, with a random preference for high or low ratings. The differences of
their mean similarities and of their mean ratings are then nearly normal, with a covariance that follows from two numbers: the
standard deviation of the similarity, and its correlation with the ratings. Both vary between sets of pairs, so the probability
for new texts averages over the sets, each weighted by the density of such a difference there.

`known_sets.csv` has these numbers and thresholds for each metric and set, and `known_calibration.csv` the calibration error of
each metric on sets that were left out, together with those of the same origin.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import scipy

from leaderboard.own_data.calibration import Comparisons, judge_order
from leaderboard.own_data.pairs.thresholds import FALSE_ALARMS, Threshold, find_thresholds

SETS, TILT = 3_000, 0.4                     # comparisons per set of pairs, and how much they prefer high or low ratings
LARGEST = 4.0                               # standard deviations of a difference, beyond which none is expected
RANGE = (0.1, 0.9)                          # quantiles over sets of pairs
SEED = 31
KNOWN, CALIBRATION = (Path(__file__).with_name(name) for name in ("known_sets.csv", "known_calibration.csv"))
COLUMNS = ("metric", "set", "family", "spread", "correlation", "dissimilar",
           *(f"{column}_{share:.0%}" for share in FALSE_ALARMS for column in ("threshold", "detected")))


@dataclass(frozen=True)
class KnownSet:
    """A set of rated pairs as a metric scores it."""

    name: str
    family: str                             # sets of the same origin
    spread: float                           # standard deviation of the similarity
    correlation: float                      # of the similarity with the ratings
    thresholds: Sequence[Threshold] = ()


@dataclass(frozen=True)
class SpreadMixture:
    """The probability that a difference of two means of `size` pairs has the order of the ratings, for new texts."""

    sets: Sequence[KnownSet]
    size: int

    @property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """The standard deviation of the difference in each set, and its correlation with that of the mean ratings."""
        spread, r = np.array([(known.spread, known.correlation) for known in self.sets if known.spread > 0]).reshape(-1, 2).T
        noise, tilt = 1 / self.size, TILT ** 2 if self.size > 1 else 0.0
        return spread * np.sqrt(2 * (noise + tilt * r ** 2)), r * np.sqrt((noise + tilt) / (noise + tilt * r ** 2))

    def by_set(self, difference: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        """Return the probability in each set (rows), and the weights of the sets."""
        deviation, correlation = self.moments
        z = np.atleast_1d(difference) / deviation[:, None]
        slope = correlation / np.sqrt(np.maximum(1 - correlation ** 2, 1e-9))
        weights = scipy.special.softmax(-z ** 2 / 2 - np.log(deviation)[:, None], axis=0)
        return scipy.special.ndtr(slope[:, None] * z), weights

    def probability(self, difference: np.ndarray | float) -> np.ndarray:
        """Return the probability for absolute differences."""
        probabilities, weights = self.by_set(difference)
        mean = (probabilities * weights).sum(axis=0)
        return np.asarray(mean if np.ndim(difference) else mean[0])

    def interval(self, difference: float) -> tuple[float, float]:
        """Return the range of the probability over most sets of pairs, that is, kinds of texts."""
        probabilities, weights = (values[:, 0] for values in self.by_set(difference))
        order = np.argsort(probabilities)
        share = np.cumsum(weights[order]) - weights[order] / 2
        low, high = np.interp(RANGE, share, probabilities[order])
        return float(low), float(high)

    @property
    def largest(self) -> float:
        """The largest difference that is expected in any of the sets."""
        return float(LARGEST * self.moments[0].max(initial=0.0))


def describe_set(name: str, family: str, similarity: np.ndarray, human: np.ndarray) -> KnownSet:
    """Return what is kept of the similarities of a set; pairs rated below the middle of the scale are dissimilar."""
    middle = (human.min() + human.max()) / 2
    spread = float(similarity.std())
    correlation = float(np.corrcoef(similarity, human)[0, 1]) if spread and human.std() else 0.0
    thresholds = find_thresholds(similarity[human < middle], similarity[human >= middle])
    return KnownSet(name, family, spread, correlation, tuple(thresholds))


def draw_sets(human: np.ndarray, size: int) -> np.ndarray:
    """Return the rows of the pairs in two sets of `size` pairs, for each comparison."""
    rng, z = np.random.default_rng(SEED), scipy.stats.zscore(human)
    rows = np.empty((2, SETS, size), dtype=np.int64)
    for side, draw in itertools.product(range(2), range(SETS)):
        weights = np.exp(rng.normal(0, TILT if size > 1 else 0) * z)
        rows[side, draw] = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(size)).clip(max=len(human) - 1)
    return rows


def compare_sets(similarity: np.ndarray, human: np.ndarray, rows: np.ndarray) -> Comparisons:
    """Return differences of mean scores of two sets of pairs, and whether their ratings differ in the same direction."""
    difference, real = (np.subtract(*values[rows].mean(axis=2)) for values in (similarity, human))
    return judge_order(difference[real != 0], real[real != 0])


@cache
def read_known_sets() -> dict[str, list[KnownSet]]:
    """Return the sets of rated pairs by metric; thresholds are similarities."""
    known: dict[str, list[KnownSet]] = {}
    with KNOWN.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            count = int(row["dissimilar"])
            thresholds = tuple(Threshold(share, float(value), math.nan, math.nan, float(row[f"detected_{share:.0%}"]), count)
                               for share in FALSE_ALARMS if (value := row[f"threshold_{share:.0%}"]))
            known.setdefault(row["metric"], []).append(
                KnownSet(row["set"], row["family"], float(row["spread"]), float(row["correlation"]), thresholds))
    return known


@cache
def read_calibration() -> dict[str, dict[int, float]]:
    """Return the calibration errors by metric and by number of pairs."""
    errors: dict[str, dict[int, float]] = {}
    with CALIBRATION.open(encoding="utf-8", newline="") as file:
        for metric, size, error in list(csv.reader(file))[1:]:
            errors.setdefault(metric, {})[int(size)] = float(error)
    return errors


def known_calibration(metric: str, size: int) -> float:
    """Return the calibration error of a metric, measured for the number of pairs that is nearest to `size`."""
    errors = read_calibration()[metric]
    return errors[min(errors, key=lambda measured: abs(math.log(measured / size)))]
