# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "dc"
# title = "Density and coverage"
# summary = "One less the harmonic mean of the second corpus's density, at most 1, and coverage in the first, k = 5."
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
# summary = "The same with neighbourhoods that reach to the second neighbour."
#
# [[tool.touchstone.variants]]
# name = "k=15"
# parameters = { k = 15 }
# summary = "The same with neighbourhoods that reach to the 15th neighbour."
# ///
"""Density and coverage of Naeem et al. 2020 as Kour et al. 2022 use them: 1 - F1 of the package `prdc`'s, density cut at 1.

The first corpus is the real one.  A real text's neighbourhood is the open ball that reaches to its k-th nearest other real text.
Density: in how many of them a text of the second corpus lies, over k.  Coverage: the share of them in which one lies.
Where it is 0, so is F1; the authors add 1e-6 to it instead.
"""

from typing import NamedTuple

import numpy as np

RESOLUTION = 1e-15                          # of a squared distance, relative to the squared lengths it is made of


class Prepared(NamedTuple):
    rows: np.ndarray
    squares: np.ndarray                     # squared lengths of the rows
    radii: np.ndarray
    k: int                                  # fewer in a corpus of k texts or fewer: all others are neighbours


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
        return 1.0                          # so is density; and a single real text has no neighbours, and no ball
    density = min(1.0, float(inside.sum(axis=0).mean()) / p.k)
    return 1 - 2 * density * coverage / (density + coverage)


def radii(distances: np.ndarray, k: int) -> np.ndarray:
    """Of each row the k-th smallest distance but its own."""
    return np.partition(distances, k, axis=1)[:, k]


def euclidean(x: np.ndarray, x_squares: np.ndarray, y: np.ndarray, y_squares: np.ndarray) -> np.ndarray:
    """All distances, rounded to float32 as `prdc`'s are, so that ties are the same; equal rows are 0 apart, not 1e-8."""
    lengths = x_squares[:, None] + y_squares[None, :]
    squared = lengths - 2 * (x @ y.T)
    squared[squared < RESOLUTION * lengths] = 0
    return np.sqrt(squared.astype(np.float32))
