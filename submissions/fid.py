# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "fid"
# title = "Fréchet distance"
# summary = "Fréchet distance of the two normal distributions with the corpora's means and covariances."
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
"""FID of Heusel et al. 2017 on text embeddings, as Kour et al. 2022 use it (`scipy.linalg.sqrtm` of the covariances' product).

With centred rows X and Y, the eigenvalues of cov(X) cov(Y) are the squared singular values of X Y' / sqrt((n-1)(m-1)), so the
trace of its root is their sum: no matrix root is taken, and what rounding would make complex does not arise.
"""

from typing import NamedTuple

import numpy as np


class Prepared(NamedTuple):
    mean: np.ndarray
    root: np.ndarray                        # root' root is the covariance; no more rows than columns
    variance: float                         # the covariance's trace


def prepare(corpus: np.ndarray) -> Prepared:
    if len(corpus) < 2:
        raise ValueError("The Fréchet distance needs two texts or more in each corpus: one has no covariance.")
    rows = corpus.astype(np.float64)
    mean = rows.mean(axis=0)
    root = (rows - mean) / np.sqrt(len(rows) - 1)
    if len(root) > root.shape[1]:
        root = np.linalg.qr(root, mode="r")
    return Prepared(mean, root, float((root ** 2).sum()))


def distance(p: Prepared, q: Prepared) -> float:
    trace_of_root = np.linalg.svd(p.root @ q.root.T, compute_uv=False).sum()
    squared = ((p.mean - q.mean) ** 2).sum() + p.variance + q.variance - 2 * trace_of_root
    return max(0.0, float(squared))         # identical corpora: 0 but for rounding
