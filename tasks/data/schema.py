"""The normal form: the tables and columns of datasets of each kind."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from harness.base.errors import TouchstoneError

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["corpus", "documents", "pairs", "summarized", "rated_summaries", "preferences", "clustering", "retrieval",
               "sequence"]
Tables: TypeAlias = "dict[str, pd.DataFrame]"


class Columns(NamedTuple):
    """The required and the optional columns of a table."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


FORMS: Mapping[Kind, Mapping[str, Columns]] = {
    "corpus": {"data": Columns(("text",), ("label",))},
    "documents": {"data": Columns(("text",))},
    "pairs": {"data": Columns(("text_a", "text_b"), ("score", "label", "group", "random", "ratings"))},
    "summarized": {"data": Columns(("document", "summary"))},
    "rated_summaries": {"data": Columns(("document", "summary", "overall"), (
        "accuracy", "coverage", "coherence", "fluent", "understandable", "informative", "compact"))},
    "preferences": {"data": Columns(("document", "summary_a", "summary_b", "choice"))},      # 0: a, 1: b
    "clustering": {"data": Columns(("text", "label", "split"))},
    "retrieval": {"corpus": Columns(("doc_id", "title", "text")), "queries": Columns(("query_id", "text")),
                  "qrels": Columns(("query_id", "doc_id", "relevance"))},
    "sequence": {"data": Columns(("text", "step", "source"))},
}


def check_tables(kind: Kind, tables: Tables, origin: str) -> None:
    """Raise TouchstoneError if a table or a required column of the kind is missing."""
    for table, columns in FORMS[kind].items():
        if table not in tables:
            raise TouchstoneError(f'{origin} has no table "{table}". Datasets of the kind {kind} have {", ".join(FORMS[kind])}.')
        missing = [column for column in columns.required if column not in tables[table].columns]
        if missing:
            raise TouchstoneError(f'{origin} has no column "{missing[0]}" in the table "{table}". Required are '
                                  f'{", ".join(columns.required)}.')


def normalize_tables(rows: pd.DataFrame, texts: tuple[str, ...]) -> pd.DataFrame:
    """Return rows with stripped texts, without empty texts and duplicates, in the original order."""
    rows = rows.assign(**{column: rows[column].astype(str).str.strip() for column in texts})
    rows = rows[(rows[list(texts)] != "").all(axis=1)]
    hashable = rows.map(lambda value: tuple(value) if isinstance(value, list | np.ndarray) else value)
    return rows[~hashable.duplicated()].reset_index(drop=True)


def fingerprint_tables(tables: Tables) -> str:
    """Return the sha256 of the column names and all rows in order; of several tables, the sha256 of their fingerprints."""
    if tables.keys() == {"data"}:
        return fingerprint_rows(tables["data"])
    fingerprints = [[name, fingerprint_rows(tables[name])] for name in sorted(tables)]
    return hashlib.sha256(json.dumps(fingerprints).encode()).hexdigest()


def fingerprint_rows(rows: pd.DataFrame) -> str:
    """Return the sha256 of the column names and all rows in order."""
    digest = hashlib.sha256(json.dumps(list(rows.columns)).encode())
    columns = [to_json_values(rows[column]) for column in rows.columns]
    encode = json.JSONEncoder(ensure_ascii=True).encode
    for row in zip(*columns, strict=True):
        digest.update(b"\n" + encode(list(row)).encode())
    return digest.hexdigest()


def to_json_values(column: pd.Series) -> list[Any]:
    """Return the values of a column as JSON values."""
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in column.tolist()]
