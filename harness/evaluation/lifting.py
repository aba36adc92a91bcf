"""Lifting a text metric to corpora, as Zwerdling et al. do: every text looks for its nearest in the other corpus."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.submission.header import Header


@dataclass(frozen=True)
class LiftingRule:
    """How a text metric's pair values become a distance of corpora."""

    similarity: bool
    range: tuple[float, float]          # of the pair values

    @classmethod
    def of(cls, header: Header) -> LiftingRule:
        return cls(header.returns == "similarity", header.range)


def lift_scores(cross: np.ndarray, lifted: LiftingRule) -> float:
    """1 - F1 where similarities are declared in [0, 1]; else the mean of the two directed mean nearest distances.

    `cross` holds the pair values, rows of the first corpus against columns of the second.  Precision is the mean over
    rows of the largest similarity, recall the mean over columns.
    """
    similarity = cross if lifted.similarity else -cross
    precision, recall = float(similarity.max(axis=1).mean()), float(similarity.max(axis=0).mean())
    if lifted.similarity and lifted.range == (0.0, 1.0):
        return 1 - (2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0)
    highest = lifted.range[1] if lifted.similarity and math.isfinite(lifted.range[1]) else 0.0
    return highest - (precision + recall) / 2
