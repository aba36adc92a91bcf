# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "ahd"
# title = "Average Hausdorff distance"
# summary = "Mean of the two directed mean angular distances to the nearest text of the other corpus."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://doi.org/10.1109/ICPR.1994.576361"
# authors = ["Dubuisson", "Jain"]
# year = 1994
# license = "Apache-2.0"
# ///
"""Average Hausdorff distance with the angular ground distance, one of the prototypes of Ackerman, Kour and Farchi."""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(corpus, axis=1, keepdims=True)
    return corpus / np.where(norms > 0, norms, 1)           # zero vectors stay zero: orthogonal to every vector


def distance(p: np.ndarray, q: np.ndarray) -> float:
    cosines = p @ q.T
    nearest_distances = angular_distances(np.concatenate([cosines.max(axis=1), cosines.max(axis=0)]))
    return float(nearest_distances[:len(p)].sum() / len(p) + nearest_distances[len(p):].sum() / len(q)) / 2


def angular_distances(cosines: np.ndarray) -> np.ndarray:
    """Return arccos(cosine)/pi, with 0 for values up to 0.005 as in the authors' code."""
    distances = np.arccos(cosines.clip(-1, 1)) / np.pi
    distances[distances <= 0.005] = 0.0
    return distances
