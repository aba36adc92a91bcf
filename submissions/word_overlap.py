# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "word_overlap"
# title = "Word overlap"
# summary = "Number of distinct whitespace-separated words in both texts over the number in either; equal to jaccard."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://arxiv.org/abs/2004.05001"
# authors = ["Yamshchikov", "Shibaev", "Khlebnikov", "Tikhonov"]
# year = 2021
# license = "Apache-2.0"
# ///
"""Word overlap of Yamshchikov et al. 2020, whose published means are reproduced with case and punctuation kept."""

import numpy as np
from scipy import sparse


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    indicators = indicator_matrix([*a, *b])
    x, y = indicators[:len(a)], indicators[len(a):]
    return overlap(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    indicators = indicator_matrix([*a, *b])
    x, y = indicators[:len(a)], indicators[len(a):]
    return overlap((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :])


def overlap(shared: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return |x and y| / |x or y|; 1 for two texts without words."""
    union = x + y - shared
    return np.divide(shared, union, out=np.ones_like(shared), where=union > 0)


def indicator_matrix(texts: list[str]) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(text.split())) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
