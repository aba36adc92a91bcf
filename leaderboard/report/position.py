"""The position of an entry among the others of its track."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.insights import agreement, most_similar
from leaderboard.scoring.ranking import Ranking


@dataclass(frozen=True)
class TaskPosition:
    """An entry's score and rank on a task."""

    task: str
    title: str
    score: Estimate | None
    rank: int | None
    rank_interval: tuple[int, int] | None


@dataclass(frozen=True)
class Position:
    """The position of an entry in a track: rank, significant differences, the most similar entries, and tasks."""

    name: str
    track: str
    rank: int | None
    rank_interval: tuple[int, int] | None
    of: int                                 # ranked entries of the track
    not_ranked: str | None
    overall: Estimate | None
    axis: str                               # the title of the axis that the track is ranked by
    unit: str                               # what 0 and 1 are on it
    unseen: tuple[int, int] | None          # the range of the ranks on single tasks
    unseen_level: float                     # the probability that it contains the rank on another such task
    better_than: tuple[str, ...]            # significantly, after correction for all pairs; best first
    worse_than: tuple[str, ...]
    most_similar: tuple[tuple[str, float], ...]     # rank correlations of the answers
    tasks: tuple[TaskPosition, ...]


def find_positions(name: str, rankings: Mapping[str, Ranking]) -> list[Position]:
    """Return the position of an entry in each track that lists it."""
    return [position for track, ranking in rankings.items() if (position := find_position(name, track, ranking)) is not None]


def find_position(name: str, track: str, ranking: Ranking) -> Position | None:
    """Return the position of an entry in a track; None if the track does not list it."""
    entry = next((entry for entry in ranking.places if entry.scored.name == name), None)
    if entry is None:
        return None
    ranked = [other.scored for other in ranking.ranked]
    names = [scored.name for scored in ranked]
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    if ranking.parted is not None and name in names:
        significant, index = ranking.parted.better(), names.index(name)
        better, worse = (tuple(other for other, holds in zip(names, row, strict=True) if holds)
                         for row in (significant[index], significant[:, index]))
    axis = entry.scored.axis
    ranks = ranking.task_ranks.get(name, {})
    tasks = [TaskPosition(score.task.name, score.task.info.title, score.score, *ranks.get(score.task.name, (None, None)))
             for score in entry.scored.ranked_tasks]
    return Position(
        name, track, entry.rank, entry.interval, len(ranked), entry.reason, entry.scored.overall_estimate,
        axis.title, axis.unit, ranking.unseen.get(name), ranking.unseen_level, better, worse,
        tuple(most_similar(name, agreement([other.scored for other in ranking.places]))), tuple(tasks))
