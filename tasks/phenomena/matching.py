"""Selection of quads of which neither overlap nor length tells the texts with the same meaning from those with another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from harness.base.hashing import seed_of
from tasks.phenomena.quads import Candidate

COMMONEST = 0.33  # the largest share of the source pairs whose edit has the same entry of a list


def select_quads(candidates: Sequence[tuple[int, Candidate]], least: int, largest: int) -> list[int]:
    """Return the indices of `least` to `largest` candidates of one phenomenon, at most one for a source pair.

    `candidates` has (number of the source pair, candidate). They are removed one by one, always the one whose removal brings the
    counts of texts with the same and with changed meaning in the bins of `surface.signature` closest to each other: first until
    one is left for each pair, then until `largest` are left, then while that helps and more than `least` are left.
    """
    kept = limit_candidates(candidates)
    names = {
        name: column
        for column, name in enumerate(dict.fromkeys(name for index in kept for name, _ in candidates[index][1].bins))
    }
    signs = np.zeros((len(names), len(kept)))  # small integers, so that sums are exact on every platform
    for column, index in enumerate(kept):
        for name, sign in candidates[index][1].bins:
            signs[names[name], column] += sign
    pairs = np.array([candidates[index][0] for index in kept], dtype=int)
    of_pair = Counter(pairs.tolist())
    several = np.array([of_pair[pair] > 1 for pair in pairs.tolist()], dtype=bool)
    remaining = np.ones(len(kept), dtype=bool)
    gains = 2 * signs.sum(axis=1) @ signs - (signs**2).sum(axis=0)
    while remaining.any():
        worst = int(np.where(remaining & several if several.any() else remaining, gains, -np.inf).argmax())
        if not several.any() and remaining.sum() <= largest and (gains[worst] <= 0 or remaining.sum() <= least):
            break
        remaining[worst] = several[worst] = False
        used = np.flatnonzero(signs[:, worst])
        gains -= 2 * signs[used, worst] @ signs[used]
        of_pair[pairs[worst]] -= 1
        if of_pair[pairs[worst]] == 1:
            several[pairs == pairs[worst]] = False
    return sorted(index for index, stays in zip(kept, remaining, strict=True) if stays)


def limit_candidates(candidates: Sequence[tuple[int, Candidate]]) -> list[int]:
    """Return the indices of the candidates in an order that depends on their texts, without those of too common entries."""
    seeds = [seed_of(candidate.phenomenon, *candidate.texts) for _, candidate in candidates]
    order = sorted(range(len(candidates)), key=seeds.__getitem__)
    largest = max(1, int(COMMONEST * len({pair for pair, _ in candidates})))
    of_entry: dict[str, set[int]] = {}
    kept = []
    for index in order:
        pair, candidate = candidates[index]
        others = of_entry.setdefault(candidate.entry, set())
        if pair in others or len(others) < largest:
            others.add(pair)
            kept.append(index)
    return kept
