"""Objects in a folder and in an object store; damaged and unreachable ones."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.base.remote_cache import DamagedObject, RemoteCache

CONTENT = bytes(range(256)) * 40


@pytest.fixture(params=["file", "s3"])
def remote(request, tmp_path):
    if request.param == "file":
        return RemoteCache(f"file://{tmp_path}/shared")
    return RemoteCache(request.getfixturevalue("object_store"))


def test_an_object_is_read_by_its_digest(remote):
    digest = remote.write_content(CONTENT)
    assert digest == hashlib.sha256(CONTENT).hexdigest()
    assert remote.read_content(digest) == CONTENT
    assert remote.read_content("0" * 64) is None


@pytest.mark.parametrize("damaged", [CONTENT[:-1], CONTENT[:100] + b"x" + CONTENT[101:], b""])
def test_a_damaged_object_is_refused_and_replaced(remote, damaged):
    digest = remote.write_content(CONTENT)
    remote.write(f"sha256/{digest}", lambda: damaged, replace=True)
    with pytest.raises(DamagedObject):
        remote.read_content(digest)
    remote.write_content(CONTENT, replace=True)
    assert remote.read_content(digest) == CONTENT


def test_an_object_is_made_once(remote):
    made = []
    for again in (RemoteCache(remote.address), RemoteCache(remote.address)):
        again.write("datasets/x", lambda: made.append(1) or b"x")
    assert made == [1]


def test_a_folder_holds_no_partial_objects(tmp_path):
    remote = RemoteCache(f"file://{tmp_path}")
    digest = remote.write_content(CONTENT)
    assert [path.name for path in (tmp_path / "sha256").iterdir()] == [digest]


@pytest.mark.parametrize(("address", "sentence"), [
    ("nonsense://x", "TOUCHSTONE_CACHE_REMOTE is nonsense://x, which cannot be used"),
    ("file:///proc/touchstone", r"The remote cache file:///proc/touchstone \(TOUCHSTONE_CACHE_REMOTE\) cannot be written: ")])
def test_a_bad_address_is_one_sentence(address, sentence):
    with pytest.raises(TouchstoneError, match=sentence):
        RemoteCache(address).write_content(CONTENT)
    assert not Path("/proc/touchstone").exists()
