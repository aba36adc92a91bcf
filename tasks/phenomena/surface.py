"""Surface similarity of two texts, and the conditions under which it carries no information about a quad."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

TOKEN = re.compile(r"\w+|[^\w\s]")
TOKENS, CHARACTERS, CLOSEST = (4, 40), 20, 0.85  # of an anchor; the largest Jaccard of the anchor and its paraphrase
LONGER = 5  # characters by which the two edits of a text may differ in length


class Surface(NamedTuple):
    """Surface similarities of a text to an anchor, on a higher-is-closer scale."""

    shared: int  # different tokens in both, in lower case
    either: int
    edits: int  # Levenshtein distance of characters
    characters: int
    longer: int  # characters that the text is longer than the anchor
    trigrams: float  # Dice coefficient of trigrams of characters
    words: float  # Jaccard similarity of the words between spaces
    bare: float  # Jaccard similarity of the words without punctuation
    prefix: int  # characters that both start with
    suffix: int  # characters that both end with

    @property
    def jaccard(self) -> float:
        """Jaccard similarity of the tokens in lower case."""
        return self.shared / self.either


class Anchor:
    """A text to which others are compared."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.grams = text, token_set(text), trigrams(text)
        self.words, self.bare = frozenset(text.split()), frozenset(re.findall(r"\w+", text.lower()))

    def compare(self, text: str) -> Surface:
        """Return the surface similarities of a text to the anchor."""
        tokens, grams = token_set(text), trigrams(text)
        words, bare = frozenset(text.split()), frozenset(re.findall(r"\w+", text.lower()))
        return Surface(
            len(self.tokens & tokens),
            len(self.tokens | tokens),
            Levenshtein.distance(self.text, text),
            len(text),
            len(text) - len(self.text),
            2 * len(self.grams & grams) / (len(self.grams) + len(grams)),
            len(self.words & words) / len(self.words | words),
            len(self.bare & bare) / max(1, len(self.bare | bare)),
            common_prefix(self.text, text),
            common_prefix(self.text[::-1], text[::-1]),
        )


def common_prefix(a: str, b: str) -> int:
    """Return the number of characters that two texts both start with."""
    return next((position for position, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def token_set(text: str) -> frozenset[str]:
    """Return the different tokens in lower case."""
    return frozenset(TOKEN.findall(text.lower()))


def trigrams(text: str) -> frozenset[str]:
    """Return the different trigrams of characters."""
    return frozenset(text[start : start + 3] for start in range(len(text) - 2))


def is_suitable(a: str, p: str) -> bool:
    """Return whether two paraphrases may be the texts of a quad."""
    if min(len(a), len(p)) < CHARACTERS or not all(TOKENS[0] <= len(TOKEN.findall(text)) <= TOKENS[1] for text in (a, p)):
        return False
    x, y = token_set(a), token_set(p)
    return len(x & y) <= CLOSEST * len(x | y)


def are_alike(kept: Surface, changed: Surface) -> bool:
    """Return whether an edit that keeps the meaning leaves as much of the surface as one that changes it."""
    return (kept.shared, kept.either) == (changed.shared, changed.either) and abs(kept.characters - changed.characters) <= LONGER


def distance(kept: Surface, changed: Surface) -> float:
    """Return how much two edits of one text differ on the surface."""
    return (
        2 * abs(kept.characters - changed.characters)
        + abs(kept.edits - changed.edits)
        + 20 * abs(kept.trigrams - changed.trigrams)
        + 4 * abs(kept.prefix - changed.prefix) / max(kept.characters, 1)
    )


def is_balanced(p: Surface, n: Surface, e: Surface, f: Surface) -> bool:
    """Return whether overlap and length answer exactly half of a quad's two questions."""
    for near, far in ((e, p), (n, f)):
        longest = (max(surface.characters, surface.characters - surface.longer) for surface in (near, far))
        ratios = [1 - surface.edits / length for surface, length in zip((near, far), longest, strict=True)]
        totals = [1 - surface.edits / (2 * surface.characters - surface.longer) for surface in (near, far)]
        if not (
            near.shared * far.either > far.shared * near.either
            and ratios[0] > ratios[1]
            and totals[0] > totals[1]
            and near.trigrams > far.trigrams
        ):
            return False
    return all(outcome(keep(p), keep(e)) + outcome(keep(n), keep(f)) == 1 for keep in (length_ratio, characters, words, bare))


def outcome(same: float, changed: float) -> float:
    """Return 1 if the text with the same meaning is closer, one half for a tie, else 0."""
    return 0.5 if same == changed else float(same > changed)


def length_ratio(surface: Surface) -> float:
    """Return the shorter length over the longer."""
    lengths = surface.characters, surface.characters - surface.longer
    return min(lengths) / max(lengths)


def characters(surface: Surface) -> float:
    """Return the length of the text."""
    return surface.characters


def words(surface: Surface) -> float:
    """Return the Jaccard similarity of the words between spaces."""
    return surface.words


def bare(surface: Surface) -> float:
    """Return the Jaccard similarity of the words without punctuation."""
    return surface.bare


def signature(p: Surface, n: Surface, e: Surface, f: Surface) -> Sequence[tuple[str, int]]:
    """Return the bins of the texts with the same meaning, +1, and of those with another meaning, -1, as (bin, sign)."""
    bins: list[tuple[str, int]] = []
    for surface, sign, step in ((n, 1, 1), (e, -1, 1), (p, 1, 4), (f, -1, 4)):
        distance_class = "near" if step == 1 else "far"
        clipped = max(-5, min(5, round(surface.longer / step)))
        anchor = surface.characters - surface.longer
        edits = min(12, surface.edits) if step == 1 else round(20 * surface.edits / anchor)
        bins += [
            (f"{distance_class} length {clipped}", sign),
            (f"{distance_class} edits {edits}", sign),
            (f"{distance_class} both {clipped} {edits}", sign),
            (f"{distance_class} trigrams {round(surface.trigrams * (50 if step == 1 else 25))}", sign),
            (f"{distance_class} prefix {10 * surface.prefix // anchor}", sign),
            (f"{distance_class} suffix {10 * surface.suffix // anchor}", sign),
        ]
    return bins
