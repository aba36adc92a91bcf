"""The values that a text metric gives to pairs that people rated: by what the value of another pair can be read.

A pair of which people say at least 4 of 5 is a paraphrase, from 2 to under 4 related, under 1 random, like all pairs that were
put together at random; 5 is the greatest rating that a pair of its dataset has.  Those from 1 to under 2 are of no class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from leaderboard.scoring.scores import Scored
from tasks.text.human_ordering import RANDOM, HumanOrdering, RatedAnswers

CLASSES = {"random": "rated under 1 of 5, or put together at random", "related": "rated 2 to under 4 of 5",
           "paraphrase": "rated at least 4 of 5"}
FEWEST = 20                                 # pairs, for a class to be spoken of
KEPT = np.linspace(0, 100, 51)              # percentiles that a release keeps of each class
HARDLY = 0.6                                # (paraphrase, random) pairs in the right order: fewer are hardly told apart


def by_class(seen: Iterable[tuple[str, str, RatedAnswers]]) -> dict[str, list[float]]:
    """The answers of one metric to (dataset, kind of pairs, answers), by the class of the pair."""
    parts = list(seen)
    highest: dict[str, float] = {}
    for dataset, _, rated in parts:
        highest[dataset] = max(highest.get(dataset, -np.inf), *rated.human)
    classes: dict[str, list[float]] = {name: [] for name in CLASSES}
    for dataset, kind, rated in parts:
        for answer, human in zip(rated.answers, rated.human, strict=True):
            of = class_of(kind, 5 * human / highest[dataset])
            if of is not None:
                classes[of].append(answer)
    return classes


def class_of(kind: str, rating: float) -> str | None:
    """By how pairs were put together, and the rating on a scale whose greatest is 5."""
    if kind == RANDOM or rating < 1:
        return "random"
    if rating < 2:
        return None
    return "related" if rating < 4 else "paraphrase"


def share_below(values: np.ndarray, one: float) -> float:
    """Of the values, ties one half."""
    return float(np.mean(values < one) + np.mean(values == one) / 2)


def told_apart(classes: Mapping[str, Sequence[float]], sign: int) -> float | None:
    """Share of (paraphrase, random) of which the paraphrase is more alike, ties one half; None where there are few of either."""
    random, paraphrase = (sign * np.array(classes[name]) for name in ("random", "paraphrase"))
    if min(len(random), len(paraphrase)) < FEWEST:
        return None
    return float(np.mean([share_below(random, one) for one in paraphrase]))


def sign_of(returns: str) -> int:
    return 1 if returns == "similarity" else -1


# ---- what is kept of them ----------------------------------------------------------------------------------------------

def known_values(scored: Scored) -> dict[str, Any] | None:
    """Percentiles of a text metric's values in each class, in its own track; None where the suite holds too few rated pairs."""
    score = scored.tasks.get(HumanOrdering.name)
    if score is None or scored.track != "text" or not score.observed:
        return None
    units = {unit.id: unit.parameters for unit in scored.suite.units(score.task)}
    classes = by_class((units[unit]["dataset"], units[unit]["kind"], seen) for unit, seen in score.observed.items())
    large = {name: values for name, values in classes.items() if len(values) >= FEWEST}
    if not large:
        return None
    return {"told_apart": told_apart(classes, sign_of(scored.entry.header.returns)), "classes": {
        name: {"pairs": len(values), "percentiles": [short(value) for value in np.percentile(values, KEPT)]}
        for name, values in large.items()}}


def less_alike(value: float, percentiles: Sequence[float], sign: int) -> float:
    """Percent of a class that is less alike than a value, ties one half; between the percentiles that are kept, in proportion."""
    value, kept = short(value), np.array(percentiles)
    first, after = np.searchsorted(kept, value, "left"), np.searchsorted(kept, value, "right")
    if first < after:                       # ties: from the first of them to the last
        low, high = (0.0 if first == 0 else KEPT[first]), (100.0 if after == len(kept) else KEPT[after - 1])
        below = float(low + high) / 2
    elif first in (0, len(kept)):
        below = 0.0 if first == 0 else 100.0
    else:
        below = float(np.interp(value, kept, KEPT))
    return below if sign == 1 else 100 - below


def short(value: float) -> float:
    return float(f"{value:.4g}")
