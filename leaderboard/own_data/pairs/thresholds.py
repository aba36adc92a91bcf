"""Thresholds of similarity for promised shares of false alarms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

FALSE_ALARMS = (0.01, 0.05, 0.10)


@dataclass(frozen=True)
class Threshold:
    """Texts whose similarity exceeds `value` are called similar."""

    false_alarms: float                     # promised share of dissimilar pairs that exceed it, in expectation
    value: float
    low: float                              # 90% interval of that share, given how few dissimilar pairs there are
    high: float
    detected: float                         # share of the similar pairs that exceed it
    negatives: int


def find_thresholds(dissimilar: np.ndarray, similar: np.ndarray, shares: Sequence[float] = FALSE_ALARMS) -> list[Threshold]:
    """Return the threshold for each share that enough dissimilar pairs support: 1/share - 1 of them.

    The threshold is the quantile at (n + 1)(1 - share) of the n dissimilar pairs, interpolated: the expected share of new
    dissimilar pairs above it is the promised one, whatever their distribution.
    """
    count = len(dissimilar)
    thresholds = []
    for share in shares:
        if count < fewest_for(share):
            continue
        value = float(np.quantile(dissimilar, 1 - share, method="weibull"))
        above = (count + 1) * share
        low, high = scipy.special.betaincinv(above, count + 1 - above, (0.05, 0.95))
        detected = float(np.mean(similar > value)) if len(similar) else 0.0
        thresholds.append(Threshold(share, value, float(low), float(high), detected, count))
    return thresholds


def describe_needed(count: int) -> list[str]:
    """Return a sentence for each share that too few dissimilar pairs support."""
    return [f"A threshold for {share:.0%} false alarms needs {fewest_for(share)} dissimilar pairs; there are {count}."
            for share in FALSE_ALARMS if count < fewest_for(share)]


def fewest_for(share: float) -> int:
    """Return the number of dissimilar pairs that a threshold for a share of false alarms needs."""
    return math.ceil(round(1 / share, 6)) - 1
