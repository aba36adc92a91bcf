"""Pairs of texts that may be shown, with what people and metrics say of them: where one metric is right and another is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from leaderboard.scoring.scores import Scored
from tasks.data import loading as data
from tasks.text.human_ordering import PARALLEL, HumanOrdering, pairs_of

MOST = 60                                   # pairs that are kept


def shown_pairs(scored: Iterable[Scored]) -> dict[str, Any] | None:
    """Rated pairs of datasets whose texts may be shown: the texts, where people put them and where each metric does.

    Where is a rank among the pairs of the set, from 0, the least alike, to 1.  None where no text of the suite may be shown.
    """
    entries = [one for one in scored if HumanOrdering.name in one.tasks and one.tasks[HumanOrdering.name].complete]
    if not entries:
        return None
    units = [unit for unit in entries[0].suite.units(entries[0].tasks[HumanOrdering.name].task)
             if unit.parameters["kind"] == PARALLEL and data.get_dataset(unit.parameters["dataset"]).displayable]
    pairs = [pair for unit in units for pair in pairs_of(unit)]
    if len(pairs) < 2:
        return None
    places = np.unique(np.linspace(0, len(pairs) - 1, MOST).astype(int))
    answers = {}
    for one in entries:
        seen = [one.tasks[HumanOrdering.name].observed.get(unit.id) for unit in units]
        if all(answer is not None for answer in seen):
            alike = np.concatenate([answer.scale.as_similarity(np.array(answer.answers))
                                    for answer in seen if answer is not None])
            answers[one.name] = ranks(alike)[places].round(3).tolist()
    people = ranks(np.array([pair.score for pair in pairs]))[places].round(3).tolist()
    return {"texts": [[pairs[place].a, pairs[place].b] for place in places], "people": people, "metrics": answers}


def ranks(values: np.ndarray) -> np.ndarray:
    """From 0, the least, to 1; ties share the middle."""
    return np.asarray((stats.rankdata(values) - 1) / (len(values) - 1))


def nearer(known: Mapping[str, Any], a: str, b: str, count: int) -> list[tuple[Sequence[str], float, float, float]]:
    """(Texts, people's place, a's place, b's place) where a is nearer to people than b by most, the most first."""
    rows = zip(known["texts"], known["people"], known["metrics"][a], known["metrics"][b], strict=True)
    by = [(abs(of_b - people) - abs(of_a - people), texts, people, of_a, of_b) for texts, people, of_a, of_b in rows]
    best = sorted((one for one in by if one[0] > 0), key=lambda one: -one[0])[:count]
    return [(texts, people, of_a, of_b) for _, texts, people, of_a, of_b in best]
