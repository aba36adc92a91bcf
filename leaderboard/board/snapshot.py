"""What the board shows: prepared once from a store or a release, never per click."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.base.paths import SUBMISSIONS
from harness.evaluation.suite import Suite
from harness.results.store import Store
from leaderboard.publishing.release import Release
from leaderboard.publishing.versions import Version, versions
from leaderboard.report.build import board_facts
from leaderboard.scoring.comparison import Samples, load_samples, samples_of_release
from leaderboard.scoring.ranking import rank_suite

TRACKS = {"corpus": "Corpus metrics", "text": "Text metrics"}


@dataclass(frozen=True)
class Snapshot:
    """Plain values of a suite and all that was asked it, and what is compared."""

    facts: Mapping[str, Any]
    samples: Samples
    sources: Mapping[str, str]              # of the files whose text is at hand, by entry
    release: Release | None = None          # where it was read from one
    versions: Mapping[str, Sequence[Version]] = field(default_factory=dict)     # of each metric, the oldest first

    @property
    def errata(self) -> str | None:
        return self.release.errata if self.release is not None else None

    @property
    def tracks(self) -> list[str]:
        return [track for track in TRACKS if any(entry["track"] == track for entry in self.facts["entries"])]

    def entries(self, track: str) -> list[dict[str, Any]]:
        """Of a track: the ranked first, in their order."""
        return [entry for entry in self.facts["entries"] if entry["track"] == track]

    def entry(self, name: str, track: str | None = None) -> dict[str, Any] | None:
        return next((entry for entry in self.facts["entries"] if entry["name"] == name and track in (None, entry["track"])), None)

    def ranked_tasks(self, track: str) -> list[dict[str, Any]]:
        return [task for task in self.facts["suite"]["tasks"] if task["ranked"] and task["track"] == track]

    def task(self, name: str) -> dict[str, Any]:
        return next(task for task in self.facts["suite"]["tasks"] if task["name"] == name)

    def p(self, track: str, a: str, b: str) -> float | None:
        """How sure the difference of two ranked entries' overall scores is, adjusted for all pairs."""
        known = self.facts["p"].get(track)
        if known is None or a not in known["entries"] or b not in known["entries"]:
            return None
        return float(known["values"][known["entries"].index(a)][known["entries"].index(b)])

    @property
    def nobody(self) -> str | None:
        """What to do where nobody was asked; None where somebody was."""
        name = self.facts["suite"]["name"]
        return None if self.facts["entries"] else \
            f"Nobody has been asked the questions of the suite {name} yet; `touchstone run --suite {name}` asks them."

    @property
    def title(self) -> str:
        """In a few words, for the head of every page."""
        suite = self.facts["suite"]
        standing = f"release {self.facts['release']}" if self.facts["release"] else "not released"
        return f"{standing} · {suite['name']}@{suite['fingerprint'][:6]}"

    @cached_property
    def content(self) -> bytes:
        """The facts as JSON."""
        return json.dumps(self.facts, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    @cached_property
    def zipped(self) -> bytes:
        """The same as most readers take it: made once, for two hundred at once."""
        return gzip.compress(self.content, 6, mtime=0)

    @cached_property
    def tag(self) -> str:
        """What changes whenever anything does: for HTTP's ETag."""
        return hashlib.sha256(self.content).hexdigest()[:32]


def of_store(suite: Suite, store: Store) -> Snapshot:
    """The snapshot of a store; one without entries where nobody was asked yet."""
    rankings = rank_suite(store, suite)
    sources = {place.scored.name: place.scored.entry.submission.source.decode("utf-8", "replace")
               for ranking in rankings.values() for place in ranking.places}
    return Snapshot(board_facts(suite, rankings, store), load_samples(rankings.values()), sources, versions=versions(store))


def of_release(release: Release) -> Snapshot:
    """The snapshot of a release; sources are shown where a file of that digest is still here."""
    here = {hashlib.sha256(content).hexdigest(): content.decode("utf-8", "replace")
            for content in (path.read_bytes() for path in sorted(SUBMISSIONS.glob("*.py")))}
    sources = {entry["name"]: here[entry["source_sha256"]] for entry in release.facts["entries"] if entry["source_sha256"] in here}
    return Snapshot(release.facts, samples_of_release(release.units, release.replicates), sources, release,
                    versions(None, release.folder.parent))
