"""The store: what goes in comes out, writing twice is writing once, and what keeps it from working is said."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from harness.arrays import ArrayFolder
from harness.errors import Refusal
from harness.jobs import Conditions
from harness.places import SUBMISSIONS
from harness.probing import confine
from harness.provenance import provenance
from harness.records import Failure, Outcome, Status, pack, unpack
from harness.store import SCHEMA_VERSION, Store
from harness.submission import choose_entries
from harness.task import Source, Unit


@dataclass(frozen=True)
class Observation:
    numbers: tuple[float, ...]
    words: str
    matrix: np.ndarray
    nothing: float | None = None


UNIT = Unit("toy", 1, ("a",), {"k": 3}, (Source("x", "f"),), Source("minilm", "g"), 7)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store.sqlite")


def observation() -> Observation:
    rng = np.random.default_rng(1)
    return Observation(tuple(rng.random(50).tolist()), "word", rng.random((40, 30)).astype(np.float32))


def filled(store: Store):
    (entry,) = choose_entries(["energy"], SUBMISSIONS)
    run = store.begin_run(provenance(Conditions(confine()), "smoke", "f" * 64))
    store.note_entries([entry])
    store.note_units([UNIT])
    store.put(Outcome(UNIT.id, entry.digest, Status.ANSWERED, observation(), None, 0.5), run)
    return entry, run


def test_an_observation_comes_back_to_the_bit(store):
    entry, _ = filled(store)
    found = Store(store.path, read_only=True).outcomes(entry.digest, {"toy": Observation})[UNIT.id].observation
    assert found.numbers == observation().numbers
    assert np.array_equal(found.matrix, observation().matrix)
    assert (found.words, found.nothing) == ("word", None)


def test_writing_twice_is_writing_once_and_the_later_stands(store):
    entry, run = filled(store)
    failed = Outcome(UNIT.id, entry.digest, Status.FAILED, None, Failure("raised", "raised E", ("a.py:1 in f",)), 0.1)
    store.put(failed, run)
    store.put(failed, run)
    assert store.outcomes(entry.digest, {"toy": Observation}) == {UNIT.id: failed}
    assert store.done() == {(UNIT.id, entry.digest)}
    assert store.done([Status.ANSWERED]) == set()


def test_the_entry_seen_last_is_the_current_one_of_its_name(store, write):
    from harness.submission import read_submission

    first = read_submission(write("one", "# first\n")).entries[0]
    second = read_submission(write("one", "# second\n")).entries[0]
    for entries in ([first], [second]):
        store.note_entries(entries)
    assert [stored.digest for stored in store.entries()] == [second.digest]
    store.note_entries([first])
    assert [stored.digest for stored in store.entries()] == [first.digest]
    assert store.entries()[0].submission.source == first.submission.source


def test_provenance_is_kept_with_every_run(store):
    entry, _ = filled(store)
    (found,) = store.provenance(entry.digest)
    assert found["packages"]["numpy"] == np.__version__
    assert found["layers"] == list(confine().layers)
    assert {"version", "commit", "python", "platform", "processor", "fingerprint", "started"} <= found.keys()


def test_arrays_are_named_by_their_content_and_stored_once(tmp_path):
    folder = ArrayFolder(tmp_path)
    first = folder.put(np.zeros((100, 100)))
    assert folder.put(np.zeros((100, 100))) == first != folder.put(np.zeros((50, 200)))
    assert first.bytes < 1000                           # compressed
    assert len(list(tmp_path.rglob("*.zst"))) == 2
    path = next(tmp_path.rglob(f"{first.digest}.zst"))
    path.write_bytes(b"damaged")
    with pytest.raises(Refusal, match="missing or damaged"):
        folder.get(first)


def test_an_array_travels_through_a_record(tmp_path):
    folder = ArrayFolder(tmp_path)
    packed = pack(observation(), folder)
    assert set(packed["matrix"]) == {"array"}
    assert np.array_equal(unpack(packed, Observation, folder).matrix, observation().matrix)


@pytest.mark.parametrize(("spoil", "sentence"), [
    (lambda c: c.execute("UPDATE facts SET value = '99' WHERE name = 'schema_version'"), "newer Touchstone (schema 99"),
    (lambda c: c.executescript("DROP TABLE outcomes; DROP TABLE facts"), "not a results store of ours"),
])
def test_another_schema_is_refused(store, spoil, sentence):
    filled(store)
    store.close()
    connection = sqlite3.connect(store.path)
    spoil(connection)
    connection.commit()
    connection.close()
    for read_only in (False, True):
        with pytest.raises(Refusal) as refused:
            Store(store.path, read_only=read_only)
        assert sentence in str(refused.value)


def test_an_older_schema_is_migrated_and_nothing_is_lost(store, monkeypatch):
    entry, _ = filled(store)
    store.close()
    monkeypatch.setattr("harness.store.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr("harness.store.MIGRATIONS", ("CREATE TABLE later (x INTEGER); INSERT INTO later VALUES (1)",))
    with pytest.raises(Refusal, match="any `touchstone run` on it brings it to 2"):
        Store(store.path, read_only=True)
    migrated = Store(store.path)
    assert migrated.done() == {(UNIT.id, entry.digest)}
    migrated.close()
    Store(store.path, read_only=True)
    assert sqlite3.connect(store.path).execute("SELECT x FROM later").fetchall() == [(1,)]


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to have a header of its own" * 20)
    with pytest.raises(Refusal, match="is not a results store, or it is damaged"):
        Store(tmp_path / "notes.txt")


def test_two_writers_at_once_one_is_told(store):
    other = Store(store.path)
    with store.writing():
        with pytest.raises(Refusal, match=f"Another run is writing to .* \\(process {os.getpid()}"), other.writing():
            pass
    with other.writing():
        pass                                            # and when the first is done, the second may


def test_a_missing_store_is_said():
    with pytest.raises(Refusal, match="There is no results store at"):
        Store(Path("/nonexistent/store.sqlite"), read_only=True)


@pytest.fixture
def small_disk(tmp_path) -> Path:
    """A real file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_said_and_what_was_stored_is_kept(small_disk):
    store = Store(small_disk / "store.sqlite")
    entry, run = filled(store)
    units = [Unit("toy", 1, ("a",), {"k": i}, (), Source("minilm", "g"), i) for i in range(3000)]
    stored = 0
    with pytest.raises(Refusal, match=r"the disk is full.*What was stored before is kept"):
        for unit in units:
            store.note_units([unit])
            numbers = tuple(np.random.default_rng(unit.seed).random(500).tolist())
            store.put(Outcome(unit.id, entry.digest, Status.ANSWERED, Observation(numbers, "", np.zeros(1)), None, 0.1), run)
            stored += 1
    store.close()
    assert stored > 0
    assert len(Store(store.path, read_only=True).done()) == stored + 1


def test_a_read_only_place_is_said(tmp_path):
    place = tmp_path / "sealed"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(place)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a read-only file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        with pytest.raises(Refusal, match="cannot be written here"):
            Store(place / "store.sqlite")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
