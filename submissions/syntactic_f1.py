# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rapidfuzz>=3.9"]
# [tool.touchstone]
# name = "syntactic_f1"
# title = "Syntactic F1"
# summary = "Harmonic mean of the two directed mean similarities to the nearest text by word-level edit distance."
# kind = "corpus"
# input = "texts"
# returns = "similarity"
# range = [0.5, 1.0]
# symmetric = true
# license = "Apache-2.0"
# ///
"""Syntactic F1 of Zwerdling et al.: SynSim = 1/(1 + worddist/max(|s1|,|s2|)), with lower-cased words.

Words are encoded as characters of an alphabet shared by both corpora, so that RapidFuzz computes the edit distance of strings.
"""

from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

FIRST, SURROGATES, ALPHABET = 1, range(0xD800, 0xE000), 0x110000
BATCH_ROWS = 500


class Prepared(NamedTuple):
    words: list[list[str]]
    lengths: np.ndarray


def prepare(corpus: list[str]) -> Prepared:
    words = [text.lower().split() for text in corpus]
    return Prepared(words, np.array([len(text) for text in words]))


def similarity(p: Prepared, q: Prepared) -> float:
    alphabet: dict[str, str] = {}
    a, b = (["".join(alphabet.setdefault(word, encode_word(len(alphabet))) for word in text) for text in corpus.words]
            for corpus in (p, q))
    total, nearest = 0.0, np.zeros(len(b))
    for start in range(0, len(a), BATCH_ROWS):
        rows = slice(start, start + BATCH_ROWS)
        longer = np.maximum(p.lengths[rows, None], q.lengths)
        edits = cdist(a[rows], b, scorer=Levenshtein.distance, dtype=np.int32, workers=1)
        similarities = 1 / (1 + edits / np.maximum(longer, 1))
        total += float(similarities.max(axis=1).sum())
        nearest = np.maximum(nearest, similarities.max(axis=0))
    precision, recall = total / len(a), float(nearest.mean())
    return 2 * precision * recall / (precision + recall)


def encode_word(number: int) -> str:
    """Return the character that encodes a word number; 1,112,063 characters are available."""
    code = FIRST + number
    if code >= SURROGATES.start:
        code += len(SURROGATES)
    if code >= ALPHABET:
        raise ValueError("The two corpora have more than 1,112,063 different words, the limit of the alphabet.")
    return chr(code)
