"""Who leads each axis, and where a metric stands on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from harness.evaluation.suite import Axis
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.publishing.citations import OVERALL
from leaderboard.report.schema import EntryReport


class AxisRanking(NamedTuple):
    """The entries of a track in their order on an axis."""

    axis: Axis
    ranked: list[EntryReport]
    entries: list[EntryReport]              # with those that are not ranked

    @property
    def label(self) -> str:
        """A few words for what is ranked."""
        return TRACKS[self.axis.track].lower() if self.axis.name == OVERALL else self.axis.title.lower()

    @property
    def tied(self) -> int:
        """How many entries may be the best, given their rank ranges; 0 where ranges are unknown."""
        return count_tied(entry.rank_interval for entry in self.ranked)

    @property
    def among(self) -> str:
        """What is ranked, and by what, such as "19 text metrics by meaning"."""
        return f"{len(self.ranked)} {TRACKS[self.axis.track].lower()}" + ("" if self.axis.name == OVERALL else f" by {self.axis.title.lower()}")

    def describe_rank(self, entry: EntryReport) -> str:
        """Return the rank with its range, or that there is none."""
        if entry.rank is None:
            return f"not ranked among {self.among}"
        low, high = entry.rank_interval or (entry.rank, entry.rank)
        return f"rank {entry.rank} of {self.among}" + (f" (95% range {low} to {high})" if low != high else "")


def count_tied(rank_ranges: Iterable[tuple[int, int] | None]) -> int:
    """Return how many of some rank ranges begin with the first rank."""
    return sum(ranks is not None and ranks[0] == 1 for ranks in rank_ranges)


def ranking_query(snapshot: Snapshot, track: str, axis: str | None) -> dict[str, str]:
    """Return the query of a ranking in the canonical form, without the default track and the default axis."""
    query = {} if track == snapshot.tracks[0] else {"track": track}
    return query if axis in (None, snapshot.report.suite.headline(track).name) else {**query, "axis": str(axis)}


def rank_on_axis(snapshot: Snapshot, axis: Axis) -> AxisRanking:
    """Return the ranking of a track by one of its axes."""
    on_axis = snapshot if axis == snapshot.report.suite.headline(axis.track) else snapshot.on_axis(axis.name)
    return AxisRanking(axis, on_axis.ranked_entries(axis.track), on_axis.entries(axis.track))


def list_rankings(snapshot: Snapshot) -> list[AxisRanking]:
    """Return the rankings by all axes of the tracks that have entries."""
    return [rank_on_axis(snapshot, axis) for track in snapshot.tracks for axis in snapshot.report.suite.axes if axis.track == track]


def metric_rankings(snapshot: Snapshot, metric: str) -> list[tuple[AxisRanking, EntryReport]]:
    """Return the rankings that list a metric, with its entry."""
    return [(ranking, entry) for ranking in list_rankings(snapshot) for entry in ranking.entries if entry.name == metric]
