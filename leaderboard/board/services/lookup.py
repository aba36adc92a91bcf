"""Find what an address names.  Whatever does not exist is a `NotFound`, whose message says what does."""

from __future__ import annotations

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.router import Library
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.schema import EntryReport

MOST_COMPARED = 8


class NotFound(TouchstoneError):
    """An address names something that does not exist; the message says what does."""


def find_snapshot(library: Library, release: str | None = None, suite: str | None = None) -> Snapshot:
    """Return the snapshot of a release or suite, by default the first."""
    try:
        return library.snapshot(release, suite)
    except TouchstoneError as error:
        raise NotFound(str(error)) from None


def find_track(snapshot: Snapshot, track: str) -> str:
    """Return the name of a track that has entries."""
    if track not in snapshot.tracks:
        raise NotFound(f'There is no track "{printable(track, 40)}"; there are {", ".join(snapshot.tracks) or "none"}.')
    return track


def find_axis(snapshot: Snapshot, track: str, axis: str | None) -> Snapshot:
    """Return the snapshot with a track ranked by one of its axes, by default the first."""
    axes = [candidate.name for candidate in snapshot.report.suite.axes if candidate.track == track]
    if axis is None or axis in axes[:1]:
        return snapshot
    if axis not in axes:
        raise NotFound(f'There is no axis "{printable(axis, 80)}"; there are {", ".join(axes) or "none"}.')
    return snapshot.on_axis(axis)


def find_entries(snapshot: Snapshot, name: str, track: str | None = None) -> list[EntryReport]:
    """Return a metric's entries in all tracks, or in one."""
    entries = snapshot.report.entries if track is None else snapshot.entries(find_track(snapshot, track))
    of_name = [entry for entry in entries if entry.name == name]
    if not of_name:
        among = "" if track is None else f" in the track {track}"
        suggestion = did_you_mean(name[:80], dict.fromkeys(entry.name for entry in entries))
        raise NotFound(f'There is no metric "{printable(name, 80)}"{among}.{suggestion}')
    return of_name


def find_compared(snapshot: Snapshot, metrics: str, track: str) -> list[str]:
    """Return the comma-separated metrics, all of them in a track."""
    find_track(snapshot, track)
    names = split_names(metrics)
    if not 2 <= len(names) <= MOST_COMPARED:
        raise TouchstoneError(f"Name 2 to {MOST_COMPARED} metrics, comma-separated.")
    return [find_entries(snapshot, name, track)[0].name for name in names]


def split_names(names: str) -> list[str]:
    """Return comma-separated names as a list."""
    return [name.strip() for name in names.split(",") if name.strip()]
