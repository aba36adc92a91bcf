# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "zipf"
# title = "Zipf's exponents"
# summary = "Absolute difference of the two corpora's slopes of log token frequency against log rank."
# kind = "corpus"
# input = "tokens"
# returns = "distance"
# range = [0.0, inf]
# symmetric = true
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# summary = "As published: the special tokens before and after every text are counted."
# ///
"""ZIPF of Kour et al. 2022, with the slope fitted as in Holtzman et al. 2020.

Least squares on the log ranks 1 to 4999, without the last rank. To keep the long tail from dominating, only the first of the
ranks with equal log, rounded to 1/15, is used. Special tokens and padding are not counted; the variant `published` fits the
figures published without padding by counting the two special tokens that a tokenizer adds to every text.
"""

from collections import Counter
from itertools import chain

import numpy as np

RANKS = 5000
STEPS = 15                                  # per unit of log rank


def prepare(corpus: list[list[str]], published: bool = False) -> float:
    special = [len(corpus)] * 2 if published else []
    frequencies = np.sort(np.array([*Counter(chain.from_iterable(corpus)).values(), *special], dtype=float))[::-1]
    ranks = np.arange(1, min(len(frequencies), RANKS))
    positions, first = np.unique(np.round(STEPS * np.log(ranks)), return_index=True)
    return slope(positions / STEPS, np.log(frequencies[first]))


def distance(p: float, q: float) -> float:
    return abs(p - q)


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Return the least-squares slope; 0 for fewer than two points."""
    if len(x) < 2:
        return 0.0
    x = x - x.mean()
    return float(x @ y / (x @ x))
