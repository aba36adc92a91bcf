"""The versions of a metric: the digests under which a store and the releases have it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from harness.base.errors import TouchstoneError
from harness.submission.submission import current_digest
from leaderboard.publishing.release import FOLDER, read_release, releases
from leaderboard.scoring.estimates import Estimate

if TYPE_CHECKING:
    from harness.results.store import Store


class Publication(NamedTuple):
    """A version of a metric in a release."""

    release: str
    suite: str                              # name and fingerprint
    track: str
    rank: int | None
    overall: Estimate | None


@dataclass(frozen=True)
class Version:
    """A version of a metric: its digest, the date of its first run, and the releases that contain it."""

    digest: str
    first_seen: str
    released: tuple[Publication, ...]


def versions(store: Store | None, folder: Path = FOLDER) -> dict[str, Sequence[Version]]:
    """Return the versions of each metric, the oldest first.  Releases that cannot be read are skipped."""
    first_seen: dict[tuple[str, str], str] = {}
    publications: dict[tuple[str, str], list[Publication]] = defaultdict(list)
    for release in releases(folder):
        try:
            report = read_release(release, folder).report
        except TouchstoneError:
            continue
        for entry in report.entries:
            key = entry.name, current_digest(entry.digest)
            first_seen[key] = min(first_seen.get(key, entry.first_seen), entry.first_seen)
            publications[key].append(Publication(release, report.suite.label, entry.track, entry.rank, entry.overall))
    for name, digest, date in store.digests() if store is not None else ():
        first_seen[name, digest] = min(first_seen.get((name, digest), date), date)
    history: dict[str, list[Version]] = defaultdict(list)
    for (name, digest), date in sorted(first_seen.items(), key=lambda item: item[1]):
        history[name].append(Version(digest, date, tuple(publications[name, digest])))
    return dict(history)
