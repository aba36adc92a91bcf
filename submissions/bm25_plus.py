# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "bm25_plus"
# title = "BM25+"
# summary = "BM25+ of the second text for the first as a query, over what the first text gets for itself."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# paper = "https://doi.org/10.1145/2063576.2063584"
# authors = ["Lv", "Zhai"]
# year = 2011
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# summary = "As in USMB: rank-bm25's BM25Plus of second texts as queries over the first ones, scaled within each call."
# ///
"""s(q, d) / s(q, q), at most 1: it orders the documents of a query as s does.  k1 = 1.5, b = 0.75, delta = 1, for matched terms.

Terms are lower-cased words; idf is ln((N + 1)/df) of the texts of `fit`, as is the mean length, and 0 for a term that none of
them has.  The variant `published` is what users of rank-bm25 0.2.2 get: terms split at white space, delta for unmatched terms
too, min-max over the call.  Of pairs the second texts are the queries and the first ones the documents that all is counted over:
USMB's figures come out nearer so than the other way round.  In a matrix, as in retrieval, the first are the queries.  Its answers
depend on their neighbours by nature, and it is marked for that.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy import sparse

K1, B, DELTA = 1.5, 0.75, 1.0
WORD = re.compile(r"\w+")
Terms = list[list[str]]


class Collection(NamedTuple):
    """What is counted over a collection: the idf of each term, and the mean length of a document."""

    idf: Mapping[str, float]
    mean_length: float


collection = Collection({}, 1.0)


def fit(texts: list[str]) -> None:
    global collection
    collection = counted(words_of(texts))


def similarity(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    if published:
        documents, queries = split(a), split(b)
        here = counted(documents)
        columns = columns_of(here)
        scores = pairwise(counts(queries, columns), weights(documents, columns, here, 0.0)) + unmatched(queries, here)
        return scaled(scores)
    queries, documents = words_of(a), words_of(b)
    columns = columns_of(collection)
    asked = counts(queries, columns)
    scores = pairwise(asked, weights(documents, columns, collection, DELTA))
    return relative(scores, pairwise(asked, weights(queries, columns, collection, DELTA)))


def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    if published:
        queries, documents = split(a), split(b)
        here = counted(documents)
        columns = columns_of(here)
        scores = (counts(queries, columns) @ weights(documents, columns, here, 0.0).T).toarray()
        return scaled(scores + unmatched(queries, here)[:, None])
    queries, documents = words_of(a), words_of(b)
    columns = columns_of(collection)
    asked = counts(queries, columns)
    scores = (asked @ weights(documents, columns, collection, DELTA).T).toarray()
    return relative(scores, pairwise(asked, weights(queries, columns, collection, DELTA))[:, None])


def words_of(texts: list[str]) -> Terms:
    return [WORD.findall(text.lower()) for text in texts]


def split(texts: list[str]) -> Terms:
    return [text.split() for text in texts]


def counted(documents: Terms) -> Collection:
    having = Counter(term for terms in documents for term in set(terms))
    mean_length = sum(map(len, documents)) / max(1, len(documents))
    return Collection({term: float(np.log((len(documents) + 1) / df)) for term, df in having.items()}, mean_length or 1.0)


def columns_of(here: Collection) -> dict[str, int]:
    return {term: column for column, term in enumerate(here.idf)}


def counts(texts: Terms, columns: Mapping[str, int]) -> sparse.csr_array:
    """How often each text has each term: a row a text, a column a term of the collection."""
    found = [{columns[term]: count for term, count in Counter(terms).items() if term in columns} for terms in texts]
    starts = np.cumsum([0, *map(len, found)])
    indices = np.array([column for row in found for column in row], dtype=int)
    values = np.array([count for row in found for count in row.values()], dtype=float)
    return sparse.csr_array((values, indices, starts), shape=(len(texts), max(1, len(columns))))


def weights(documents: Terms, columns: Mapping[str, int], here: Collection, delta: float) -> sparse.csr_array:
    """What a matched term of a query gets from each document."""
    found = counts(documents, columns)
    sizes = np.repeat(np.array([len(terms) for terms in documents], dtype=float), np.diff(found.indptr))
    idf = np.array([*here.idf.values(), 0.0])[found.indices]
    found.data = idf * (delta + found.data * (K1 + 1) / (K1 * (1 - B + B * sizes / here.mean_length) + found.data))
    return found


def unmatched(queries: Terms, here: Collection) -> np.ndarray:
    """What rank-bm25 gives a query's terms in any document, matched or not: delta times their idf."""
    return np.array([DELTA * sum(here.idf.get(term, 0.0) for term in terms) for terms in queries])


def pairwise(asked: sparse.csr_array, gets: sparse.csr_array) -> np.ndarray:
    return asked.multiply(gets).sum(axis=1)


def relative(scores: np.ndarray, themselves: np.ndarray) -> np.ndarray:
    """Of a query of which no term is known: 0."""
    whole = np.broadcast_to(themselves, scores.shape)
    return np.minimum(1, np.divide(scores, whole, out=np.zeros_like(scores), where=whole > 0))


def scaled(scores: np.ndarray) -> np.ndarray:
    """From 0 for the least to 1 for the greatest; 0 where all are the same."""
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
