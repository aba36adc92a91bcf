# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "semantic_f1"
# title = "Semantic F1"
# summary = "Harmonic mean of the two directed mean cosines to the nearest text of the other corpus."
# kind = "corpus"
# input = "embeddings"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""Semantic precision, recall and F1 of Zwerdling et al.: each text looks for its nearest in the other corpus.

A cosine below 0 counts as 0, so that precision and recall are shares of perfect.
"""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(corpus, axis=1, keepdims=True)
    return corpus / np.where(lengths > 0, lengths, 1)       # a zero vector stays one: like nothing


def similarity(p: np.ndarray, q: np.ndarray) -> float:
    cosines = np.clip(p @ q.T, 0, 1)
    there, back = float(cosines.max(axis=1).mean(dtype=float)), float(cosines.max(axis=0).mean(dtype=float))
    return 2 * there * back / (there + back) if there + back > 0 else 0.0
