"""Quads: an anchor, and four texts of same or changed meaning that are near to it or far from it on the surface."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from harness.base.hashing import seed_of
from tasks.phenomena.meaning_changes import PHENOMENA, Kind
from tasks.phenomena.paraphrases import KEEPING
from tasks.phenomena.surface import LONGER, Anchor, Surface, are_alike, distance, is_balanced, is_suitable, signature
from tasks.phenomena.words import Edit, Half, Words

MATCHES = 6  # edits that keep the meaning, the most alike first, with which a quad is tried
VARIANTS, OF_AN_ENTRY = 8, 4  # quads of a source pair and phenomenon, and of one change of meaning
MOST_PAIRS = 700  # with quads of a phenomenon


class Texts(NamedTuple):
    """The texts of a quad."""

    anchor: str
    p: str  # far, same meaning
    n: str  # near, same meaning
    e: str  # near, changed meaning
    f: str  # far, changed meaning


class Plan(NamedTuple):
    """Which edits make a quad: the side of the source pair that is the anchor, and the place of each edit in its rule's list."""

    side: int
    p: int
    n: int
    e: int
    f: int


@dataclass(frozen=True)
class Candidate:
    """A quad that passes the filters."""

    phenomenon: str
    plan: Plan
    texts: Texts
    entry: str  # of the edit that changes the meaning
    bins: Sequence[tuple[str, int]]  # see `surface.signature`


class SourcePair:
    """Two paraphrases and their edits."""

    def __init__(self, a: str, b: str, half: Half) -> None:
        self.sides, self.half = (Words(a), Words(b)), half
        self.seed = seed_of(*sorted((a, b)))
        self._edits: dict[tuple[str, int], list[Edit]] = {}

    @cached_property
    def anchors(self) -> tuple[Anchor, Anchor]:
        """Both texts as anchors."""
        return Anchor(self.sides[0].text), Anchor(self.sides[1].text)

    def changing(self, phenomenon: str, side: int) -> list[Edit]:
        """Return the edits of one text that change the meaning."""
        if (phenomenon, side) not in self._edits:
            edits = list(PHENOMENA[phenomenon].rule(self.sides[side], self.half, self.seed))
            if edits and PHENOMENA[phenomenon].kind is Kind.ORDER:  # also together with a substitution that keeps the meaning
                both = (edit.joined(other) for edit in edits for other in self._keeping_of_kind(Kind.SUBSTITUTION, side))
                edits += [edit for edit in both if edit is not None]
            self._edits[phenomenon, side] = edits
        return self._edits[phenomenon, side]

    def keeping(self, phenomenon: str, side: int) -> list[Edit]:
        """Return the edits of one text that keep the meaning and may resemble those of the phenomenon."""
        kind = PHENOMENA[phenomenon].kind
        kinds = (kind, Kind.SUBSTITUTION) if kind is Kind.ORDER else (kind,)
        return [edit for each in kinds for edit in self._keeping_of_kind(each, side)]

    def _keeping_of_kind(self, kind: Kind, side: int) -> list[Edit]:
        if (kind, side) not in self._edits:
            self._edits[kind, side] = list(KEEPING[kind](self.sides[side], self.half, self.seed))
        return self._edits[kind, side]

    def texts(self, phenomenon: str, plan: Plan) -> Texts:
        """Return the texts of a planned quad."""
        a, p = self.sides[plan.side].text, self.sides[1 - plan.side].text
        return Texts(
            a,
            self.keeping(phenomenon, 1 - plan.side)[plan.p].apply(p),
            self.keeping(phenomenon, plan.side)[plan.n].apply(a),
            self.changing(phenomenon, plan.side)[plan.e].apply(a),
            self.changing(phenomenon, 1 - plan.side)[plan.f].apply(p),
        )

    def candidates(self, phenomenon: str) -> Iterator[Candidate]:
        """Yield quads that pass the filters, at most `VARIANTS`; which ones depends on the texts alone."""
        edits = self.changing(phenomenon, 0), self.changing(phenomenon, 1)
        common = {edit.entry for edit in edits[0]} & {edit.entry for edit in edits[1]}
        if common and self.keeping(phenomenon, 0) and self.keeping(phenomenon, 1):
            first = seed_of(phenomenon, self.seed) % 2
            entries = sorted(common, key=lambda entry: seed_of(phenomenon, self.seed, entry))
            plans = (plan for entry in entries for side in (first, 1 - first) for plan in self._plans(phenomenon, side, entry))
            for plan, surfaces in itertools.islice(plans, VARIANTS):
                entry = edits[plan.side][plan.e].entry
                yield Candidate(phenomenon, plan, self.texts(phenomenon, plan), entry, signature(*surfaces))

    def _plans(self, phenomenon: str, side: int, entry: str) -> Iterator[tuple[Plan, tuple[Surface, Surface, Surface, Surface]]]:
        """Yield a few quads for one change of meaning, with edits that keep the meaning and resemble those that change it."""
        anchor, a, p = self.anchors[side], self.sides[side].text, self.sides[1 - side].text
        changed_a, changed_p = (
            [
                (number, anchor.compare(edit.apply(text)))
                for number, edit in enumerate(self.changing(phenomenon, other))
                if edit.entry == entry
            ]
            for other, text in ((side, a), (1 - side, p))
        )
        count = 0
        for (e, near), (f, far) in itertools.product(changed_a, changed_p):
            best_n = self._most_alike(phenomenon, side, a, anchor, near)
            best_p = self._most_alike(phenomenon, 1 - side, p, anchor, far) if best_n else []
            for (_, n, n_surface), (_, p_number, p_surface) in itertools.product(best_n, best_p):
                if is_balanced(p_surface, n_surface, near, far):
                    yield Plan(side, p_number, n, e, f), (p_surface, n_surface, near, far)
                    count += 1
                    if count == OF_AN_ENTRY:
                        return

    def _most_alike(
        self, phenomenon: str, side: int, text: str, anchor: Anchor, changed: Surface
    ) -> list[tuple[float, int, Surface]]:
        """Return the edits of a text that leave as much of the surface as another one, the most alike first."""
        matches = []
        for number, edit in enumerate(self.keeping(phenomenon, side)):
            edited = edit.apply(text)
            if abs(len(edited) - changed.characters) <= LONGER:
                surface = anchor.compare(edited)
                if are_alike(surface, changed):
                    matches.append((distance(surface, changed), number, surface))
        return heapq.nsmallest(MATCHES, matches)


def find_candidates(
    pairs: Sequence[tuple[str, str]], half: Half, phenomena: Sequence[str]
) -> dict[str, list[tuple[int, Candidate]]]:
    """Return (number of the pair, candidate) by phenomenon, for pairs in an order that depends on their texts alone."""
    candidates: dict[str, list[tuple[int, Candidate]]] = {phenomenon: [] for phenomenon in phenomena}
    numbers: dict[str, set[int]] = {phenomenon: set() for phenomenon in phenomena}
    for number in sorted(range(len(pairs)), key=lambda number: seed_of(*sorted(pairs[number]))):
        if not is_suitable(*pairs[number]):
            continue
        pair = SourcePair(*pairs[number], half)
        for phenomenon in phenomena:
            if len(numbers[phenomenon]) < MOST_PAIRS:
                of_pair = [(number, candidate) for candidate in pair.candidates(phenomenon)]
                candidates[phenomenon] += of_pair
                numbers[phenomenon].update(number for number, _ in of_pair)
    return candidates
