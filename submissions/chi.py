# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "chi"
# title = "Chi-squared by degrees of freedom"
# summary = "Kilgarriff's chi-squared statistic of the corpora's 5000 most common tokens, divided by its degrees of freedom."
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
# summary = "As published: chi2.cdf of the statistic of the 100 most common tokens, which saturates."
# ///
"""Chi-squared test of homogeneity of the two token distributions: Kilgarriff 2001, "Comparing corpora"; Kour et al. 2022.

The contingency table has one row per corpus and one column for each of the most common tokens of both corpora together (ties in
alphabetical order); V tokens have V - 1 degrees of freedom. Unlike its p-value, the statistic does not saturate. The variant
`published` fits the published figures: `scipy.stats.chi2.cdf` with the authors' 2(V - 1) degrees of freedom, counting the two
special tokens that their tokenizer adds to every text.
"""

from collections import Counter
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr


class TokenCounts(NamedTuple):
    counts: dict[str, int]
    size: int


def prepare(corpus: list[list[str]], published: bool = False) -> TokenCounts:
    counts = Counter(chain.from_iterable(corpus))
    if published:
        counts.update({"[CLS]": len(corpus), "[SEP]": len(corpus)})
    return TokenCounts(counts, sum(counts.values()))


def distance(p: TokenCounts, q: TokenCounts, commonest: int = 5000, published: bool = False) -> float:
    if len(p.counts) + len(q.counts) > commonest:
        p, q = most_common(p, q, commonest)
    if bool(p.size) != bool(q.size):
        raise ValueError("Chi-squared is undefined: one corpus has none of the compared tokens.")
    shared = p.counts.keys() & q.counts.keys()
    degrees = len(p.counts) + len(q.counts) - len(shared) - 1
    if degrees < 1:
        return 0.0                          # at most one token: the distributions cannot differ
    statistic = chi_squared(p, q, shared)
    return float(chdtr(2 * degrees, statistic)) if published else statistic / degrees


def most_common(p: TokenCounts, q: TokenCounts, commonest: int) -> tuple[TokenCounts, TokenCounts]:
    """Return both counts restricted to the most common tokens of the two corpora together."""
    a, b = p.counts, q.counts
    tokens = sorted(a.keys() | b.keys(), key=lambda token: (-a.get(token, 0) - b.get(token, 0), token))[:commonest]
    a, b = ({token: counts[token] for token in tokens if token in counts} for counts in (a, b))
    return TokenCounts(a, sum(a.values())), TokenCounts(b, sum(b.values()))


def chi_squared(p: TokenCounts, q: TokenCounts, shared: set[str]) -> float:
    """Return the sum of (am - bn)^2 / ((a + b) nm) over tokens that occur a times among n tokens of p and b times among m of q.

    A token that occurs only in p adds a m/n, so these terms need only the sum of a.
    """
    n, m = p.size, q.size
    a, b = (np.fromiter(map(corpus.counts.__getitem__, shared), float, len(shared)) for corpus in (p, q))
    difference = a * m - b * n
    shared_sum = difference / (a + b) @ difference
    return float(shared_sum / (n * m) + (n - a.sum()) * m / n + (m - b.sum()) * n / m)
