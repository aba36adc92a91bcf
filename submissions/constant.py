# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "constant"
# title = "Control: a constant"
# summary = "The constant 0.5 for every pair of texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = true
# control = true
# license = "Apache-2.0"
# [[tool.touchstone.variants]]
# name = "0.875"
# parameters = { value = 0.875 }
# ///
import numpy as np


def similarity(a: list[str], b: list[str], value: float = 0.5) -> np.ndarray:
    return np.full(len(a), value)


def matrix(a: list[str], b: list[str], value: float = 0.5) -> np.ndarray:
    return np.full((len(a), len(b)), value)
