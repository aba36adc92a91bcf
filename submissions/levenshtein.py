# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rapidfuzz>=3.9"]
# [tool.touchstone]
# name = "levenshtein"
# title = "Levenshtein similarity"
# summary = "1 - character edit distance over the summed length of the two texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""(l1 + l2 - distance)/(l1 + l2) with unit costs, also for substitutions, as defined by USMB; computed by RapidFuzz."""

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist


def similarity(a: list[str], b: list[str]) -> list[float]:
    return [normalize(len(x) + len(y), Levenshtein.distance(x, y)) for x, y in zip(a, b, strict=True)]


def normalize(length: int, edits: int) -> float:
    return (length - edits) / length if length else 1.0


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    # For one list compared with itself, cdist computes each pair once.
    edits = cdist(a, a if a == b else b, scorer=Levenshtein.distance, dtype=np.int32).astype(float)
    length = np.array([len(x) for x in a])[:, None] + np.array([len(y) for y in b])[None, :]
    similarities: np.ndarray = np.divide(length - edits, length, out=np.ones_like(edits), where=length > 0)
    return similarities
