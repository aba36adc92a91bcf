# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "medoid"
# title = "Cosine distance of the means"
# summary = "One less the cosine of the two corpora's mean vectors."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 2.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""The authors of Kour et al. 2022 call this MEDOID in their code; `scipy.spatial.distance.cosine` of the means."""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    """The mean's direction; a mean of zero has none and stays zero."""
    mean = corpus.astype(np.float64).mean(axis=0)
    length = np.linalg.norm(mean)
    return mean / length if length > 0 else mean


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """Half the squared distance of the two directions, which is exact near 0 too; between no direction and one: 1."""
    if not (p.any() and q.any()):
        return float(p.any() != q.any())
    return float(((p - q) ** 2).sum() / 2)
