# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "chrf"
# title = "chrF"
# summary = "F-measure, recall counted twice, of the character n-grams up to 6 that the second text shares with the first."
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
"""chrF of sacreBLEU 2 with its defaults, over 100: white space removed, case kept, beta = 2.

Precision and recall are means over the orders that both texts have, F is made of the means.  NLTK takes F of each order, and
the mean of the six.
"""

import numpy as np
from scipy import sparse

ORDERS = range(1, 7)


def similarity(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    texts = {text: row for row, text in enumerate(dict.fromkeys([*a, *b]))}         # one that is asked often is counted once
    x, y = ([texts[text] for text in side] for side in (a, b))
    counts, lengths = counted(list(texts))
    shared = np.array([one[x].minimum(one[y]).sum(axis=1) for one in counts])
    return chrf(shared, lengths[x], lengths[y], published)


def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    """The sum of the smaller counts is the sum over c of the n-grams that both have at least c times: one product."""
    counts, lengths = counted([*a, *b])
    shared = []
    for one in counts:
        has = sparse.hstack([one >= c for c in range(1, int(one.max()) + 1)] or [one], format="csr").astype(float)
        shared.append((has[:len(a)] @ has[len(a):].T).toarray())
    return chrf(np.array(shared), lengths[:len(a), None], lengths[None, len(a):], published)


def chrf(shared: np.ndarray, reference: np.ndarray, candidate: np.ndarray, published: bool) -> np.ndarray:
    """`shared` counts what two texts share of each order; of an order that one of them has not, nothing."""
    precisions = np.array([one / np.maximum(1, candidate - order + 1) for order, one in zip(ORDERS, shared, strict=True)])
    recalls = np.array([one / np.maximum(1, reference - order + 1) for order, one in zip(ORDERS, shared, strict=True)])
    if published:
        return f_measure(precisions, recalls, 3.0).mean(axis=0)
    used = np.clip(np.minimum(reference, candidate), 1, len(ORDERS))
    return f_measure(precisions.sum(axis=0) / used, recalls.sum(axis=0) / used, 2.0)


def f_measure(precision: np.ndarray, recall: np.ndarray, beta: float) -> np.ndarray:
    """(1 + beta^2) p r / (beta^2 p + r)."""
    below = beta ** 2 * precision + recall
    return np.divide((1 + beta ** 2) * precision * recall, below, out=np.zeros_like(below), where=below > 0)


def counted(texts: list[str]) -> tuple[list[sparse.csr_array], np.ndarray]:
    """For each order how often each text (a row) has each n-gram (a column); and the texts' lengths."""
    bare = ["".join(text.split()) for text in texts]
    lengths = np.array([len(text) for text in bare], dtype=int)
    row = np.repeat(np.arange(len(texts)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(row))         # characters from here to the text's end
    codes = np.frombuffer("".join(bare).encode("utf-32-le", "surrogatepass"), np.uint32)
    characters = np.unique(codes, return_inverse=True)[1]
    gram, place, counts = characters, np.arange(len(row)), []
    for order in ORDERS:
        if order > 1:                       # an n-gram is one of the order before, where the text goes on, and a character more
            longer = left[place] >= order
            place = place[longer]
            pairs = gram[longer] * len(codes) + characters[place + order - 1]
            gram = np.unique(pairs, return_inverse=True)[1]
        shape = len(texts), int(gram.max(initial=0)) + 1
        counts.append(sparse.coo_array((np.ones(len(place)), (row[place], gram)), shape=shape).tocsr())     # adds up equal ones
    return counts, lengths
