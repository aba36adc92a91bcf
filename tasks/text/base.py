"""What the tasks of text metrics share: pairs are asked mixed, some again alone, and read as similarities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from harness.evaluation.metric_session import Asked, not_finite
from harness.evaluation.task import CombinedColumn, Measures, Presentation, Task, Unit
from harness.submission.header import Header
from tasks.common.consistency import Rechecked, excused

PAIRS_A_CALL = 5_000
CHECKED_PAIRS = 3                           # of a unit, asked again alone

CONTEXT_MEASURES = {"context_difference": "mean change of an answer when its pair is asked alone, in sd of a unit's answers",
                    "repeat_spread": "mean change of an answer when it is asked again under another seed, in the same unit"}

USMB = "usmb"                               # the measure that USMB would print; its column is their mean over the five tasks
USMB_MEANING = "the score as USMB computes it"
USMB_COLUMN = CombinedColumn(USMB, "USMB", "Mean of the scores of the five tasks as USMB computes them")
USMB_ORIGIN = "Adapted from the USMB task of the same name."

def usmb_presentation(example: str, **fields: Any) -> Presentation:
    """Return the presentation of a task that is adapted from USMB."""
    return Presentation(origin=USMB_ORIGIN, combined=(USMB_COLUMN,), example=example, **fields)


Observation = TypeVar("Observation")


@dataclass(frozen=True)
class Reading:
    """How a text metric's raw answers are read: which way they point, and within what range they are declared."""

    returns: str                            # "distance" or "similarity"
    low: float | None                       # None: unbounded
    high: float | None

    @classmethod
    def of(cls, header: Header) -> Reading:
        low, high = (edge if math.isfinite(edge) else None for edge in header.range)
        return cls(header.returns, low, high)

    def similarity(self, raw: np.ndarray) -> np.ndarray:
        """The answers so that larger means more alike; only their order counts."""
        return raw if self.returns == "similarity" else -raw

    def unit(self, raw: np.ndarray, itself: np.ndarray) -> np.ndarray:
        """The answers as similarities in [0, 1].

        Of an unbounded similarity s(q,d)/s(q,q), `itself` being s(q,q) (0 where that is not positive); of a distance d,
        1 - d/high or, unbounded, 1/(1 + d); of the others what they are.  Clipped.
        """
        if self.returns == "similarity":
            if self.high is not None:
                return np.asarray(np.clip(raw, 0, 1))
            whole = np.broadcast_to(itself, raw.shape)
            return np.asarray(np.clip(np.divide(raw, whole, out=np.zeros_like(raw), where=whole > 0), 0, 1))
        if self.high is not None:
            return np.asarray(np.clip(1 - raw / self.high, 0, 1))
        return np.asarray(1 / (1 + np.maximum(raw, 0)))


class TextTask(Task[Observation]):
    """A task of the text track; its units' measures hold `context_difference` and `repeat_spread`."""

    def marks(self, measured: Sequence[Measures]) -> frozenset[str]:
        return excused(super().marks(measured), measured)


def ask_mixed(metric: Asked, pairs: Sequence[tuple[str, str]], collection: Sequence[str],
              call: int = 0) -> tuple[tuple[float, ...], tuple[Rechecked, ...]]:
    """The raw answers for all pairs, asked in one call in an order that only the unit's seed knows, and some of them alone.

    The order matters where a score depends on its neighbours in the batch: sorted by condition, such a metric would see what
    the conditions are.
    """
    rng = np.random.default_rng([metric.unit.seed, len(pairs), call])
    order = rng.permutation(len(pairs)).tolist()
    a, b = ([pairs[place][side] for place in order] for side in (0, 1))
    shuffled = metric.pairs(a, b, call, collection)
    answers = dict(zip(order, shuffled, strict=True))
    return tuple(answers[place] for place in range(len(pairs))), recheck(metric, a, b, shuffled, collection, call, rng)


