"""Other orders than the ranking's: by one's own weights of the tasks, or by Borda points against a panel.

They are orders without intervals or lines: what parts metrics for sure is the ranking's to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.base.errors import Refusal, did_you_mean, printable
from leaderboard.scoring.insights import borda_of
from leaderboard.scoring.ranking import Ranking

Order = dict[str, tuple[int, float]]        # of each entry: its rank, and what it was ranked by


def read_weights(text: str) -> dict[str, float]:
    """task:weight pairs, parted by commas."""
    found = {}
    for one in text.split(","):
        task, _, weight = one.partition(":")
        try:
            found[task.strip()] = float(weight)
        except ValueError:
            raise Refusal(f'"{printable(one, 60)}" is no weight; write task:weight, for instance known_similarity:2.') from None
    return found


def by_weights(above_chance: Mapping[str, Mapping[str, float | None]], tasks: Sequence[str],
               weights: Mapping[str, float]) -> Order:
    """Entries by the weighted mean of their scores above chance; no weight is 0, an unknown score chance."""
    for name in weights:
        if name not in tasks:
            raise Refusal(f'There is no ranked task "{printable(name, 80)}" in this track.{did_you_mean(name, tasks)}')
    if not sound(weights.values()):
        raise Refusal("Weights are 0 or more, and one of them is more.")
    whole = sum(weights.values())
    return ordered({name: sum(weight * (scores[task] or 0.0) for task, weight in weights.items()) / whole
                    for name, scores in above_chance.items()})


def sound(weights: Iterable[float | str]) -> bool:
    """Whether it can be weighed with them: all 0 or more, one of them more."""
    try:
        values = [float(weight) for weight in weights]
    except ValueError:
        return False
    return all(0 <= value < math.inf for value in values) and any(value > 0 for value in values)


def of_tracks(rankings: Mapping[str, Ranking], weights: Mapping[str, float]) -> dict[str, Ranking]:
    """The rankings of the tracks of whose tasks the weights speak; the first one if of none, where they are refused."""
    tasks = {track: set(ranked_tasks(ranking)) for track, ranking in rankings.items()}
    fitting = {track: rankings[track] for track in rankings if tasks[track] & weights.keys()}
    return fitting or dict(list(rankings.items())[:1])


def ranked_tasks(ranking: Ranking) -> list[str]:
    return [score.task.name for score in ranking.ranked[0].scored.ranked_tasks] if ranking.ranked else []


def by_own_weights(ranking: Ranking, weights: Mapping[str, float]) -> Order:
    """The ranked entries of a track by one's own weights."""
    scores = {place.scored.name: {score.task.name: score.above_chance for score in place.scored.ranked_tasks}
              for place in ranking.ranked}
    return by_weights(scores, ranked_tasks(ranking), weights)


def by_borda(ranking: Ranking) -> Order:
    """The ranked entries of a track by the share of them that each beats, mean over the tasks; an unknown score beats nobody."""
    panel = [place.scored for place in ranking.ranked]
    return ordered({scored.name: borda_of(scored, panel) or 0.0 for scored in panel})


def ordered(values: Mapping[str, float]) -> Order:
    """Ranks, ties sharing one, the best first."""
    best_first = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    return {name: (1 + sum(other > value for other in values.values()), value) for name, value in best_first}
