"""From the files inside an archive to the normal form.  Members are read by path; nothing is executed."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import zipfile
from collections.abc import Iterable

import pandas as pd

LEAST_CHARACTERS = 20


def corpus(texts: Iterable[str], labels: Iterable[str] | None = None) -> pd.DataFrame:
    """Different texts of at least 20 characters, stripped, in order."""
    columns = {"text": [text.strip() for text in texts]}
    if labels is not None:
        columns["label"] = list(labels)
    table = pd.DataFrame(columns)
    return table[table.text.str.len() >= LEAST_CHARACTERS].drop_duplicates("text", ignore_index=True)


def last_tab_field(archive: zipfile.ZipFile, member: str) -> pd.DataFrame:
    """VADER's ground-truth files: id, sentiment, text, below a line of names."""
    lines = archive.read(member).decode("utf-8").split("\n")
    return corpus(line.rstrip("\r").split("\t")[-1] for line in lines[1:])


def third_csv_column(archive: zipfile.ZipFile, member: str) -> pd.DataFrame:
    rows = csv.reader(io.StringIO(archive.read(member).decode("utf-8")))
    next(rows)
    return corpus(row[2] for row in rows)


def labelled_questions(archive: zipfile.ZipFile, member: str) -> pd.DataFrame:
    """TREC: `COARSE:fine question`, a line each."""
    lines = [line.strip() for line in archive.read(member).decode("utf-8").split("\n")]
    pairs = [line.split(" ", 1) for line in lines if line]
    return corpus((text for _, text in pairs), (label for label, _ in pairs))


def json_field(archive: zipfile.ZipFile, member: str, field: str) -> pd.DataFrame:
    lines = archive.read(member).decode("utf-8").split("\n")
    return corpus(json.loads(line)[field] for line in lines if line.strip())


def verse_pairs(archive: zipfile.ZipFile, member_a: str, member_b: str) -> pd.DataFrame:
    """Two translations side by side, in the order of book, chapter and verse, where both have the verse."""
    a, b = (verses(archive.read(member)) for member in (member_a, member_b))
    places = [place for place in a if place in b]
    return pd.DataFrame({"text_a": [a[place] for place in places], "text_b": [b[place] for place in places]})


def verses(database: bytes) -> dict[tuple[int, int, int], str]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(database)
        rows = connection.execute("SELECT book_id, chapter_number, verse_number, text FROM verses "
                                  "ORDER BY book_id, chapter_number, verse_number")
        return {(book, chapter, verse): text.strip() for book, chapter, verse, text in rows if text.strip()}
    finally:
        connection.close()
