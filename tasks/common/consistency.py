"""What answers asked again alone give away about a metric; the same for corpora and for pairs of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.evaluation.task import Measures

TOLERANCE = 1e-6
LARGEST_SPREAD = 0.2                        # of an honest metric's answers, in standard deviations of them all


@dataclass(frozen=True)
class RecheckedAnswer:
    """One pair's answer in the run of things, and two of a fresh worker that saw nothing but what is asked again."""

    pair: tuple[int, int]                   # which: two corpora of a collection, or a call and a place in it
    among_others: float
    alone: float
    alone_again: float


def context_marks(rechecked: Sequence[RecheckedAnswer]) -> frozenset[str]:
    """What the answers of fresh workers give away about a metric."""
    marks = set()
    if any(differ(answer.alone, answer.alone_again) for answer in rechecked):
        marks.add("unrepeatable")
    if any(differ(answer.among_others, answer.alone) for answer in rechecked):
        marks.add("context-dependent")
    return frozenset(marks)


def remove_excused_marks(marks: frozenset[str], measured: Sequence[Measures]) -> frozenset[str]:
    """The marks of all units together: an unrepeatable metric's context is judged against its own repeat spread.

    A spread that is large beside the answers themselves excuses nothing: it could be put on when alone.
    """
    if "unrepeatable" in marks:
        changed = np.mean([value_or_chance(measures.values["context_difference"], 0.0) for measures in measured])
        spread = np.mean([value_or_chance(measures.values["repeat_spread"], 0.0) for measures in measured])
        honest = changed <= 2 * spread and spread <= LARGEST_SPREAD
        return marks - {"context-dependent"} if honest else marks | {"context-dependent"}
    return marks


def context_measures(rechecked: Sequence[RecheckedAnswer], answers: np.ndarray) -> dict[str, float | None]:
    """By how much answers change when asked alone, and again, in standard deviations of all answers of the unit."""
    spread = float(answers.std()) if len(answers) and np.ptp(answers) else None

    def relative(a: float, b: float) -> float:
        return min(abs(a - b) / spread, 1e9) if spread else 0.0
    return {"context_difference": float(np.mean([relative(r.among_others, r.alone) for r in rechecked])) if rechecked else None,
            "repeat_spread": float(np.mean([relative(r.alone_again, r.alone) for r in rechecked])) if rechecked else None}


def differ(a: float, b: float) -> bool:
    return abs(a - b) > TOLERANCE * max(1.0, abs(a), abs(b))


def value_or_chance(value: float | None, chance: float) -> float:
    return chance if value is None else value
