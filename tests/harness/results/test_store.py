"""The store: what goes in comes out, writing twice is writing once, and what keeps it from working is said."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import psycopg
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT
from harness.base.units import Source, Unit
from harness.results.arrays import ArrayFolder
from harness.results.outcomes import Failure, Outcome, Status, pack_observation, unpack_observation
from harness.results.store import SCHEMA_VERSION, Store
from harness.sandbox.probe import probe_sandbox
from harness.submission.submission import load_submission
from tests.support.command import touchstone
from tests.support.stores import UNIT, Observation, filled, observation

pytestmark = pytest.mark.sandbox


@pytest.fixture
def sqlite_file(tmp_path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, sqlite_file) -> Path | str:
    return sqlite_file if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture
def store(address) -> Iterator[Store]:
    made = Store(address)
    yield made
    made.close()


def change(address: Path | str, *statements: str) -> None:
    """Something done to the database behind the store's back."""
    connection = sqlite3.connect(address) if isinstance(address, Path) else psycopg.connect(address)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_an_observation_comes_back_to_the_bit(store, address):
    entry, _ = filled(store)
    found = Store(address, read_only=True).outcomes(entry.digest, {UNIT.id: Observation})[UNIT.id].observation
    assert found.numbers == observation().numbers
    assert np.array_equal(found.matrix, observation().matrix)
    assert (found.words, found.nothing) == ("word", None)


def test_an_observation_of_an_earlier_form_lies_there_unread(store):
    """A new version of a task has new units; what its old ones were answered is nobody's burden."""
    @dataclass(frozen=True)
    class Earlier:
        gone_since: float

    entry, run = filled(store)
    earlier = replace(UNIT, observe_version=0)
    store.save_units([earlier])
    store.save_outcome(Outcome(earlier.id, entry.digest, Status.ANSWERED, Earlier(1.0), None, 0.5), run)
    assert set(store.outcomes(entry.digest, {UNIT.id: Observation})) == {UNIT.id}
    with pytest.raises(KeyError):                           # it does have another form
        store.outcomes(entry.digest, {UNIT.id: Observation, earlier.id: Observation})


def test_writing_twice_is_writing_once_and_the_later_stands(store):
    entry, run = filled(store)
    failed = Outcome(UNIT.id, entry.digest, Status.FAILED, None, Failure("raised", "raised E", ("a.py:1 in f",)), 0.1)
    store.save_outcome(failed, run)
    store.save_outcome(failed, run)
    assert store.outcomes(entry.digest, {UNIT.id: Observation}) == {UNIT.id: failed}
    assert store.completed() == {(UNIT.id, entry.digest)}
    assert store.completed([Status.ANSWERED]) == set()


def test_the_entry_seen_last_is_the_current_one_of_its_name(store, write):
    from harness.submission.submission import load_submission

    first = load_submission(write("one", "# first\n")).entries[0]
    second = load_submission(write("one", "# second\n")).entries[0]
    for entries in ([first], [second]):
        store.save_entries(entries)
    assert [stored.digest for stored in store.entries()] == [second.digest]
    store.save_entries([first])
    assert [stored.digest for stored in store.entries()] == [first.digest]
    assert store.entries()[0].submission.source == first.submission.source


def test_provenance_is_kept_with_every_run(store):
    entry, _ = filled(store)
    (found,) = store.provenance(entry.digest)
    assert found["packages"]["numpy"] == np.__version__
    assert found["layers"] == list(probe_sandbox().layers)
    assert {"version", "commit", "python", "platform", "processor", "fingerprint", "started"} <= found.keys()


def test_derived_values_are_kept_by_kind_and_key_in_stores_that_knew_of_none(store, address):
    filled(store)
    readers = Store(address, read_only=True)
    assert readers.cache_get("ensemble") == {}                # there is not even a table
    store.cache_put("ensemble", {"a": {"score": 0.5, "low": None}})
    store.cache_put("ensemble", {"a": {"score": 0.25, "low": None}})
    store.cache_put("other", {"a": [1]})
    assert readers.cache_get("ensemble") == {"a": {"score": 0.25, "low": None}}
    assert Store(address).cache_get("other") == {"a": [1]}    # opened again: still a store of this schema


