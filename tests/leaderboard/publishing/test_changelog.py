"""The list of releases: what it reads, errata, and releases that were modified."""

from __future__ import annotations

import hashlib
import json

import pytest

from leaderboard.publishing import changelog
from leaderboard.publishing.changelog import ReleaseNote, read_changelog

ERRATA = """
["2031.1"]
withdrawn = true
superseded_by = "2031.2"
reason = "wrong"
[["2031.1".corrections]]
text = "One number."
"""


@pytest.fixture
def folder(tmp_path):
    for number, made in ((1, "2031-02-03"), (2, None), (10, "2031-05-06")):
        path = tmp_path / f"2031.{number}"
        path.mkdir()
        report = {"made": made, "suite": {"name": "core", "fingerprint": "0123456789", "title": "Core"}, "entries": [{"name": "a"}, {"name": "a"}, {"name": "b"}]}
        content = json.dumps(report).encode()
        (path / "release.json").write_bytes(content)
        (path / "SHA256SUMS").write_text(f"{hashlib.sha256(content).hexdigest()}  release.json\n")
    (tmp_path / "errata.toml").write_text(ERRATA)
    return tmp_path


def test_the_latest_release_is_first(folder):
    assert read_changelog(folder) == [
        ReleaseNote("2031.10", "2031-05-06", "core@012345", "Core", 2, None, ()), ReleaseNote("2031.2", "2031-01-01", "core@012345", "Core", 2, None, ()),
        ReleaseNote("2031.1", "2031-02-03", "core@012345", "Core", 2, "This release is withdrawn and superseded by 2031.2: wrong.", ("One number.",))]


@pytest.mark.parametrize("content", [b"{}", b"[]", b"nonsense", None])
def test_a_release_that_was_modified_is_skipped(content, folder):
    path = folder / "2031.10" / "release.json"
    path.unlink() if content is None else path.write_bytes(content)
    assert [note.name for note in read_changelog(folder)] == ["2031.2", "2031.1"]


def test_each_report_is_read_once(folder, monkeypatch):
    read_changelog(folder)
    monkeypatch.setattr(changelog, "sha256_of", lambda path: pytest.fail("read again"))
    assert len(read_changelog(folder)) == 3


def test_no_releases(tmp_path):
    assert read_changelog(tmp_path / "none") == []
