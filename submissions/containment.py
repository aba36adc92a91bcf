# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "containment"
# title = "Containment of words"
# summary = "Share of the distinct lower-cased words of the text that has fewer of them which the other text has too."
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
"""Broder's containment |x and y| / |x| of the smaller set of words, x, in the other one: the overlap coefficient."""

import re

import numpy as np
from scipy import sparse

WORD = re.compile(r"\w+")


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    has = indicator([*a, *b])
    x, y = has[:len(a)], has[len(a):]
    return contained(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    has = indicator([*a, *b])
    x, y = has[:len(a)], has[len(a):]
    return contained((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :])


def contained(shared: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Two texts without words are alike, a text without words is like no other: nothing of it can be found there."""
    fewer = np.minimum(x, y)
    return np.divide(shared, fewer, out=np.where(np.maximum(x, y) > 0, 0.0, 1.0), where=fewer > 0)


def indicator(texts: list[str]) -> sparse.csr_array:
    """A row a text, a column a word, 1 where the text has the word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(WORD.findall(text.lower()))) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
