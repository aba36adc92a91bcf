# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "energy"
# title = "Energy distance"
# summary = "Twice the mean angle between the corpora, less the mean angles within them."
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
"""Székely and Rizzo's energy distance as Kour et al. 2022 use it: V-statistic, no root, angular ground distance."""

from typing import NamedTuple

import numpy as np


class Prepared(NamedTuple):
    vectors: np.ndarray
    within: float


def prepare(corpus: np.ndarray) -> Prepared:
    lengths = np.linalg.norm(corpus, axis=1, keepdims=True)
    unit = corpus / np.where(lengths > 0, lengths, 1)       # a zero vector stays one: at right angles to all
    return Prepared(unit, mean_angle(unit, unit))


def distance(p: Prepared, q: Prepared) -> float:
    return 2 * mean_angle(p.vectors, q.vectors) - p.within - q.within


def mean_angle(a: np.ndarray, b: np.ndarray) -> float:
    """Mean of arccos(cosine)/pi over all ordered pairs; up to 0.005 is 0, as in the authors' code."""
    angles = np.arccos(np.clip(a @ b.T, -1, 1)) / np.pi
    return float(np.where(angles <= 0.005, 0.0, angles).mean())
