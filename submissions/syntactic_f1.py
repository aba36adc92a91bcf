# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rapidfuzz>=3.9"]
# [tool.touchstone]
# name = "syntactic_f1"
# title = "Syntactic F1"
# summary = "Harmonic mean of the two directed means of the nearest text's similarity by word-level edit distance."
# kind = "corpus"
# input = "texts"
# returns = "similarity"
# range = [0.5, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""Syntactic precision, recall and F1 of Zwerdling et al.: SynSim = 1/(1 + worddist/max(|s1|,|s2|)), words in lower case.

Words become characters of one alphabet that both corpora share, so that the edit distance is one of strings.
"""

from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

FIRST, SURROGATES, ALPHABET = 1, range(0xD800, 0xE000), 0x110000
ROWS_AT_ONCE = 500


class Prepared(NamedTuple):
    words: list[list[str]]
    lengths: np.ndarray


def prepare(corpus: list[str]) -> Prepared:
    words = [text.lower().split() for text in corpus]
    return Prepared(words, np.array([len(one) for one in words]))


def similarity(p: Prepared, q: Prepared) -> float:
    alphabet: dict[str, str] = {}
    a, b = (["".join(alphabet.setdefault(word, letter(len(alphabet))) for word in one) for one in side.words] for side in (p, q))
    there, back = 0.0, np.zeros(len(b))
    for start in range(0, len(a), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        longer = np.maximum(p.lengths[rows, None], q.lengths)
        edits = cdist(a[rows], b, scorer=Levenshtein.distance, dtype=np.int32, workers=1)
        alike = 1 / (1 + edits / np.maximum(longer, 1))
        there += float(alike.max(axis=1).sum())
        back = np.maximum(back, alike.max(axis=0))
    precision, recall = there / len(a), float(back.mean())
    return 2 * precision * recall / (precision + recall)


def letter(number: int) -> str:
    """The character that stands for the word of that number; there are 1,112,063 of them."""
    code = FIRST + number
    if code >= SURROGATES.start:
        code += len(SURROGATES)
    if code >= ALPHABET:
        raise ValueError("The two corpora have more than 1,112,063 different words.")
    return chr(code)
