# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "rouge"
# title = "ROUGE, mean of 1 and 2"
# summary = "Mean of the F-measures of the words and of the pairs of words that the second text shares with the first."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://aclanthology.org/W04-1013/"
# authors = ["Lin"]
# year = 2004
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "recall"
# parameters = { recall = true }
# summary = "Of the recalls: the shares of the first text's words and pairs of words that the second has."
# ///
"""ROUGE-1 and ROUGE-2 of rouge-score 0.1.2 without its stemmer: runs of a-z and 0-9 of the lower-cased text.  F is symmetric.

A text's k-th occurrence of an n-gram has a column of its own, so that what two texts share, each n-gram counted as often as
both have it, is the product of 0/1 rows.
"""

import re
from collections import Counter

import numpy as np
from scipy import sparse

ORDERS = (1, 2)
WORD = re.compile(r"[a-z0-9]+")


def similarity(a: list[str], b: list[str], recall: bool = False) -> np.ndarray:
    words = [WORD.findall(text.lower()) for text in [*a, *b]]
    total = np.zeros(len(a))
    for order in ORDERS:
        has = occurrences(words, order)
        x, y = has[:len(a)], has[len(a):]
        total += rouge(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1), recall)
    return total / len(ORDERS)


def matrix(a: list[str], b: list[str], recall: bool = False) -> np.ndarray:
    words = [WORD.findall(text.lower()) for text in [*a, *b]]
    total = np.zeros((len(a), len(b)))
    for order in ORDERS:
        has = occurrences(words, order)
        x, y = has[:len(a)], has[len(a):]
        total += rouge((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :], recall)
    return total / len(ORDERS)


def rouge(shared: np.ndarray, reference: np.ndarray, candidate: np.ndarray, recall: bool) -> np.ndarray:
    """2pr/(p + r), or r; 0 where a text has no n-gram, even if they are the same: so has rouge-score."""
    whole = reference + np.zeros_like(candidate) if recall else (reference + candidate) / 2
    return np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)


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
