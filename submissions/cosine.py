# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine"
# title = "Cosine of embeddings"
# summary = "Cosine of the two texts' embeddings, negative values counted as 0."
# kind = "text"
# input = "embeddings"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "chunk_mean"
# in_chunks = true
# on_request = true
# summary = "Of a text longer than the model reads, the mean of the vectors of its parts; so the end of a long text counts too."
#
# [[tool.touchstone.variants]]
# name = "minilm"
# vectors_of = ["minilm"]
#
# [[tool.touchstone.variants]]
# name = "wordllama"
# vectors_of = ["wordllama"]
#
# [[tool.touchstone.variants]]
# name = "averaged"
# vectors_of = ["minilm", "wordllama"]
# summary = "The mean of the cosines of both models' embeddings."
# ///
"""Without a variant, of the vectors of the suite's model."""

import numpy as np


def similarity(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.clip(np.einsum("nd,nd->n", unit(a), unit(b)), 0, 1)


def matrix(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.clip(unit(a) @ unit(b).T, 0, 1)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length one; a zero vector stays zero.  In float64, so that a row's result does not depend on its batch."""
    wide = vectors.astype(np.float64)
    return wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12)
