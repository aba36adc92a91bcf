# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rank-bm25==0.2.2"]
# [tool.touchstone]
# name = "rank_bm25"
# title = "BM25+ of rank-bm25"
# summary = "`BM25Plus.get_scores` of the package rank-bm25: the first text is the query, the second the document."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [-inf, inf]
# symmetric = false
# lift = false
# on_request = true
# paper = "https://doi.org/10.1145/2063576.2063584"
# authors = ["Lv", "Zhai"]
# year = 2011
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "okapi"
# parameters = { scorer = "BM25Okapi" }
# summary = "`BM25Okapi.get_scores`."
#
# [[tool.touchstone.variants]]
# name = "l"
# parameters = { scorer = "BM25L" }
# summary = "`BM25L.get_scores`."
# ///
"""Terms are split at white space, as in the package's documentation.

The package scores the documents that it was built with. Here it is built with the texts of `fit`, which determine document
frequencies and the mean length; then the documents to score replace them.
"""

from collections import Counter

import numpy as np
import rank_bm25

packages: list[rank_bm25.BM25] = []


def fit(texts: list[str], scorer: str = "BM25Plus") -> None:
    terms = [text.split() for text in texts]
    packages[:] = [getattr(rank_bm25, scorer)(terms if any(terms) else [[""]])]


def similarity(a: list[str], b: list[str]) -> np.ndarray:
    package = with_documents(b)
    return np.array([package.get_batch_scores(query.split(), [row])[0] for row, query in enumerate(a)])


def matrix(a: list[str], b: list[str]) -> np.ndarray:
    package = with_documents(b)
    return np.array([package.get_scores(query.split()) for query in a])


def with_documents(texts: list[str]) -> rank_bm25.BM25:
    package = packages[0]
    package.doc_freqs = [Counter(text.split()) for text in texts]
    package.doc_len = [len(text.split()) for text in texts]
    package.corpus_size = len(texts)
    return package
