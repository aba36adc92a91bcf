"""Under which digests a metric was asked before: in a store, and in the releases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import TouchstoneError
from harness.results.store import Store
from leaderboard.publishing.release import FOLDER, read_release, releases

Standing = Mapping[str, Any]                # an entry of a release, as its facts have it


@dataclass(frozen=True)
class Version:
    """A state of a metric: its digest, since when it is known, and how each release that has it ranked it."""

    digest: str
    first_seen: str
    released: tuple[tuple[str, str, Standing], ...]     # the release, its suite with fingerprint, the entry


def versions(store: Store | None, folder: Path = FOLDER) -> dict[str, Sequence[Version]]:
    """By metric, the oldest first.  A release that is not as it was made tells nothing here; its own page says so."""
    seen: dict[tuple[str, str], str] = {}
    placed: dict[tuple[str, str], list[tuple[str, str, Standing]]] = defaultdict(list)
    for name in releases(folder):
        try:
            facts = read_release(name, folder).facts
        except TouchstoneError:
            continue
        suite = f"{facts['suite']['name']}@{facts['suite']['fingerprint'][:6]}"
        for entry in facts["entries"]:
            key = entry["name"], entry["digest"]
            seen[key] = min(seen.get(key, entry["first_seen"]), entry["first_seen"])
            placed[key].append((name, suite, entry))
    for entry_name, digest, first_seen in store.digests() if store is not None else ():
        key = entry_name, digest
        seen[key] = min(seen.get(key, first_seen), first_seen)
    found: dict[str, list[Version]] = defaultdict(list)
    for (entry_name, digest), first_seen in sorted(seen.items(), key=lambda one: one[1]):
        found[entry_name].append(Version(digest, first_seen, tuple(placed[entry_name, digest])))
    return dict(found)
