"""Samples of datasets by seed: all tasks of a suite use the same documents of a dataset in the same order.

A test unit names a range of indices in that order. Units beyond the end of a small dataset exist but are empty, so that the plan
of
a run does not depend on the size of datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.hashing import seed_of
from tasks.data.loading import load_corpus, load_dataset

if TYPE_CHECKING:
    import pandas as pd

ASPECTS = ("overall", "accuracy", "coverage", "coherence")

NEEDLE_DOCUMENTS = 200
CACHED_UNITS = 512                            # of test units whose texts are cached for the next metrics

Item = TypeVar("Item")


@dataclass(frozen=True)
class Document:
    """A document, with the summary that its dataset has for it."""

    text: str
    summary: str | None                     # None if the dataset has none


@dataclass(frozen=True)
class RatedDocument:
    """A document with all its summaries and their ratings."""

    text: str
    summaries: tuple[str, ...]
    ratings: Mapping[str, tuple[float, ...]]            # by aspect


@dataclass(frozen=True)
class ComparedSummaries:
    """A document with the pairs of summaries that people chose from."""

    text: str
    pairs: tuple[tuple[str, str], ...]
    choices: tuple[int, ...]                # 0: the first, 1: the second

    @property
    def summaries(self) -> tuple[str, ...]:
        """The first and the second summary of each pair."""
        return tuple(summary for pair in self.pairs for summary in pair)


def batch_ranges(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Return (start, stop) of each batch of indices."""
    return ((start, min(start + size, count)) for start in range(0, count, size))


@lru_cache(maxsize=32)
def sample_documents(name: str, seed: int) -> tuple[Document, ...]:
    """Return the documents of a dataset of any kind that has documents."""
    tables, kind = tables_of_kind(name, "summarized", "documents", "clustering", "corpus", "retrieval")
    rows = tables["corpus" if kind == "retrieval" else "data"]
    if kind == "summarized":
        documents = [Document(text, summary) for text, summary in zip(rows.document, rows.summary, strict=True)]
    else:
        documents = [Document(text, None) for text in rows.text]
    return shuffle_items(documents, name, seed)


@lru_cache(maxsize=8)
def sample_needles(name: str, seed: int) -> tuple[str, ...]:
    """Return the tokens of some documents of a dataset, one document after the other."""
    return tuple(token for document in sample_documents(name, seed)[:NEEDLE_DOCUMENTS] for token in document.text.split())


def cut_needle(tokens: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """Return `count` successive tokens from a random start; after the last token follows the first."""
    start = int(rng.integers(len(tokens)))
    return [tokens[(start + i) % len(tokens)] for i in range(count)]


@lru_cache(maxsize=32)
def sample_rated(name: str, seed: int) -> tuple[RatedDocument, ...]:
    """Return the documents of a dataset of rated summaries."""
    tables, _ = tables_of_kind(name, "rated_summaries")
    rows = tables["data"]
    aspects = [aspect for aspect in ASPECTS if aspect in rows.columns]
    documents = [RatedDocument(str(text), tuple(group.summary), {aspect: tuple(map(float, group[aspect])) for aspect in aspects})
                 for text, group in rows.groupby("document", sort=False)]
    return shuffle_items(documents, name, seed)


@lru_cache(maxsize=32)
def sample_compared(name: str, seed: int) -> tuple[ComparedSummaries, ...]:
    """Return the documents of a dataset of preferences."""
    tables, _ = tables_of_kind(name, "preferences")
    documents = [ComparedSummaries(str(text), tuple(zip(group.summary_a, group.summary_b, strict=True)),
                                   tuple(map(int, group.choice)))
                 for text, group in tables["data"].groupby("document", sort=False)]
    return shuffle_items(documents, name, seed)


@dataclass(frozen=True)
class Collection:
    """A sample of documents, and queries with at least one relevant document among them."""

    texts: tuple[str, ...]
    queries: tuple[str, ...]
    relevant: np.ndarray                    # bool, queries x documents


@lru_cache(maxsize=16)
def sample_collection(name: str, seed: int, max_documents: int, max_queries: int) -> Collection:
    """Return a collection: documents are sampled independently of the queries, then queries with a relevant document."""
    tables, _ = tables_of_kind(name, "retrieval")
    rows = tables["corpus"]
    texts = [f"{title}\n{text}".strip() for title, text in zip(rows.title.fillna(""), rows.text, strict=True)]
    chosen = shuffle_items(list(zip(rows.doc_id, texts, strict=True)), name, seed)[:max_documents]
    column = {doc_id: index for index, (doc_id, _) in enumerate(chosen)}
    judged: pd.DataFrame = tables["qrels"]
    judged = judged[(judged.relevance > 0) & judged.doc_id.isin(column)]
    by_query = {query: [column[doc_id] for doc_id in group.doc_id] for query, group in judged.groupby("query_id", sort=False)}
    queries = list(zip(tables["queries"].query_id, tables["queries"].text, strict=True))
    chosen_queries = [(text, by_query[query]) for query, text in shuffle_items(queries, f"queries of {name}", seed)
                      if query in by_query][:max_queries]
    relevant = np.zeros((len(chosen_queries), len(chosen)), dtype=bool)
    for row, (_, columns) in enumerate(chosen_queries):
        relevant[row, columns] = True
    return Collection(tuple(text for _, text in chosen), tuple(text for text, _ in chosen_queries), relevant)


@lru_cache(maxsize=16)
def sample_labelled(name: str, seed: int) -> tuple[tuple[str, str], ...]:
    """Return (text, label) of a labelled dataset, or of several corpora "a + b + c" with their names as labels."""
    labelled: list[tuple[str, str]] = []
    if " + " in name:
        labelled = [(text, part) for part in name.split(" + ") for text in load_corpus(part)]
    else:
        tables, _ = tables_of_kind(name, "clustering", "corpus")
        rows = tables["data"]
        if "label" not in rows.columns:
            raise TouchstoneError(f'The dataset "{name}" has no labels, which clustering requires; choose another dataset.')
        labelled = [(str(text), str(label)) for text, label in zip(rows.text, rows.label, strict=True)]
    return shuffle_items(list(dict(labelled).items()), name, seed)


def shuffle_items(items: Sequence[Item], name: str, seed: int) -> tuple[Item, ...]:
    """Return the items in an order that depends on the seed and the dataset's name."""
    return tuple(items[index] for index in np.random.default_rng(seed_of(seed, "sample", name)).permutation(len(items)))


def tables_of_kind(name: str, *kinds: str) -> tuple[dict[str, Any], str]:
    """Return the tables and the kind of a dataset, which must be one of the given kinds."""
    loaded = load_dataset(name)
    if loaded.dataset.kind not in kinds:
        raise TouchstoneError(f'The dataset "{name}" has the kind {loaded.dataset.kind}; the task requires {" or ".join(kinds)}.')
    return loaded.tables, loaded.dataset.kind
