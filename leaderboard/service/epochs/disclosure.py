"""What is disclosed of private scores: rounded values, the Ladder rule, a correction for the number of tries, and gaps.

Pure functions over estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from leaderboard.scoring.estimates import CONFIDENCE, Estimate

GAP_ERRORS = 3.0                            # standard errors beyond which a gap is flagged
MIN_COMPARED = 3                            # published entries on the same draw from which the usual gap is estimated
MAD_TO_SD = 1.4826                          # of a normal distribution
Z = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))


@dataclass(frozen=True)
class PrivateScore:
    """A score of an entry on a task of a private draw as it is disclosed: all three numbers are multiples of the step."""

    task: str
    title: str
    value: float
    low: float
    high: float
    step: float                             # half the width of the interval, rounded up


@dataclass(frozen=True)
class LadderScore:
    """What a submitter learns: the score, or the owner's best one before it."""

    score: PrivateScore
    improved: bool                          # whether the score is disclosed; else it is the best one before


@dataclass(frozen=True)
class Gap:
    """The public score of an entry on a task minus the private one, and the variance of the difference."""

    value: float
    variance: float


def correct_for_tries(estimate: Estimate, tries: int) -> Estimate:
    """Return an estimate whose interval has the level (95%)^(1/tries), by Šidák, so that all tries together have 95%."""
    if estimate.low is None or estimate.high is None or tries <= 1:
        return estimate
    factor = float(scipy.special.ndtri((1 + CONFIDENCE ** (1 / tries)) / 2)) / Z
    return Estimate(estimate.value, estimate.value - factor * (estimate.value - estimate.low),
                    estimate.value + factor * (estimate.high - estimate.value), estimate.units)


def round_score(task: str, title: str, estimate: Estimate) -> PrivateScore | None:
    """Return a score rounded to half the width of its interval, whose ends are rounded outwards; None without an interval.

    The step is half the width rounded up to 1, 2 or 5 times a power of ten, so that it says little about the width.
    """
    if estimate.low is None or estimate.high is None or not estimate.high > estimate.low:
        return None
    step = round_step((estimate.high - estimate.low) / 2)
    digits = max(0, math.ceil(-math.log10(step)) + 1)

    def multiple(number: float) -> float:
        return round(number * step, digits)
    return PrivateScore(task, title, multiple(round(estimate.value / step)), multiple(math.floor(estimate.low / step + 1e-9)),
                        multiple(math.ceil(estimate.high / step - 1e-9)), step)


def round_step(width: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least a width."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * (1 - 1e-9))


def climb_ladder(scores: Iterable[PrivateScore]) -> list[LadderScore]:
    """Return what is disclosed of the scores of one owner on one task, in the order of the runs (Blum and Hardt 2015).

    A score is disclosed if it exceeds the best disclosed one by a step; otherwise only that it does not.
    """
    shown: list[LadderScore] = []
    best: PrivateScore | None = None
    for score in scores:
        improved = best is None or score.value >= best.value + max(score.step, best.step) * (1 - 1e-9)
        best = score if improved or best is None else best
        shown.append(LadderScore(best, improved))
    return shown


def find_gap(public: Estimate, private: Estimate) -> Gap | None:
    """Return the difference of the scores on two draws; None if one of them has no interval."""
    errors = [(estimate.high - estimate.low) / (2 * Z) for estimate in (public, private)
              if estimate.low is not None and estimate.high is not None]
    return Gap(public.value - private.value, sum(error ** 2 for error in errors)) if len(errors) == 2 else None


def is_suspicious(gap: Gap, compared: Sequence[Gap]) -> bool:
    """Return whether a gap exceeds the usual one by more than 3 standard errors.

    The usual gap is the median of published entries on the same draw, because a draw can be easier or harder. By how much entries
    differ in their gaps beyond sampling errors, by the median absolute deviation, is part of the standard error.
    """
    usual, variance = 0.0, gap.variance
    if len(compared) >= MIN_COMPARED:
        values = np.array([other.value for other in compared])
        usual = float(np.median(values))
        spread = (MAD_TO_SD * float(np.median(np.abs(values - usual)))) ** 2
        variance += max(0.0, spread - float(np.median([other.variance for other in compared])))
    return gap.value - usual > GAP_ERRORS * math.sqrt(variance)


def rank_range(score: PrivateScore, others: Iterable[PrivateScore]) -> tuple[int, int]:
    """Return the ranks that a score may have among others: those whose interval is higher are before it, lower ones after it."""
    compared = list(others)
    return (1 + sum(other.low > score.high for other in compared), 1 + sum(other.high >= score.low for other in compared))
