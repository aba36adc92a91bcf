# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "tfidf_cosine"
# title = "Cosine of TF-IDF vectors"
# summary = "Cosine similarity of the texts' TF-IDF vectors, with document frequencies of the collection's texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""TfidfVectorizer of scikit-learn with default settings: lower-cased words of at least two characters, idf ln((1+N)/(1+df)) + 1.

Words that do not occur in the texts of `fit` are ignored.
"""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

WORD = re.compile(r"\b\w\w+\b")


class Weights(NamedTuple):
    """The column of each word and the idf of each column."""

    columns: dict[str, int]
    idf: np.ndarray


weights = Weights({}, np.empty(0))


def fit(texts: list[str]) -> None:
    global weights
    frequencies = Counter(word for text in texts for word in set(words_of(text)))
    idf = np.log((1 + len(texts)) / (1 + np.fromiter(frequencies.values(), float, len(frequencies)))) + 1
    weights = Weights({word: column for column, word in enumerate(frequencies)}, idf)


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    return np.minimum(1, rows(a).multiply(rows(b)).sum(axis=1))         # equal rows: 1 up to rounding


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    return np.minimum(1, (rows(a) @ rows(b).T).toarray())


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def rows(texts: list[str]) -> sparse.csr_array:
    """Return TF-IDF vectors of unit length, one row per text; zeros for a text without known words."""
    counts = [{column: count for word, count in Counter(words_of(text)).items()
               if (column := weights.columns.get(word)) is not None} for text in texts]
    columns = np.array([column for text_counts in counts for column in text_counts], dtype=int)
    values = np.array([count for text_counts in counts for count in text_counts.values()], dtype=float) * weights.idf[columns]
    starts = np.cumsum([0, *map(len, counts)])
    norms = np.sqrt(np.bincount(np.repeat(np.arange(len(texts)), np.diff(starts)), values ** 2, minlength=len(texts)))
    values /= np.repeat(norms, np.diff(starts))
    return sparse.csr_array((values, columns, starts), shape=(len(texts), max(1, len(weights.idf))))
