"""What the tasks of text metrics share: pairs are asked mixed, some again alone, and read as similarities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from harness.asking import Asked
from harness.header import Header
from harness.task import Measures, Task
from tasks.rechecking import Rechecked, excused

CHECKED_PAIRS = 3                           # of a unit, asked again alone

CONTEXT_MEASURES = {"context_difference": "mean change of an answer when its pair is asked alone, in sd of a unit's answers",
                    "repeat_spread": "mean change of an answer when it is asked again under another seed, in the same unit"}

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


def recheck(metric: Asked, a: Sequence[str], b: Sequence[str], answers: Sequence[float], collection: Sequence[str], call: int,
            rng: np.random.Generator) -> tuple[Rechecked, ...]:
    """A few pairs asked again, alone in a fresh worker: which ones, only the unit's seed knows."""
    chosen = sorted(rng.choice(len(a), min(CHECKED_PAIRS, len(a)), replace=False).tolist())
    alone = metric.pairs_alone(a, b, call, collection, chosen)
    return tuple(Rechecked((call, place), answers[place], first, again)
                 for place, (first, again) in zip(chosen, alone, strict=True))
