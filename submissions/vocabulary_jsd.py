# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "vocabulary_jsd"
# title = "Jensen-Shannon divergence of tokens"
# summary = "Jensen-Shannon divergence, in bits, of the two corpora's token distributions."
# kind = "corpus"
# input = "tokens"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://doi.org/10.1109/18.61115"
# license = "Apache-2.0"
# ///
"""Lin 1991: the mean Kullback-Leibler divergence of the two from their middle; `scipy.spatial.distance.jensenshannon` squared."""

from collections import Counter
from itertools import chain
from typing import NamedTuple

import numpy as np


class Distribution(NamedTuple):
    tokens: np.ndarray                      # in alphabetical order
    shares: np.ndarray
    information: float                      # sum of share * log2(share): the entropy, negative


def prepare(corpus: list[list[str]]) -> Distribution:
    counts = sorted(Counter(chain.from_iterable(corpus)).items())
    shares = np.array([count for _, count in counts], dtype=float)
    shares /= max(1.0, shares.sum())
    return Distribution(np.array([token for token, _ in counts], dtype=str), shares, information(shares))


def distance(p: Distribution, q: Distribution) -> float:
    if not (len(p.tokens) and len(q.tokens)):
        return float(len(p.tokens) != len(q.tokens))        # nothing and nothing are alike, nothing and something share nothing
    middle = np.concatenate([p.shares, q.shares]) / 2
    tokens = np.concatenate([p.tokens, q.tokens])
    order = np.argsort(tokens, kind="stable")               # merges two sorted lists
    tokens, middle = tokens[order], middle[order]
    first = np.flatnonzero(np.concatenate([[True], tokens[1:] != tokens[:-1]]))
    divergence = (p.information + q.information) / 2 - information(np.add.reduceat(middle, first))
    return min(1.0, max(0.0, divergence))                   # 0 and 1 but for rounding


def information(shares: np.ndarray) -> float:
    return float((shares * np.log2(shares)).sum())
