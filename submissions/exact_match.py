# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "exact_match"
# title = "Control: the same text or not"
# summary = "1 for equal texts, 0 otherwise."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# control = true
# license = "Apache-2.0"
# ///
import numpy as np


def similarity(a: list[str], b: list[str]) -> list[float]:
    return [float(x == y) for x, y in zip(a, b, strict=True)]


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    numbers: dict[str, int] = {}
    x, y = (np.array([numbers.setdefault(text, len(numbers)) for text in texts]) for texts in (a, b))
    return (x[:, None] == y[None, :]).astype(float)
