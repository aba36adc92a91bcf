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
# authors = ["Lin"]
# year = 1991
# license = "Apache-2.0"
# ///
"""Lin 1991: the mean Kullback-Leibler divergence from the mixture; `scipy.spatial.distance.jensenshannon` squared, in bits."""

from collections import Counter
from itertools import chain

import numpy as np

Distribution = dict[str, float]


def prepare(corpus: list[list[str]]) -> Distribution:
    counts = Counter(chain.from_iterable(corpus))
    size = sum(counts.values())
    return {token: count / size for token, count in counts.items()}


def distance(p: Distribution, q: Distribution) -> float:
    """Return the mean over both corpora of the expected log2(share / mean share), which is one bit for an unshared token."""
    if not (p and q):
        return float(bool(p) != bool(q))    # 0 for two empty corpora, 1 if one is empty
    shared = p.keys() & q.keys()
    a, b = (np.fromiter(map(shares.__getitem__, shared), float, len(shared)) for shares in (p, q))
    shared_sum = (a * np.log2(2 * a / (a + b)) + b * np.log2(2 * b / (a + b))).sum()
    unshared_sum = 2 - a.sum() - b.sum()
    return min(1.0, max(0.0, float(shared_sum + unshared_sum) / 2))    # within [0, 1] up to rounding
