"""The list of releases with what became known about them, without reading their scores."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from harness.base.hashing import sha256_of
from leaderboard.publishing.release import FOLDER, REPORT, SUMS, read_errata, releases


class Published(NamedTuple):
    """What a release contains."""

    date: str
    suite: str                              # name and start of the fingerprint
    suite_title: str
    metrics: int


class ReleaseNote(NamedTuple):
    """A release, and its errata."""

    name: str
    date: str
    suite: str
    suite_title: str
    metrics: int
    status: str | None                      # that it is withdrawn or superseded, and why
    corrections: tuple[str, ...]


def read_changelog(folder: Path = FOLDER) -> list[ReleaseNote]:
    """Return a note per release, the latest first.  Releases whose report cannot be read or was modified are skipped."""
    errata = read_errata(folder)
    notes = []
    for name in reversed(releases(folder)):
        published, erratum = read_published(folder / name), errata.get(name)
        if published is not None:
            corrections = () if erratum is None else tuple(correction.text for correction in erratum.corrections)
            notes.append(ReleaseNote(name, *published, None if erratum is None else erratum.status, corrections))
    return notes


@lru_cache
def read_published(path: Path) -> Published | None:
    """Return what a release contains, read once because releases are immutable; None if its report is not as published."""
    try:
        if f"{sha256_of(path / REPORT)}  {REPORT}" not in (path / SUMS).read_text(encoding="utf-8").splitlines():
            return None
        report = json.loads((path / REPORT).read_bytes())
        suite = report["suite"]
        return Published(report.get("made") or f"{path.name[:4]}-01-01", f"{suite['name']}@{suite['fingerprint'][:6]}",
                         suite["title"], len({entry["name"] for entry in report["entries"]}))
    except (OSError, ValueError, KeyError, TypeError):
        return None
