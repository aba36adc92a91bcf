# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "self_bleu"
# title = "Difference of self-BLEU"
# summary = "Absolute difference of the corpora's self-BLEU: the mean BLEU-4 of a text against all other texts of its corpus."
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

The n-gram counts of a text are clipped at the largest count in any other text: the largest of all, or the second largest for the
text with the largest. All texts are therefore computed in one pass over the n-grams.
"""

import numpy as np

ORDERS = (1, 2, 3, 4)
EPSILON = 0.1                               # replaces 0 matches: method 1 of Chen and Cherry 2014


def prepare(corpus: list[list[str]]) -> float:
    if len(corpus) < 2:
        raise ValueError("Self-BLEU needs at least two texts per corpus.")
    lengths = np.array([len(text) for text in corpus])
    matches = clipped_matches(corpus, lengths)
    possible = np.maximum(1, lengths[:, None] - np.array(ORDERS) + 1)
    precision = np.log(np.where(matches > 0, matches, EPSILON) / possible).mean(axis=1)
    brevity = np.minimum(0, 1 - nearest_lengths(lengths) / np.maximum(1, lengths))
    return float(np.where(matches[:, 0] > 0, np.exp(precision + brevity), 0.0).mean())      # 0 without a shared token


def distance(p: float, q: float) -> float:
    return abs(p - q)


def clipped_matches(corpus: list[list[str]], lengths: np.ndarray) -> np.ndarray:
    """Return the clipped number of n-grams of each text that occur in another text: texts x orders."""
    numbers: dict[str, int] = {}
    tokens = np.array([numbers.setdefault(token, len(numbers)) for text in corpus for token in text], dtype=np.int64)
    text = np.repeat(np.arange(len(corpus)), lengths)
    matches = np.zeros((len(corpus), len(ORDERS)))
    starts, ngrams = np.arange(len(tokens)), np.zeros(len(tokens), dtype=np.int64)     # starts of the n-grams of this order
    for index, order in enumerate(ORDERS):
        complete = starts + order - 1 < len(tokens)
        complete[complete] = text[starts[complete]] == text[starts[complete] + order - 1]
        starts, ngrams = starts[complete], ngrams[complete]
        ngrams = np.unique(ngrams * (len(numbers) + 1) + tokens[starts + order - 1], return_inverse=True)[1]
        if len(ngrams):
            matches[:, index] = clip_counts(text[starts], ngrams, len(corpus))
    return matches


def clip_counts(text: np.ndarray, ngrams: np.ndarray, texts: int) -> np.ndarray:
    """Return for each text the sum over n-grams of the minimum of its count and the largest count in any other text."""
    kinds = int(ngrams.max()) + 1
    pairs, count = np.unique(text * kinds + ngrams, return_counts=True)
    text, ngrams = np.divmod(pairs, kinds)
    order = np.lexsort((-count, ngrams))
    first = np.searchsorted(ngrams[order], np.arange(kinds))
    largest = count[order][first]
    unique = np.bincount(ngrams, minlength=kinds) == 1
    second = np.where(unique, 0, count[order][np.minimum(first + 1, len(order) - 1)])
    limits = np.where(count == largest[ngrams], second[ngrams], largest[ngrams])
    return np.bincount(text, np.minimum(count, limits), minlength=texts)


def nearest_lengths(lengths: np.ndarray) -> np.ndarray:
    """Return the length of another text that is nearest to each text's length; the shorter of two equally near."""
    ordered = np.sort(lengths).astype(float)
    position = np.searchsorted(ordered, lengths)
    shorter = np.where(position > 0, ordered[position - 1], -np.inf)
    longer = np.where(position + 1 < len(ordered), ordered[np.minimum(position + 1, len(ordered) - 1)], np.inf)
    return np.where(lengths - shorter <= longer - lengths, shorter, longer)
