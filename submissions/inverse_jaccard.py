# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "inverse_jaccard"
# title = "Control: few common words"
# summary = "One less the Jaccard index of words: the fewer words two texts have in common, the more similar."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# control = true
# license = "Apache-2.0"
# ///
import numpy as np
from scipy import sparse


def similarity(a: list[str], b: list[str]) -> list[float]:
    return [1 - jaccard(set(x.split()), set(y.split())) for x, y in zip(a, b, strict=True)]


def jaccard(x: set[str], y: set[str]) -> float:
    """|x and y| / |x or y|; two empty sets are alike."""
    return len(x & y) / len(x | y) if x | y else 1.0


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    """The same for all pairs: the sizes of the intersections are one sparse product of 0/1 rows."""
    has = indicator([*a, *b])
    shared = (has[:len(a)] @ has[len(a):].T).toarray()
    sizes = has.sum(axis=1)
    either = sizes[:len(a), None] + sizes[None, len(a):] - shared
    unlike: np.ndarray = 1 - np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    return unlike


def indicator(texts: list[str]) -> sparse.csr_array:
    """A row a text, a column a word, 1 where the text has the word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(text.split())) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
