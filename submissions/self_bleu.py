# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.touchstone]
# name = "self_bleu"
# title = "Difference of self-BLEU"
# summary = "Absolute difference of how much each corpus repeats itself: its mean BLEU-4 of a text against all its others."
# kind = "corpus"
# input = "tokens"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = true
# paper = "https://arxiv.org/abs/1802.01886"
# license = "Apache-2.0"
# ///
"""Self-BLEU of Zhu et al. 2018: NLTK's `sentence_bleu` of each text against all others, equal weights, smoothing method 1.

A text's n-gram counts are clipped at the largest count in any other text: the largest of all, or the second largest for the text
that holds the largest.  So all texts are done in one pass over the n-grams.
"""

from bisect import bisect_left
from collections import Counter
from math import exp, log

ORDERS = (1, 2, 3, 4)
EPSILON = 0.1                               # in place of no match at all: method 1 of Chen and Cherry 2014


def prepare(corpus: list[list[str]]) -> float:
    if len(corpus) < 2:
        raise ValueError("Self-BLEU needs two texts or more in each corpus: one has no others to be compared with.")
    matches = [clipped_matches([ngrams(text, order) for text in corpus]) for order in ORDERS]
    lengths = sorted(map(len, corpus))
    return sum(bleu(len(text), nearest(len(text), lengths), found)
               for text, found in zip(corpus, zip(*matches, strict=True), strict=True)) / len(corpus)


def distance(p: float, q: float) -> float:
    return abs(p - q)


def ngrams(text: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(text[start:] for start in range(order)), strict=False))


def clipped_matches(texts: list[Counter[tuple[str, ...]]]) -> list[int]:
    """Of each text how many of its n-grams occur in one other text, counted at most as often as the other one has them."""
    largest: dict[tuple[str, ...], int] = {}
    second: dict[tuple[str, ...], int] = {}
    for text in texts:
        for gram, count in text.items():
            most = largest.get(gram, 0)
            largest[gram], second[gram] = max(most, count), max(second.get(gram, 0), min(most, count))
    return [sum(min(count, second[gram] if count == largest[gram] else count) for gram, count in text.items()) for text in texts]


def bleu(length: int, reference: int, matches: tuple[int, ...]) -> float:
    """Geometric mean of the precisions, with the brevity penalty; 0 without a single shared token."""
    if matches[0] == 0:
        return 0.0
    mean = sum(log((found or EPSILON) / max(1, length - order + 1)) for order, found in zip(ORDERS, matches, strict=True)) / 4
    return exp(mean + min(0.0, 1 - reference / length))


def nearest(length: int, lengths: list[int]) -> int:
    """The nearest length of another text, the shorter of two equally near; `lengths` is sorted and holds the text's own."""
    at = bisect_left(lengths, length)
    others = [*lengths[max(0, at - 1):at], *lengths[at + 1:at + 2]]
    return min(others, key=lambda other: (abs(other - length), other))
