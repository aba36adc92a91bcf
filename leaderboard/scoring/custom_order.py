"""Other orders than the ranking's: by one's own weights of the tasks, or by Borda points against a panel.

They are orders without intervals or lines: what parts metrics for sure is the ranking's to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.report.build import borda_of
from leaderboard.scoring.ranking import Ranking

Order = dict[str, tuple[int, float]]        # of each entry: its rank, and what it was ranked by


def parse_weights(text: str) -> dict[str, float]:
    """task:weight pairs, parted by commas."""
    weights = {}
    for item in text.split(","):
        task, _, weight = item.partition(":")
        try:
            weights[task.strip()] = float(weight)
        except ValueError:
            raise TouchstoneError(f'"{printable(item, 60)}" is no weight; write task:weight, for instance '
                                  'known_similarity:2.') from None
    return weights


def weighted_score(above_chance: Mapping[str, Mapping[str, float | None]], tasks: Sequence[str],
                   weights: Mapping[str, float]) -> Order:
    """Entries by the weighted mean of their scores above chance; no weight is 0, an unknown score chance."""
    for name in weights:
        if name not in tasks:
            raise TouchstoneError(f'There is no ranked task "{printable(name, 80)}" in this track.{did_you_mean(name, tasks)}')
    if not check_weights(weights.values()):
        raise TouchstoneError("Weights are 0 or more, and one of them is more.")
    whole = sum(weights.values())
    return sort_by_score({name: sum(weight * (scores[task] or 0.0) for task, weight in weights.items()) / whole
                          for name, scores in above_chance.items()})


def check_weights(weights: Iterable[float | str]) -> bool:
    """Whether it can be weighed with them: all 0 or more, one of them more."""
    try:
        values = [float(weight) for weight in weights]
    except ValueError:
        return False
    return all(0 <= value < math.inf for value in values) and any(value > 0 for value in values)


def order_tracks(rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> dict[str, Ranking]:
    """The rankings of the tracks of whose tasks the weights speak; the first one if of none, where they are refused."""
    tasks = {track: set(ranked_tasks(ranking)) for track, ranking in rankings.items()}
    fitting = {track: rankings[track] for track in rankings if tasks[track] & weights.keys()}
    return fitting or dict(list(rankings.items())[:1])


def ranked_tasks(ranking: Ranking) -> list[str]:
    return [score.task.name for score in ranking.ranked[0].scored.ranked_tasks] if ranking.ranked else []


def order_by_weights(ranking: Ranking, weights: Mapping[str, float]) -> Order:
    """The ranked entries of a track by one's own weights."""
    scores = {entry.scored.name: {score.task.name: score.above_chance for score in entry.scored.ranked_tasks}
              for entry in ranking.ranked}
    return weighted_score(scores, ranked_tasks(ranking), weights)


def order_by_borda(ranking: Ranking) -> Order:
    """The ranked entries of a track by the share of them that each beats, mean over the tasks; an unknown score beats nobody."""
    panel = [entry.scored for entry in ranking.ranked]
    return sort_by_score({scored.name: borda_of(scored, panel) or 0.0 for scored in panel})


def sort_by_score(values: Mapping[str, float]) -> Order:
    """Ranks, ties sharing one, the best first."""
    best_first = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {name: (1 + sum(other > value for other in values.values()), value) for name, value in best_first}
