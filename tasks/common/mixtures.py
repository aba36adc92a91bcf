"""Known-similarity corpora: a series of mixtures of two sources."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from harness.base.errors import TouchstoneError


def draw_mixtures(name_a: str, a: Sequence[str], name_b: str, b: Sequence[str], k: int, n: int,
                  rng: np.random.Generator) -> list[list[str]]:
    """Return KSC(A,B): k disjoint corpora of n texts, c_i with round(n(k-i)/(k-1)) texts of A."""
    from_a = [round(n * (k - i) / (k - 1)) for i in range(1, k + 1)]
    needed = {name_a: sum(from_a), name_b: n * k - sum(from_a)}
    for name, texts in ((name_a, a), (name_b, b)):
        if len(texts) < needed[name]:
            raise TouchstoneError(f'A set of k={k} corpora of n={n} needs {needed[name]:,} texts of "{name}", which has '
                                  f"{len(texts):,}. Choose a smaller n or k, or another source.")
    rest_a = iter(rng.permutation(len(a)))
    rest_b = iter(rng.permutation(len(b)))
    corpora = []
    for count in from_a:
        texts = [a[i] for i in itertools.islice(rest_a, count)] + [b[i] for i in itertools.islice(rest_b, n - count)]
        corpora.append([texts[i] for i in rng.permutation(n)])
    return corpora


def separated_pairs(k: int) -> list[tuple[int, int]]:
    """Return all (i, j) with i < j among k corpora; their separation is j - i."""
    return list(itertools.combinations(range(k), 2))
