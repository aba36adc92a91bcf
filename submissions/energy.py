# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "energy"
# title = "Energy distance"
# summary = "Twice the mean angular distance between the corpora minus the mean angular distances within them."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, inf]
# symmetric = true
# paper = "https://doi.org/10.1016/j.jspi.2013.03.018"
# authors = ["Székely", "Rizzo"]
# year = 2013
# license = "Apache-2.0"
# ///
"""Energy distance of Székely and Rizzo as used by Kour et al. 2022: V-statistic, no root, angular ground distance."""

from typing import NamedTuple

import numpy as np


class Prepared(NamedTuple):
    vectors: np.ndarray
    within: float


def prepare(corpus: np.ndarray) -> Prepared:
    norms = np.linalg.norm(corpus, axis=1, keepdims=True)
    unit = corpus / np.where(norms > 0, norms, 1)           # zero vectors stay zero: orthogonal to every vector
    return Prepared(unit, mean_angle(unit, unit))


def distance(p: Prepared, q: Prepared) -> float:
    return 2 * mean_angle(p.vectors, q.vectors) - p.within - q.within


def mean_angle(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean of arccos(cosine)/pi over all ordered pairs, with 0 for values up to 0.005 as in the authors' code."""
    angles = np.arccos(np.clip(a @ b.T, -1, 1)) / np.pi
    return float(np.where(angles <= 0.005, 0.0, angles).mean())
