# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "dice_bigrams"
# title = "Dice coefficient of character bigrams"
# summary = "Twice the shared distinct pairs of neighbouring characters over the distinct pairs of both texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""2|x and y| / (|x| + |y|) for the sets of bigrams, case and white space kept: Adamson and Boreham 1974."""

import numpy as np
from scipy import sparse


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    has = indicator([*a, *b])
    x, y = has[:len(a)], has[len(a):]
    same = np.array([float(one == other) for one, other in zip(a, b, strict=True)])
    return dice(x.multiply(y).sum(axis=1), x.sum(axis=1) + y.sum(axis=1), same)


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    has = indicator([*a, *b])
    x, y = has[:len(a)], has[len(a):]
    same = np.array([[float(one == other) for other in b] if len(one) < 2 else [0.0] * len(b) for one in a])
    return dice((x @ y.T).toarray(), x.sum(axis=1)[:, None] + y.sum(axis=1)[None, :], same)


def dice(shared: np.ndarray, sizes: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Where neither text has a bigram, whether they are the same."""
    return np.divide(2 * shared, sizes, out=same, where=sizes > 0)


def indicator(texts: list[str]) -> sparse.csr_array:
    """A row a text, a column a bigram, 1 where the text has it."""
    columns: dict[str, int] = {}
    sets = [sorted({text[i:i + 2] for i in range(len(text) - 1)}) for text in texts]
    indices = [columns.setdefault(pair, len(columns)) for pairs in sets for pair in pairs]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
