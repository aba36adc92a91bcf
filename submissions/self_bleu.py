# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
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
# authors = ["Zhu", "Lu", "Zheng", "Guo", "Zhang", "Wang", "Yu"]
# year = 2018
# license = "Apache-2.0"
# ///
"""Self-BLEU of Zhu et al. 2018: NLTK's `sentence_bleu` of each text against all others, equal weights, smoothing method 1.

A text's n-gram counts are clipped at the largest count in any other text: the largest of all, or the second largest for the text
that holds the largest.  So all texts are done in one pass over the n-grams.
"""

import numpy as np

ORDERS = (1, 2, 3, 4)
EPSILON = 0.1                               # in place of no match at all: method 1 of Chen and Cherry 2014


def prepare(corpus: list[list[str]]) -> float:
    if len(corpus) < 2:
        raise ValueError("Self-BLEU needs two texts or more in each corpus: one has no others to be compared with.")
    lengths = np.array([len(text) for text in corpus])
    matches = clipped_matches(corpus, lengths)
    possible = np.maximum(1, lengths[:, None] - np.array(ORDERS) + 1)
    precision = np.log(np.where(matches > 0, matches, EPSILON) / possible).mean(axis=1)
    brevity = np.minimum(0, 1 - nearest(lengths) / np.maximum(1, lengths))
    return float(np.where(matches[:, 0] > 0, np.exp(precision + brevity), 0.0).mean())      # 0 without a single shared token


def distance(p: float, q: float) -> float:
    return abs(p - q)


def clipped_matches(corpus: list[list[str]], lengths: np.ndarray) -> np.ndarray:
    """texts x orders: how many of its n-grams occur in one other text, counted at most as often as the other one has them."""
    number: dict[str, int] = {}
    tokens = np.array([number.setdefault(token, len(number)) for text in corpus for token in text], dtype=np.int64)
    text = np.repeat(np.arange(len(corpus)), lengths)
    found = np.zeros((len(corpus), len(ORDERS)))
    starts, grams = np.arange(len(tokens)), np.zeros(len(tokens), dtype=np.int64)       # where n-grams of this order start
    for place, order in enumerate(ORDERS):
        whole = starts + order - 1 < len(tokens)
        whole[whole] = text[starts[whole]] == text[starts[whole] + order - 1]
        starts, grams = starts[whole], grams[whole]
        grams = np.unique(grams * (len(number) + 1) + tokens[starts + order - 1], return_inverse=True)[1]
        if len(grams):
            found[:, place] = clipped(text[starts], grams, len(corpus))
    return found


def clipped(text: np.ndarray, grams: np.ndarray, texts: int) -> np.ndarray:
    """Of each text the sum over its grams of the smaller of two counts: its own, and the largest in any other text."""
    kinds = int(grams.max()) + 1
    occurring, count = np.unique(text * kinds + grams, return_counts=True)
    text, grams = np.divmod(occurring, kinds)
    order = np.lexsort((-count, grams))
    first = np.searchsorted(grams[order], np.arange(kinds))
    largest = count[order][first]
    alone = np.bincount(grams, minlength=kinds) == 1
    second = np.where(alone, 0, count[order][np.minimum(first + 1, len(order) - 1)])
    others = np.where(count == largest[grams], second[grams], largest[grams])
    return np.bincount(text, np.minimum(count, others), minlength=texts)


def nearest(lengths: np.ndarray) -> np.ndarray:
    """Of each text the nearest length of another text, the shorter of two equally near."""
    ordered = np.sort(lengths).astype(float)
    place = np.searchsorted(ordered, lengths)
    shorter = np.where(place > 0, ordered[place - 1], -np.inf)
    longer = np.where(place + 1 < len(ordered), ordered[np.minimum(place + 1, len(ordered) - 1)], np.inf)
    return np.where(lengths - shorter <= longer - lengths, shorter, longer)
