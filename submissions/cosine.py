# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "cosine"
# title = "Cosine of embeddings"
# summary = "Cosine similarity of the two texts' embeddings; negative values become 0."
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
# summary = "Texts longer than the model's window are embedded in chunks, and the embedding is the mean over the chunks."
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
# summary = "The mean of the cosine similarities of both models' embeddings."
# ///
"""Cosine similarity; the default entry uses the embeddings of the suite's model."""

import numpy as np


def similarity(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.clip(np.einsum("nd,nd->n", normalize(a), normalize(b)), 0, 1)


def matrix(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.clip(normalize(a) @ normalize(b).T, 0, 1)


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Return rows of unit length; zero vectors stay zero. Uses float64, so that results do not depend on the batch."""
    rows = vectors.astype(np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
