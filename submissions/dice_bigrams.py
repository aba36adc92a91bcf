# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "dice_bigrams"
# title = "Dice coefficient of character bigrams"
# summary = "Twice the number of shared distinct character bigrams over the summed numbers of distinct bigrams of both texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""2|x and y| / (|x| + |y|) for sets of bigrams, with case and white space kept (Adamson and Boreham 1974)."""

import numpy as np
from scipy import sparse


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    indicators = indicator_matrix([*a, *b])
    x, y = indicators[:len(a)], indicators[len(a):]
    same = np.array([float(text_a == text_b) for text_a, text_b in zip(a, b, strict=True)])
    return dice(x.multiply(y).sum(axis=1), x.sum(axis=1) + y.sum(axis=1), same)


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    indicators = indicator_matrix([*a, *b])
    x, y = indicators[:len(a)], indicators[len(a):]
    same = np.array([[float(text_a == text_b) for text_b in b] if len(text_a) < 2 else [0.0] * len(b) for text_a in a])
    return dice((x @ y.T).toarray(), x.sum(axis=1)[:, None] + y.sum(axis=1)[None, :], same)


def dice(shared: np.ndarray, sizes: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Return the Dice coefficient; if neither text has a bigram, 1 for equal texts and 0 otherwise."""
    return np.divide(2 * shared, sizes, out=same, where=sizes > 0)


def indicator_matrix(texts: list[str]) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per bigram."""
    columns: dict[str, int] = {}
    sets = [sorted({text[i:i + 2] for i in range(len(text) - 1)}) for text in texts]
    indices = [columns.setdefault(bigram, len(columns)) for bigrams in sets for bigram in bigrams]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
