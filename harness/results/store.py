"""The results store: entries, test units, outcomes, and runs with their provenance.

SQLAlchemy Core on SQLite or PostgreSQL (`databases.py`); large arrays are stored separately (`arrays.py`). Every write is an
idempotent upsert.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.results.claims import Claims, Pair
from harness.results.databases import HELD_ARRAYS, open_database
from harness.results.outcomes import Failure, Outcome, Status, pack_observation, unpack_observation
from harness.results.provenance import Provenance
from harness.results.stored_entry import StoredEntry
from harness.submission.header import read_header
from harness.submission.submission import Entry, Submission, current_digest


class Json(sa.types.TypeDecorator[Any]):
    """Values as JSON text, which keeps nan and infinity, unlike the databases' own JSON types."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)


METADATA = sa.MetaData()

FACTS = sa.Table(
    "facts", METADATA,                      # about the store: its schema version
    sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False))
ENTRIES = sa.Table(
    "entries", METADATA,
    sa.Column("digest", sa.Text, primary_key=True), sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("variant", sa.Text), sa.Column("filename", sa.Text, nullable=False),
    sa.Column("source", sa.LargeBinary, nullable=False), sa.Column("first_seen", sa.Text, nullable=False),
    sa.Column("last_seen", sa.Text, nullable=False))
RUNS = sa.Table(
    "runs", METADATA,
    sa.Column("id", sa.Integer, primary_key=True), sa.Column("started", sa.Text, nullable=False),
    sa.Column("ended", sa.Text), sa.Column("provenance", Json, nullable=False))
UNITS = sa.Table(
    "units", METADATA,
    sa.Column("id", sa.Text, primary_key=True), sa.Column("task", sa.Text, nullable=False),
    sa.Column("described", Json, nullable=False))
OUTCOMES = sa.Table(
    "outcomes", METADATA,
    sa.Column("unit_id", sa.Text, sa.ForeignKey("units.id"), primary_key=True),
    sa.Column("entry_digest", sa.Text, sa.ForeignKey("entries.digest"), primary_key=True),
    sa.Column("run_id", sa.Integer, sa.ForeignKey("runs.id"), nullable=False),
    sa.Column("status", sa.Text, nullable=False), sa.Column("observation", Json), sa.Column("failure", Json),
    sa.Column("seconds", sa.Float, nullable=False), sa.Column("finished", sa.Text, nullable=False))

