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
# ///
import numpy as np
from scipy import sparse


def similarity(a: list[str], b: list[str]) -> list[float]:
    return [jaccard(set(x.split()), set(y.split())) for x, y in zip(a, b, strict=True)]


def jaccard(x: set[str], y: set[str]) -> float:
    """|x and y| / |x or y|; two empty sets are alike."""
    return len(x & y) / len(x | y) if x | y else 1.0


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    """The same for all pairs: the sizes of the intersections are one sparse product of 0/1 rows."""
    columns: dict[str, int] = {}
    rows_a, rows_b = indicator(a, columns), indicator(b, columns)
    width = len(columns)
    rows_a.resize(len(a), width)
    shared = (rows_a @ rows_b.T).toarray()
    either = rows_a.sum(axis=1)[:, None] + rows_b.sum(axis=1)[None, :] - shared
    return np.divide(shared, either, out=np.ones_like(shared, dtype=float), where=either > 0)


def indicator(texts: list[str], columns: dict[str, int]) -> sparse.csr_array:
    """A row a text, a column a word, 1 where the text has the word; new words get new columns."""
    sets = [sorted(set(text.split())) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
