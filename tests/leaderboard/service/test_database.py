"""Tables of earlier versions, and backup and restore as docs/service.md describes them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from harness.base.errors import TouchstoneError
from leaderboard.service import database as module
from leaderboard.service.database import FACTS, METADATA, ServiceDatabase
from leaderboard.service.settings import Settings
from leaderboard.service.submissions import Submissions
from tests.support.postgres import POSTGRES
from tests.support.service import make_file

NEWER = {"service_bundles"}                 # tables that version 1 did not have at first
DATABASES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=DATABASES)
def address(request, tmp_path) -> str:
    return str(tmp_path / "store.sqlite") if request.param == "sqlite" else request.getfixturevalue("database")


def contents(submissions: Submissions) -> list:
    return [(record, submissions.source(record.id), submissions.events(record.id)) for record in submissions.waiting()]


def fill(address: str) -> Submissions:
    submissions = Submissions(ServiceDatabase(address), Settings())
    for number in range(3):
        submissions.receive("ada", "address", "mine.py", make_file(f"mine-{number}"))
    return submissions


def test_a_database_without_the_newer_tables_gets_them(address):
    before = fill(address)
    expected = contents(before)
    with before.database.transaction() as connection:
        METADATA.drop_all(connection, tables=[METADATA.tables[name] for name in NEWER])
    after = Submissions(ServiceDatabase(address), Settings())
    assert contents(after) == expected
    assert len(expected) == 3
    after.store_bundle(expected[0][0], b"bundle")
    assert after.bundle(expected[0][0].id) == b"bundle"


def test_a_migration_is_made_once_though_several_processes_start(address, monkeypatch):
    expected = contents(fill(address))
    monkeypatch.setattr(module, "MIGRATIONS", ("ALTER TABLE service_submissions ADD COLUMN colour TEXT",))        # fails if it is made twice
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(ServiceDatabase, [address] * 4))
    with opened[0].transaction() as connection:
        assert connection.execute(sa.select(FACTS.c.value).where(FACTS.c.name == "schema_version")).scalar_one() == "2"
        assert connection.execute(sa.text("SELECT count(colour) FROM service_submissions")).scalar_one() == 0
    assert contents(Submissions(opened[1], Settings())) == expected


def test_tables_of_a_later_version_are_refused(address):
    submissions = fill(address)
    with submissions.database.transaction() as connection:
        connection.execute(sa.update(FACTS).values(value="7").where(FACTS.c.name == "schema_version"))
    with pytest.raises(TouchstoneError, match="version 7; this Touchstone reads up to version 1"):
        ServiceDatabase(address)


def test_a_backup_made_while_the_service_runs_is_restored(tmp_path):
    submissions = fill(str(tmp_path / "store.sqlite"))
    expected = contents(submissions)
    with submissions.database.transaction(reading=True), sqlite3.connect(tmp_path / "store.sqlite") as source, \
            sqlite3.connect(tmp_path / "copy.sqlite") as copy:
        source.backup(copy)
    submissions.receive("ada", "address", "later.py", make_file("later"))
    assert contents(Submissions(ServiceDatabase(tmp_path / "copy.sqlite"), Settings())) == expected


@pytest.mark.postgres
def test_a_dump_of_postgresql_is_restored(database, postgres):
    expected = contents(fill(database))
    other = database.replace("/test_", "/restored_")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    dump = subprocess.run([POSTGRES / "pg_dump", database], capture_output=True, check=True, env=environment).stdout
    for target, content in ((postgres, f"CREATE DATABASE {other.partition('?')[0].rpartition('/')[2]}".encode()), (other, dump)):
        subprocess.run([POSTGRES / "psql", "-q", "-v", "ON_ERROR_STOP=1", target], input=content, check=True, env=environment)
    assert contents(Submissions(ServiceDatabase(other), Settings())) == expected


@pytest.mark.postgres
def test_the_server_ends_sessions_of_nodes_that_are_unreachable(database):
    with ServiceDatabase(database).transaction() as connection:
        assert connection.execute(sa.text("SHOW idle_in_transaction_session_timeout")).scalar_one() == "2min"
