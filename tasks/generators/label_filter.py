"""Multinomial naive Bayes over words: the classifier that filters texts generated for a label.

scikit-learn's MultinomialNB rounds differently, which changes the texts that pass the filter and therefore stored results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np


class NaiveBayes:
    """A classifier trained on labelled texts, with add-one smoothing."""

    def __init__(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        self.labels = sorted(set(labels))
        counts = {label: Counter[str]() for label in self.labels}
        for text, label in zip(texts, labels, strict=True):
            counts[label].update(text.lower().split())
        words = sorted(set().union(*counts.values()))
        self._columns = {word: column for column, word in enumerate(words)}
        table = np.array([[1.0 + counts[label][word] for word in words] for label in self.labels])
        self._logs = np.log(table / table.sum(axis=1, keepdims=True))
        self._prior = np.log(np.array([labels.count(label) for label in self.labels]) / len(labels))

    def choose(self, texts: Sequence[str], label: str) -> str:
        """Return the text with the highest confidence in a label, the first of several."""
        column = self.labels.index(label)
        return texts[int(np.argmax([self.confidences(text)[column] for text in texts]))]

    def predict(self, text: str) -> str:
        """Return the most probable label of a text."""
        return self.labels[int(self.confidences(text).argmax())]

    def confidences(self, text: str) -> np.ndarray:
        """Return the probability of each label, in the order of `labels`; unknown words are ignored."""
        columns = [self._columns[word] for word in text.lower().split() if word in self._columns]
        logs = self._prior + self._logs[:, columns].sum(axis=1)
        likelihoods = np.exp(logs - logs.max())
        return np.asarray(likelihoods / likelihoods.sum())
