# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "late_interaction"
# title = "Late interaction of token vectors"
# summary = "Mean over the tokens of the first text of the largest cosine similarity with a token of the second text."
# kind = "text"
# input = "token_embeddings"
# returns = "similarity"
# range = [-1.0, 1.0]
# symmetric = false
# on_request = true
# paper = "https://arxiv.org/abs/2004.12832"
# authors = ["Khattab", "Zaharia"]
# year = 2020
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "f1"
# parameters = { both = true }
# summary = "F-measure of both directions: BERTScore with the vectors of the suite's model, without rescaling."
# ///
"""MaxSim of ColBERT divided by the number of tokens. Special tokens can be matched, but have weight 0."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def unit_rows(text: Any) -> np.ndarray:
    return text.vectors / np.maximum(np.linalg.norm(text.vectors, axis=1, keepdims=True), 1e-12)


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(values @ weights / weights.sum()) if weights.sum() else 0.0


def prepare_texts(texts: Sequence[Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(unit_rows(text), text.weights.astype(float)) for text in texts]


def score(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray], both: bool) -> float:
    cosines = (a[0] @ b[0].T).astype(float)
    recall = weighted_mean(cosines.max(axis=1), a[1])
    if not both:
        return recall
    precision = weighted_mean(cosines.max(axis=0), b[1])
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def similarity(a: Sequence[Any], b: Sequence[Any], both: bool = False) -> list[float]:
    return [score(x, y, both) for x, y in zip(prepare_texts(a), prepare_texts(b), strict=True)]


def matrix(a: Sequence[Any], b: Sequence[Any], both: bool = False) -> list[list[float]]:
    columns = prepare_texts(b)
    return [[score(x, y, both) for y in columns] for x in prepare_texts(a)]
