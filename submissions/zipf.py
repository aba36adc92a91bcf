# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "zipf"
# title = "Zipf's exponents"
# summary = "Absolute difference of the slopes of log frequency on log rank of the two corpora's tokens."
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
# summary = "As published: a mark before and one after every text are counted as tokens."
# ///
"""ZIPF of Kour et al. 2022, its slope fitted as Holtzman et al. 2020 do.

Least squares on the log ranks 1 to 4999, without the very last one, thinned out: of the ranks whose log is the same to the
nearest 1/15, the first alone counts, lest the long tail outweigh the rest.  There are no special tokens and no padding; what fits
the figures published without padding is the variant `published`, with the two marks that a tokenizer puts around every text.
"""

from collections import Counter
from itertools import chain

import numpy as np

RANKS = 5000
STEPS = 15                                  # on the axis of log ranks, per unit


def prepare(corpus: list[list[str]], published: bool = False) -> float:
    marks = [len(corpus)] * 2 if published else []
    frequencies = np.sort(np.array([*Counter(chain.from_iterable(corpus)).values(), *marks], dtype=float))[::-1]
    ranks = np.arange(1, min(len(frequencies), RANKS))
    positions, first = np.unique(np.round(STEPS * np.log(ranks)), return_index=True)
    return slope(positions / STEPS, np.log(frequencies[first]))


def distance(p: float, q: float) -> float:
    return abs(p - q)


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Of least squares; fewer than two ranks have none, and of all lines through one point the level one is taken."""
    if len(x) < 2:
        return 0.0
    x = x - x.mean()
    return float(x @ y / (x @ x))
