# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "bleu"
# title = "BLEU-4 without smoothing"
# summary = "BLEU-4 of the second text against the first: 0 unless they share a 4-gram of whitespace-separated words."
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
"""NLTK's `sentence_bleu` with default settings, keeping case and punctuation, as in Yamshchikov et al. 2020.

NLTK replaces a precision of 0 by the smallest float and returns about 1e-77 or less, which would still be ranked; here the result
is 0. The k-th occurrence of an n-gram in a text has its own column, so that clipped matches are a product of 0/1 rows.
"""

from collections import Counter

import numpy as np
from scipy import sparse

ORDERS = (1, 2, 3, 4)


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    words = [text.split() for text in [*a, *b]]
    sizes = np.array([len(tokens) for tokens in words], dtype=float)
    shared = []
    for order in ORDERS:
        indicators = occurrence_matrix(words, order)
        shared.append(indicators[:len(a)].multiply(indicators[len(a):]).sum(axis=1))
    return bleu(shared, sizes[:len(a)], sizes[len(a):])


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    words = [text.split() for text in [*a, *b]]
    sizes = np.array([len(tokens) for tokens in words], dtype=float)
    shared = []
    for order in ORDERS:
        indicators = occurrence_matrix(words, order)
        shared.append((indicators[:len(a)] @ indicators[len(a):].T).toarray())
    return bleu(shared, sizes[:len(a), None], sizes[None, len(a):])


def bleu(shared: list[np.ndarray], reference: np.ndarray, candidate: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the precisions times the brevity penalty exp(1 - r/c)."""
    matched = np.all([matches > 0 for matches in shared], axis=0)
    precisions = [np.where(matched, matches, 1) / np.maximum(1, candidate - order + 1)
                  for order, matches in zip(ORDERS, shared, strict=True)]
    brevity = np.minimum(0, 1 - reference / np.maximum(1, candidate))
    return np.where(matched, np.exp(np.mean(np.log(precisions), axis=0) + brevity), 0)


def occurrence_matrix(texts: list[list[str]], order: int) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per n-gram and occurrence number."""
    columns: dict[tuple[tuple[str, ...], int], int] = {}
    rows = []
    for words in texts:
        counts = Counter(zip(*(words[start:] for start in range(order)), strict=False))
        rows.append([columns.setdefault((ngram, occurrence), len(columns))
                     for ngram, count in counts.items() for occurrence in range(count)])
    indices = [column for row in rows for column in row]
    starts = np.cumsum([0, *map(len, rows)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
