# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "dc"
# title = "Density and coverage"
# summary = "1 - harmonic mean of the second corpus's density (at most 1) and coverage with respect to the first, k = 5."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://arxiv.org/abs/2002.09797"
# authors = ["Naeem", "Oh", "Uh", "Choi", "Yoo"]
# year = 2020
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "k=2"
# parameters = { k = 2 }
# summary = "Neighbourhoods up to the second nearest neighbour."
#
# [[tool.touchstone.variants]]
# name = "k=15"
# parameters = { k = 15 }
# summary = "Neighbourhoods up to the 15th nearest neighbour."
# ///
"""Density and coverage of Naeem et al. 2020 as used by Kour et al. 2022: 1 - F1 of those of `prdc`, with density at most 1.

The first corpus is the real one. The neighbourhood of a real text is the open ball up to its k-th nearest other real text.
Density is the mean number of neighbourhoods that contain a text of the second corpus, over k; coverage is the share of
neighbourhoods that contain such a text. F1 is 0 if coverage is 0; the authors add 1e-6 to coverage instead.
"""

from typing import NamedTuple

import numpy as np

RESOLUTION = 1e-15                          # of a squared distance, relative to the sum of the squared norms


class Prepared(NamedTuple):
    rows: np.ndarray
    squares: np.ndarray                     # squared norms of the rows
    radii: np.ndarray
    k: int                                  # in a corpus of at most k texts, the number of other texts


def prepare(corpus: np.ndarray, k: int = 5) -> Prepared:
    rows = corpus.astype(np.float64)
    squares = (rows ** 2).sum(axis=1)
    distances = euclidean(rows, squares, rows, squares)
    np.fill_diagonal(distances, 0)
    k = min(k, len(rows) - 1)
    return Prepared(rows, squares, radii(distances, k), k)


def distance(p: Prepared, q: Prepared) -> float:
    inside = euclidean(p.rows, p.squares, q.rows, q.squares) < p.radii[:, None]
    coverage = float(inside.any(axis=1).mean())
    if coverage == 0:
        return 1.0                          # density is 0 too; the ball of a single real text is empty
    density = min(1.0, float(inside.sum(axis=0).mean()) / p.k)
    return 1 - 2 * density * coverage / (density + coverage)


def radii(distances: np.ndarray, k: int) -> np.ndarray:
    """Return the k-th smallest distance of each row to another row."""
    return np.partition(distances, k, axis=1)[:, k]


def euclidean(x: np.ndarray, x_squares: np.ndarray, y: np.ndarray, y_squares: np.ndarray) -> np.ndarray:
    """Return all distances, rounded to float32 as in `prdc` to give the same ties; exactly 0 for equal rows."""
    scales = x_squares[:, None] + y_squares[None, :]
    squared = scales - 2 * (x @ y.T)
    squared[squared < RESOLUTION * scales] = 0
    return np.sqrt(squared.astype(np.float32))
