"""Alternative orders of ranked entries: by custom task weights, or by Borda points against a panel.

These orders have no intervals and no significance; those belong to the ranking.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.scoring.insights import Scores, borda_of

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


def weighted_score(above_chance: Mapping[str, Scores], tasks: Sequence[str],
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


def order_by_weights(tracks: Mapping[str, Mapping[str, Scores]], weights: Mapping[str, float]) -> dict[str, Order]:
    """Return the order of the tracks whose tasks have weights; of the first track if there is none.

    Args:
        tracks: The scores above chance of the ranked entries of each track.
        weights: The weights of tasks.
    """
    tasks = {track: list(next(iter(entries.values()), ())) for track, entries in tracks.items()}
    fitting = [track for track in tracks if weights.keys() & set(tasks[track])] or list(tracks)[:1]
    return {track: weighted_score(tracks[track], tasks[track], weights) for track in fitting}


def order_by_borda(entries: Mapping[str, Scores]) -> Order:
    """Return the ranked entries of a track ordered by the mean share of entries that each beats on a task."""
    return sort_by_score({name: borda_of(scores, entries.values()) or 0.0 for name, scores in entries.items()})


def sort_by_score(values: Mapping[str, float]) -> Order:
    """Return ranks, best first; ties share a rank."""
    best_first = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {name: (1 + sum(other > value for other in values.values()), value) for name, value in best_first}