def ask_by_condition(metric: Asked, pairs: Sequence[tuple[str, str]], conditions: Sequence[str],
                     collection: Sequence[str]) -> tuple[tuple[float, ...], tuple[Rechecked, ...]]:
    """The same in one call a condition, as USMB must have asked: in reproductions of scores that depend on their batch."""
    answers = np.empty(len(pairs))
    rechecked: list[Rechecked] = []
    for call, condition in enumerate(dict.fromkeys(conditions)):
        mine = [place for place, one in enumerate(conditions) if one == condition]
        answers[mine], again = ask_mixed(metric, [pairs[place] for place in mine], collection, call)
        rechecked += again
    return tuple(answers.tolist()), tuple(rechecked)


def recheck(metric: Asked, a: Sequence[str], b: Sequence[str], answers: Sequence[float], collection: Sequence[str], call: int,
            rng: np.random.Generator) -> tuple[Rechecked, ...]:
    """A few pairs asked again, alone in a fresh worker: which ones, only the unit's seed knows."""
    chosen = sorted(rng.choice(len(a), min(CHECKED_PAIRS, len(a)), replace=False).tolist())
    alone = metric.pairs_alone(a, b, call, collection, chosen)
    return tuple(Rechecked((call, place), answers[place], first, again)
                 for place, (first, again) in zip(chosen, alone, strict=True))


def ask_cross(metric: Asked, a: Sequence[str], b: Sequence[str],
              collection: Sequence[str]) -> tuple[np.ndarray, tuple[Rechecked, ...]]:
    """The raw answers for every text of a against every one of b, by its own matrix or pair by pair; some again alone."""
    cross = metric.cross(a, b, 0, collection)
    first, second = (side.ravel().tolist() for side in np.indices((len(a), len(b))))
    rng = np.random.default_rng([metric.unit.seed, len(a), len(b)])
    if cross is None:
        order = rng.permutation(len(first)).tolist()
        answers = np.empty(len(first))
        for start in range(0, len(order), PAIRS_A_CALL):
            some = order[start:start + PAIRS_A_CALL]
            answers[some] = metric.pairs([a[first[i]] for i in some], [b[second[i]] for i in some], start, collection)
        cross = answers.reshape(len(a), len(b))
    elif not np.isfinite(cross).all():
        raise not_finite(float(cross[~np.isfinite(cross)][0]))
    places = rng.choice(len(first), min(CHECKED_PAIRS, len(first)), replace=False).tolist()
    alone = recheck(metric, [a[first[i]] for i in places], [b[second[i]] for i in places],
                    [float(cross[first[i], second[i]]) for i in places], collection, len(first), rng)
    return cross, alone


# ---- under counts of what is drawn again --------------------------------------------------------------------------------

def places_of(unit: Unit) -> range:
    """The places of the unit's batch in its dataset's order."""
    return range(unit.parameters["start"], unit.parameters["stop"])


def mean_under(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean of what is known, under each row of counts; not a number where nothing is."""
    known = np.isfinite(values)
    weight = counts[:, known].sum(axis=1)
    return np.asarray(np.divide(counts[:, known] @ values[known], weight, out=np.full(len(counts), np.nan), where=weight > 0))


def mean_over(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Elementwise, the mean of the parts that are known there."""
    stacked = np.array(list(parts))
    known = np.isfinite(stacked)
    count = known.sum(axis=0)
    whole = np.where(known, stacked, 0).sum(axis=0)
    return np.asarray(np.divide(whole, count, out=np.full(stacked.shape[1:], np.nan), where=count > 0))


def correlation_under(x: np.ndarray, y: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Pearson's r under each row of counts; not a number where x or y is constant."""
    x, y = x - x.mean(), y - y.mean()       # so that little is lost below
    sums = counts @ np.column_stack([np.ones_like(x), x, y, x ** 2, y ** 2, x * y])         # the counts are large: read once
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my, xx, yy, xy = (sums[:, 1:] / sums[:, :1]).T
        vx, vy = xx - mx ** 2, yy - my ** 2
        r = (xy - mx * my) / np.sqrt(vx * vy)
    tiny = 1e-12 * np.array([np.mean(x ** 2), np.mean(y ** 2)])
    return np.where((vx > tiny[0]) & (vy > tiny[1]), np.clip(r, -1, 1), np.nan)
