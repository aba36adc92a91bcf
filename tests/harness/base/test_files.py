"""What is noted at a first fetch: kept by several writers, whole after a full disk, refused when it cannot be read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.base.errors import TouchstoneError
from harness.base.files import read_entries, write_entry

pytestmark = pytest.mark.sandbox


def test_several_writers_lose_nothing(tmp_path):
    path = tmp_path / "data.lock"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write_entry(path, f"set {number}", number), range(40)))
    assert read_entries(path) == {f"set {number}": number for number in range(40)}


def test_a_full_disk_is_said_and_the_notes_stay(small_disk):
    path = small_disk / "data.lock"
    write_entry(path, "first", "1")
    with pytest.raises(TouchstoneError, match=r"cannot be written \(No space left on device\).*TOUCHSTONE_CACHE"):
        write_entry(path, "second", "x" * 300_000)
    assert read_entries(path) == {"first": "1"}
    assert {one.name for one in small_disk.iterdir()} == {"data.lock", "data.lock.guard"}


@pytest.mark.parametrize("content", ["{", "[1]", "\udcff"])
def test_what_cannot_be_read_is_said(content, tmp_path):
    path = tmp_path / "data.lock"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(TouchstoneError, match="delete it, and a new file is created"):
        read_entries(path)
