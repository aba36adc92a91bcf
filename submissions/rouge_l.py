# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rapidfuzz>=3.9"]
# [tool.touchstone]
# name = "rouge_l"
# title = "ROUGE-L"
# summary = "F-measure of the longest common subsequence of the two texts' words, as in Google's rouge-score."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://aclanthology.org/W04-1013/"
# authors = ["Lin"]
# year = 2004
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "recall"
# parameters = { recall = true }
# summary = "Recall: the length of the subsequence over the length of the first text."
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# on_request = true
# summary = "As in Yamshchikov et al. 2020: union of the sentences' subsequences over distinct words, as in rouge 0.3.2."
# ///
"""ROUGE-L of rouge-score 0.1.2 without stemming; words are runs of a-z and 0-9 in the lower-cased text. F is symmetric.

RapidFuzz computes the lengths on words encoded as single characters. The variant `published` is `rouge_l_summary_level` of the
package rouge 0.3.2: a text is split into sentences at full stops, m and n are the numbers of distinct words of the first and the
second text, and F is that of the package, with beta = precision/recall.
"""

import re
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

WORD = re.compile(r"[a-z0-9]+")
SURROGATES = range(0xD800, 0xE000)          # not characters


def similarity(a: list[str], b: list[str], recall: bool = False, published: bool = False) -> np.ndarray:
    if published:
        return np.array([summary_level(sentences(x), sentences(y)) for x, y in zip(a, b, strict=True)])
    encoded = as_characters([*a, *b])
    x, y = encoded[:len(a)], encoded[len(a):]
    common = np.array([LCSseq.similarity(text_a, text_b) for text_a, text_b in zip(x, y, strict=True)], dtype=float)
    return rouge(common, lengths(x), lengths(y), recall)


def matrix(a: list[str], b: list[str], recall: bool = False, published: bool = False) -> np.ndarray:
    if published:
        x, y = [sentences(text) for text in a], [sentences(text) for text in b]
        return np.array([[summary_level(reference, candidate) for candidate in y] for reference in x])
    encoded = as_characters([*a, *b])
    references, candidates = encoded[:len(a)], encoded[len(a):]
    common = cdist(references, candidates, scorer=LCSseq.similarity, dtype=np.int32).astype(float)
    return rouge(common, lengths(references)[:, None], lengths(candidates)[None, :], recall)


def rouge(common: np.ndarray, reference: np.ndarray, candidate: np.ndarray, recall: bool) -> np.ndarray:
    """Return 2pr/(p + r), or r; 0 if a text has no word, even for equal texts, as in rouge-score."""
    denominator = reference + np.zeros_like(candidate) if recall else (reference + candidate) / 2
    return np.divide(common, denominator, out=np.zeros_like(common), where=denominator > 0)


def as_characters(texts: list[str]) -> list[str]:
    """Return each text with every word replaced by one character, for up to a million different words."""
    numbers: dict[str, int] = {}
    texts_as_numbers = [[numbers.setdefault(word, len(numbers)) for word in WORD.findall(text.lower())] for text in texts]
    return ["".join(chr(n if n < SURROGATES.start else n + len(SURROGATES)) for n in row) for row in texts_as_numbers]


def lengths(texts: list[str]) -> np.ndarray:
    return np.array([len(text) for text in texts], dtype=float)


# ---- as published --------------------------------------------------------------------------------------------------------

@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of the sentences between full stops; a sentence of spaces only has one empty word."""
    return tuple(tuple(" ".join(sentence.split()).split(" ")) for sentence in text.split(".") if sentence)


def summary_level(reference: tuple[tuple[str, ...], ...], candidate: tuple[tuple[str, ...], ...]) -> float:
    """Return summary-level ROUGE-L; 0 for a text without sentences, which the package rejects."""
    if not reference or not candidate:
        return 0.0
    union = {word for x in reference for y in candidate for word in common_subsequence(x, y)}
    r = len(union) / len({word for sentence in reference for word in sentence})
    p = len(union) / len({word for sentence in candidate for word in sentence})
    beta = p / (r + 1e-12)
    return (1 + beta ** 2) * r * p / (r + beta ** 2 * p + 1e-12)


def common_subsequence(x: tuple[str, ...], y: tuple[str, ...]) -> set[str]:
    """Return the words of the longest common subsequence that the package finds by backtracking from the end."""
    if not set(x) & set(y):
        return set()
    numbers: dict[str, int] = {}
    rows, columns = (np.array([numbers.setdefault(word, len(numbers)) for word in side]) for side in (x, y))
    longest = np.zeros((len(x) + 1, len(y) + 1), np.int16 if min(len(x), len(y)) < 1 << 15 else np.int32)
    for i, word in enumerate(rows):         # maximum of above, left, and upper left plus 1 if the words are equal
        np.maximum.accumulate(np.maximum(longest[i, 1:], longest[i, :-1] + (columns == word)), out=longest[i + 1, 1:])
    words, i, j = set(), len(x), len(y)
    while i and j:
        if x[i - 1] == y[j - 1]:
            words.add(x[i - 1])
            i, j = i - 1, j - 1
        elif longest[i - 1][j] > longest[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return words
