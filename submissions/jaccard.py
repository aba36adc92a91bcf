# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "jaccard"
# title = "Jaccard index of words"
# summary = "Jaccard index of the two texts' sets of whitespace-separated words; case is kept."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "lower"
# parameters = { lower = true }
# summary = "The Jaccard index of lower-cased words: runs of letters, digits and underscores."
# ///
import re

import numpy as np
from scipy import sparse

WORD = re.compile(r"\w+")


def similarity(a: list[str], b: list[str], lower: bool = False) -> list[float]:
    return [jaccard(set(x), set(y)) for x, y in zip(split(a, lower), split(b, lower), strict=True)]


def split(texts: list[str], lower: bool) -> list[list[str]]:
    return [WORD.findall(text.lower()) if lower else text.split() for text in texts]


def jaccard(x: set[str], y: set[str]) -> float:
    """Return |x and y| / |x or y|; 1 for two empty sets."""
    return len(x & y) / len(x | y) if x | y else 1.0


def matrix(a: list[str], b: list[str], lower: bool = False) -> np.ndarray:
    """Return the index of all pairs; a sparse product of 0/1 rows gives the sizes of the intersections."""
    indicators = indicator_matrix(split([*a, *b], lower))
    shared = (indicators[:len(a)] @ indicators[len(a):].T).toarray()
    sizes = indicators.sum(axis=1)
    union = sizes[:len(a), None] + sizes[None, len(a):] - shared
    similarities: np.ndarray = np.divide(shared, union, out=np.ones_like(shared), where=union > 0)
    return similarities


def indicator_matrix(texts: list[list[str]]) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(words)) for words in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
