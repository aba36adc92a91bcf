"""Files of a user in every format, and broken ones."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.base.errors import TouchstoneError
from tasks.data.own.files import read_table, read_tables

ROWS = pd.DataFrame({"text": ["first, with a comma", 'second "quoted"\nof two lines', "dritter Text: ä"], "score": ["1", "2", "3"]})


@pytest.mark.parametrize(("suffix", "write"), [
    (".csv", lambda path: ROWS.to_csv(path, index=False)), (".tsv", lambda path: ROWS.to_csv(path, index=False, sep="\t")),
    (".csv", lambda path: ROWS.to_csv(path, index=False, sep=";", encoding="utf-8-sig")),
    (".csv", lambda path: ROWS.to_csv(path, index=False, sep="|")),
    (".jsonl", lambda path: ROWS.to_json(path, orient="records", lines=True)),
    (".json", lambda path: ROWS.to_json(path, orient="records")), (".parquet", lambda path: ROWS.to_parquet(path)),
    (".CSV", lambda path: ROWS.to_csv(path, index=False))])
def test_formats(suffix, write, tmp_path):
    path = tmp_path / f"my{suffix}"
    write(path)
    pd.testing.assert_frame_equal(read_table(path).astype(str), ROWS)


def test_texts_are_lines_and_the_texts_of_a_folder_have_its_subfolders_as_labels(tmp_path):
    for name, text in {"x/1.txt": "one\ntext", "y/2.txt": "another"}.items():
        (tmp_path / "docs" / name).parent.mkdir(parents=True)
        (tmp_path / "docs" / name).write_text(text)
    ((_, rows),) = read_tables([tmp_path / "docs"])
    assert rows.to_dict("list") == {"text": ["one\ntext", "another"], "label": ["x", "y"]}
    assert read_table(tmp_path / "docs" / "x" / "1.txt").text.tolist() == ["one", "text"]


@pytest.mark.parametrize(("name", "content", "message"), [
    ("a.docx", b"x", "supported format"), ("a.csv", b"", "cannot be read as CSV"), ("a.csv", b'a,b\n"x,y\n', "cannot be read as CSV"),
    ("a.csv", "schön,x\n".encode("latin1"), "not UTF-8"), ("a.txt", b"\xff\xfe\x00", "not UTF-8"),
    ("a.json", b"{", "cannot be read as JSON"), ("a.jsonl", b"not json\n", "cannot be read as JSONL"),
    ("a.parquet", b"PAR1", "cannot be read as PARQUET"), ("missing.csv", None, "There is no file")])
def test_broken_files_are_refused_with_a_sentence(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TouchstoneError, match=message):
        read_table(tmp_path / name)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(TouchstoneError, match="no file that ends in"):
        read_tables([tmp_path])
