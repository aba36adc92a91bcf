"""The values that a text metric gives to human-rated pairs: the scale against which its value of another pair is read.

A pair rated at least 4 of 5 is a paraphrase, from 2 to under 4 related, under 1 random, as are all pairs that were combined at
random; 5 is the highest rating in the pair's dataset.  Pairs rated from 1 to under 2 belong to no class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from leaderboard.report.schema import RatedClass, RatedValues
from leaderboard.scoring.scores import Scored
from tasks.text.human_ordering import RANDOM, HumanOrdering, RatedAnswers

CLASSES = {"random": "rated under 1 of 5, or combined at random", "related": "rated 2 to under 4 of 5",
           "paraphrase": "rated at least 4 of 5"}
FEWEST = 20                                 # pairs in a class that is used
KEPT = np.linspace(0, 100, 51)              # percentiles of each class that a release keeps
HARDLY = 0.6                                # (paraphrase, random) pairs in the right order; below, a metric hardly separates them


def by_class(observations: Iterable[tuple[str, str, RatedAnswers]]) -> dict[str, list[float]]:
    """Return a metric's answers by the class of the pair, from (dataset, kind of pairs, answers)."""
    parts = list(observations)
    highest: dict[str, float] = {}
    for dataset, _, rated in parts:
        highest[dataset] = max(highest.get(dataset, -np.inf), *rated.human)
    classes: dict[str, list[float]] = {name: [] for name in CLASSES}
    for dataset, kind, rated in parts:
        for answer, human in zip(rated.answers, rated.human, strict=True):
            name = class_of(kind, 5 * human / highest[dataset])
            if name is not None:
                classes[name].append(answer)
    return classes


def class_of(kind: str, rating: float) -> str | None:
    """Return the class of a pair from how it was combined and its rating out of 5."""
    if kind == RANDOM or rating < 1:
        return "random"
    if rating < 2:
        return None
    return "related" if rating < 4 else "paraphrase"


def share_below(values: np.ndarray, value: float) -> float:
    """Return the share of the values that are below a value; ties count one half."""
    return float(np.mean(values < value) + np.mean(values == value) / 2)


def told_apart(classes: Mapping[str, Sequence[float]], sign: int) -> float | None:
    """Return the share of (paraphrase, random) in the right order, ties one half; None where a class has too few pairs."""
    random, paraphrase = (sign * np.array(classes[name]) for name in ("random", "paraphrase"))
    if min(len(random), len(paraphrase)) < FEWEST:
        return None
    return float(np.mean([share_below(random, value) for value in paraphrase]))


def sign_of(returns: str) -> int:
    """Return 1 if larger answers mean more similar, else -1."""
    return 1 if returns == "similarity" else -1


# ---- what releases keep ------------------------------------------------------------------------------------------------

def collect_rated_values(scored: Scored) -> RatedValues | None:
    """Return percentiles of a text metric's values in each class; None where the suite has too few rated pairs."""
    score = scored.tasks.get(HumanOrdering.name)
    if score is None or scored.track != score.task.info.track or not score.observed:
        return None
    parameters = {unit.id: unit.parameters for unit in scored.suite.units(score.task)}
    classes = by_class((parameters[unit]["dataset"], parameters[unit]["kind"], rated) for unit, rated in score.observed.items())
    large = {name: values for name, values in classes.items() if len(values) >= FEWEST}
    if not large:
        return None
    return RatedValues(told_apart=told_apart(classes, sign_of(scored.entry.header.returns)), classes={
        name: RatedClass(pairs=len(values), percentiles=[round_value(value) for value in np.percentile(values, KEPT)])
        for name, values in large.items()})


def less_alike(value: float, percentiles: Sequence[float], sign: int) -> float:
    """Return the percentage of a class that is less similar than a value, ties one half, interpolated between percentiles."""
    value, kept = round_value(value), np.array(percentiles)
    first, after = np.searchsorted(kept, value, "left"), np.searchsorted(kept, value, "right")
    if first < after:                       # ties: from the first to the last
        low, high = (0.0 if first == 0 else KEPT[first]), (100.0 if after == len(kept) else KEPT[after - 1])
        below = float(low + high) / 2
    elif first in (0, len(kept)):
        below = 0.0 if first == 0 else 100.0
    else:
        below = float(np.interp(value, kept, KEPT))
    return below if sign == 1 else 100 - below


def round_value(value: float) -> float:
    """Return the value with four significant digits."""
    return float(f"{value:.4g}")
