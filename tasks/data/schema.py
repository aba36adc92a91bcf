"""The normal form: which tables and columns a dataset of each kind has, wherever it comes from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from harness.base.errors import TouchstoneError

Kind = Literal["corpus", "documents", "pairs", "summarized", "rated_summaries", "preferences", "clustering", "retrieval",
               "sequence"]
Tables = dict[str, pd.DataFrame]


class Columns(NamedTuple):
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
    """Refuses tables that are not of the kind's form."""
    for table, columns in FORMS[kind].items():
        if table not in tables:
            raise TouchstoneError(f'{origin} has no table "{table}"; a dataset of the kind {kind} has {", ".join(FORMS[kind])}.')
        lacking = [column for column in columns.required if column not in tables[table].columns]
        if lacking:
            raise TouchstoneError(f'{origin}, table "{table}", has no column "{lacking[0]}"; it should have '
                                  f'{", ".join(columns.required)}.')


def normalize_tables(rows: pd.DataFrame, texts: tuple[str, ...]) -> pd.DataFrame:
    """Texts stripped, no row without text, no row twice, in order."""
    rows = rows.assign(**{column: rows[column].astype(str).str.strip() for column in texts})
    rows = rows[(rows[list(texts)] != "").all(axis=1)]
    hashable = rows.map(lambda value: tuple(value) if isinstance(value, list | np.ndarray) else value)
    return rows[~hashable.duplicated()].reset_index(drop=True)


def fingerprint_tables(tables: Tables) -> str:
    """sha256 over the names of the columns and every row, in order; of several tables, over theirs."""
    if tables.keys() == {"data"}:
        return fingerprint_rows(tables["data"])
    each = [[name, fingerprint_rows(tables[name])] for name in sorted(tables)]
    return hashlib.sha256(json.dumps(each).encode()).hexdigest()


def fingerprint_rows(rows: pd.DataFrame) -> str:
    whole = hashlib.sha256(json.dumps(list(rows.columns)).encode())
    columns = [plain_value(rows[column]) for column in rows.columns]
    encode = json.JSONEncoder(ensure_ascii=True).encode
    for row in zip(*columns, strict=True):
        whole.update(b"\n" + encode(list(row)).encode())
    return whole.hexdigest()


def plain_value(column: pd.Series) -> list[Any]:
    """A column's values as JSON knows them."""
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in column.tolist()]
