"""Entries as a store or a release has them."""

from __future__ import annotations

from dataclasses import dataclass

from harness.submission.submission import Entry, Submission


@dataclass(frozen=True)
class StoredEntry:
    """An entry as stored."""

    digest: str
    submission: Submission
    entry: Entry
    first_seen: str
    last_seen: str
