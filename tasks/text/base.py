"""What the tasks of text metrics share: pairs are asked mixed, some again alone, and read as similarities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession, not_finite_fault
from harness.evaluation.task import Measures, Task
from tasks.common.consistency import RecheckedAnswer, remove_excused_marks

PAIRS_A_CALL = 5_000
CHECKED_PAIRS = 3                           # of a unit, asked again alone

CONTEXT_MEASURES = {"context_difference": "mean change of an answer when its pair is asked alone, in sd of a unit's answers",
                    "repeat_spread": "mean change of an answer when it is asked again under another seed, in the same unit"}

USMB = "usmb"                               # the measure that USMB would print; its column is their mean over the five tasks
USMB_MEANING = "the score as USMB computes it"

Observation = TypeVar("Observation")


class TextTask(Task[Observation]):
    """A task of the text track; its units' measures hold `context_difference` and `repeat_spread`."""

    def marks(self, measured: Sequence[Measures]) -> frozenset[str]:
        return remove_excused_marks(super().marks(measured), measured)


def score_in_mixed_order(metric: MetricSession, pairs: Sequence[tuple[str, str]], collection: Sequence[str],
                         call: int = 0) -> tuple[tuple[float, ...], tuple[RecheckedAnswer, ...]]:
    """The raw answers for all pairs, asked in one call in an order that only the unit's seed knows, and some of them alone.

    The order matters where a score depends on its neighbours in the batch: sorted by condition, such a metric would see what
    the conditions are.
    """
    rng = np.random.default_rng([metric.unit.seed, len(pairs), call])
    order = rng.permutation(len(pairs)).tolist()
    a, b = ([pairs[index][side] for index in order] for side in (0, 1))
    shuffled = metric.pair_scores(a, b, call, collection)
    answers = dict(zip(order, shuffled, strict=True))
    return tuple(answers[index] for index in range(len(pairs))), recheck_answers(metric, a, b, shuffled, collection, call, rng)


def score_by_condition(metric: MetricSession, pairs: Sequence[tuple[str, str]], conditions: Sequence[str],
                       collection: Sequence[str]) -> tuple[tuple[float, ...], tuple[RecheckedAnswer, ...]]:
    """The same in one call a condition, as USMB must have asked: in reproductions of scores that depend on their batch."""
    answers = np.empty(len(pairs))
    rechecked: list[RecheckedAnswer] = []
    for call, condition in enumerate(dict.fromkeys(conditions)):
        rows = [index for index, other in enumerate(conditions) if other == condition]
        answers[rows], again = score_in_mixed_order(metric, [pairs[index] for index in rows], collection, call)
        rechecked += again
    return tuple(answers.tolist()), tuple(rechecked)


def recheck_answers(metric: MetricSession, a: Sequence[str], b: Sequence[str], answers: Sequence[float], collection: Sequence[str], call: int,
                    rng: np.random.Generator) -> tuple[RecheckedAnswer, ...]:
    """A few pairs asked again, alone in a fresh worker: which ones, only the unit's seed knows."""
    chosen = sorted(rng.choice(len(a), min(CHECKED_PAIRS, len(a)), replace=False).tolist())
    alone = metric.recheck_pairs(a, b, call, collection, chosen)
    return tuple(RecheckedAnswer((call, index), answers[index], first, again)
                 for index, (first, again) in zip(chosen, alone, strict=True))


def score_all_pairs(metric: MetricSession, a: Sequence[str], b: Sequence[str],
                    collection: Sequence[str]) -> tuple[np.ndarray, tuple[RecheckedAnswer, ...]]:
    """The raw answers for every text of a against every one of b, by its own matrix or pair by pair; some again alone."""
    cross = metric.score_matrix(a, b, 0, collection)
    first, second = (side.ravel().tolist() for side in np.indices((len(a), len(b))))
    rng = np.random.default_rng([metric.unit.seed, len(a), len(b)])
    if cross is None:
        order = rng.permutation(len(first)).tolist()
        answers = np.empty(len(first))
        for start in range(0, len(order), PAIRS_A_CALL):
            some = order[start:start + PAIRS_A_CALL]
            answers[some] = metric.pair_scores([a[first[i]] for i in some], [b[second[i]] for i in some], start, collection)
        cross = answers.reshape(len(a), len(b))
    elif not np.isfinite(cross).all():
        raise not_finite_fault(float(cross[~np.isfinite(cross)][0]))
    cells = rng.choice(len(first), min(CHECKED_PAIRS, len(first)), replace=False).tolist()
    alone = recheck_answers(metric, [a[first[i]] for i in cells], [b[second[i]] for i in cells],
                            [float(cross[first[i], second[i]]) for i in cells], collection, len(first), rng)
    return cross, alone


# ---- under counts of what is drawn again --------------------------------------------------------------------------------

def document_range(unit: Unit) -> range:
    """The places of the unit's batch in its dataset's order."""
    return range(unit.parameters["start"], unit.parameters["stop"])

