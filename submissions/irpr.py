# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "irpr"
# title = "Information-retrieval precision and recall"
# summary = "Harmonic mean of the two directed mean angular distances to the nearest text of the other corpus."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""IRPR of Zhao et al. 2017 as used by Kour et al. 2022; each directed mean is over the texts that it starts from."""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(corpus, axis=1, keepdims=True)
    return corpus / np.where(norms > 0, norms, 1)           # zero vectors stay zero: orthogonal to every vector


def distance(p: np.ndarray, q: np.ndarray) -> float:
    cosines = p @ q.T
    precision, recall = nearest_angles(cosines, axis=1).mean(), nearest_angles(cosines, axis=0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0


def nearest_angles(cosines: np.ndarray, axis: int) -> np.ndarray:
    """Return arccos(cosine)/pi of the nearest texts, with 0 for values up to 0.005 as in the authors' code."""
    angles = np.arccos(np.clip(cosines.max(axis=axis), -1, 1)) / np.pi
    return np.where(angles <= 0.005, 0.0, angles)
