# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scipy>=1.14"]
# [tool.touchstone]
# name = "bm25_plus"
# title = "BM25+"
# summary = "BM25+ score of the second text for the first as query, over the score of the first text for itself."
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
# summary = "As in USMB: rank-bm25's BM25Plus with second texts as queries over the first ones, scaled within each call."
# ///
"""BM25+ with k1 = 1.5, b = 0.75 and delta = 1 for matched terms, divided by the query's own score: s(q, d) / s(q, q), at most 1.

Terms are lower-cased words. The idf, ln((N + 1)/df), and the mean length are those of the texts of `fit`; a term that does not
occur there has idf 0. The variant `published` follows rank-bm25 0.2.2: terms are split at white space, delta applies to unmatched
terms too, and scores are min-max scaled over the call. In pairs, the second texts are the queries and the first ones the
documents, which fits USMB's figures better than the reverse; in `matrix`, as in retrieval, the first are the queries. Answers of
this variant depend on the other texts of the call, and it is marked as context-dependent.
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


class Statistics(NamedTuple):
    """Statistics of a collection: the idf of each term and the mean length of a document."""

    idf: Mapping[str, float]
    mean_length: float


fitted = Statistics({}, 1.0)


def fit(texts: list[str]) -> None:
    global fitted
    fitted = statistics_of(words_of(texts))


def similarity(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    if published:
        documents, queries = split(a), split(b)
        statistics = statistics_of(documents)
        columns = columns_of(statistics)
        scores = pairwise(counts(queries, columns), weights(documents, columns, statistics, 0.0)) + offsets(queries, statistics)
        return min_max_scale(scores)
    queries, documents = words_of(a), words_of(b)
    columns = columns_of(fitted)
    query_counts = counts(queries, columns)
    scores = pairwise(query_counts, weights(documents, columns, fitted, DELTA))
    return normalize(scores, pairwise(query_counts, weights(queries, columns, fitted, DELTA)))


def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    if published:
        queries, documents = split(a), split(b)
        statistics = statistics_of(documents)
        columns = columns_of(statistics)
        scores = (counts(queries, columns) @ weights(documents, columns, statistics, 0.0).T).toarray()
        return min_max_scale(scores + offsets(queries, statistics)[:, None])
    queries, documents = words_of(a), words_of(b)
    columns = columns_of(fitted)
    query_counts = counts(queries, columns)
    scores = (query_counts @ weights(documents, columns, fitted, DELTA).T).toarray()
    return normalize(scores, pairwise(query_counts, weights(queries, columns, fitted, DELTA))[:, None])


def words_of(texts: list[str]) -> Terms:
    return [WORD.findall(text.lower()) for text in texts]


def split(texts: list[str]) -> Terms:
    return [text.split() for text in texts]


def statistics_of(documents: Terms) -> Statistics:
    frequencies = Counter(term for terms in documents for term in set(terms))
    mean_length = sum(map(len, documents)) / max(1, len(documents))
    return Statistics({term: float(np.log((len(documents) + 1) / df)) for term, df in frequencies.items()}, mean_length or 1.0)


def columns_of(statistics: Statistics) -> dict[str, int]:
    return {term: column for column, term in enumerate(statistics.idf)}


def counts(texts: Terms, columns: Mapping[str, int]) -> sparse.csr_array:
    """Return the term counts, with one row per text and one column per term of the collection."""
    rows = [{columns[term]: count for term, count in Counter(terms).items() if term in columns} for terms in texts]
    starts = np.cumsum([0, *map(len, rows)])
    indices = np.array([column for row in rows for column in row], dtype=int)
    values = np.array([count for row in rows for count in row.values()], dtype=float)
    return sparse.csr_array((values, indices, starts), shape=(len(texts), max(1, len(columns))))


def weights(documents: Terms, columns: Mapping[str, int], statistics: Statistics, delta: float) -> sparse.csr_array:
    """Return the weight of each matched term in each document."""
    weighted = counts(documents, columns)
    sizes = np.repeat(np.array([len(terms) for terms in documents], dtype=float), np.diff(weighted.indptr))
    idf = np.array([*statistics.idf.values(), 0.0])[weighted.indices]
    weighted.data = idf * (delta + weighted.data * (K1 + 1) / (K1 * (1 - B + B * sizes / statistics.mean_length) + weighted.data))
    return weighted


def offsets(queries: Terms, statistics: Statistics) -> np.ndarray:
    """Return what rank-bm25 adds for a query's terms in every document, matched or not: delta times their idf."""
    return np.array([DELTA * sum(statistics.idf.get(term, 0.0) for term in terms) for terms in queries])


def pairwise(query_counts: sparse.csr_array, document_weights: sparse.csr_array) -> np.ndarray:
    return query_counts.multiply(document_weights).sum(axis=1)


def normalize(scores: np.ndarray, self_scores: np.ndarray) -> np.ndarray:
    """Divide by the query's own score; 0 for a query without known terms."""
    maxima = np.broadcast_to(self_scores, scores.shape)
    return np.minimum(1, np.divide(scores, maxima, out=np.zeros_like(scores), where=maxima > 0))


def min_max_scale(scores: np.ndarray) -> np.ndarray:
    """Scale to [0, 1]; 0 if all scores are equal."""
    low, high = scores.min(initial=np.inf), scores.max(initial=-np.inf)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
