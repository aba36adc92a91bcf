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

    def to_unit_interval(self, answers: np.ndarray, self_answers: np.ndarray) -> np.ndarray:
        """Return the answers as similarities from 0 (dissimilar) to 1 (similar); answers outside the declared range are clipped.

        - With two bounds: the linear position between them.
        - With a bound at the dissimilar end only, such as a similarity in [0, inf]: the linear position between the bound and
          the answer for the text and itself, which is s(q, d) / s(q, q) if the bound is 0.
        - With a bound at the similar end only, such as a distance in [0, inf]: 1 / (1 + x), x being how far the answer is from
          the bound.
        - Without bounds: as in [0, inf].

        Args:
            answers: Raw answers.
            self_answers: Raw answers for each text and itself, broadcast to `answers`.
        """
        low, high = (0.0, None) if self.low is None and self.high is None else (self.low, self.high)
        if self.returns == "distance":
            answers, self_answers = -answers, -self_answers
            low, high = (None if end is None else -end for end in (high, low))
        if low is None:
            assert high is not None
            return np.asarray(1 / (1 + np.maximum(high - answers, 0)))
        span = np.broadcast_to(np.asarray(self_answers if high is None else high) - low, answers.shape)
        return np.asarray(np.clip(np.divide(answers - low, span, out=np.zeros(answers.shape), where=span > 0), 0, 1))
