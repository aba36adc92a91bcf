"""Format numbers, intervals and tables as plain text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

MISSING = "-"
NAMED_AUTHORS = 4                           # more are abbreviated


def format_number(value: float | None, digits: int = 2) -> str:
    """Return `value` with a fixed number of decimals, or "-" if there is none."""
    return MISSING if value is None else f"{value:.{digits}f}"


def format_interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """Return "low to high", or an empty string if a bound is missing."""
    return "" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def format_authors(authors: Sequence[str], year: int | None) -> str:
    """Return the authors and the year of a paper as a citation, or an empty string if the authors are unknown."""
    if not authors:
        return ""
    if len(authors) > NAMED_AUTHORS:
        names = f"{authors[0]} et al."
    else:
        names = " and ".join(part for part in (", ".join(authors[:-1]), authors[-1]) if part)
    return f"{names} {year}" if year is not None else names


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; missing cells are empty, and characters that Markdown interprets are escaped."""
    lines = [[re.sub(r"([|*])", r"\\\1", "" if cell is None else str(cell)) for cell in row] for row in (columns, *rows)]
    lines.insert(1, ["---"] * len(columns))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV file with a header line and numbers in full precision."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([columns, *rows])
    return buffer.getvalue()
