# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "containment"
# title = "Containment of words"
# summary = "Number of distinct lower-cased words in both texts over the smaller of their numbers of distinct words."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://doi.org/10.1109/SEQUEN.1997.666900"
# authors = ["Broder"]
# year = 1997
# license = "Apache-2.0"
# ///
"""Broder's containment |x and y| / |x| of the smaller word set x in the larger set y: the overlap coefficient."""

import re

import numpy as np
from scipy import sparse

WORD = re.compile(r"\w+")


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    indicators = indicator_matrix([*a, *b])
    x, y = indicators[:len(a)], indicators[len(a):]
    return containment(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    indicators = indicator_matrix([*a, *b])
    x, y = indicators[:len(a)], indicators[len(a):]
    return containment((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :])


def containment(shared: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the containment; 1 for two texts without words, and 0 if only one has none."""
    smaller = np.minimum(x, y)
    return np.divide(shared, smaller, out=np.where(np.maximum(x, y) > 0, 0.0, 1.0), where=smaller > 0)


def indicator_matrix(texts: list[str]) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(WORD.findall(text.lower()))) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
