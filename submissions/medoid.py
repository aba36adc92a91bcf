# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "medoid"
# title = "Cosine distance of the means"
# summary = "1 - cosine similarity of the two corpora's mean vectors."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 2.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""MEDOID in the code of Kour et al. 2022: `scipy.spatial.distance.cosine` of the means."""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    """Return the mean scaled to unit length; a zero mean stays zero."""
    mean = corpus.astype(np.float64).mean(axis=0)
    norm = np.linalg.norm(mean)
    return mean / norm if norm > 0 else mean


def distance(p: np.ndarray, q: np.ndarray) -> float:
    """Return half the squared distance of the unit vectors, which is accurate near 0 too; 1 if exactly one mean is zero."""
    if not (p.any() and q.any()):
        return float(p.any() != q.any())
    return float(((p - q) ** 2).sum() / 2)
