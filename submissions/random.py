# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "random"
# title = "Control: a random number"
# summary = "A random number between 0 and 1 that does not depend on the texts."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# control = true
# license = "Apache-2.0"
# ///
"""Random scores. The harness seeds NumPy's global generator before every call."""

import numpy as np


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    return np.random.random_sample(len(a))      # noqa: NPY002


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    return np.random.random_sample((len(a), len(b)))        # noqa: NPY002
