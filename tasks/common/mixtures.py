"""Known-similarity corpora: a series of mixtures of two sources, and texts of equal length in two sources."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from harness.base.errors import TouchstoneError


def draw_mixtures(name_a: str, a: Sequence[str], name_b: str, b: Sequence[str], k: int, n: int,
                  rng: np.random.Generator) -> list[list[str]]:
    """Return KSC(A,B): k disjoint corpora of n texts, c_i with round(n(k-i)/(k-1)) texts of A."""
    from_a = count_texts_of_a(k, n)
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


def count_texts_of_a(k: int, n: int) -> list[int]:
    """Return the numbers of texts of A in c_1 (all) to c_k (none)."""
    return [round(n * (k - i) / (k - 1)) for i in range(1, k + 1)]


def draw_balanced_mixtures(name_a: str, a: Sequence[str], name_b: str, b: Sequence[str], k: int, n: int,
                           rng: np.random.Generator) -> list[list[str]]:
    """Return KSC(A,B) of texts whose lengths have the same distribution in A and B.

    Every text is from another pair of equally long texts: both texts of a pair would make corpora of different sources alike.
    """
    pairs = pair_equal_lengths(tuple(a), tuple(b))
    if len(pairs) < n * k:
        raise TouchstoneError(f'A balanced set of k={k} corpora of n={n} needs {n * k:,} pairs of equally long texts, one of '
                              f'"{name_a}" and one of "{name_b}"; there are {len(pairs):,}. Choose a smaller n or k, or other '
                              "sources.")
    drawn = [pairs[row] for row in rng.permutation(len(pairs))[:n * k]]
    of_a = sum(count_texts_of_a(k, n))
    return draw_mixtures(name_a, [a[i] for i, _ in drawn[:of_a]], name_b, [b[j] for _, j in drawn[of_a:]], k, n, rng)


@lru_cache(maxsize=32)
def pair_equal_lengths(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return the positions of as many pairs as there are of a text of `a` and one of `b` with equally many characters."""
    rows: dict[int, list[int]] = defaultdict(list)
    for row, text in enumerate(b):
        rows[len(text)].append(row)
    return tuple((row, rows[len(text)].pop()) for row, text in enumerate(a) if rows[len(text)])


def separated_pairs(k: int) -> list[tuple[int, int]]:
    """Return all (i, j) with i < j among k corpora; their separation is j - i."""
    return list(itertools.combinations(range(k), 2))
