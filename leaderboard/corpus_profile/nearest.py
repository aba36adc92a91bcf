"""Exact nearest neighbours under word-level edit distance, normalised by the longer text, without comparing all pairs.

Words are mapped to characters, so that the distance is an edit distance of strings.  The search compares a text first with the
texts that share its rarest words.  A text that shares none of j of its m words has a distance of at least j/m; if that is not
below the smallest distance so far, the search ends.  Otherwise it counts the words that each text shares: two texts that share
s words, and of which the longer has L, have a distance of at least (L - s)/L.  Only texts whose bound is below the smallest
distance are compared, those with the lowest bounds first.
"""

from __future__ import annotations

from collections import defaultdict
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

    def nearest(self, texts: Sequence[str], progress: Progress | None = None, title: str = "Edit distances") -> Nearest:
        """Return the nearest text of the index for each text."""
        distances, rows = np.ones(len(texts)), np.full(len(texts), -1)
        results: dict[str, tuple[float, int]] = {}
        for number, text in enumerate(track_texts(texts, title, progress)):
            if text not in results:
                results[text] = self._search(split_words(text))
            distances[number], rows[number] = results[text]
        return Nearest(distances, rows)

    def _search(self, words: Sequence[str]) -> tuple[float, int]:
        m = len(words)
        if m == 0:
            return (0.0, int(self._empty[0])) if len(self._empty) else (1.0, -1)
        string = "".join(self._letters.get(word, UNKNOWN_WORD) for word in words)
        postings = sorted((self._texts_with[number] for token in number_occurrences(words)
                           if (number := self._numbers.get(token)) is not None), key=len)
        nothing_shared = 1.0, -1            # as many edits as the longer text has words
        if not postings:
            return nothing_shared
        sizes = np.cumsum([len(texts) for texts in postings])
        rare = max(1, int(np.searchsorted(sizes, DIRECT_COMPARISONS, side="right")))
        best = self._nearer(string, np.concatenate(postings[:rare]), m, nothing_shared)
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


def number_occurrences(words: Iterable[str]) -> list[tuple[str, int]]:
    """Pair each word with the number of its earlier occurrences."""
    counts: defaultdict[str, int] = defaultdict(int)
    numbered = []
    for word in words:
        numbered.append((word, counts[word]))
        counts[word] += 1
    return numbered
