"""The tables of the service, in the database of the results store, and transactions that one process at a time executes.

SQLite and PostgreSQL differ in how a transaction locks and in what the clock is called.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from harness.base.errors import TouchstoneError, printable
from harness.results.databases import SqliteFile, open_database
from harness.results.store import Json, Store
from leaderboard.service.logs import FIELDS

METADATA = sa.MetaData()
SUBMISSIONS = sa.Table(
    "service_submissions",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("filename", sa.Text, nullable=False),
    sa.Column("source", sa.LargeBinary, nullable=False),
    sa.Column("name", sa.Text, index=True),
    sa.Column("state", sa.Text, nullable=False, index=True),
    sa.Column("position", sa.Integer, nullable=False),  # of the latest event; each transition names the one it follows
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("changed", sa.Float, nullable=False),
    sa.Column("queue", sa.Boolean, nullable=False),  # whether to queue it once it is checked
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("runner", sa.Text),
    sa.Column("leased_until", sa.Float),
    sa.Column("progress", Json),
    sa.Index("service_submissions_content", "owner", "content"),
)
EVENTS = sa.Table(
    "service_events",
    METADATA,  # append-only
    sa.Column("submission", sa.Text, sa.ForeignKey("service_submissions.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("time", sa.Float, nullable=False, index=True),
    sa.Column("details", Json),
)
TOKENS = sa.Table(
    "service_tokens",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("scope", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
    sa.Column("revoked", sa.Float),
)
BUNDLES = sa.Table(
    "service_bundles",
    METADATA,
    sa.Column("submission", sa.Text, sa.ForeignKey("service_submissions.id"), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),  # a ZIP file
)
FACTS = sa.Table(
    "service_facts", METADATA, sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
# Statement n changes tables of version n to those of version n + 1. New tables need none: they are created where missing.
MIGRATIONS: tuple[str, ...] = ()
SCHEMA_LOCK = 0x70756369  # PostgreSQL advisory lock while tables are created
QUEUE_LOCK = 0x70756370  # likewise, while limits are checked
BUSY_SECONDS = 30
READING = "touchstone_reading"  # option of a transaction
CHANGES = "touchstone_changes"  # of a transaction: what is logged once it is committed
LOG = logging.getLogger("touchstone.service")


class DatabaseAway(TouchstoneError):
    """The database does not answer; the same call may succeed later."""


class ServiceDatabase:
    """Transactions on the tables of the service."""

    def __init__(self, address: Path | str) -> None:
        Store(address).close()  # creates the tables of the store, and refuses what is no store
        self._database = open_database(address)
        self.address, self.name = str(address), self._database.name
        self._path = path = self._database.path if isinstance(self._database, SqliteFile) else None
        if path is not None:
            self._engine = sa.create_engine("sqlite://", creator=lambda: connect_file(path), poolclass=sa.pool.NullPool)
            sa.event.listen(self._engine, "begin", begin_transaction)
            self._clock: Any = (sa.func.julianday("now") - 2440587.5) * 86_400.0
        else:
            self._engine = self._database.engine(read_only=False)
            self._clock = sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Float)
        with self.transaction() as connection:
            if self._path is None:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(SCHEMA_LOCK)))
            METADATA.create_all(connection)
            self._migrate(connection)

    def _migrate(self, connection: sa.Connection) -> None:
        """Bring tables of an earlier version to the current one; raise if they are of a later version."""
        newest = 1 + len(MIGRATIONS)
        stored = connection.execute(sa.select(FACTS.c.value).where(FACTS.c.name == "schema_version")).scalar_one_or_none()
        if stored is None:
            connection.execute(sa.insert(FACTS).values(name="schema_version", value=str(newest)))
            return
        if int(stored) > newest:
            raise TouchstoneError(f"{self.name} has tables of the submission service in version {stored}; this Touchstone reads "
                                  f"up to version {newest}. Update the clone.")
        for statement in MIGRATIONS[int(stored) - 1:]:
            connection.exec_driver_sql(statement)
        connection.execute(sa.update(FACTS).where(FACTS.c.name == "schema_version").values(value=str(newest)))

    @contextlib.contextmanager
    def transaction(self, reading: bool = False) -> Iterator[sa.Connection]:
        """Open a transaction; on SQLite only one process at a time has one, unless it only reads."""
        try:
            with self._engine.execution_options(**{READING: reading}).begin() as connection:
                changes: list[dict[str, str]] = []
                connection.info[CHANGES] = changes
                yield connection
            for change in changes:
                LOG.info("submission %(submission)s is %(state)s: %(reason)s", change, extra={FIELDS: change})
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.DBAPIError, sqlite3.Error, OSError) as error:
            cause = printable(str(getattr(error, "orig", None) or error), 200)
            raise DatabaseAway(
                f"The database of the service does not answer ({cause}). Try again in a minute; nothing that was stored is lost."
            ) from None

    def serialize(self, connection: sa.Connection) -> None:
        """Let other transactions that call this wait for the end of this one; limits concern several rows."""
        if self._path is None:  # on SQLite all transactions are serial
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(QUEUE_LOCK)))

    @contextlib.contextmanager
    def runner_turn(self) -> Iterator[bool]:
        """Return whether a runner may work now: an SQLite file has one at a time, PostgreSQL any number."""
        if self._path is None:
            yield True
            return
        with self._path.with_suffix(".runner").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                free = True
            except BlockingIOError:
                free = False
            yield free

    def now(self, connection: sa.Connection) -> float:
        """Return the time of the database in seconds since 1970."""
        return float(connection.execute(sa.select(self._clock)).scalar_one())

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def begin_transaction(connection: sa.Connection) -> None:
    """Begin a transaction on SQLite; one that writes waits for others at its beginning instead of failing later."""
    connection.exec_driver_sql("BEGIN" if connection.get_execution_options()[READING] else "BEGIN IMMEDIATE")


def connect_file(path: Path) -> sqlite3.Connection:
    """Return a connection to an SQLite file, whose transactions SQLAlchemy begins."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}")
    return connection
