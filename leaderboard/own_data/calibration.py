"""Probabilities that differences have the real order, and their calibration error on sources that are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

BINS = 10

Comparisons = tuple[np.ndarray, np.ndarray]         # absolute differences, and whether their order is the real one (ties: 1/2)


class Predictor(Protocol):
    """A probability as a function of a difference."""

    def probability(self, difference: np.ndarray | float) -> np.ndarray:
        """Return the probability for absolute differences."""


def judge_order(difference: np.ndarray, real: np.ndarray) -> Comparisons:
    """Return absolute differences, and 1 where they have the real sign, 1/2 where they are 0."""
    return np.abs(difference), (1 + np.sign(difference) * np.sign(real)) / 2


def calibration_error(by_source: Mapping[str, Comparisons], learn: Callable[[str], Predictor]) -> float:
    """Return the calibration error over all sources; `learn` returns what predicts a source from others.

    It is the mean distance, over ten groups of comparisons with similar predictions, of the predicted and the observed share.
    """
    p = np.concatenate([learn(source).probability(differences) for source, (differences, _) in by_source.items()])
    y = np.concatenate([order for _, order in by_source.values()])
    groups = np.array_split(np.argsort(p, kind="stable"), BINS)
    return float(sum(len(rows) * abs(p[rows].mean() - y[rows].mean()) for rows in groups if len(rows)) / len(p))
