"""Multinomial naive Bayes over words: a small classifier of texts, to filter what was generated for a label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


class NaiveBayes:
    """Trained on labelled texts; each word adds one to every label's count, so that none is impossible."""

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        self.labels = sorted(set(labels))
        place = {label: row for row, label in enumerate(self.labels)}
        counts = [Counter[str]() for _ in self.labels]
        for text, label in zip(texts, labels, strict=True):
            counts[place[label]].update(text.lower().split())
        self._words = {word: column for column, word in enumerate(sorted(set().union(*counts)))}
        table = np.ones((len(self.labels), len(self._words)))
        for row, one in enumerate(counts):
            for word, count in one.items():
                table[row, self._words[word]] += count
        self._logs = np.log(table / table.sum(axis=1, keepdims=True))
        self._prior = np.log(np.bincount([place[label] for label in labels], minlength=len(self.labels)) / len(labels))

    def confidences(self, text: str) -> np.ndarray:
        """The probability of each label, in the order of `labels`; words that were never seen say nothing."""
        columns = [self._words[word] for word in text.lower().split() if word in self._words]
        logs = self._prior + self._logs[:, columns].sum(axis=1)
        found = np.exp(logs - logs.max())
        return np.asarray(found / found.sum())
