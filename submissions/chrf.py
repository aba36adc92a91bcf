# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "chrf"
# title = "chrF"
# summary = "F-measure (beta = 2) of the character n-grams up to order 6 that the second text shares with the first."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://aclanthology.org/W15-3049/"
# authors = ["Popović"]
# year = 2015
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# summary = "As in Yamshchikov et al. 2020 and NLTK: beta = 3, and the mean of the six F-measures instead of the F of means."
# ///
"""chrF of sacreBLEU 2 with default settings, divided by 100: white space removed, case kept, beta = 2.

F is computed from the mean precision and recall over the orders of which both texts have n-grams. NLTK returns the mean of the
six F-measures.
"""

import numpy as np
from scipy import sparse

ORDERS = range(1, 7)


def similarity(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    rows = {text: row for row, text in enumerate(dict.fromkeys([*a, *b]))}          # count repeated texts once
    x, y = ([rows[text] for text in side] for side in (a, b))
    counts, lengths = count_ngrams(list(rows))
    shared = np.array([table[x].minimum(table[y]).sum(axis=1) for table in counts])
    return chrf(shared, lengths[x], lengths[y], published)


def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    """Compute the sum of minimum counts as the sum over c of the n-grams that both texts have at least c times: one product."""
    counts, lengths = count_ngrams([*a, *b])
    shared = []
    for table in counts:
        levels = sparse.hstack([table >= c for c in range(1, int(table.max()) + 1)] or [table], format="csr").astype(float)
        shared.append((levels[:len(a)] @ levels[len(a):].T).toarray())
    return chrf(np.array(shared), lengths[:len(a), None], lengths[None, len(a):], published)


def chrf(shared: np.ndarray, reference: np.ndarray, candidate: np.ndarray, published: bool) -> np.ndarray:
    """Return chrF from the number of shared n-grams of each order, which is 0 for orders that one of the texts lacks."""
    precisions = np.array([matches / np.maximum(1, candidate - order + 1) for order, matches in zip(ORDERS, shared, strict=True)])
    recalls = np.array([matches / np.maximum(1, reference - order + 1) for order, matches in zip(ORDERS, shared, strict=True)])
    if published:
        return f_measure(precisions, recalls, 3.0).mean(axis=0)
    orders = np.clip(np.minimum(reference, candidate), 1, len(ORDERS))
    return f_measure(precisions.sum(axis=0) / orders, recalls.sum(axis=0) / orders, 2.0)


def f_measure(precision: np.ndarray, recall: np.ndarray, beta: float) -> np.ndarray:
    """Return (1 + beta^2) p r / (beta^2 p + r)."""
    denominator = beta ** 2 * precision + recall
    return np.divide((1 + beta ** 2) * precision * recall, denominator, out=np.zeros_like(denominator), where=denominator > 0)


def count_ngrams(texts: list[str]) -> tuple[list[sparse.csr_array], np.ndarray]:
    """Return the n-gram counts of each order, with one row per text and one column per n-gram, and the lengths of the texts."""
    stripped = ["".join(text.split()) for text in texts]
    lengths = np.array([len(text) for text in stripped], dtype=int)
    row = np.repeat(np.arange(len(texts)), lengths)
    remaining = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(row))    # characters to the end of the text
    codes = np.frombuffer("".join(stripped).encode("utf-32-le", "surrogatepass"), np.uint32)
    characters = np.unique(codes, return_inverse=True)[1]
    ngrams, starts, counts = characters, np.arange(len(row)), []
    for order in ORDERS:
        if order > 1:                       # extend the (n-1)-grams that do not end the text by a character
            extensible = remaining[starts] >= order
            starts = starts[extensible]
            pairs = ngrams[extensible] * len(codes) + characters[starts + order - 1]
            ngrams = np.unique(pairs, return_inverse=True)[1]
        shape = len(texts), int(ngrams.max(initial=0)) + 1
        counts.append(sparse.coo_array((np.ones(len(starts)), (row[starts], ngrams)), shape=shape).tocsr())   # sums duplicates
    return counts, lengths
