# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "jaccard"
# title = "Jaccard index of words"
# summary = "Shared share of the two texts' sets of words, split at white space, case kept."
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
# summary = "Of lower-cased words: runs of letters, digits and underscores."
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
    """|x and y| / |x or y|; two empty sets are alike."""
    return len(x & y) / len(x | y) if x | y else 1.0


def matrix(a: list[str], b: list[str], lower: bool = False) -> np.ndarray:
    """The same for all pairs: the sizes of the intersections are one sparse product of 0/1 rows."""
    has = indicator(split([*a, *b], lower))
    shared = (has[:len(a)] @ has[len(a):].T).toarray()
    sizes = has.sum(axis=1)
    either = sizes[:len(a), None] + sizes[None, len(a):] - shared
    alike: np.ndarray = np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    return alike


def indicator(texts: list[list[str]]) -> sparse.csr_array:
    """A row a text, a column a word, 1 where the text has the word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(words)) for words in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
