"""The databases of a results store: an SQLite file, or a PostgreSQL server for several coordinators.

This module holds everything that differs between the two: connecting, locking, where arrays are stored, and what an error message
of the database means.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import sqlalchemy as sa

from harness.base.errors import TouchstoneError, printable
from harness.results.arrays import ArrayFolder, ArrayStore, StoredArray, decode_array, encode_array
from harness.results.claims import AdvisoryLocks, Claims, Pair, SingleRun

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)|(?:sqlite:|postgres(?:ql)?:/).*", re.IGNORECASE | re.DOTALL)
FORMS = "a file, sqlite:///relative.sqlite, sqlite:////absolute.sqlite or postgresql://user@host/name"
SCHEMA_LOCK = 0x70756368                    # PostgreSQL advisory lock for creating or migrating tables
# A node whose link is down must not keep its locks: both ends notice within a minute, instead of hours.
KEEPALIVE = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}
CONNECTION = {"connect_timeout": 10, **KEEPALIVE, "tcp_user_timeout": 30_000}
SESSION = {**{f"tcp_{name}": value for name, value in KEEPALIVE.items()}, "tcp_user_timeout": 30_000,
           "idle_in_transaction_session_timeout": 120_000}      # of the server
HELD_ARRAYS = sa.Table("arrays", sa.MetaData(), sa.Column("digest", sa.Text, primary_key=True),
                       sa.Column("content", sa.LargeBinary, nullable=False))


class StoreBusy(TouchstoneError):
    """Another run is writing to a store that allows one at a time."""


class Database(Protocol):
    """What a store needs of its database."""

    name: str                               # for messages; without the password

    def exists(self) -> bool: ...
    def engine(self, read_only: bool) -> sa.Engine: ...
    def arrays(self, engine: sa.Engine) -> ArrayStore: ...
    def insert(self, table: sa.Table) -> Any: ...
    def before_schema(self, connection: sa.Connection) -> None: ...
    def writing(self) -> contextlib.AbstractContextManager[None]: ...
    def claiming(self, engine: sa.Engine, outcomes: sa.Table, finished: Mapping[Pair, str]
                 ) -> contextlib.AbstractContextManager[Claims]: ...
    def explain(self, cause: str) -> str: ...


def open_database(address: Path | str) -> Database:
    """Return the database behind a path or an address; raise if the address has an unknown form."""
    parts = ADDRESS.fullmatch(str(address))
    if parts is None:
        return SqliteFile(Path(address))
    scheme, rest = (parts[1] or "").lower(), parts[2] or ""
    if scheme in ("postgresql", "postgres"):
        return PostgresServer(rest)
    if scheme == "sqlite" and rest.startswith("/") and rest.strip("/"):
        return SqliteFile(Path(rest[1:]))
    name = f"{scheme}://..." if scheme not in ("", "sqlite") else printable(str(address), 100)     # it may contain a password
    raise TouchstoneError(f"{name} is not the address of a results store; use {FORMS}.")


class SqliteFile:
    """One file in WAL mode: many readers, one writer."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    def exists(self) -> bool:
        return self.path.exists()

    def engine(self, read_only: bool) -> sa.Engine:
        if not read_only:
            self.path.parent.mkdir(parents=True, exist_ok=True)

        def connect() -> sqlite3.Connection:
            address = f"{self.path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
            connection = sqlite3.connect(address, uri=True, timeout=30, check_same_thread=False)
            if not read_only:
                for setting in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
                    connection.execute(f"PRAGMA {setting}")
            return connection
        return sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.StaticPool)

    def arrays(self, engine: sa.Engine) -> ArrayStore:
        return ArrayFolder(self.path.with_suffix(".arrays"))

    def insert(self, table: sa.Table) -> Any:
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)

    def before_schema(self, connection: sa.Connection) -> None:
        """Take the lock under which one process creates the tables."""

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for one run; raise if another run holds it."""
        with self.path.with_suffix(".lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise StoreBusy(f"Another run is writing to {self.name} ({lock.read().strip() or 'just started'}). Wait "
                                      "for it to end, or use another store with --store.") from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()}, since {datetime.datetime.now(datetime.UTC).isoformat(timespec='seconds')}")
            lock.flush()
            yield

    @contextlib.contextmanager
    def claiming(self, engine: sa.Engine, outcomes: sa.Table, finished: Mapping[Pair, str]) -> Iterator[Claims]:
        yield SingleRun()                   # `writing` has excluded other runs

    def explain(self, cause: str) -> str:
        low = cause.lower()
        if "readonly" in low or "read-only" in low or "permission denied" in low or "unable to open" in low:
            return f"{self.name} cannot be written here ({cause}). Select a store in a writable folder with --store."
        if "full" in low or "no space" in low or "disk i/o" in low or "too large" in low:
            return (f"{self.name} could not be written: the disk is full ({cause}). Free disk space, then repeat the "
                    "command to continue.")
        if "not a database" in low or "malformed" in low:
            return f"{self.name} is not a results store, or it is damaged ({cause}). Select another store with --store."
        if "locked" in low:
            return f"{self.name} is locked by another program ({cause}). Wait for it to end, or use another store with --store."
        return f"{self.name} cannot be used as a results store ({cause}). Select another store with --store."


class PostgresServer:
    """A database on a server, on which several coordinators can work at once."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(f"//{address}")
        self._address = f"postgresql+psycopg://{address}"
        self.name = f"postgresql://{parts.hostname or 'localhost'}{parts.path}"

    def exists(self) -> bool:
        return True                         # connecting tells

    def engine(self, read_only: bool) -> sa.Engine:
        address = sa.make_url(self._address)
        session = SESSION | ({"default_transaction_read_only": "on"} if read_only else {})
        options = CONNECTION | {"options": " ".join(f"-c {name}={value}" for name, value in session.items())}
        return sa.create_engine(address, pool_pre_ping=True, connect_args={
            name: value for name, value in options.items() if name not in address.query})

    def arrays(self, engine: sa.Engine) -> ArrayStore:
        return ArrayTable(engine)

    def insert(self, table: sa.Table) -> Any:
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)

    def before_schema(self, connection: sa.Connection) -> None:
        """Take the lock under which one coordinator creates or migrates the tables."""
        if connection.execute(sa.text("SHOW default_transaction_read_only")).scalar_one() != "on":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(SCHEMA_LOCK)))
            HELD_ARRAYS.metadata.create_all(connection)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        yield                               # any number of writers

    @contextlib.contextmanager
    def claiming(self, engine: sa.Engine, outcomes: sa.Table, finished: Mapping[Pair, str]) -> Iterator[Claims]:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.detach()             # closed instead of pooled, which ends its claims
            yield AdvisoryLocks(connection, outcomes, finished)

    def explain(self, cause: str) -> str:
        low, problem = cause.lower(), printable(cause, 200)
        if "password" in low or "authentication" in low or "role" in low:
            return (f"{self.name} refused the login ({problem}). Put the user into the address, and the password into PGPASSWORD "
                    "or ~/.pgpass.")
        if "does not exist" in low:
            return f"{self.name} does not exist ({problem}). Create the database first: createdb NAME."
        if "permission denied" in low or "read-only" in low:
            return f"{self.name} cannot be written by this user ({problem}). Grant the user the right to create tables."
        if "no space" in low or "disk full" in low:
            return (f"{self.name} could not be written: the server's disk is full ({problem}). Free disk space there, then "
                    "repeat the command.")
        return f"{self.name} is not reachable, or the connection was lost ({problem}). Check the server, then repeat the command."


class ArrayTable:
    """Arrays in a table of the database, visible to every coordinator."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def put(self, array: np.ndarray) -> StoredArray:
        from sqlalchemy.dialects import postgresql

        digest, shape, content = encode_array(array)
        with self._engine.begin() as connection:
            connection.execute(postgresql.insert(HELD_ARRAYS).values(digest=digest, content=content).on_conflict_do_nothing())
        return StoredArray(digest, shape, len(content))

    def get(self, stored: StoredArray) -> np.ndarray:
        with self._engine.connect() as connection:
            content = connection.execute(
                sa.select(HELD_ARRAYS.c.content).where(HELD_ARRAYS.c.digest == stored.digest)).scalar_one_or_none()
        return decode_array(stored, content, "the table arrays")
