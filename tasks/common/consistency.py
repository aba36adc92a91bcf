"""Marks and measures of metrics whose answers change when repeated, or depend on the other inputs of a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.evaluation.task import Measures

TOLERANCE = 1e-6
LARGEST_SPREAD = 0.2                        # of repeated answers, in standard deviations of all answers


@dataclass(frozen=True)
class RecheckedAnswer:
    """An answer of the normal run, and two answers to the same pair from fresh workers that processed nothing else."""

    pair: tuple[int, int]                   # two corpora of a collection, or a call and an index in it
    among_others: float
    alone: float
    alone_again: float


def context_marks(rechecked: Sequence[RecheckedAnswer]) -> frozenset[str]:
    """Return the marks that a unit's rechecked answers justify."""
    marks = set()
    if any(differ(answer.alone, answer.alone_again) for answer in rechecked):
        marks.add("unrepeatable")
    if any(differ(answer.among_others, answer.alone) for answer in rechecked):
        marks.add("context-dependent")
    return frozenset(marks)


def remove_excused_marks(marks: frozenset[str], measured: Sequence[Measures]) -> frozenset[str]:
    """Return the marks of all units together, without "context-dependent" if randomness explains the difference.

    The context effect of an unrepeatable metric is compared with the spread of its repeated answers. A spread that is large
    relative
    to the answers themselves excuses nothing, because a metric could add noise only when it scores a pair alone.
    """
    if "unrepeatable" in marks:
        changed = np.mean([value_or_chance(measures.values["context_difference"], 0.0) for measures in measured])
        spread = np.mean([value_or_chance(measures.values["repeat_spread"], 0.0) for measures in measured])
        honest = changed <= 2 * spread and spread <= LARGEST_SPREAD
        return marks - {"context-dependent"} if honest else marks | {"context-dependent"}
    return marks


def context_measures(rechecked: Sequence[RecheckedAnswer], answers: np.ndarray) -> dict[str, float | None]:
    """Return the mean change of answers when scored alone, and when repeated, in SD of all answers of the unit."""
    return recheck_measures(rechecked, float(answers.std()) if len(answers) and np.ptp(answers) else None)


def recheck_measures(rechecked: Sequence[RecheckedAnswer], spread: float | None) -> dict[str, float | None]:
    """Return the mean change of answers when scored alone, and when repeated, in units of their spread."""
    if not rechecked:
        return {"context_difference": None, "repeat_spread": None}

    def mean_change(pairs: Iterable[tuple[float, float]]) -> float:
        return float(np.mean([min(abs(a - b) / spread, 1e9) if spread else 0.0 for a, b in pairs]))
    return {"context_difference": mean_change((answer.among_others, answer.alone) for answer in rechecked),
            "repeat_spread": mean_change((answer.alone_again, answer.alone) for answer in rechecked)}


def differ(a: float, b: float) -> bool:
    """Return whether two answers differ by more than the tolerance."""
    return abs(a - b) > TOLERANCE * max(1.0, abs(a), abs(b))


def value_or_chance(value: float | None, chance: float) -> float:
    """Return the value, or chance if it is unknown."""
    return chance if value is None else value
