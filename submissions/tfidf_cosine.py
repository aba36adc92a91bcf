# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "tfidf_cosine"
# title = "Cosine of TF-IDF vectors"
# summary = "Cosine of the texts' word counts, each weighted by how few of the texts at hand have the word."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""As scikit-learn's TfidfVectorizer with its defaults: lower-cased words of two characters or more, idf ln((1+N)/(1+df)) + 1.

A word that none of the texts of `fit` has counts for nothing, as there.
"""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

WORD = re.compile(r"\b\w\w+\b")


class Weights(NamedTuple):
    """The column of each word, and the weight of each column."""

    columns: dict[str, int]
    idf: np.ndarray


weights = Weights({}, np.empty(0))


def fit(texts: list[str]) -> None:
    global weights
    having = Counter(word for text in texts for word in set(words_of(text)))
    idf = np.log((1 + len(texts)) / (1 + np.fromiter(having.values(), float, len(having)))) + 1
    weights = Weights({word: column for column, word in enumerate(having)}, idf)


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    return np.minimum(1, rows(a).multiply(rows(b)).sum(axis=1))         # the cosine of equal rows is 1 but for rounding


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    return np.minimum(1, (rows(a) @ rows(b).T).toarray())


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def rows(texts: list[str]) -> sparse.csr_array:
    """Weighted counts of length one, a row a text; a text without known words is a row of zeros."""
    counts = [{column: count for word, count in Counter(words_of(text)).items()
               if (column := weights.columns.get(word)) is not None} for text in texts]
    columns = np.array([column for one in counts for column in one], dtype=int)
    values = np.array([count for one in counts for count in one.values()], dtype=float) * weights.idf[columns]
    starts = np.cumsum([0, *map(len, counts)])
    lengths = np.sqrt(np.bincount(np.repeat(np.arange(len(texts)), np.diff(starts)), values ** 2, minlength=len(texts)))
    values /= np.repeat(lengths, np.diff(starts))
    return sparse.csr_array((values, columns, starts), shape=(len(texts), max(1, len(weights.idf))))
