# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "bleu_sentence"
# title = "Sentence BLEU"
# summary = "BLEU of the second text against the first, smoothed for single sentences as in sacreBLEU."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://aclanthology.org/W18-6319/"
# authors = ["Post"]
# year = 2018
# license = "Apache-2.0"
# ///
"""`sentence_bleu` of sacreBLEU 2 with default settings: mteval-v13a tokens, case kept, orders up to 4 or the candidate's length.

The k-th order without a match has precision 2^-k over its number of n-grams (smoothing method 3 of Chen and Cherry 2014).
"""

import re
from collections import Counter

import numpy as np
from scipy import sparse

ORDERS = (1, 2, 3, 4)
ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
SPLIT = [(re.compile(pattern), replacement) for pattern, replacement in (         # of mteval-v13a
    (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),          # symbols
    (r"([^0-9])([\.,])", r"\1 \2 "),                           # full stops and commas, except inside numbers
    (r"([\.,])([^0-9])", r" \1 \2"),
    (r"([0-9])(-)", r"\1 \2 "))]


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    words = [tokenize(text) for text in [*a, *b]]
    sizes = np.array([len(tokens) for tokens in words], dtype=float)
    shared = []
    for order in ORDERS:
        indicators = occurrence_matrix(words, order)
        shared.append(indicators[:len(a)].multiply(indicators[len(a):]).sum(axis=1))
    return bleu(shared, sizes[:len(a)], sizes[len(a):])


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    words = [tokenize(text) for text in [*a, *b]]
    sizes = np.array([len(tokens) for tokens in words], dtype=float)
    shared = []
    for order in ORDERS:
        indicators = occurrence_matrix(words, order)
        shared.append((indicators[:len(a)] @ indicators[len(a):].T).toarray())
    return bleu(shared, sizes[:len(a), None], sizes[None, len(a):])


def tokenize(text: str) -> list[str]:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in ENTITIES.items():
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, replacement in SPLIT:
        text = pattern.sub(replacement, text)
    return text.split()


def bleu(shared: list[np.ndarray], reference: np.ndarray, candidate: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the smoothed precisions times the brevity penalty exp(1 - r/c); 0 without a shared token."""
    logs, misses = np.zeros_like(shared[0]), np.zeros_like(shared[0])
    for order, matches in zip(ORDERS, shared, strict=True):
        total = candidate - order + 1
        misses += matches == 0
        logs += np.where(total > 0, np.log(np.where(matches > 0, matches, 0.5 ** misses) / np.maximum(1, total)), 0)
    brevity = np.minimum(0, 1 - reference / np.maximum(1, candidate))
    orders = np.clip(candidate, 1, len(ORDERS))
    return np.where(shared[0] > 0, np.exp(logs / orders + brevity), 0)


def occurrence_matrix(texts: list[list[str]], order: int) -> sparse.csr_array:
    """Return a 0/1 matrix with one row per text and one column per n-gram and occurrence number."""
    columns: dict[tuple[tuple[str, ...], int], int] = {}
    rows = []
    for words in texts:
        counts = Counter(zip(*(words[start:] for start in range(order)), strict=False))
        rows.append([columns.setdefault((ngram, occurrence), len(columns))
                     for ngram, count in counts.items() for occurrence in range(count)])
    indices = [column for row in rows for column in row]
    starts = np.cumsum([0, *map(len, rows)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
