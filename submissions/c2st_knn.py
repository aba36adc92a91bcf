# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "c2st_knn"
# title = "Nearest neighbours' two-sample test"
# summary = "Share of texts whose five nearest neighbours vote for their own corpus, mean of the two corpora."
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
"""Classifier two-sample test of Lopez-Paz and Oquab 2017 with k nearest neighbours, k = 5, each text left out in turn.

About 1/2 where the corpora come from one source, 1 where they are apart; under 1/2 for identical corpora, where the nearest
neighbour of every text is its twin in the other one.
"""

from typing import NamedTuple

import numpy as np

RESOLUTION = 1e-15                          # of a squared distance, relative to the squared lengths it is made of


class Prepared(NamedTuple):
    rows: np.ndarray
    within: np.ndarray


def prepare(corpus: np.ndarray) -> Prepared:
    rows = corpus.astype(np.float64)
    within = squared_distances(rows, rows)
    np.fill_diagonal(within, np.inf)        # nobody is their own neighbour
    return Prepared(rows, within)


def distance(p: Prepared, q: Prepared, k: int = 5) -> float:
    across = squared_distances(p.rows, q.rows)
    return (right(p.within, across, k) + right(q.within, across.T, k)) / 2


def right(own: np.ndarray, other: np.ndarray, k: int) -> float:
    """Share of rows with more neighbours among their own; a tied vote counts one half.

    As many neighbours are asked as are no further than the k-th: all who are equally far have a vote.  With fewer than k others
    all of them are asked.
    """
    both = np.concatenate([own, other], axis=1)
    k = min(k, both.shape[1] - 1)
    reach = np.partition(both, k - 1, axis=1)[:, k - 1:k]
    votes = (own <= reach).sum(axis=1) - (other <= reach).sum(axis=1)
    return float((np.sign(votes) + 1).mean() / 2)


def squared_distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rounded to float32, and equal rows 0 apart, so that what is equally far is equal."""
    lengths = (x ** 2).sum(axis=1)[:, None] + (y ** 2).sum(axis=1)
    squared = lengths - 2 * x @ y.T
    squared[squared < RESOLUTION * lengths] = 0
    return squared.astype(np.float32)
