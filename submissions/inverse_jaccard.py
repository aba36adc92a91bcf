# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "inverse_jaccard"
# title = "Control: few common words"
# summary = "One minus the Jaccard index of the words: the fewer words two texts share, the more similar."
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
    """Return the size of the intersection over that of the union; 1 for two empty sets."""
    return len(x & y) / len(x | y) if x | y else 1.0


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    """Return the scores of all pairs; the sizes of the intersections are a product of sparse indicator matrices."""
    indicators = word_indicators([*a, *b])
    intersections = (indicators[:len(a)] @ indicators[len(a):].T).toarray()
    sizes = indicators.sum(axis=1)
    unions = sizes[:len(a), None] + sizes[None, len(a):] - intersections
    scores: np.ndarray = 1 - np.divide(intersections, unions, out=np.ones_like(intersections), where=unions > 0)
    return scores


def word_indicators(texts: list[str]) -> sparse.csr_array:
    """Return a matrix of texts x words: 1 where the text contains the word."""
    columns: dict[str, int] = {}
    sets = [sorted(set(text.split())) for text in texts]
    indices = [columns.setdefault(word, len(columns)) for words in sets for word in words]
    starts = np.cumsum([0, *map(len, sets)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
