# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "random"
# title = "Control: a random number"
# summary = "A number between 0 and 1 that has nothing to do with the texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# control = true
# license = "Apache-2.0"
# ///
"""What chance looks like.  NumPy's global generator is seeded by the harness before every call."""

import numpy as np


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    return np.random.random_sample(len(a))      # noqa: NPY002


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    return np.random.random_sample((len(a), len(b)))        # noqa: NPY002