# Expensive values computed from answers. Created on first use, so older stores need no migration.
DERIVED = sa.Table(
    "derived", sa.MetaData(),
    sa.Column("kind", sa.Text, primary_key=True), sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", Json, nullable=False), sa.Column("computed", sa.Text, nullable=False))

SCHEMA_VERSION = 1
# Step n migrates a store from version n to n + 1.
MIGRATIONS: tuple[str, ...] = ()


class Store:
    """An open results store."""

    def __init__(self, address: Path | str, *, read_only: bool = False) -> None:
        self.read_only = read_only
        self._digests: dict[str, str] = {}      # present digest of each stored one
        self._database = open_database(address)
        self.name = self._database.name
        if read_only and not self._database.exists():
            raise TouchstoneError(f"There is no results store at {self.name}. Create one with `touchstone run`, or select "
                                  "another with --store.")
        with self._explained():
            self._engine = self._database.engine(read_only)
            self._check_schema()
        self.arrays = self._database.arrays(self._engine)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Convert database errors to messages that say what is wrong and how to fix it."""
        try:
            yield
        except (sa.exc.DBAPIError, sqlite3.Error, OSError) as error:
            cause = str(getattr(error, "orig", None) or error)
            raise TouchstoneError(f"{self._database.explain(cause)} Stored results are kept.") from None

    def _check_schema(self) -> None:
        with self._engine.begin() as connection:
            self._database.before_schema(connection)
            tables = set(sa.inspect(connection).get_table_names()) - {HELD_ARRAYS.name}
            if not tables and not self.read_only:
                METADATA.create_all(connection)
                connection.execute(sa.insert(FACTS).values(name="schema_version", value=str(SCHEMA_VERSION)))
                return
            if "facts" not in tables or "outcomes" not in tables:
                raise TouchstoneError(f"{self.name} is a database, but not a Touchstone results store; select another with "
                                      "--store.")
            stored = connection.execute(sa.select(FACTS.c.value).where(FACTS.c.name == "schema_version")).scalar_one_or_none()
            if stored is None and self.read_only:
                raise TouchstoneError(f"{self.name} is being created by another command; try again in a moment.")
            if stored is None:              # a process was killed after it had created the tables
                version_row = sa.insert(FACTS).values(name="schema_version", value=str(SCHEMA_VERSION))
                connection.execute(version_row.prefix_with("OR IGNORE", dialect="sqlite"))
            version = SCHEMA_VERSION if stored is None else int(stored)
            if version > SCHEMA_VERSION:
                raise TouchstoneError(f"{self.name} was written by a newer Touchstone (schema {version}; this version reads "
                                      f"{SCHEMA_VERSION}); update the clone, or select another store with --store.")
            if version < SCHEMA_VERSION and self.read_only:
                raise TouchstoneError(f"{self.name} has schema {version}; any `touchstone run` migrates it to "
                                      f"{SCHEMA_VERSION}.")
            for step in MIGRATIONS[version - 1:] if version < SCHEMA_VERSION else ():
                for statement in step.split(";"):
                    connection.execute(sa.text(statement))
            if version < SCHEMA_VERSION:
                connection.execute(sa.update(FACTS).where(FACTS.c.name == "schema_version").values(value=str(SCHEMA_VERSION)))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    # ---- writing ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the store for one run, if the database allows one writer only."""
        with contextlib.ExitStack() as held:
            with self._explained():
                held.enter_context(self._database.writing())
            yield

    @contextlib.contextmanager
    def claiming(self, finished: Mapping[Pair, str]) -> Iterator[Claims]:
        """Let several runs on one store divide the work; `finished` is what `finished_times` returned before planning."""
        try:
            with self._database.claiming(self._engine, OUTCOMES, finished) as claims:
                yield claims
        except sa.exc.DBAPIError as error:
            raise TouchstoneError(f"{self._database.explain(str(error.orig))} Stored results are kept.") from None

    def finished_times(self) -> dict[Pair, str]:
        """Return when each outcome was stored, by unit id and entry digest."""
        query = sa.select(OUTCOMES.c.unit_id, OUTCOMES.c.entry_digest, OUTCOMES.c.finished)
        with self._explained(), self._engine.connect() as connection:
            return {(unit, digest): finished for unit, digest, finished in connection.execute(query)}

    def finished_by_entry(self, units: Container[str]) -> dict[str, dict[str, str]]:
        """Return when each outcome of some test units was stored, by present entry digest and unit id."""
        finished: dict[str, dict[str, str]] = {}
        current = self._current_digests()
        for (unit, digest), time in self.finished_times().items():
            if unit in units:
                of_entry = finished.setdefault(current.get(digest, digest), {})
                of_entry[unit] = max(time, of_entry.get(unit, ""))
        return finished

    def begin_run(self, provenance: Provenance) -> int:
        """Record the start of a run and return its number."""
        with self._explained(), self._engine.begin() as connection:
            inserted = connection.execute(
                sa.insert(RUNS).values(started=current_time(), provenance=dataclasses.asdict(provenance))
            )
            key = inserted.inserted_primary_key
            assert key is not None
            return int(key[0])

    def end_runs(self, runs: Iterable[int]) -> None:
        """Record the end of runs."""
        with self._explained(), self._engine.begin() as connection:
            connection.execute(sa.update(RUNS).where(RUNS.c.id.in_(list(runs))).values(ended=current_time()))

    def save_entries(self, entries: Iterable[Entry]) -> None:
        """Store the source of entries; the most recently seen one is the current entry of its name."""
        rows = [{"digest": entry.digest, "name": entry.name, "variant": entry.variant,
                 "filename": entry.submission.filename, "source": entry.submission.source,
                 "first_seen": current_time(), "last_seen": current_time()} for entry in entries]
        with self._explained(), self._engine.begin() as connection:
            for row in rows:
                connection.execute(self._database.insert(ENTRIES).values(row).on_conflict_do_update(
                    index_elements=["digest"], set_={name: row[name] for name in ("filename", "source", "last_seen")}))

    def save_units(self, units: Iterable[Unit]) -> None:
        """Store the descriptions of test units."""
        rows = [{"id": unit.id, "task": unit.task, "described": unit.described} for unit in units]
        with self._explained(), self._engine.begin() as connection:
            for row in rows:
                connection.execute(self._database.insert(UNITS).values(row).on_conflict_do_nothing())

    def save_outcome(self, outcome: Outcome, run: int) -> None:
        """Store an outcome; it replaces an earlier one of the same test unit and entry."""
        self.save_outcomes([(outcome, run)])

    def save_outcomes(self, outcomes: Iterable[tuple[Outcome, int]]) -> None:
        """Store outcomes with the numbers of their runs, all or none."""
        with self._explained():
            rows = [{"unit_id": outcome.unit_id, "entry_digest": outcome.entry_digest, "run_id": run,
                     "status": outcome.status.value, "seconds": outcome.seconds, "finished": current_time(),
                     "observation": None if outcome.observation is None else pack_observation(outcome.observation, self.arrays),
                     "failure": None if outcome.failure is None else dataclasses.asdict(outcome.failure)}
                    for outcome, run in outcomes]
            insert = self._database.insert(OUTCOMES)
            replaced = ("run_id", "status", "seconds", "finished", "observation", "failure")
            upsert = insert.on_conflict_do_update(index_elements=["unit_id", "entry_digest"],
                                                  set_={name: insert.excluded[name] for name in replaced})
            if rows:
                with self._engine.begin() as connection:
                    connection.execute(upsert, rows)

    def cache_put(self, kind: str, values: Mapping[str, Any]) -> None:
        """Store values derived from answers, by key."""
        with self._explained(), self._engine.begin() as connection:
            DERIVED.create(connection, checkfirst=True)
            for key, value in values.items():
                row = {"kind": kind, "key": key, "value": value, "computed": current_time()}
                connection.execute(self._database.insert(DERIVED).values(row).on_conflict_do_update(
                    index_elements=["kind", "key"], set_={"value": value, "computed": row["computed"]}))

    # ---- reading ----------------------------------------------------------------------------------------------------

    def last_end(self) -> str | None:
        """Return when the last run ended; None if none has ended."""
        with self._explained(), self._engine.connect() as connection:
            ended: str | None = connection.execute(sa.select(sa.func.max(RUNS.c.ended))).scalar_one()
        return ended

    def completed(self, statuses: Iterable[Status] = tuple(Status)) -> set[tuple[str, str]]:
        """Return the (unit id, entry digest) pairs that have an outcome of one of the given statuses."""
        wanted, current = {status.value for status in statuses}, self._current_digests()
        status_of: dict[tuple[str, str], str] = {}
        with self._explained(), self._engine.connect() as connection:
            query = sa.select(OUTCOMES.c.unit_id, OUTCOMES.c.entry_digest, OUTCOMES.c.status)
            for unit, digest, status in connection.execute(query):
                present = current.get(digest, digest)
                if present == digest or (unit, present) not in status_of:
                    status_of[unit, present] = status
        return {pair for pair, status in status_of.items() if status in wanted}

    def entries(self) -> list[StoredEntry]:
        """Return the current entry of every name, which is the most recently seen one."""
        query = sa.select(ENTRIES).order_by(ENTRIES.c.last_seen, ENTRIES.c.first_seen, ENTRIES.c.digest)
        with self._explained(), self._engine.connect() as connection:
            rows = {row.name: row for row in connection.execute(query)}
        current = self._current_digests()
        return [StoredEntry(current[row.digest], *_parse_row(row), row.first_seen, row.last_seen) for row in rows.values()]

    def _current_digests(self) -> dict[str, str]:
        """The present digest of every stored one: the digest of an entry has changed with its definition (see `Entry.digest`)."""
        with self._explained(), self._engine.connect() as connection:
            if set(connection.execute(sa.select(ENTRIES.c.digest)).scalars()) - self._digests.keys():
                rows = connection.execute(sa.select(ENTRIES))
                self._digests |= {row.digest: _present_digest(row) for row in rows if row.digest not in self._digests}
        return self._digests

    def cache_get(self, kind: str) -> dict[str, Any]:
        """Return the derived values of a kind, by key."""
        with self._explained(), self._engine.connect() as connection:
            if not sa.inspect(connection).has_table(DERIVED.name):
                return {}
            rows = connection.execute(sa.select(DERIVED.c.key, DERIVED.c.value).where(DERIVED.c.kind == kind))
            return {row.key: row.value for row in rows}

    def digests(self) -> list[tuple[str, str, str]]:
        """Return (name, digest, first seen) of all entries, current or not, oldest first."""
        query = sa.select(ENTRIES.c.name, ENTRIES.c.digest, ENTRIES.c.first_seen).order_by(ENTRIES.c.first_seen, ENTRIES.c.digest)
        current = self._current_digests()
        first_seen_of: dict[tuple[str, str], str] = {}
        with self._explained(), self._engine.connect() as connection:
            for name, digest, first_seen in connection.execute(query):
                first_seen_of.setdefault((name, current[digest]), first_seen)
        return [(name, digest, first_seen) for (name, digest), first_seen in first_seen_of.items()]

    def outcomes(self, entry_digest: str, forms: Mapping[str, type[Any]]) -> dict[str, Outcome]:
        """Return the outcomes of an entry by unit id, for the test units whose observation types are given.

        Outcomes are selected by test unit, not by task, because the store may hold outcomes of earlier task versions whose form
        is not known any more.
        """
        query = sa.select(OUTCOMES).where(OUTCOMES.c.entry_digest.in_(self._stored_digests(entry_digest)),
                                          OUTCOMES.c.unit_id.in_(list(forms)))
        outcomes: dict[str, Outcome] = {}
        with self._explained(), self._engine.connect() as connection:
            for row in connection.execute(query):
                if row.unit_id in outcomes and row.entry_digest != entry_digest:
                    continue
                observation = (
                    None if row.observation is None else unpack_observation(row.observation, forms[row.unit_id], self.arrays)
                )
                failure = None if row.failure is None else Failure(**{**row.failure, "places": tuple(row.failure["places"])})
                outcomes[row.unit_id] = Outcome(
                    row.unit_id, entry_digest, Status(row.status), observation, failure, row.seconds
                )
        return outcomes

    def _stored_digests(self, entry_digest: str) -> list[str]:
        """Return the stored digests of the entry with a present digest."""
        return [entry_digest, *(stored for stored, present in self._current_digests().items() if present == entry_digest)]

    def raw(self) -> list[tuple[str, str, str, str]]:
        """Return (unit, entry, status, stored observation) of every outcome, to compare two stores."""
        query = sa.select(OUTCOMES).order_by(OUTCOMES.c.unit_id, OUTCOMES.c.entry_digest)
        with self._explained(), self._engine.connect() as connection:
            return [(row.unit_id, row.entry_digest, row.status, json.dumps(row.observation, sort_keys=True))
                    for row in connection.execute(query)]

    def nodes(self) -> dict[Pair, str | None]:
        """Return the node that each outcome was computed on, by unit id and entry digest; None outside a cluster."""
        query = sa.select(OUTCOMES.c.unit_id, OUTCOMES.c.entry_digest, OUTCOMES.c.run_id)
        with self._explained(), self._engine.connect() as connection:
            runs = connection.execute(sa.select(RUNS.c.id, RUNS.c.provenance))
            named = {run: provenance.get("node") for run, provenance in runs}
            return {(unit, digest): named[run] for unit, digest, run in connection.execute(query)}

    def suites(self) -> list[str]:
        """Return the names of the suites that were run, most recent first."""
        with self._explained(), self._engine.connect() as connection:
            provenances = connection.execute(sa.select(RUNS.c.provenance).order_by(RUNS.c.id.desc())).scalars()
            return list(dict.fromkeys(name for provenance in provenances if (name := provenance.get("suite"))))

    def provenance(self, entry_digest: str) -> list[dict[str, Any]]:
        """Return the provenance of every run of an entry, most recent first."""
        query = (sa.select(RUNS.c.provenance, RUNS.c.started).join(OUTCOMES, OUTCOMES.c.run_id == RUNS.c.id)
                 .where(OUTCOMES.c.entry_digest.in_(self._stored_digests(entry_digest))).distinct().order_by(RUNS.c.started.desc()))
        with self._explained(), self._engine.connect() as connection:
            return [{**row.provenance, "started": row.started} for row in connection.execute(query)]


def _parse_row(row: Any) -> tuple[Submission, Entry]:
    """Return the submission and the entry of a stored row."""
    submission = Submission(row.filename, row.source, read_header(row.source, row.filename))
    (entry,) = (entry for entry in submission.entries if entry.variant == row.variant)
    return submission, entry


def _present_digest(row: Any) -> str:
    """Return the present digest of a stored entry; the stored one if the entry's models have changed or are not available."""
    with contextlib.suppress(TouchstoneError, ValueError):      # the header is not valid any more, or a model is not available
        _, entry = _parse_row(row)
        if row.digest in (entry.digest, entry.digest_v1):
            return entry.digest
    return current_digest(row.digest)


def open_store(store: Store | Path | str) -> Store:
    """Return an open store as it is; open the store at a path or an address for reading."""
    return store if isinstance(store, Store) else Store(store, read_only=True)


def current_time() -> str:
    """Return the current time in UTC, in ISO format."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
