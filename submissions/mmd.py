# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "mmd"
# title = "Maximum mean discrepancy"
# summary = "Squared distance of the two corpora's mean embeddings under a Gaussian kernel of bandwidth 1 on unit vectors."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 2.0]
# symmetric = true
# paper = "https://jmlr.org/papers/v13/gretton12a.html"
# authors = ["Gretton", "Borgwardt", "Rasch", "Schölkopf", "Smola"]
# year = 2012
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "bandwidth=0.5"
# parameters = { bandwidth = 0.5 }
# summary = "Bandwidth 0.5."
# ///
"""Squared maximum mean discrepancy of Gretton et al. 2012, the biased (V-statistic) estimate: 0 for identical corpora.

The kernel is exp(-|x - y|^2 / (2 bandwidth^2)) on unit vectors, whose distances are 0 to 2. A bandwidth of 1 is of the order of
the distances of unrelated texts and, unlike their median, the same for every pair of corpora.
"""

from typing import NamedTuple

import numpy as np


class Prepared(NamedTuple):
    unit: np.ndarray
    within: float


def prepare(corpus: np.ndarray, bandwidth: float = 1.0) -> Prepared:
    norms = np.linalg.norm(corpus, axis=1, keepdims=True)
    unit = (corpus / np.where(norms > 0, norms, 1)).astype(np.float64)          # zero vectors stay zero
    return Prepared(unit, mean_kernel(unit, unit, bandwidth))


def distance(p: Prepared, q: Prepared, bandwidth: float = 1.0) -> float:
    squared = p.within + q.within - 2 * mean_kernel(p.unit, q.unit, bandwidth)
    return max(0.0, squared)                # identical corpora: 0 up to rounding


def mean_kernel(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    squared = (x ** 2).sum(axis=1)[:, None] + (y ** 2).sum(axis=1) - 2 * x @ y.T
    return float(np.exp(-squared / (2 * bandwidth ** 2)).mean())