def test_arrays_are_named_by_their_content_and_stored_once(tmp_path):
    folder = ArrayFolder(tmp_path)
    first = folder.put(np.zeros((100, 100)))
    assert folder.put(np.zeros((100, 100))) == first != folder.put(np.zeros((50, 200)))
    assert first.bytes < 1000                           # compressed
    assert len(list(tmp_path.rglob("*.zst"))) == 2
    path = next(tmp_path.rglob(f"{first.digest}.zst"))
    path.write_bytes(b"damaged")
    with pytest.raises(TouchstoneError, match="missing or damaged"):
        folder.get(first)


def test_an_array_travels_through_a_record(tmp_path):
    folder = ArrayFolder(tmp_path)
    packed = pack_observation(observation(), folder)
    assert set(packed["matrix"]) == {"array"}
    assert np.array_equal(unpack_observation(packed, Observation, folder).matrix, observation().matrix)


@pytest.mark.parametrize(("spoil", "sentence"), [
    (("UPDATE facts SET value = '99' WHERE name = 'schema_version'",), "newer Touchstone (schema 99"),
    (("DROP TABLE outcomes", "DROP TABLE facts"), "not a Touchstone results store"),
])
def test_another_schema_is_refused(store, address, spoil, sentence):
    filled(store)
    store.close()
    change(address, *spoil)
    for read_only in (False, True):
        with pytest.raises(TouchstoneError) as refused:
            Store(address, read_only=read_only)
        assert sentence in str(refused.value)


def test_a_store_whose_creation_was_interrupted_is_completed(store, address):
    entry, _ = filled(store)
    store.close()
    change(address, "DELETE FROM facts WHERE name = 'schema_version'")
    with pytest.raises(TouchstoneError, match="is being created by another command; try again"):
        Store(address, read_only=True)
    Store(address).close()
    assert Store(address, read_only=True).completed() == {(UNIT.id, entry.digest)}


