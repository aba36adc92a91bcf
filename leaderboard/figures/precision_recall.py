"""The components of precision-recall and density-coverage, for figure 13 of Ackerman, Kour and Farchi.

Definitions of Naeem et al. 2020 (the package `prdc`), on a matrix of distances in which each corpus is a set of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Components(NamedTuple):
    """Precision, recall, density and coverage of one pair of corpora."""

    precision: float
    recall: float
    density: float
    coverage: float


def euclidean(vectors: np.ndarray) -> np.ndarray:
    """Return the distances between all rows, with a diagonal of exactly 0."""
    rows = vectors.astype(np.float64)
    squares = (rows ** 2).sum(axis=1)
    distances: np.ndarray = np.sqrt(np.maximum(squares[:, None] + squares - 2 * rows @ rows.T, 0))
    np.fill_diagonal(distances, 0)
    return distances


def components(distances: np.ndarray, p: np.ndarray, q: np.ndarray, k: int) -> Components:
    """Return the components of generated rows q against real rows p; a ball reaches to a text's k-th neighbour in its corpus."""
    across = distances[np.ix_(p, q)]
    radii_p, radii_q = (np.sort(distances[np.ix_(rows, rows)], axis=1)[:, k] for rows in (p, q))
    in_balls = across < radii_p[:, None]
    return Components(float(in_balls.any(axis=0).mean()), float((across < radii_q).any(axis=1).mean()),
                      float(in_balls.sum(axis=0).mean() / k), float((across.min(axis=1) < radii_p).mean()))
