"""Texts of a user's file: txt (a line a text), csv, jsonl, parquet (a column of texts); or of a dataset, by name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.base.errors import TouchstoneError
from tasks.data import loading as data

COLUMNS = ("text", "sentence", "content")   # which column holds the texts, the first that is there
ENDINGS = (".txt", ".csv", ".jsonl", ".parquet")


def read_texts(named: str) -> list[str]:
    """The texts, stripped; empty ones are left out."""
    path = Path(named)
    if path.suffix.lower() not in ENDINGS:
        if path.exists():
            raise TouchstoneError(f'{named}: texts are read of files that end in {", ".join(ENDINGS)}.')
        return list(data.load_corpus(named))
    try:
        found = (path.read_text(encoding="utf-8-sig").splitlines() if path.suffix.lower() == ".txt" else column(path))
    except FileNotFoundError:
        raise TouchstoneError(f"There is no file {named}.") from None
    except (OSError, UnicodeDecodeError, ValueError) as wrong:      # pandas and pyarrow raise ValueErrors of many kinds
        raise TouchstoneError(f"{named} cannot be read: {str(wrong).splitlines()[0]}.") from None
    texts = [text for one in found if (text := one.strip())]
    if not texts:
        raise TouchstoneError(f"{named} holds no text.")
    return texts


def column(path: Path) -> list[str]:
    if path.suffix.lower() == ".csv":
        rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    elif path.suffix.lower() == ".jsonl":
        rows = pd.read_json(path, lines=True, dtype=False)
    else:
        rows = pd.read_parquet(path)
    name = next((name for name in COLUMNS if name in rows.columns), None)
    if name is None:
        raise TouchstoneError(f'{path} has no column "text"; it has {", ".join(map(str, rows.columns))}.')
    return [text for text in rows[name] if isinstance(text, str)]
