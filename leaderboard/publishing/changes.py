"""What differs between two releases: suite, tasks, metrics and ranks, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leaderboard.report.schema import EntryReport, Report, SuiteInfo, TaskInfo

NEW, GONE = "new", "not in the later release"


class Move(NamedTuple):
    """A metric in a track: its rank and score in both releases, and why they differ."""

    name: str
    old_rank: int | None
    new_rank: int | None
    old_score: float | None
    new_score: float | None
    reason: str


class Changes(NamedTuple):
    """The differences of a release from an earlier one."""

    old: str
    new: str
    suite: list[str]                        # sentences
    moves: dict[str, list[Move]]            # by track, in the order of the later release; those that differ


def compare_releases(old: Report, new: Report) -> Changes:
    """Return what differs between two reports."""
    suite = list(suite_changes(old.suite, new.suite))
    moves = {}
    for track in dict.fromkeys([*new.suite.tracks, *old.suite.tracks]):
        before, after = ({entry.name: entry for entry in report.entries if entry.track == track} for report in (old, new))
        names = [*after, *(name for name in before if name not in after)]
        compared = (describe_move(name, before.get(name), after.get(name), bool(suite)) for name in names)
        moves[track] = [move for move in compared if move.reason]
    return Changes(old.release or "", new.release or "", suite, moves)


def suite_changes(old: SuiteInfo, new: SuiteInfo) -> Iterator[str]:
    """Yield a sentence for each difference between two versions of a suite."""
    if old.fingerprint == new.fingerprint:
        return
    yield f"The suite is {new.label} instead of {old.label}, so scores of the two releases are not comparable."
    before, after = ({task.name: task for task in suite.tasks} for suite in (old, new))
    for what, names in (("New tasks", after.keys() - before.keys()), ("Tasks left out", before.keys() - after.keys())):
        if names:
            yield f"{what}: {', '.join(sorted(names))}."
    for name, task in after.items():
        if name in before:
            yield from task_changes(before[name], task)
    for track in new.tracks:
        axes = [next((axis.title for axis in suite.axes if axis.track == track), "a mean of scores") for suite in (old, new)]
        if axes[0] != axes[1]:
            yield f"The {track} track is ranked by {axes[1]} instead of {axes[0]}."


def task_changes(old: TaskInfo, new: TaskInfo) -> Iterator[str]:
    """Yield a sentence for each difference between two versions of a task."""
    if old.measure_version != new.measure_version:
        yield f"{new.title}: version {new.measure_version} of its measures instead of {old.measure_version}."
    if old.observe_version != new.observe_version:
        yield f"{new.title}: version {new.observe_version} of its calls to metrics instead of {old.observe_version}."
    if old.units != new.units:
        yield f"{new.title}: {new.units:,} test units instead of {old.units:,}."
    if old.ranked != new.ranked:
        yield f"{new.title} counts in the ranking now." if new.ranked else f"{new.title} does not count in the ranking any more."


def describe_move(name: str, old: EntryReport | None, new: EntryReport | None, other_suite: bool) -> Move:
    """Return how a metric moved; the reason is empty if it did not."""
    ranks = [None if entry is None else entry.rank for entry in (old, new)]
    scores = [None if entry is None else entry.overall_above_chance for entry in (old, new)]
    if old is None or new is None:
        reason = NEW if old is None else GONE
    elif ranks[0] == ranks[1] and scores[0] == scores[1] and old.not_ranked == new.not_ranked:
        reason = ""
    elif old.digest != new.digest:
        reason = "its code, parameters or models changed"
    elif new.not_ranked != old.not_ranked:
        reason = f"not ranked: {new.not_ranked}" if new.not_ranked else "ranked now"
    elif scores[0] != scores[1]:
        reason = "the suite changed" if other_suite else "it was run again"
    else:
        reason = "other metrics were added or left out"
    return Move(name, ranks[0], ranks[1], scores[0], scores[1], reason)
