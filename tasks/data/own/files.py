"""Read the tables of a user's files: CSV, TSV, JSON, JSON Lines, Parquet, text files, and folders of these."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.errors import TouchstoneError, printable

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".txt")
SNIFFED_CHARACTERS = 65_536


def read_tables(paths: Sequence[Path]) -> list[tuple[Path, pd.DataFrame]]:
    """Return the table of every file; the text files of a folder are one table with their subfolders as labels."""
    tables: list[tuple[Path, pd.DataFrame]] = []
    for path in paths:
        if path.is_dir():
            tables += read_folder(path)
        else:
            tables.append((path, read_table(path)))
    return tables


def read_folder(folder: Path) -> Iterator[tuple[Path, pd.DataFrame]]:
    """Yield the tables in a folder, and one table of all its text files, each of which is one text."""
    import pandas as pd

    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix.lower() in SUFFIXES]
    if not files:
        raise TouchstoneError(f"The folder {folder} has no file that ends in {', '.join(SUFFIXES)}.")
    texts = [path for path in files if path.suffix.lower() == ".txt"]
    if texts:
        rows = pd.DataFrame({"text": [read_text(path) for path in texts]})
        labels = [path.parent.relative_to(folder).as_posix() for path in texts]
        yield folder, rows.assign(label=labels) if len(set(labels)) > 1 else rows
    for path in files:
        if path not in texts:
            yield path, read_table(path)


def read_table(path: Path) -> pd.DataFrame:
    """Return the table of a file; of a text file one row per line, in the column `text`."""
    import pandas as pd

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise TouchstoneError(f"{path} does not have a supported format; use a file that ends in {', '.join(SUFFIXES)}, or a "
                              "folder of such files.")
    try:
        if suffix == ".txt":
            return pd.DataFrame({"text": read_text(path).splitlines()})
        if suffix in (".csv", ".tsv"):
            separator = "\t" if suffix == ".tsv" else find_separator(path)
            rows = pd.read_csv(path, sep=separator, dtype=str, keep_default_na=False, encoding="utf-8-sig", index_col=False)
        elif suffix == ".parquet":
            rows = pd.read_parquet(path)
        else:
            rows = pd.read_json(path, lines=suffix == ".jsonl", dtype=False, encoding="utf-8-sig")
    except FileNotFoundError:
        raise TouchstoneError(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except (OSError, ValueError, csv.Error) as error:           # pandas and pyarrow raise ValueErrors of many kinds
        reason = printable(str(error), 200).rstrip(".")
        raise TouchstoneError(f"{path} cannot be read as {suffix[1:].upper()} ({reason}). Correct the file, or save it again "
                              "in this format.") from None
    rows.columns = [str(column).strip() for column in rows.columns]
    return rows


def read_text(path: Path) -> str:
    """Return the content of a text file."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TouchstoneError(f"There is no file {path}.") from None
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from None
    except OSError as error:
        raise TouchstoneError(f"{path} cannot be read ({error.strerror}).") from None


def not_utf8(path: Path, error: UnicodeDecodeError) -> TouchstoneError:
    """Return the error for a file in another encoding."""
    return TouchstoneError(f"{path} is not UTF-8 (byte {error.start:,}). Convert it, for example with `iconv -f latin1 -t utf8`.")


def find_separator(path: Path) -> str:
    """Return the separator of a CSV file: the one of comma, semicolon, tab and bar that its header has most often."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader([file.readline(SNIFFED_CHARACTERS)], delimiter="\n"), [""])
    return max(",;\t|", key=(header or [""])[0].count)
