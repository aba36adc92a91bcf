# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "chi"
# title = "Chi-squared by degrees of freedom"
# summary = "Kilgarriff's chi-squared statistic of the corpora's 5000 commonest tokens, divided by its degrees of freedom."
# kind = "corpus"
# input = "tokens"
# returns = "distance"
# range = [0.0, inf]
# symmetric = true
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { commonest = 100, published = true }
# summary = "As published: chi2.cdf of the statistic of the 100 commonest tokens, which saturates."
# ///
"""Are the two corpora's tokens drawn from one distribution?  Kilgarriff 2001, "Comparing corpora"; Kour et al. 2022.

The table has a column a token, of the tokens commonest in both corpora together (ties: the first of the alphabet), and a row a
corpus; V tokens leave V - 1 degrees of freedom.  The statistic itself is never tied by saturation, as its p-value is.  The
variant `published` is what fits the published figures: `scipy.stats.chi2.cdf` with the authors' 2(V - 1) degrees of freedom, and
with the two marks that their tokenizer puts around every text among the tokens.
"""

from collections import Counter
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr


class Counted(NamedTuple):
    counts: dict[str, int]
    size: int


def prepare(corpus: list[list[str]], published: bool = False) -> Counted:
    counts = Counter(chain.from_iterable(corpus))
    if published:
        counts.update({"[CLS]": len(corpus), "[SEP]": len(corpus)})
    return Counted(counts, sum(counts.values()))


def distance(p: Counted, q: Counted, commonest: int = 5000, published: bool = False) -> float:
    if len(p.counts) + len(q.counts) > commonest:
        p, q = chosen(p, q, commonest)
    if bool(p.size) != bool(q.size):
        raise ValueError("Chi-squared is undefined here: one corpus has none of the tokens that are compared.")
    shared = p.counts.keys() & q.counts.keys()
    freedom = len(p.counts) + len(q.counts) - len(shared) - 1
    if freedom < 1:
        return 0.0                          # no token, or one only: nothing that could differ
    statistic = chi_squared(p, q, shared)
    return float(chdtr(2 * freedom, statistic)) if published else statistic / freedom


def chosen(p: Counted, q: Counted, commonest: int) -> tuple[Counted, Counted]:
    """Both without the tokens that are not among the commonest of both together."""
    a, b = p.counts, q.counts
    tokens = sorted(a.keys() | b.keys(), key=lambda token: (-a.get(token, 0) - b.get(token, 0), token))[:commonest]
    a, b = ({token: counts[token] for token in tokens if token in counts} for counts in (a, b))
    return Counted(a, sum(a.values())), Counted(b, sum(b.values()))


def chi_squared(p: Counted, q: Counted, shared: set[str]) -> float:
    """The sum over tokens, a times in one corpus of n and b times in the other of m, of (am - bn)^2 / ((a + b) nm).

    A token that only one corpus has adds a m/n: those are summed without being looked at.
    """
    n, m = p.size, q.size
    a, b = (np.fromiter(map(one.counts.__getitem__, shared), float, len(shared)) for one in (p, q))
    difference = a * m - b * n
    of_shared = difference / (a + b) @ difference
    return float(of_shared / (n * m) + (n - a.sum()) * m / n + (m - b.sum()) * n / m)
