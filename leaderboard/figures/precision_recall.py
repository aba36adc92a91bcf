"""What precision-recall and density-coverage are made of: for figure 13 of Ackerman, Kour and Farchi.

Definitions of Naeem et al. 2020 (the package `prdc`) on a matrix of distances of which each corpus is some rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Components(NamedTuple):
    precision: float
    recall: float
    density: float
    coverage: float


def euclidean(vectors: np.ndarray) -> np.ndarray:
    """Distances of all rows; of a row from itself exactly 0."""
    rows = vectors.astype(np.float64)
    squares = (rows ** 2).sum(axis=1)
    distances: np.ndarray = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    np.fill_diagonal(distances, 0)
    return distances


def components(distances: np.ndarray, p: np.ndarray, q: np.ndarray, k: int) -> Components:
    """Of q, the generated, against p, the real, with the balls that reach to each text's k-th nearest of its own corpus."""
    across = distances[np.ix_(p, q)]
    of_p, of_q = (np.sort(distances[np.ix_(rows, rows)], axis=1)[:, k] for rows in (p, q))
    in_balls = across < of_p[:, None]
    return Components(float(in_balls.any(axis=0).mean()), float((across < of_q).any(axis=1).mean()),
                      float(in_balls.sum(axis=0).mean() / k), float((across.min(axis=1) < of_p).mean()))
