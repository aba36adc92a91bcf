# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "bleu_sentence"
# title = "Sentence BLEU"
# summary = "BLEU of the second text against the first, smoothed for single sentences as sacreBLEU does it."
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
"""`sentence_bleu` of sacreBLEU 2 with its defaults: tokens of mteval-v13a, case kept, as many orders as the text has words, up to
four, each precision of 0 halved once more than the last one (smoothing method 3 of Chen and Cherry 2014).
"""

import re
from collections import Counter

import numpy as np
from scipy import sparse

ORDERS = (1, 2, 3, 4)
ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
SPLIT = [(re.compile(pattern), by) for pattern, by in (         # of mteval-v13a
    (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),          # symbols
    (r"([^0-9])([\.,])", r"\1 \2 "),                           # full stops and commas but within numbers
    (r"([\.,])([^0-9])", r" \1 \2"),
    (r"([0-9])(-)", r"\1 \2 "))]


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    words = [tokens(text) for text in [*a, *b]]
    sizes = np.array([len(one) for one in words], dtype=float)
    shared = []
    for order in ORDERS:
        has = occurrences(words, order)
        shared.append(has[:len(a)].multiply(has[len(a):]).sum(axis=1))
    return bleu(shared, sizes[:len(a)], sizes[len(a):])


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    words = [tokens(text) for text in [*a, *b]]
    sizes = np.array([len(one) for one in words], dtype=float)
    shared = []
    for order in ORDERS:
        has = occurrences(words, order)
        shared.append((has[:len(a)] @ has[len(a):].T).toarray())
    return bleu(shared, sizes[:len(a), None], sizes[None, len(a):])


def tokens(text: str) -> list[str]:
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in ENTITIES.items():
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, by in SPLIT:
        text = pattern.sub(by, text)
    return text.split()


def bleu(shared: list[np.ndarray], reference: np.ndarray, candidate: np.ndarray) -> np.ndarray:
    """Geometric mean of the smoothed precisions, with the brevity penalty exp(1 - r/c); 0 without a shared token."""
    logs, misses = np.zeros_like(shared[0]), np.zeros_like(shared[0])
    for order, matches in zip(ORDERS, shared, strict=True):
        total = candidate - order + 1
        misses += matches == 0
        logs += np.where(total > 0, np.log(np.where(matches > 0, matches, 0.5 ** misses) / np.maximum(1, total)), 0)
    brevity = np.minimum(0, 1 - reference / np.maximum(1, candidate))
    used = np.clip(candidate, 1, len(ORDERS))
    return np.where(shared[0] > 0, np.exp(logs / used + brevity), 0)


def occurrences(texts: list[list[str]], order: int) -> sparse.csr_array:
    """A row a text, 1 for each n-gram it has, and for its second, third, ... occurrence."""
    columns: dict[tuple[tuple[str, ...], int], int] = {}
    found = []
    for words in texts:
        counts = Counter(zip(*(words[start:] for start in range(order)), strict=False))
        found.append([columns.setdefault((gram, level), len(columns))
                      for gram, count in counts.items() for level in range(count)])
    indices = [column for row in found for column in row]
    starts = np.cumsum([0, *map(len, found)])
    return sparse.csr_array((np.ones(len(indices)), indices, starts), shape=(len(texts), max(1, len(columns))))
