# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "fid"
# title = "Fréchet distance"
# summary = "Squared Fréchet distance of two normal distributions with the corpora's means and covariances."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, inf]
# symmetric = true
# paper = "https://arxiv.org/abs/1706.08500"
# authors = ["Heusel", "Ramsauer", "Unterthiner", "Nessler", "Hochreiter"]
# year = 2017
# license = "Apache-2.0"
# ///
"""FID of Heusel et al. 2017 on text embeddings, as used by Kour et al. 2022 (`scipy.linalg.sqrtm` of the covariances' product).

With centred rows X and Y, the eigenvalues of cov(X) cov(Y) are the squared singular values of X Y' / sqrt((n-1)(m-1)), so the
trace of its square root is the sum of the singular values. This avoids the complex matrix root that rounding can cause.
"""

from typing import NamedTuple

import numpy as np


class Prepared(NamedTuple):
    mean: np.ndarray
    root: np.ndarray                        # root' root is the covariance; at most as many rows as columns
    variance: float                         # trace of the covariance


def prepare(corpus: np.ndarray) -> Prepared:
    if len(corpus) < 2:
        raise ValueError("The Fréchet distance needs at least two texts per corpus to estimate a covariance.")
    rows = corpus.astype(np.float64)
    mean = rows.mean(axis=0)
    root = (rows - mean) / np.sqrt(len(rows) - 1)
    if len(root) > root.shape[1]:
        root = np.linalg.qr(root, mode="r")
    return Prepared(mean, root, float((root ** 2).sum()))


def distance(p: Prepared, q: Prepared) -> float:
    trace_of_root = np.linalg.svd(p.root @ q.root.T, compute_uv=False).sum()
    squared = ((p.mean - q.mean) ** 2).sum() + p.variance + q.variance - 2 * trace_of_root
    return max(0.0, float(squared))         # identical corpora: 0 up to rounding
