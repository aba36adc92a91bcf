# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "rouge1"
# title = "ROUGE-1"
# summary = "F-measure of the words that the second text shares with the first, as Google's rouge-score counts them."
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
# summary = "The share of the first text's words that the second has."
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# summary = "As in Yamshchikov et al. 2020: distinct words, split at spaces, case kept, as in rouge 0.3.2."
# ///
"""ROUGE-1 of rouge-score 0.1.2 without its stemmer: runs of a-z and 0-9 of the lower-cased text.  F is symmetric.

A text's k-th occurrence of an n-gram has a column of its own, so that what two texts share, each n-gram counted as often as
both have it, is the product of 0/1 rows.
"""

import re
from collections import Counter

import numpy as np
from scipy import sparse

N = 1
WORD = re.compile(r"[a-z0-9]+")


def similarity(a: list[str], b: list[str], recall: bool = False, published: bool = False) -> np.ndarray:
    has = occurrences([*a, *b], published)
    x, y = has[:len(a)], has[len(a):]
    return rouge(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1), recall)


def matrix(a: list[str], b: list[str], recall: bool = False, published: bool = False) -> np.ndarray:
    has = occurrences([*a, *b], published)
    x, y = has[:len(a)], has[len(a):]
    return rouge((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :], recall)


def rouge(shared: np.ndarray, reference: np.ndarray, candidate: np.ndarray, recall: bool) -> np.ndarray:
    """2pr/(p + r), or r; 0 where a text has no n-gram, even if they are the same: so has rouge-score."""
    whole = reference + np.zeros_like(candidate) if recall else (reference + candidate) / 2
    return np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)


def occurrences(texts: list[str], published: bool) -> sparse.csr_array:
    """A row a text, 1 for each n-gram it has, and for its second, third, ... occurrence (not so if published)."""
    columns: dict[tuple[tuple[str, ...], int], int] = {}
    found = []
    for text in texts:
        words = published_words(text) if published else WORD.findall(text.lower())
        counts = Counter(zip(*(words[start:] for start in range(N)), strict=False))
        found.append([columns.setdefault((gram, level), len(columns))
                      for gram, count in counts.items() for level in range(1 if published else count)])
    indices = [column for row in found for column in row]
    starts = np.cumsum([0, *map(len, found)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))


def published_words(text: str) -> list[str]:
    """Of each sentence, what stands between full stops, its words; one of nothing but spaces counts as an empty word."""
    return [word for sentence in text.split(".") if sentence for word in " ".join(sentence.split()).split(" ")]
