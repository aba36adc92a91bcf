"""What the board shows: read from the store once, never per click."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import Refusal
from harness.store import Store
from leaderboard.ranking import Placed, Ranking, rank_suite
from leaderboard.reports import rankings_json
from tasks.suite import Suite


@dataclass(frozen=True)
class Snapshot:
    """A suite, its rankings by track, and under what conditions each metric was last asked."""

    suite: Suite
    rankings: Mapping[str, Ranking]
    provenance: Mapping[str, Mapping[str, Any] | None]      # by an entry's digest

    @property
    def places(self) -> list[Placed]:
        return [place for ranking in self.rankings.values() for place in ranking.places]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(place.scored.name for place in self.places))

    def standing(self, name: str) -> dict[str, Placed]:
        """The places of a metric, by track."""
        return {place.scored.track: place for place in self.places if place.scored.name == name}

    def search(self, words: str) -> set[str]:
        """The names of the metrics that have every word somewhere in name, title, summary or what they take; all for no words."""
        wanted = words.lower().replace(";", " ").split()[:20]
        found = set()
        for place in self.places:
            header = place.scored.entry.header
            text = " ".join([place.scored.name, header.title, header.summary, header.kind, header.input,
                             "lifted" if place.scored.lifted else "", "control" if header.control else ""]).lower()
            if all(word in text for word in wanted):
                found.add(place.scored.name)
        return found

    def as_json(self) -> dict[str, Any]:
        """The board for machines."""
        return {"suite": {"name": self.suite.name, "title": self.suite.title, "fingerprint": self.suite.fingerprint},
                **rankings_json(self.rankings)}


def take(suite: Suite, store: Store) -> Snapshot:
    """The snapshot of a store; refuses an empty one."""
    rankings = rank_suite(store, suite)
    if not rankings:
        raise Refusal(f"The store {store.name} has no answers to this state of the suite {suite.name}; `touchstone run --suite "
                      f"{suite.name}` asks for them.")
    digests = {place.scored.stored.digest for ranking in rankings.values() for place in ranking.places}
    runs = {digest: store.provenance(digest) for digest in sorted(digests)}
    return Snapshot(suite, rankings, {digest: found[0] if found else None for digest, found in runs.items()})
