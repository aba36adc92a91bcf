"""What the board shows: read from the store once, never per click."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import Refusal
from harness.store import Store
from leaderboard.ranking import Placed, Ranking, rank_suite
from leaderboard.reports import place_json
from tasks.suite import Suite


@dataclass(frozen=True)
class Snapshot:
    """A suite, its ranking, and under what conditions each metric was last asked."""

    suite: Suite
    ranking: Ranking
    provenance: Mapping[str, Mapping[str, Any] | None]      # by an entry's digest

    def place(self, name: str) -> Placed | None:
        return next((place for place in self.ranking.places if place.scored.name == name), None)

    def search(self, words: str) -> set[str]:
        """The names of the metrics that have every word somewhere in name, title, summary or what they take; all for no words."""
        wanted = words.lower().replace(";", " ").split()[:20]
        found = set()
        for place in self.ranking.places:
            header = place.scored.entry.header
            text = " ".join([place.scored.name, header.title, header.summary, header.kind, header.input,
                             "lifted" if place.scored.lifted else "", "control" if header.control else ""]).lower()
            if all(word in text for word in wanted):
                found.add(place.scored.name)
        return found

    def as_json(self) -> dict[str, Any]:
        """The board for machines."""
        return {"suite": {"name": self.suite.name, "title": self.suite.title, "fingerprint": self.suite.fingerprint},
                "lines": list(self.ranking.lines), "entries": [place_json(place) for place in self.ranking.places]}


def take(suite: Suite, store: Store) -> Snapshot:
    """The snapshot of a store; refuses an empty one."""
    ranking = rank_suite(store, suite)
    if not ranking.places:
        raise Refusal(f"The store {store.name} has no answers to this state of the suite {suite.name}; `touchstone run --suite "
                      f"{suite.name}` asks for them.")
    runs = {place.scored.stored.digest: store.provenance(place.scored.stored.digest) for place in ranking.places}
    return Snapshot(suite, ranking, {digest: found[0] if found else None for digest, found in runs.items()})
