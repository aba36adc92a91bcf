# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "rouge1"
# title = "ROUGE-1"
# summary = "F-measure of the words that the second text shares with the first, as in Google's rouge-score."
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
# summary = "Recall: the share of the first text's words that occur in the second."
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# summary = "As in Yamshchikov et al. 2020: distinct words, split at spaces, with case kept, as in rouge 0.3.2."
# ///
"""ROUGE-1 of rouge-score 0.1.2 without stemming; words are runs of a-z and 0-9 in the lower-cased text. F is symmetric.

The k-th occurrence of an n-gram in a text has its own column, so that the number of shared n-grams, the sum of the minimum
counts, is a product of 0/1 rows.
"""

import re
from collections import Counter

import numpy as np
from scipy import sparse

N = 1
WORD = re.compile(r"[a-z0-9]+")


def similarity(a: list[str], b: list[str], recall: bool = False, published: bool = False) -> np.ndarray:
    indicators = occurrence_matrix([*a, *b], published)
    x, y = indicators[:len(a)], indicators[len(a):]
    return rouge(x.multiply(y).sum(axis=1), x.sum(axis=1), y.sum(axis=1), recall)


def matrix(a: list[str], b: list[str], recall: bool = False, published: bool = False) -> np.ndarray:
    indicators = occurrence_matrix([*a, *b], published)
    x, y = indicators[:len(a)], indicators[len(a):]
    return rouge((x @ y.T).toarray(), x.sum(axis=1)[:, None], y.sum(axis=1)[None, :], recall)


def rouge(shared: np.ndarray, reference: np.ndarray, candidate: np.ndarray, recall: bool) -> np.ndarray:
    """Return 2pr/(p + r), or r; 0 if a text has no n-gram, even for equal texts, as in rouge-score."""
    denominator = reference + np.zeros_like(candidate) if recall else (reference + candidate) / 2
    return np.divide(shared, denominator, out=np.zeros_like(shared), where=denominator > 0)


def occurrence_matrix(texts: list[str], published: bool) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per n-gram and occurrence number (n-gram only if published)."""
    columns: dict[tuple[tuple[str, ...], int], int] = {}
    rows = []
    for text in texts:
        words = published_words(text) if published else WORD.findall(text.lower())
        counts = Counter(zip(*(words[start:] for start in range(N)), strict=False))
        rows.append([columns.setdefault((ngram, occurrence), len(columns))
                     for ngram, count in counts.items() for occurrence in range(1 if published else count)])
    indices = [column for row in rows for column in row]
    starts = np.cumsum([0, *map(len, rows)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))


def published_words(text: str) -> list[str]:
    """Return the words of the sentences between full stops; a sentence of spaces only is one empty word."""
    return [word for sentence in text.split(".") if sentence for word in " ".join(sentence.split()).split(" ")]
