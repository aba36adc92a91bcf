"""Human-rated pairs of texts that may be displayed, with where people and metrics place them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from leaderboard.report.schema import ExamplePairs
from leaderboard.scoring.scores import Scored
from tasks.data import loading as data
from tasks.text.human_ordering import PARALLEL, HumanOrdering, pairs_of

KEPT_PAIRS = 60


class PlacedPair(NamedTuple):
    """Two texts with their relative ranks by people and by two metrics."""

    texts: Sequence[str]
    people: float
    a: float
    b: float


def collect_example_pairs(entries: Iterable[Scored]) -> ExamplePairs | None:
    """Return rated pairs of displayable datasets with their relative ranks; None if no text of the suite is displayable."""
    complete = [scored for scored in entries if HumanOrdering.name in scored.tasks and scored.tasks[HumanOrdering.name].complete]
    if not complete:
        return None
    units = [unit for unit in complete[0].suite.units(complete[0].tasks[HumanOrdering.name].task)
             if unit.parameters["kind"] == PARALLEL and data.get_dataset(unit.parameters["dataset"]).displayable]
    pairs = [pair for unit in units for pair in pairs_of(unit)]
    if len(pairs) < 2:
        return None
    rows = np.unique(np.linspace(0, len(pairs) - 1, KEPT_PAIRS).astype(int))
    metrics = {}
    for scored in complete:
        observed = scored.tasks[HumanOrdering.name].observed
        if all(unit.id in observed for unit in units):
            rated = [observed[unit.id] for unit in units]
            similarities = np.concatenate([answer.scale.as_similarity(np.array(answer.answers)) for answer in rated])
            metrics[scored.name] = relative_ranks(similarities)[rows].round(3).tolist()
    people = relative_ranks(np.array([pair.score for pair in pairs]))[rows].round(3).tolist()
    return ExamplePairs(texts=[(pairs[row].a, pairs[row].b) for row in rows], people=people, metrics=metrics)


def relative_ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks scaled to 0 (smallest) to 1; ties share their mean rank."""
    return np.asarray((scipy.stats.rankdata(values) - 1) / (len(values) - 1))


def closer_pairs(pairs: ExamplePairs, a: str, b: str, count: int) -> list[PlacedPair]:
    """Return the pairs that metric a places closer to people than metric b does, the largest advantage first."""
    placed = [PlacedPair(*row) for row in zip(pairs.texts, pairs.people, pairs.metrics[a], pairs.metrics[b], strict=True)]
    advantages = [(abs(pair.b - pair.people) - abs(pair.a - pair.people), pair) for pair in placed]
    positive = sorted((row for row in advantages if row[0] > 0), key=lambda row: -row[0])
    return [pair for _, pair in positive[:count]]
