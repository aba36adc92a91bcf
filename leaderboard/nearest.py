"""The nearest text by word-level edit distance over the longer one's length, found exactly without looking at all pairs.

Words become characters, so that the distance is one of strings.  A text is looked for among those that share its rarest word,
then among those that share its second rarest, and so on: whoever shows up only after j of its m words shares at most m - j, and
is at least j/m away.  When that is no nearer than what was found, nobody else can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from harness.errors import Refusal
from harness.progress import Progress, Silent

ABSENT = "\0"                               # every word that the other corpus does not have: none of them matches
SURROGATES = range(0xD800, 0xE000)
ALPHABET = 0x110000


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
        self._texts_with = np.split(np.array(rows, dtype=np.int32)[order], np.cumsum(counts)[:-1])
        self._seen = np.full(len(texts), -1)
        self._empty = np.flatnonzero(self._lengths == 0)

    def _letter(self, word: str) -> str:
        code = 1 + len(self._letters)
        code += len(SURROGATES) if code >= SURROGATES.start else 0
        if code >= ALPHABET:
            raise Refusal("A corpus with more than 1,112,063 different words cannot be compared word by word; take a part of it.")
        return self._letters.setdefault(word, chr(code))

    def nearest(self, texts: Sequence[str], progress: Progress | None = None, title: str = "Edit distances") -> Nearest:
        """Of each text the nearest of the index."""
        distances, rows = np.ones(len(texts)), np.full(len(texts), -1)
        known: dict[str, tuple[float, int]] = {}
        stage = (progress or Silent()).stage(title, len(texts), "texts")
        self._seen[:] = -1
        try:
            for place, text in enumerate(texts):
                if text not in known:
                    known[text] = self._search(words_of(text), place)
                distances[place], rows[place] = known[text]
                if place % 1000 == 999:
                    stage.advance(1000)
            stage.advance(len(texts) % 1000)
        finally:
            stage.close()
        return Nearest(distances, rows)

    def _search(self, words: Sequence[str], mark: int) -> tuple[float, int]:
        m = len(words)
        if m == 0:
            return (0.0, int(self._empty[0])) if len(self._empty) else (1.0, -1)
        string = "".join(self._letters.get(word, ABSENT) for word in words)
        found = sorted((self._texts_with[number] for token in occurrences(words)
                        if (number := self._numbers.get(token)) is not None), key=len)
        best, row = 1.0, -1                 # nothing in common is m edits, or as many as the longer one has words
        for j, candidates in enumerate(found, start=m - len(found)):
            if j / m >= best:
                break
            new = candidates[self._seen[candidates] != mark]
            self._seen[new] = mark
            lengths = self._lengths[new]
            longer = np.maximum(lengths, m)
            near = longer - np.minimum(lengths, m - j) < best * longer
            if not near.any():
                continue
            new, longer = new[near], longer[near]
            edits = cdist([string], self._strings[new].tolist(), scorer=Levenshtein.distance, dtype=np.int32,
                          score_cutoff=int(best * longer.max()))[0]
            relative = edits / longer
            smallest = int(relative.argmin())
            if relative[smallest] < best:
                best, row = float(relative[smallest]), int(new[smallest])
        return best, row


def occurrences(words: Iterable[str]) -> list[tuple[str, int]]:
    """Each word with how often it was there before."""
    counts: dict[str, int] = {}
    found = []
    for word in words:
        counts[word] = counts.get(word, -1) + 1
        found.append((word, counts[word]))
    return found
