"""Alternative orders of ranked entries: by custom task weights, or by Borda points against a panel.

These orders have no intervals and no significance; those belong to the ranking.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.scoring.insights import borda_of
from leaderboard.scoring.ranking import Ranking

Order = dict[str, tuple[int, float]]        # of each entry: its rank and the score that it is ordered by


def parse_weights(text: str) -> dict[str, float]:
    """Return the weights in a string of comma-separated `task:weight` pairs."""
    weights = {}
    for item in text.split(","):
        task, _, weight = item.partition(":")
        try:
            weights[task.strip()] = float(weight)
        except ValueError:
            raise TouchstoneError(f'"{printable(item, 60)}" is not a weight; write task:weight, for example '
                                  'known_similarity:2.') from None
    return weights


def weighted_score(above_chance: Mapping[str, Mapping[str, float | None]], tasks: Sequence[str],
                   weights: Mapping[str, float]) -> Order:
    """Return the weighted mean score above chance of each entry; missing weights count as 0, unknown scores as chance."""
    for name in weights:
        if name not in tasks:
            raise TouchstoneError(f'There is no ranked task "{printable(name, 80)}" in this track.{did_you_mean(name, tasks)}')
    if not check_weights(weights.values()):
        raise TouchstoneError("Weights must be non-negative, and at least one must be positive.")
    whole = sum(weights.values())
    return sort_by_score({name: sum(weight * (scores[task] or 0.0) for task, weight in weights.items()) / whole
                          for name, scores in above_chance.items()})


def check_weights(weights: Iterable[float | str]) -> bool:
    """Raise unless all weights are non-negative and at least one is positive."""
    try:
        values = [float(weight) for weight in weights]
    except ValueError:
        return False
    return all(0 <= value < math.inf for value in values) and any(value > 0 for value in values)


def order_tracks(rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> dict[str, Ranking]:
    """Return the rankings of the tracks whose tasks have weights; the first ranking if there is none."""
    tasks = {track: set(ranked_tasks(ranking)) for track, ranking in rankings.items()}
    fitting = {track: rankings[track] for track in rankings if tasks[track] & weights.keys()}
    return fitting or dict(list(rankings.items())[:1])


def ranked_tasks(ranking: Ranking) -> list[str]:
    """Return the names of a ranking's ranked tasks."""
    return [score.task.name for score in ranking.ranked[0].scored.ranked_tasks] if ranking.ranked else []


def order_by_weights(ranking: Ranking, weights: Mapping[str, float]) -> Order:
    """Return the ranked entries of a track ordered by custom weights."""
    scores = {entry.scored.name: {score.task.name: score.above_chance for score in entry.scored.ranked_tasks}
              for entry in ranking.ranked}
    return weighted_score(scores, ranked_tasks(ranking), weights)


def order_by_borda(ranking: Ranking) -> Order:
    """Return the ranked entries of a track ordered by the mean share of entries that each beats on a task."""
    panel = [entry.scored for entry in ranking.ranked]
    return sort_by_score({scored.name: borda_of(scored, panel) or 0.0 for scored in panel})


def sort_by_score(values: Mapping[str, float]) -> Order:
    """Return ranks, best first; ties share a rank."""
    best_first = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {name: (1 + sum(other > value for other in values.values()), value) for name, value in best_first}
