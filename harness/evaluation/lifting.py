"""Lift a text metric to corpora by best matches, as Zwerdling et al. (2021) do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.submission.header import Header


@dataclass(frozen=True)
class LiftingRule:
    """The direction and range of pair scores, which determine the corpus distance."""

    similarity: bool
    range: tuple[float, float]          # of the pair scores

    @classmethod
    def of(cls, header: Header) -> LiftingRule:
        """Return the rule for a metric's header."""
        return cls(header.returns == "similarity", header.range)


def lift_scores(cross: np.ndarray, lifted: LiftingRule) -> float:
    """Return the distance of two corpora from the scores of all pairs of their texts.

    Rows of `cross` are texts of the first corpus, columns texts of the second. Precision is the mean over rows of the largest
    similarity, recall the mean over columns. The distance is 1 - F1 if similarities are declared in [0, 1], else the mean of the
    two directed mean nearest distances.
    """
    similarity = cross if lifted.similarity else -cross
    precision, recall = float(similarity.max(axis=1).mean()), float(similarity.max(axis=0).mean())
    if lifted.similarity and lifted.range == (0.0, 1.0):
        return 1 - (2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0)
    highest = lifted.range[1] if lifted.similarity and math.isfinite(lifted.range[1]) else 0.0
    return highest - (precision + recall) / 2
