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
# summary = "As the published table has it: chi2.cdf of the statistic of the 100 commonest tokens, which saturates."
# ///
"""Are the two corpora's tokens drawn from one distribution?  Kilgarriff 2001, "Comparing corpora"; Kour et al. 2022.

The table has a column a token, of the tokens commonest in both corpora together (ties: the first of the alphabet), and a row a
corpus; V tokens leave V - 1 degrees of freedom.  The statistic itself is never tied by saturation, as its p-value is.  The
variant `published` is what fits the published figures: `scipy.stats.chi2.cdf` with the authors' 2(V - 1) degrees of freedom.
"""

from collections import Counter
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr


class Counted(NamedTuple):
    tokens: np.ndarray                      # in alphabetical order
    counts: np.ndarray


def prepare(corpus: list[list[str]]) -> Counted:
    counts = sorted(Counter(chain.from_iterable(corpus)).items())
    return Counted(np.array([token for token, _ in counts], dtype=str), np.array([count for _, count in counts], dtype=float))


def distance(p: Counted, q: Counted, commonest: int = 5000, published: bool = False) -> float:
    table = contingency(p, q)
    both = table.sum(axis=0)
    if len(both) > commonest:
        chosen = np.argsort(-both, kind="stable")[:commonest]
        table, both = table[:, chosen], both[chosen]
    sizes = table.sum(axis=1)
    if len(both) > 0 and not sizes.all():
        raise ValueError("Chi-squared is undefined here: one corpus has none of the tokens that are compared.")
    if len(both) < 2:
        return 0.0                          # no token, or one only: nothing that could differ
    expected = sizes[:, None] * both / sizes.sum()
    statistic, freedom = float(((table - expected) ** 2 / expected).sum()), len(both) - 1
    return float(chdtr(2 * freedom, statistic)) if published else statistic / freedom


def contingency(p: Counted, q: Counted) -> np.ndarray:
    """The counts of every token of either corpus, 2 x tokens, in alphabetical order: two sorted lists merged."""
    tokens = np.concatenate([p.tokens, q.tokens])
    order = np.argsort(tokens, kind="stable")
    tokens = tokens[order]
    column = np.empty(len(tokens), dtype=int)
    column[order] = np.cumsum(np.concatenate([[False], tokens[1:] != tokens[:-1]])[:len(tokens)])
    table = np.zeros((2, column.max(initial=-1) + 1))
    table[0, column[:len(p.tokens)]], table[1, column[len(p.tokens):]] = p.counts, q.counts
    return table
