# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "ahd"
# title = "Average Hausdorff distance"
# summary = "Mean of the two directed mean angles to the nearest text of the other corpus."
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
"""Average Hausdorff distance with the angular ground distance, as Ackerman, Kour and Farchi use it as a prototype."""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(corpus, axis=1, keepdims=True)
    return corpus / np.where(lengths > 0, lengths, 1)       # a zero vector stays one: at right angles to all


def distance(p: np.ndarray, q: np.ndarray) -> float:
    cosines = p @ q.T
    nearest = angles(np.concatenate([cosines.max(axis=1), cosines.max(axis=0)]))
    return float(nearest[:len(p)].sum() / len(p) + nearest[len(p):].sum() / len(q)) / 2


def angles(cosines: np.ndarray) -> np.ndarray:
    """arccos(cosine)/pi; up to 0.005 is 0, as in the authors' code."""
    found = np.arccos(cosines.clip(-1, 1)) / np.pi
    found[found <= 0.005] = 0.0
    return found
