"""The nearest text by word-level edit distance over the longer one's length, found exactly without looking at all pairs.

Words become characters, so that the distance is one of strings.  A text is first looked for among those that share its rarest
words: whoever shares none of j of its m words is at least j/m away, and when that is no nearer than what was found, nobody
else can be.  Where that does not end it, the words that each text shares are counted: two texts of which the longer has L words
and that share s are at least (L - s)/L apart, and only who can be nearer is compared, the most promising first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress, Progress

ABSENT = "\0"                               # every word that the other corpus does not have: none of them matches
SURROGATES = range(0xD800, 0xE000)
ALPHABET = 0x110000
FEW = 64                                    # texts that are compared rather than counted


@dataclass(frozen=True)
class Nearest:
    """Of each text the distance to the nearest, worddist/max(|s1|,|s2|), and its row; -1 where everything is equally far."""

    distances: np.ndarray
    rows: np.ndarray

    @property
    def similarities(self) -> np.ndarray:
        """SynSim of the nearest: 1/(1 + distance)."""
        return np.asarray(1 / (1 + self.distances))


def words_of(text: str) -> list[str]:
    return text.lower().split()


class WordIndex:
    """Texts, to be found by their words.  The second occurrence of a word in a text counts as another word."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._letters: dict[str, str] = {}
        self._numbers: dict[tuple[str, int], int] = {}
        rows: list[int] = []
        tokens: list[int] = []
        strings: list[str] = []
        for row, text in enumerate(texts):
            words = words_of(text)
            strings.append("".join(self._letter(word) for word in words))
            for token in occurrences(words):
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
            raise TouchstoneError("A corpus with more than 1,112,063 different words cannot be compared word by word; take a "
                                  "part of it.")
        return self._letters.setdefault(word, chr(code))

    def nearest(self, texts: Sequence[str], progress: Progress | None = None, title: str = "Edit distances") -> Nearest:
        """Of each text the nearest of the index."""
        distances, rows = np.ones(len(texts)), np.full(len(texts), -1)
        known: dict[str, tuple[float, int]] = {}
        stage = (progress or NoProgress()).stage(title, len(texts), "texts")
        try:
            for place, text in enumerate(texts):
                if text not in known:
                    known[text] = self._search(words_of(text))
                distances[place], rows[place] = known[text]
                if place % 1000 == 999:
                    stage.advance(1000)
            stage.advance(len(texts) % 1000)
        finally:
            stage.close()
        return Nearest(distances, rows)

    def _search(self, words: Sequence[str]) -> tuple[float, int]:
        m = len(words)
        if m == 0:
            return (0.0, int(self._empty[0])) if len(self._empty) else (1.0, -1)
        string = "".join(self._letters.get(word, ABSENT) for word in words)
        found = sorted((self._texts_with[number] for token in occurrences(words)
                        if (number := self._numbers.get(token)) is not None), key=len)
        nothing_shared = 1.0, -1            # as many edits as the longer one has words
        if not found:
            return nothing_shared
        sizes = np.cumsum([len(texts) for texts in found])
        rare = max(1, int(np.searchsorted(sizes, FEW, side="right")))
        best = self._nearer(string, np.concatenate(found[:rare]), m, nothing_shared)
        if rare == len(found) or (m - len(found) + rare) / m >= best[0]:
            return best
        shared = np.bincount(np.concatenate(found), minlength=len(self._lengths))
        texts = np.flatnonzero(shared > (1 - best[0]) * m)
        bound = 1 - shared[texts] / np.maximum(self._lengths[texts], m)
        if len(texts) > FEW:
            best = self._nearer(string, texts[np.argpartition(bound, FEW)[:FEW]], m, best)
        texts = texts[bound < best[0]]
        return self._nearer(string, texts, m, best) if len(texts) else best

    def _nearer(self, string: str, texts: np.ndarray, m: int, best: tuple[float, int]) -> tuple[float, int]:
        """The nearest of these texts, if it is nearer than the best so far."""
        longer = np.maximum(self._lengths[texts], m)
        edits = cdist([string], self._strings[texts].tolist(), scorer=Levenshtein.distance, dtype=np.int32,
                      score_cutoff=int(best[0] * longer.max()))[0]
        relative = edits / longer
        smallest = int(relative.argmin())
        return (float(relative[smallest]), int(texts[smallest])) if relative[smallest] < best[0] else best


def occurrences(words: Iterable[str]) -> list[tuple[str, int]]:
    """Each word with how often it was there before."""
    counts: dict[str, int] = {}
    found = []
    for word in words:
        counts[word] = counts.get(word, -1) + 1
        found.append((word, counts[word]))
    return found
