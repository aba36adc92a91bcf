# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "length_difference"
# title = "Control: length alone"
# summary = "Ratio of the shorter to the longer length, in characters."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# control = true
# license = "Apache-2.0"
# ///
import numpy as np


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    return ratio(lengths(a), lengths(b))


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    return ratio(lengths(a)[:, None], lengths(b)[None, :])


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([len(text) for text in texts], dtype=float)


def ratio(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the shorter length over the longer; 1 for two empty texts."""
    longer = np.maximum(x, y)
    return np.divide(np.minimum(x, y), longer, out=np.ones_like(longer), where=longer > 0)