def test_an_older_schema_is_migrated_and_nothing_is_lost(store, address, monkeypatch):
    entry, _ = filled(store)
    store.close()
    monkeypatch.setattr("harness.results.store.SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setattr("harness.results.store.MIGRATIONS", ("CREATE TABLE later (x INTEGER); INSERT INTO later VALUES (1)",))
    with pytest.raises(TouchstoneError, match="any `touchstone run` migrates it to 2"):
        Store(address, read_only=True)
    migrated = Store(address)
    assert migrated.completed() == {(UNIT.id, entry.digest)}
    migrated.close()
    Store(address, read_only=True).close()
    change(address, "INSERT INTO later SELECT x FROM later")         # the table is there


FIRST_SCHEMA = (  # version 1, as it was first released: what every later version must be able to read
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE entries (digest TEXT PRIMARY KEY, name TEXT NOT NULL, variant TEXT, filename TEXT NOT NULL, source {bytes} NOT NULL, "
    "first_seen TEXT NOT NULL, last_seen TEXT NOT NULL)",
    "CREATE TABLE runs (id {serial}, started TEXT NOT NULL, ended TEXT, provenance {json} NOT NULL)",
    "CREATE TABLE units (id TEXT PRIMARY KEY, task TEXT NOT NULL, described {json} NOT NULL)",
    "CREATE TABLE outcomes (unit_id TEXT NOT NULL, entry_digest TEXT NOT NULL, run_id INTEGER NOT NULL, status TEXT NOT NULL, "
    "observation {json}, failure {json}, seconds FLOAT NOT NULL, finished TEXT NOT NULL, PRIMARY KEY (unit_id, entry_digest))",
    "INSERT INTO facts VALUES ('schema_version', '1')",
    "INSERT INTO units VALUES ('u', 'toy', '{{}}')",
    "INSERT INTO outcomes VALUES ('u', 'e', 1, 'failed', NULL, "
    "'{{\"kind\": \"raised\", \"sentence\": \"raised E\", \"places\": [], \"output\": \"\"}}', 0.5, '2026-01-01')")


def test_a_store_of_the_first_schema_is_read_and_written(address):
    kinds = {"bytes": "BLOB", "serial": "INTEGER PRIMARY KEY", "json": "JSON"} if isinstance(address, Path) else {
        "bytes": "BYTEA", "serial": "SERIAL PRIMARY KEY", "json": "TEXT"}
    change(address, *(statement.format(**kinds) for statement in FIRST_SCHEMA))
    store = Store(address)
    assert store.outcomes("e", {"u": Observation})["u"].failure == Failure("raised", "raised E")
    entry, _ = filled(store)
    assert np.array_equal(store.outcomes(entry.digest, {UNIT.id: Observation})[UNIT.id].observation.matrix, observation().matrix)
    store.close()


def test_what_is_not_finite_is_kept_as_it_is(store):
    entry, run = filled(store)
    odd = Observation((float("nan"), float("inf")), "a\0b \ud800", np.zeros(1))
    store.save_outcome(Outcome(UNIT.id, entry.digest, Status.ANSWERED, odd, None, 0.5), run)
    found = store.outcomes(entry.digest, {UNIT.id: Observation})[UNIT.id].observation
    assert np.isnan(found.numbers[0])
    assert (found.numbers[1], found.words) == (np.inf, "a\0b \ud800")


def test_coordinators_on_one_server_write_at_once_and_nothing_is_lost(database):
    """Four processes, each making the tables if it is first, and putting two hundred outcomes, half of them those of all."""
    program = f"""
import sys
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.store import Store
from harness.evaluation.task import Source, Unit
from tests.support.command import touchstone
me = int(sys.argv[1])
store = Store({database!r})
with store.writing():
    from tests.harness.results.test_store import filled
    entry, run = filled(store)
    for n in range(200):
        unit = Unit("toy", 1, (str(n if n % 2 else (me, n)),), {{}}, (), Source("minilm", "g"), n)
        store.save_units([unit])
        store.save_outcome(Outcome(unit.id, entry.digest, Status.FAILED, None, Failure("raised", "raised E"), 0.1), run)
store.close()
"""
    processes = [subprocess.Popen([sys.executable, "-c", program, str(n)], stderr=subprocess.PIPE, text=True, cwd=PROJECT) for n in range(4)]
    for process in processes:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    store = Store(database, read_only=True)
    assert len(store.completed([Status.FAILED])) == 100 + 4 * 100
    store.close()


@pytest.mark.postgres
def test_coordinators_divide_the_work_and_a_killed_one_leaves_its_units(database, tmp_path, write):
    """Each call is logged: `--trust` lets the metric write, and no unit is run twice."""
    log = tmp_path / "log"
    body = f"import time\ndef distance(p, q):\n    open({str(log)!r}, 'a').write(f'{{hash(tuple(p) + tuple(q))}}\\n')\n    time.sleep(0.02)\n    return float(p != q)\n"
    path = write("logged", body)
    words = [sys.executable, "-m", "leaderboard", "run", path, "--suite", "smoke", "--only", "known_similarity", "--only", "axioms",
             "--store", database, "--jobs", "1", "--trust"]
    alone = subprocess.run([*words[:-5], "--store", tmp_path / "alone.sqlite", *words[-3:]], capture_output=True, text=True, cwd=PROJECT)
    assert alone.returncode == 0, alone.stderr
    calls = sorted(log.read_text().split())
    log.unlink()
    runs = [subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT) for _ in range(2)]
    messages = [run.communicate(timeout=200)[1] for run in runs]
    assert sorted(log.read_text().split()) == calls, messages
    ran, left = (sum(int(number) for text in messages for number in re.findall(pattern, text))
                 for pattern in (r"Ran (\d+) test", r"(\d+) test units were left"))
    assert ran == 5
    assert left <= 5                                    # all that one of them planned
    store = Store(database)
    with store.claiming({}) as mine, store.claiming({}) as theirs:
        assert mine.take(("unit", "entry"))
        assert not theirs.take(("unit", "entry"))
        mine.release(("unit", "entry"))
        assert theirs.take(("unit", "entry"))
    with store.claiming({}) as later:                   # their connection has ended
        assert later.take(("unit", "entry"))
        done = next(iter(store.finished_times()))
        assert not later.take(done)                     # another run has stored its outcome since the planning
    with store.claiming(store.finished_times()) as rerun:
        assert rerun.take(done)
    with pytest.raises(TouchstoneError, match="the connection was lost"), store.claiming({}) as broken:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()")
        broken.take(("unit", "entry"))
    store.close()


def test_a_killed_coordinator_loses_nothing_that_was_stored(address):
    program = f"""
from pathlib import Path
from harness.base.units import Source, Unit
from harness.results.outcomes import Failure, Outcome, Status
from harness.results.store import Store
from tests.support.stores import filled
store = Store({f"Path({str(address)!r})" if isinstance(address, Path) else repr(address)})
entry, run = filled(store)
for n in range(100_000):
    unit = Unit("toy", 1, (str(n),), {{}}, (), Source("minilm", "g"), n)
    store.save_units([unit])
    store.save_outcome(Outcome(unit.id, entry.digest, Status.FAILED, None, Failure("raised", "raised E"), 0.1), run)
    print(n, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=PROJECT)
    stored = [process.stdout.readline() for _ in range(40)]
    assert stored[-1] == "39\n"
    assert process.poll() is None                       # it had more to do
    process.kill()
    said = len(stored) + len(process.stdout.read().splitlines())
    process.wait()
    store = Store(address)
    assert said <= len(store.completed([Status.FAILED])) <= said + 1
    filled(store)
    store.close()


def test_a_server_that_is_not_there_or_does_not_let_in_is_said(postgres):
    for wrong, sentence in ((postgres.replace("host=", "host=/nonexistent"), "is not reachable"),
                            (postgres.replace("/postgres?", "/nothing?"), "Create the database first"),
                            (postgres.replace("tests@", "stranger@"), "refused the login")):
        with pytest.raises(TouchstoneError, match=sentence):
            Store(wrong)


def test_a_password_on_the_command_line_is_refused_and_shown_nowhere():
    done = touchstone("show", "--store", "postgresql://me:hunter2@127.0.0.1:1/results")
    assert done.returncode == 2
    assert "PGPASSWORD" in done.stderr
    assert "hunter2" not in done.stderr + done.stdout
    done = touchstone("show", environment={"TOUCHSTONE_STORE": "postgresql://me:hunter2@127.0.0.1:1/results"})
    assert done.returncode == 2
    assert "postgresql://127.0.0.1/results is not reachable" in " ".join(done.stderr.split())
    assert "hunter2" not in done.stderr + done.stdout


@pytest.mark.parametrize(("address", "file"), [             # the forms of SQLAlchemy's documentation: three slashes, and four
    ("sqlite:///r.db", "r.db"), ("sqlite:///deep/r.db", "deep/r.db"), ("sqlite:///{folder}/a.db", "a.db"),
    ("SQLite:///r.db", "r.db"), ("p.db", "p.db"), ("{folder}/p.db", "p.db"), ("odd:name/p.db", "odd:name/p.db")])
def test_files_are_named_by_path_or_by_address(address, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Store(address.format(folder=tmp_path)).close()
    assert (tmp_path / file).is_file()
    assert not list(tmp_path.glob("[sS][qQ][lL]ite:*"))


@pytest.mark.parametrize("address", ["mysql://me:hunter2@host/x", "sqlite://x.db", "sqlite://", "sqlite:///", "sqlite:////",
                                     "sqlite:x.db", "http://x", Path("sqlite:///x.db"), Path("postgresql://host/x")])
def test_other_addresses_are_refused_and_make_no_folder(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for read_only in (False, True):
        with pytest.raises(TouchstoneError, match="is not the address of a results store; use a file, sqlite:///") as refusal:
            Store(address, read_only=read_only)
        assert "hunter2" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [["run", "word_overlap", "--suite", "smoke", "--only", "axioms"], ["show", "--suite", "smoke"],
                                   ["serve"], ["doctor"]])
def test_commands_refuse_an_unknown_address_in_the_variable(words, tmp_path):
    done = touchstone(*words, environment={"TOUCHSTONE_STORE": "mysql://host/x", "PYTHONPATH": str(PROJECT)}, folder=tmp_path)
    assert done.returncode == (1 if words == ["doctor"] else 2)
    assert "mysql://... is not the address of a results store" in " ".join((done.stderr + done.stdout).split())
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, but long enough to have a header of its own" * 20)
    with pytest.raises(TouchstoneError, match="is not a results store, or it is damaged"):
        Store(tmp_path / "notes.txt")


def test_two_writers_of_a_file_at_once_one_is_told(sqlite_file):
    store, other = Store(sqlite_file), Store(sqlite_file)
    with store.writing():
        with pytest.raises(TouchstoneError, match=f"Another run is writing to .* \\(process {os.getpid()}"), other.writing():
            pass
    with other.writing():
        pass                                            # and when the first is done, the second may


def test_a_missing_store_is_said():
    with pytest.raises(TouchstoneError, match="There is no results store at"):
        Store(Path("/nonexistent/store.sqlite"), read_only=True)


def test_a_full_disk_is_said_and_what_was_stored_is_kept(small_disk):
    store = Store(small_disk / "store.sqlite")
    entry, run = filled(store)
    units = [Unit("toy", 1, ("a",), {"k": i}, (), Source("minilm", "g"), i) for i in range(3000)]
    stored = 0
    with pytest.raises(TouchstoneError, match=r"the disk is full.*Stored results are kept"):
        for unit in units:
            store.save_units([unit])
            numbers = tuple(np.random.default_rng(unit.seed).random(500).tolist())
            store.save_outcome(Outcome(unit.id, entry.digest, Status.ANSWERED, Observation(numbers, "", np.zeros(1)), None, 0.1), run)
            stored += 1
    store.close()
    assert stored > 0
    assert len(Store(small_disk / "store.sqlite", read_only=True).completed()) == stored + 1


def test_a_read_only_place_is_said(tmp_path):
    place = tmp_path / "sealed"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(place)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a read-only file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    try:
        with pytest.raises(TouchstoneError, match="cannot be written here"):
            Store(place / "store.sqlite")
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_answers_under_a_digest_of_version_1_stay_valid_after_a_descriptive_change(tmp_path, write):
    """The row of an entry as earlier versions wrote it; then its title changes, and nothing is run again."""
    path = write("steady", "def distance(p, q): return 0.0\n")
    entry = load_submission(path).entries[0]
    store = Store(tmp_path / "s.sqlite")
    _, run = filled(store)
    with sqlite3.connect(tmp_path / "s.sqlite") as database:
        database.execute("INSERT INTO entries VALUES (?, ?, NULL, ?, ?, ?, ?)", (
            entry.digest_v1, entry.name, entry.submission.filename, entry.submission.source, "2026-01-01", "2026-01-01"))
        database.execute("INSERT INTO outcomes SELECT unit_id, ?, run_id, status, observation, failure, seconds, finished FROM outcomes",
                         (entry.digest_v1,))
    path.write_text(path.read_text().replace('title = "A metric of the tests"', 'title = "Another title"'))
    renamed = load_submission(path).entries[0]
    store.save_entries([renamed])
    stored, = (stored for stored in store.entries() if stored.entry.name == "steady")
    assert stored.digest == renamed.digest != entry.digest_v1
    assert stored.entry.header.title == "Another title"
    assert (UNIT.id, renamed.digest) in store.completed([Status.ANSWERED])
    outcome = store.outcomes(renamed.digest, {UNIT.id: Observation})[UNIT.id]
    assert (outcome.entry_digest, outcome.status) == (renamed.digest, Status.ANSWERED)
    assert store.provenance(renamed.digest)
    assert [digest for name, digest, _ in store.digests() if name == "steady"] == [renamed.digest]
    store.save_outcome(Outcome(UNIT.id, renamed.digest, Status.FAILED, None, Failure("raised", "raised E"), 0.1), run)
    assert store.outcomes(renamed.digest, {UNIT.id: Observation})[UNIT.id].status is Status.FAILED, "the later outcome counts"
    assert (UNIT.id, renamed.digest) not in store.completed([Status.ANSWERED])
    store.close()
