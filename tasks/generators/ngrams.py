"""Interpolated Kneser-Ney n-grams (Chen and Goodman 1999, section 2.7, one discount).

At a history h, p(w|h) = max(c(hw) - D, 0)/c(h) + D N(h)/c(h) p(w|h'), where N(h) is the number of different words after h, and h'
the
history without its first word. In shorter histories c(hw) is the number of different words before hw; at the start of a text,
where
there is none, it is the count. Unigrams are interpolated with the uniform distribution over all words, so perplexities of two
models
are comparable only if both have the same number of words.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

START, END = "<s>", "</s>"
DISCOUNT = 0.75
LONGEST = 60                                # maximal length of a text in words

History = tuple[str, ...]


class NGrams:
    """A model of one order, trained on texts; `words` is the size of the vocabulary, including unseen words and the end."""

    def __init__(self, texts: Iterable[str], order: int, words: int | None = None) -> None:
        self.order = order
        self._after: dict[History, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for text in texts:
            read = [START, *text.split(), END]
            for position in range(1, len(read)):
                self._count(tuple(read[max(0, position - order + 1):position]), read[position])
        self._total = {history: sum(counts.values()) for history, counts in self._after.items()}
        self.vocabulary = sorted(self._after[()])
        self._words = max(words or 0, len(self.vocabulary) + (words is None))       # by default, one unseen word
        self._steps: dict[History, tuple[list[str], list[float]]] = {}

    def _count(self, history: History, word: str) -> None:
        """Count a word after a history; if the pair is new, count the word after the shorter history too."""
        while True:
            counts = self._after[history]
            new = word not in counts
            counts[word] += 1
            if not history or not new:
                return
            history = history[1:]

    def probability(self, word: str, history: Sequence[str]) -> float:
        """Return p(word | history), using the last words of the history."""
        context = tuple(history)[-self.order + 1:] if self.order > 1 else ()
        probability = 1 / self._words
        for start in range(len(context), -1, -1):
            counts = self._after.get(context[start:])
            if counts is not None:
                total = self._total[context[start:]]
                probability = max(counts.get(word, 0) - DISCOUNT, 0) / total + DISCOUNT * len(counts) / total * probability
        return probability

    def surprise(self, text: str) -> tuple[float, int]:
        """Return the negative log-probability of a text including its end, and its number of words."""
        words = [START, *text.split(), END]
        logs = [math.log(self.probability(words[position], words[max(0, position - self.order + 1):position]))
                for position in range(1, len(words))]
        return -sum(logs), len(logs)

    def perplexity(self, texts: Iterable[str]) -> float:
        """Return exp of the mean negative log-probability per word."""
        surprise, words = np.sum([self.surprise(text) for text in texts], axis=0)
        return math.exp(surprise / words)

    def write(self, rng: np.random.Generator) -> str:
        """Return a random text that is not empty."""
        while True:
            words = [START]
            while len(words) <= LONGEST:
                word = self._next(tuple(words[-self.order + 1:]) if self.order > 1 else (), rng)
                if word == END:
                    break
                words.append(word)
            if len(words) > 1:
                return " ".join(words[1:])

    def _next(self, history: History, rng: np.random.Generator) -> str:
        """Return a word drawn from p(. | history): by the discounted counts, or else after the shorter history."""
        while history not in self._after:
            history = history[1:]
        while True:
            if history not in self._steps:
                counts = self._after[history]
                self._steps[history] = list(counts), list(accumulate(count - DISCOUNT for count in counts.values()))
            words, steps = self._steps[history]
            draw = float(rng.random()) * self._total[history]
            if draw < steps[-1]:
                return words[bisect_right(steps, draw)]
            if not history:
                return self.vocabulary[int(rng.integers(len(self.vocabulary)))]
            history = history[1:]
