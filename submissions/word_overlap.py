# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "word_overlap"
# title = "Word overlap"
# summary = "Distinct words that both texts have over those that either has, split at white space; the same number as jaccard."
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
"""The word overlap of Yamshchikov et al. 2020, whose published means come out with case and punctuation kept."""

import numpy as np
from scipy import sparse


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    has = indicator([*a, *b])
    x, y = has[:len(a)], has[len(a):]
    return overlap(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    has = indicator([*a, *b])
    x, y = has[:len(a)], has[len(a):]
    return overlap((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :])


def overlap(both: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """|x and y| / |x or y|; two texts without words are alike."""
    either = x + y - both
    return np.divide(both, either, out=np.ones_like(both), where=either > 0)


def indicator(texts: list[str]) -> sparse.csr_array:
    """A row a text, a column a word, 1 where the text has the word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(text.split())) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
