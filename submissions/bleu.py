# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "bleu"
# title = "BLEU-4 without smoothing"
# summary = "BLEU-4 of the second text against the first: 0 unless they share a run of four words split at white space."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://aclanthology.org/P02-1040/"
# authors = ["Papineni", "Roukos", "Ward", "Zhu"]
# year = 2002
# license = "Apache-2.0"
# ///
"""NLTK's `sentence_bleu` with its defaults, case and punctuation kept, as in Yamshchikov et al. 2020.

Where a precision is 0 NLTK takes the smallest float for it and answers 1e-78 or less, which still would be ranked; under 1e-10
counts as 0 here.  A text's k-th occurrence of an n-gram has a column of its own, so that clipped matches are a product of
0/1 rows.
"""

from collections import Counter

import numpy as np
from scipy import sparse

ORDERS = (1, 2, 3, 4)


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    words = [text.split() for text in [*a, *b]]
    sizes = np.array([len(one) for one in words], dtype=float)
    shared = []
    for order in ORDERS:
        has = occurrences(words, order)
        shared.append(has[:len(a)].multiply(has[len(a):]).sum(axis=1))
    return bleu(shared, sizes[:len(a)], sizes[len(a):])


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    words = [text.split() for text in [*a, *b]]
    sizes = np.array([len(one) for one in words], dtype=float)
    shared = []
    for order in ORDERS:
        has = occurrences(words, order)
        shared.append((has[:len(a)] @ has[len(a):].T).toarray())
    return bleu(shared, sizes[:len(a), None], sizes[None, len(a):])


def bleu(shared: list[np.ndarray], reference: np.ndarray, candidate: np.ndarray) -> np.ndarray:
    """Geometric mean of the precisions, with the brevity penalty exp(1 - r/c)."""
    matched = np.all([one > 0 for one in shared], axis=0)
    precisions = [np.where(matched, one, 1) / np.maximum(1, candidate - order + 1)
                  for order, one in zip(ORDERS, shared, strict=True)]
    brevity = np.minimum(0, 1 - reference / np.maximum(1, candidate))
    return np.where(matched, np.exp(np.mean(np.log(precisions), axis=0) + brevity), 0)


def occurrences(texts: list[list[str]], order: int) -> sparse.csr_array:
    """A row a text, 1 for each n-gram it has, and for its second, third, ... occurrence."""
    columns: dict[tuple[tuple[str, ...], int], int] = {}
    found = []
    for words in texts:
        counts = Counter(zip(*(words[start:] for start in range(order)), strict=False))
        found.append([columns.setdefault((gram, level), len(columns))
                      for gram, count in counts.items() for level in range(count)])
    indices = [column for row in found for column in row]
    starts = np.cumsum([0, *map(len, found)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
