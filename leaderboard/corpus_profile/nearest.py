"""Exact nearest neighbours under word-level edit distance, normalised by the longer text, without comparing all pairs.

Words are mapped to characters, so that the distance is an edit distance of strings.  The search compares a text first with the
texts that share its rarest words.  A text that shares none of j of its m words has a distance of at least j/m; if that is not
below the smallest distance so far, the search ends.  Otherwise it counts the words that each text shares: two texts that share
s words, and of which the longer has L, have a distance of at least (L - s)/L.  Only texts whose bound is below the smallest
distance are compared, those with the lowest bounds first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from leaderboard.corpus_profile.progress import track_texts

UNKNOWN_WORD = "\0"                         # stands for all words that the index does not have
SURROGATES = range(0xD800, 0xE000)
ALPHABET = 0x110000
DIRECT_COMPARISONS = 64                     # so many texts are compared without computing bounds


@dataclass(frozen=True)
class Nearest:
    """The distance worddist/max(|s1|,|s2|) of each text to its nearest neighbour, and its row; -1 if no text shares a word."""

    distances: np.ndarray
    rows: np.ndarray

    @property
    def similarities(self) -> np.ndarray:
        """SynSim to the nearest neighbour: 1/(1 + distance)."""
        return np.asarray(1 / (1 + self.distances))


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return text.lower().split()


class WordIndex:
    """An index of texts by their words, where repeated occurrences of a word in a text count as different words."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Index the texts."""
        self._letters: dict[str, str] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        rows: list[int] = []
        tokens: list[int] = []
        strings: list[str] = []
        for row, text in enumerate(texts):
            words = split_words(text)
            strings.append("".join(self._letter(word) for word in words))
            for token in number_occurrences(words):
                rows.append(row)
                tokens.append(self._numbers.setdefault(token, len(self._numbers)))
        self._strings = np.array(strings, dtype=object)
        self._lengths = np.array([len(string) for string in strings])
        counts = np.bincount(np.array(tokens, dtype=np.int64), minlength=len(self._numbers))
        order = np.argsort(np.array(tokens, dtype=np.int64), kind="stable")
        self._texts_with = np.split(np.array(rows, dtype=np.intp)[order], np.cumsum(counts)[:-1])
        self._empty = np.flatnonzero(self._lengths == 0)

    def _letter(self, word: str) -> str:
        code = 1 + len(self._letters)
        code += len(SURROGATES) if code >= SURROGATES.start else 0
        if code >= ALPHABET:
            raise TouchstoneError("The corpus has more than 1,112,063 different words, too many for the word index. Use a sample "
                                  "of it.")
        return self._letters.setdefault(word, chr(code))

    def nearest(self, texts: Sequence[str], progress: Progress | None = None, title: str = "Edit distances",
                cutoff: float = 1.0) -> Nearest:
        """Return the nearest text of the index for each text; row -1 if none is nearer than 1, or at most `cutoff` away."""
        distances, rows = np.ones(len(texts)), np.full(len(texts), -1)
        results: dict[str, tuple[float, int]] = {}
        limit = cutoff if cutoff == 1 else float(np.nextafter(cutoff, 1))
        for number, text in enumerate(track_texts(texts, title, progress)):
            if text not in results:
                distance, row = self._search(split_words(text), limit)
                results[text] = (distance, row) if row >= 0 else (1.0, -1)
            distances[number], rows[number] = results[text]
        return Nearest(distances, rows)

    def _search(self, words: Sequence[str], limit: float) -> tuple[float, int]:
        m = len(words)
        if m == 0:
            return (0.0, int(self._empty[0])) if len(self._empty) else (1.0, -1)
        string = "".join(self._letters.get(word, UNKNOWN_WORD) for word in words)
        postings = sorted((self._texts_with[number] for token in number_occurrences(words)
                           if (number := self._numbers.get(token)) is not None), key=len)
        nothing_near = limit, -1
        if not postings or (m - len(postings)) / m >= limit:
            return nothing_near
        sizes = np.cumsum([len(texts) for texts in postings])
        rare = max(1, int(np.searchsorted(sizes, DIRECT_COMPARISONS, side="right")))
        best = self._nearer(string, np.concatenate(postings[:rare]), m, nothing_near)
        if rare == len(postings) or (m - len(postings) + rare) / m >= best[0]:
            return best
        shared = np.bincount(np.concatenate(postings), minlength=len(self._lengths))
        texts = np.flatnonzero(shared > (1 - best[0]) * m)
        bound = 1 - shared[texts] / np.maximum(self._lengths[texts], m)
        if len(texts) > DIRECT_COMPARISONS:
            best = self._nearer(string, texts[np.argpartition(bound, DIRECT_COMPARISONS)[:DIRECT_COMPARISONS]], m, best)
        texts = texts[bound < best[0]]
        return self._nearer(string, texts, m, best) if len(texts) else best

    def _nearer(self, string: str, texts: np.ndarray, m: int, best: tuple[float, int]) -> tuple[float, int]:
        """Return the nearest of these texts, or the best so far if that is at least as near."""
        longer = np.maximum(self._lengths[texts], m)
        edits = cdist([string], self._strings[texts].tolist(), scorer=Levenshtein.distance, dtype=np.int32,
                      score_cutoff=int(best[0] * longer.max()))[0]
        relative = edits / longer
        smallest = int(relative.argmin())
        return (float(relative[smallest]), int(texts[smallest])) if relative[smallest] < best[0] else best


def drop_near_duplicates(texts: Sequence[str], cutoff: float) -> list[int]:
    """Return the rows of the texts that are farther than `cutoff` from every kept text before them.

    Two texts of n and m words within the cutoff share at least (1 - cutoff) max(n, m) words, so that the first cutoff n + 1 of
    the one and cutoff m + 1 of the other, the rarest first, have one in common (prefix filtering).
    """
    tokens = [number_occurrences(split_words(text)) for text in texts]
    frequency = Counter(token for numbered in tokens for token in numbered)
    kept: list[int] = []
    kept_with: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row, numbered in enumerate(tokens):
        prefix = sorted(numbered, key=lambda token: (frequency[token], token))[:int(cutoff * len(numbered)) + 1]
        words = [word for word, _ in numbered]
        candidates = {other for token in prefix for other in kept_with[token]}
        if any(Levenshtein.normalized_distance(words, [word for word, _ in tokens[other]], score_cutoff=cutoff) <= cutoff
               for other in candidates) or (not numbered and any(not tokens[other] for other in kept)):
            continue
        kept.append(row)
        for token in prefix:
            kept_with[token].append(row)
    return kept


def number_occurrences(words: Iterable[str]) -> list[tuple[str, int]]:
    """Pair each word with the number of its earlier occurrences."""
    counts: defaultdict[str, int] = defaultdict(int)
    numbered = []
    for word in words:
        numbered.append((word, counts[word]))
        counts[word] += 1
    return numbered
