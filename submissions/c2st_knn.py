# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "c2st_knn"
# title = "Nearest neighbours' two-sample test"
# summary = "Share of texts whose five nearest neighbours are mostly from their own corpus; mean over the two corpora."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://arxiv.org/abs/1610.06545"
# authors = ["Lopez-Paz", "Oquab"]
# year = 2017
# license = "Apache-2.0"
# ///
"""Classifier two-sample test of Lopez-Paz and Oquab 2017 with k nearest neighbours, k = 5 and leave-one-out evaluation.

About 1/2 for corpora from the same source and 1 for separable corpora; below 1/2 for identical corpora, where the nearest
neighbour of every text is its copy in the other corpus.
"""

from typing import NamedTuple

import numpy as np

RESOLUTION = 1e-15                          # of a squared distance, relative to the sum of the squared norms


class Prepared(NamedTuple):
    rows: np.ndarray
    within: np.ndarray


def prepare(corpus: np.ndarray) -> Prepared:
    rows = corpus.astype(np.float64)
    within = squared_distances(rows, rows)
    np.fill_diagonal(within, np.inf)        # a text is not its own neighbour
    return Prepared(rows, within)


def distance(p: Prepared, q: Prepared, k: int = 5) -> float:
    across = squared_distances(p.rows, q.rows)
    return (accuracy(p.within, across, k) + accuracy(q.within, across.T, k)) / 2


def accuracy(within: np.ndarray, across: np.ndarray, k: int) -> float:
    """Return the share of rows whose neighbours are mostly from their own corpus; a tied vote counts one half.

    All rows that are as near as the k-th neighbour vote. With fewer than k other rows, all of them vote.
    """
    distances = np.concatenate([within, across], axis=1)
    k = min(k, distances.shape[1] - 1)
    radius = np.partition(distances, k - 1, axis=1)[:, k - 1:k]
    votes = (within <= radius).sum(axis=1) - (across <= radius).sum(axis=1)
    return float((np.sign(votes) + 1).mean() / 2)


def squared_distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return squared distances rounded to float32, with 0 for equal rows, so that ties are exact."""
    scales = (x ** 2).sum(axis=1)[:, None] + (y ** 2).sum(axis=1)
    squared = scales - 2 * x @ y.T
    squared[squared < RESOLUTION * scales] = 0
    return squared.astype(np.float32)
