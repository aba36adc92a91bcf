# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "kid"
# title = "Kernel inception distance"
# summary = "Unbiased squared maximum mean discrepancy under the kernel (x'y/d + 1)^3."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [-inf, inf]
# symmetric = true
# paper = "https://arxiv.org/abs/1801.01401"
# authors = ["Bińkowski", "Sutherland", "Arbel", "Gretton"]
# year = 2018
# license = "Apache-2.0"
# ///
"""KID of Bińkowski et al. 2018 on text embeddings, for whole corpora instead of sampled blocks.

The estimate is unbiased: its mean is 0 for corpora from the same source, and it is negative for identical corpora.
"""

from typing import NamedTuple

import numpy as np


class Prepared(NamedTuple):
    rows: np.ndarray
    within: float


def prepare(corpus: np.ndarray) -> Prepared:
    n = len(corpus)
    if n < 2:
        raise ValueError("The kernel inception distance needs at least two texts per corpus.")
    rows = corpus.astype(np.float64)
    kernel = cubic(rows, rows)
    return Prepared(rows, float((kernel.sum() - np.trace(kernel)) / (n * (n - 1))))


def distance(p: Prepared, q: Prepared) -> float:
    return p.within + q.within - 2 * float(cubic(p.rows, q.rows).mean())


def cubic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kernel: np.ndarray = (x @ y.T / x.shape[1] + 1) ** 3
    return kernel
