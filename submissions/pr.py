# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "pr"
# title = "Precision and recall"
# summary = "1 - harmonic mean of the shares of each corpus that lie in the other's neighbourhoods, k = 5."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://arxiv.org/abs/1904.06991"
# authors = ["Kynkäänniemi", "Karras", "Laine", "Lehtinen", "Aila"]
# year = 2019
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
"""Improved precision and recall of Kynkäänniemi et al. 2019 as used by Kour et al. 2022: 1 - F1 of those of `prdc`.

The neighbourhood of a text is the open ball up to its k-th nearest other text of the same corpus. F1 is 0 if precision or recall
is 0; the authors add 1e-6 to the recall instead.
"""

from typing import NamedTuple

import numpy as np

RESOLUTION = 1e-15                          # of a squared distance, relative to the sum of the squared norms


class Prepared(NamedTuple):
    rows: np.ndarray
    squares: np.ndarray                     # squared norms of the rows
    radii: np.ndarray


def prepare(corpus: np.ndarray, k: int = 5) -> Prepared:
    rows = corpus.astype(np.float64)
    squares = (rows ** 2).sum(axis=1)
    distances = euclidean(rows, squares, rows, squares)
    np.fill_diagonal(distances, 0)
    return Prepared(rows, squares, radii(distances, k))


def distance(p: Prepared, q: Prepared) -> float:
    distances = euclidean(p.rows, p.squares, q.rows, q.squares)
    precision = float((distances < p.radii[:, None]).any(axis=0).mean())
    recall = float((distances < q.radii[None, :]).any(axis=1).mean())
    return 1 - 2 * precision * recall / (precision + recall) if precision + recall > 0 else 1.0


def radii(distances: np.ndarray, k: int) -> np.ndarray:
    """Return each row's k-th smallest distance to another row; the largest if there are fewer; 0, an empty ball, if none."""
    k = min(k, len(distances) - 1)
    return np.partition(distances, k, axis=1)[:, k]


def euclidean(x: np.ndarray, x_squares: np.ndarray, y: np.ndarray, y_squares: np.ndarray) -> np.ndarray:
    """Return all distances, rounded to float32 as in `prdc` to give the same ties; exactly 0 for equal rows."""
    scales = x_squares[:, None] + y_squares[None, :]
    squared = scales - 2 * (x @ y.T)
    squared[squared < RESOLUTION * scales] = 0
    return np.sqrt(squared.astype(np.float32))
