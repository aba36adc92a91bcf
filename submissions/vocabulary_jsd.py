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
"""Lin 1991: the mean Kullback-Leibler divergence of the two from their middle; `scipy.spatial.distance.jensenshannon` squared."""

from collections import Counter
from itertools import chain

import numpy as np

Shares = dict[str, float]


def prepare(corpus: list[list[str]]) -> Shares:
    counts = Counter(chain.from_iterable(corpus))
    size = sum(counts.values())
    return {token: count / size for token, count in counts.items()}


def distance(p: Shares, q: Shares) -> float:
    """The mean over both corpora of log2(share / mean share); a token that only one corpus has adds a bit, times its share."""
    if not (p and q):
        return float(bool(p) != bool(q))    # nothing and nothing are alike, nothing and something share nothing
    shared = p.keys() & q.keys()
    a, b = (np.fromiter(map(shares.__getitem__, shared), float, len(shared)) for shares in (p, q))
    of_shared = (a * np.log2(2 * a / (a + b)) + b * np.log2(2 * b / (a + b))).sum()
    alone = 2 - a.sum() - b.sum()
    return min(1.0, max(0.0, float(of_shared + alone) / 2))     # 0 and 1 but for rounding
