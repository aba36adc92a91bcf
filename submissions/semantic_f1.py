# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "semantic_f1"
# title = "Semantic F1"
# summary = "Harmonic mean of the two directed mean cosine similarities to the nearest text of the other corpus."
# kind = "corpus"
# input = "embeddings"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""Semantic F1 of Zwerdling et al.: each text is compared with its nearest text in the other corpus.

Negative cosines become 0, so that precision and recall are in [0, 1].
"""

import numpy as np


def prepare(corpus: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(corpus, axis=1, keepdims=True)
    return corpus / np.where(norms > 0, norms, 1)           # zero vectors stay zero: similar to no text


def similarity(p: np.ndarray, q: np.ndarray) -> float:
    cosines = np.clip(p @ q.T, 0, 1)
    precision, recall = float(cosines.max(axis=1).mean(dtype=float)), float(cosines.max(axis=0).mean(dtype=float))
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
