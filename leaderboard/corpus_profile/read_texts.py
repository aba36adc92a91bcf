"""Read texts from a file or a dataset."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.base.errors import TouchstoneError
from tasks.data.loading import load_corpus

COLUMNS = ("text", "sentence", "content")   # the first that the file has holds the texts
EXTENSIONS = (".txt", ".csv", ".jsonl", ".parquet")


def read_texts(source: str) -> list[str]:
    """Return the non-empty texts of a file (txt: one per line; csv, jsonl, parquet: one column) or of a dataset by its name."""
    path = Path(source)
    if path.suffix.lower() not in EXTENSIONS:
        if path.exists():
            raise TouchstoneError(f'{source} does not have a supported format. Use a file that ends in '
                                  f'{", ".join(EXTENSIONS)}.')
        return list(load_corpus(source))
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines() if path.suffix.lower() == ".txt" else read_column(path)
    except FileNotFoundError:
        raise TouchstoneError(f"The file {source} does not exist.") from None
    except (OSError, UnicodeDecodeError, ValueError) as error:      # pandas and pyarrow raise ValueErrors of many kinds
        raise TouchstoneError(f"{source} cannot be read: {str(error).splitlines()[0]}.") from None
    texts = [text for line in lines if (text := line.strip())]
    if not texts:
        raise TouchstoneError(f"{source} contains no text; use a file with at least one text.")
    return texts


def read_column(path: Path) -> list[str]:
    """Return the column of texts of a table."""
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
