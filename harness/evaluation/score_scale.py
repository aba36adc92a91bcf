"""The direction and range of a metric's answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import AliasChoices, Field

from harness.submission.header import Header


@dataclass(frozen=True)
class ScoreScale:
    """The direction and the declared range of raw answers; an unbounded end is None.

    Stored observations of corpus tasks hold `returns` and `highest`, those of text tasks `returns`, `low` and `high`.
    """

    returns: str                            # "distance" or "similarity"
    low: float | None = None
    high: Annotated[float | None, Field(validation_alias=AliasChoices("high", "highest"))] = None

    @classmethod
    def from_header(cls, header: Header) -> ScoreScale:
        """Return the scale that a header declares."""
        low, high = (end if math.isfinite(end) else None for end in header.range)
        return cls(header.returns, low, high)

    def as_distance(self, answers: np.ndarray) -> np.ndarray:
        """Return the answers oriented so that larger means more different."""
        if self.returns == "distance":
            return answers
        return (0.0 if self.high is None else self.high) - answers

    def as_similarity(self, answers: np.ndarray) -> np.ndarray:
        """Return the answers oriented so that larger means more similar; only their order is meaningful."""
        return answers if self.returns == "similarity" else -answers

    def to_unit_interval(self, answers: np.ndarray, self_similarity: np.ndarray) -> np.ndarray:
        """Return the answers as similarities, clipped to [0, 1].

        An unbounded similarity s(q, d) becomes s(q, d) / s(q, q), with `self_similarity` = s(q, q), and 0 where that is not
        positive. A distance d becomes 1 - d / high or, if unbounded, 1 / (1 + d). A bounded similarity is only clipped.
        """
        if self.returns == "similarity":
            if self.high is not None:
                return np.asarray(np.clip(answers, 0, 1))
            whole = np.broadcast_to(self_similarity, answers.shape)
            return np.asarray(np.clip(np.divide(answers, whole, out=np.zeros_like(answers), where=whole > 0), 0, 1))
        if self.high is not None:
            return np.asarray(np.clip(1 - answers / self.high, 0, 1))
        return np.asarray(1 / (1 + np.maximum(answers, 0)))
