"""Submissions and their events: every change is one transaction, and events are only ever added."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import BaseModel, JsonValue

from harness.base.errors import TouchstoneError, printable
from leaderboard.service.database import BUNDLES, CHANGES, EVENTS, SUBMISSIONS, ServiceDatabase
from leaderboard.service.quotas import Quotas, RefusedRequest
from leaderboard.service.screening import screen
from leaderboard.service.settings import DAY, Settings
from leaderboard.service.states import FINAL, FOLLOWING, WITHDRAWABLE, Fault, IllegalTransition, RunDetails, RunProgress, State
from leaderboard.workflows.check import comparable_name

LOST = "the runner was lost"
NAMED = (
    State.SCREENED,
    State.CHECKED,
    State.QUEUED,
    State.RUNNING,
    State.SCORED,
    State.HELD,
    State.PUBLISHED,
)  # that hold a name
IDENTIFIER = re.compile(r"[A-Za-z0-9_-]{1,40}")
LONGEST_REASON, LOGGED_REASON = 2_000, 200  # characters
COLUMNS = [column for column in SUBMISSIONS.c if column.name != "source"]


class UnknownSubmission(TouchstoneError):
    """There is no submission with an identifier."""


class LostLease(Exception):
    """Another runner has taken over a submission, because this one gave no sign of life."""


class Event(NamedTuple):
    """A state of a submission, with the reason and the time when it began."""

    state: State
    reason: str
    time: float
    details: JsonValue


@dataclass(frozen=True)
class Record:
    """A submission without its source."""

    id: str
    owner: str
    filename: str
    name: str | None
    state: State
    position: int
    created: float
    changed: float
    attempts: int
    progress: RunProgress | None
    runner: str | None
    queue: bool


class Submissions:
    """The submissions in a database.

    Every method is safe to call from several processes at once. A transition names the event that it follows, so that of two
    processes that change a submission one succeeds and the other gets `IllegalTransition`.
    """

    def __init__(self, database: ServiceDatabase, settings: Settings) -> None:
        self.database, self.settings = database, settings
        self._quotas = Quotas(settings)

    # ---- intake -----------------------------------------------------------------------------------------------------------

    def receive(self, owner: str, address: str, filename: str, source: bytes, queue: bool = False) -> tuple[Record, bool]:
        """Store and screen a file; return the submission, and whether it is new.

        The same file of the same owner is the same submission, unless that one has failed for a reason that was not the metric's.

        Raises:
            RefusedRequest: A limit is reached; nothing is stored.
        """
        content = hashlib.sha256(source).hexdigest()
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            for row in connection.execute(
                sa.select(*COLUMNS).where(SUBMISSIONS.c.owner == owner, SUBMISSIONS.c.content == content)
            ).all():
                if not self._may_repeat(connection, existing := make_record(row)):
                    return existing, False
            now = self.database.now(connection)
            self._quotas.check_upload(connection, address, now)
            self._quotas.check_rate(connection, owner, now)
            identifier = secrets.token_urlsafe(12)
            connection.execute(
                sa.insert(SUBMISSIONS).values(
                    id=identifier,
                    owner=owner,
                    address=address,
                    content=content,
                    filename=printable(filename, 200),
                    source=source,
                    state=State.RECEIVED,
                    position=0,
                    created=now,
                    changed=now,
                    queue=queue,
                    attempts=0,
                )
            )
            self._append(connection, identifier, 0, owner, State.RECEIVED, f"{len(source):,} bytes were received.", now)
            record = self._get(connection, identifier)
            result = screen(filename, source, self.settings.file_bytes)
            problem = result.problem or self._name_problem(connection, owner, result.name)
            if problem is not None:
                self._move(connection, record, State.REFUSED, problem)
            else:
                connection.execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == identifier).values(name=result.name))
                self._move(connection, record, State.SCREENED, "The header is valid. The check in the sandbox follows.")
            return self._get(connection, identifier), True

    def _may_repeat(self, connection: sa.Connection, record: Record) -> bool:
        """Return whether the same file can be submitted anew: it was not scored, and the reason was not in the file."""
        if record.state is State.FAILED:
            details = connection.execute(
                sa.select(EVENTS.c.details).where(EVENTS.c.submission == record.id, EVENTS.c.position == record.position)
            ).scalar_one()
            return bool(details and details.get("fault") == Fault.OURS)
        return record.state in (State.WITHDRAWN, State.EXPIRED)

    def _name_problem(self, connection: sa.Connection, owner: str, name: str) -> str | None:
        """Return why a name cannot be used: a submission of somebody else has it, or one that looks like it."""
        rows = connection.execute(
            sa.select(SUBMISSIONS.c.name)
            .where(SUBMISSIONS.c.owner != owner, SUBMISSIONS.c.name.is_not(None), SUBMISSIONS.c.state.in_(NAMED))
            .distinct()
        )
        taken = [other for other in rows.scalars() if comparable_name(other) == comparable_name(name)]
        if not taken:
            return None
        relation = "is taken" if name in taken else f'looks like "{taken[0]}", which is taken'
        return f'The name "{name}" {relation} by another submission; choose another name.'

    # ---- requests of owners -----------------------------------------------------------------------------------------------

    def enqueue(self, identifier: str) -> Record:
        """Queue a checked submission, or one that waits for its check once that has succeeded."""
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            record = self._get(connection, identifier)
            if record.state in (State.QUEUED, State.RUNNING, State.SCORED, State.HELD, State.PUBLISHED):
                return record
            if record.state is State.SCREENED:
                connection.execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == identifier).values(queue=True))
            elif record.state is State.CHECKED:
                self._queue(connection, record)
            else:
                raise RefusedRequest(f"The submission is {record.state.value} and cannot be queued. Upload a changed file.", 409)
            return self._get(connection, identifier)

    def withdraw(self, identifier: str) -> Record:
        """Withdraw a submission that has not been run."""
        with self.database.transaction() as connection:
            record = self._get(connection, identifier)
            if record.state is State.WITHDRAWN:
                return record
            if record.state not in WITHDRAWABLE:
                raise RefusedRequest(
                    f"The submission is {record.state.value}; only a submission that has not been run can be withdrawn.", 409
                )
            self._move(connection, record, State.WITHDRAWN, "Its owner withdrew it.")
            return self._get(connection, identifier)

    # ---- runners ----------------------------------------------------------------------------------------------------------

    def claim(self, runner: str) -> Record | None:
        """Return the next submission to check or to run, leased to a runner; None if there is none.

        Checks come first. Then comes the owner whose last run is longest ago; an owner has one run at a time.
        """
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            now = self.database.now(connection)
            free = sa.or_(SUBMISSIONS.c.leased_until.is_(None), SUBMISSIONS.c.leased_until < now)
            to_check = (
                sa.select(*COLUMNS).where(SUBMISSIONS.c.state == State.SCREENED, free).order_by(SUBMISSIONS.c.created).limit(1)
            )
            running = sa.select(SUBMISSIONS.c.owner).where(SUBMISSIONS.c.state == State.RUNNING)
            latest = (
                sa.select(sa.func.max(EVENTS.c.time))
                .where(EVENTS.c.owner == SUBMISSIONS.c.owner, EVENTS.c.state == State.RUNNING)
                .scalar_subquery()
            )
            to_run = (
                sa.select(*COLUMNS)
                .where(SUBMISSIONS.c.state == State.QUEUED, SUBMISSIONS.c.owner.not_in(running))
                .order_by(sa.func.coalesce(latest, 0.0), SUBMISSIONS.c.changed)
                .limit(1)
            )
            row = connection.execute(to_check).one_or_none() or connection.execute(to_run).one_or_none()
            if row is None:
                return None
            record = make_record(row)
            if (
                record.state is State.SCREENED
                and row.leased_until is not None
                and not self._count_attempt(connection, record, LOST)
            ):
                return None
            if record.state is State.QUEUED:
                self._move(connection, record, State.RUNNING, "A runner has started it.")
            connection.execute(
                sa.update(SUBMISSIONS)
                .where(SUBMISSIONS.c.id == record.id)
                .values(runner=runner, leased_until=now + self.settings.lease_seconds)
            )
            return self._get(connection, record.id)

    def source(self, identifier: str) -> bytes:
        """Return the file of a submission."""
        with self.database.transaction(reading=True) as connection:
            return bytes(connection.execute(sa.select(SUBMISSIONS.c.source).where(SUBMISSIONS.c.id == identifier)).scalar_one())

    def store_bundle(self, record: Record, content: bytes) -> None:
        """Store the bundle of a submission that its runner has scored, in place of one of an interrupted run."""
        with self.database.transaction() as connection:
            connection.execute(sa.delete(BUNDLES).where(BUNDLES.c.submission == record.id))
            connection.execute(sa.insert(BUNDLES).values(submission=record.id, content=content))

    def bundle(self, identifier: str) -> bytes:
        """Return the bundle of a submission; raise UnknownSubmission if there is none."""
        with self.database.transaction(reading=True) as connection:
            query = sa.select(BUNDLES.c.content).where(BUNDLES.c.submission == identifier)
            content = connection.execute(query).scalar_one_or_none()
        if content is None:
            raise UnknownSubmission("This submission has no bundle: it was not scored.")
        return bytes(content)

    def beat(self, record: Record, progress: RunProgress | None = None) -> None:
        """Extend the lease of a runner and store its progress; raise LostLease if it has lost the submission."""
        with self.database.transaction() as connection:
            values: dict[str, object] = {"leased_until": self.database.now(connection) + self.settings.lease_seconds}
            if progress is not None:
                values["progress"] = pack(progress)
            if not connection.execute(
                sa.update(SUBMISSIONS)
                .where(
                    SUBMISSIONS.c.id == record.id,
                    SUBMISSIONS.c.runner == record.runner,
                    SUBMISSIONS.c.position == record.position,
                )
                .values(**values)
            ).rowcount:
                raise LostLease

    def finish(self, record: Record, state: State, reason: str, details: BaseModel | None = None) -> Record:
        """Record how the check or the run of a claimed submission ended; raise IllegalTransition if the lease was lost."""
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            current = self._get(connection, record.id)
            if current.runner != record.runner or current.position != record.position:
                raise IllegalTransition(LOST)
            self._move(connection, current, state, reason, details)
            current = self._get(connection, record.id)
            if state is State.CHECKED and current.queue:
                try:
                    self._queue(connection, current)
                except RefusedRequest as refusal:
                    progress = pack(RunProgress(message=f"Not queued: {refusal}"))
                    connection.execute(
                        sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == record.id).values(queue=False, progress=progress)
                    )
            if state is State.SCORED:
                self._move(
                    connection,
                    current,
                    State.HELD,
                    f"Published in {self.settings.held_days:g} days; until then only this page shows it.",
                )
            return self._get(connection, record.id)

    def fail_attempt(self, record: Record, reason: str) -> None:
        """Record that the check or the run of a claimed submission ended for a reason that is not the metric's."""
        with self.database.transaction() as connection:
            current = self._get(connection, record.id)
            if (
                current.runner == record.runner
                and current.position == record.position
                and self._count_attempt(connection, current, reason)
            ):
                connection.execute(
                    sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == record.id).values(runner=None, leased_until=None)
                )

    def _count_attempt(self, connection: sa.Connection, record: Record, reason: str) -> bool:
        """Count an attempt that ended without a result and queue a run again; return False if it was the last attempt."""
        attempts = record.attempts + 1
        connection.execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == record.id).values(attempts=attempts))
        if attempts >= self.settings.attempts:
            self._move(
                connection,
                record,
                State.FAILED,
                f"The run failed for a reason other than the metric and does not count against your limits: {reason} "
                f"({attempts} attempts). Upload the file again.",
                RunDetails(fault=Fault.OURS),
            )
        elif record.state is State.RUNNING:
            self._move(connection, record, State.QUEUED, f"Queued again: {reason}. The run continues where it ended.")
        return attempts < self.settings.attempts

    def release(self, record: Record) -> None:
        """Give a claimed submission back, because the runner stops; this counts as no attempt."""
        with self.database.transaction() as connection:
            current = self._get(connection, record.id)
            if current.runner == record.runner and current.position == record.position:
                if current.state is State.RUNNING:
                    self._move(connection, current, State.QUEUED, "The runner was stopped; the run continues where it ended.")
                else:
                    connection.execute(
                        sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == record.id).values(runner=None, leased_until=None)
                    )

    def tidy(self) -> None:
        """Requeue the runs of lost runners once, publish what was held long enough, and let what was not queued expire."""
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            now = self.database.now(connection)
            lost = sa.select(*COLUMNS).where(SUBMISSIONS.c.state == State.RUNNING, SUBMISSIONS.c.leased_until < now)
            for record in map(make_record, connection.execute(lost).all()):
                self._count_attempt(connection, record, LOST)
            for state, days, following, reason in (
                (State.HELD, self.settings.held_days, State.PUBLISHED, "Published."),
                (State.CHECKED, self.settings.kept_days, State.EXPIRED, f"Not queued within {self.settings.kept_days:g} days."),
                (State.QUEUED, self.settings.kept_days, State.EXPIRED, f"Not run within {self.settings.kept_days:g} days."),
            ):
                due = sa.select(*COLUMNS).where(SUBMISSIONS.c.state == state, SUBMISSIONS.c.changed < now - days * DAY)
                for record in map(make_record, connection.execute(due).all()):
                    self._move(connection, record, following, reason)

    def prune(self, days: float) -> int:
        """Delete submissions that ended without a score, and their events, after some days; return how many."""
        with self.database.transaction() as connection:
            ended = sa.select(SUBMISSIONS.c.id).where(
                SUBMISSIONS.c.state.in_(FINAL - {State.PUBLISHED}),
                SUBMISSIONS.c.changed < self.database.now(connection) - days * DAY,
            )
            identifiers = connection.execute(ended).scalars().all()
            for table in (EVENTS, BUNDLES):
                connection.execute(sa.delete(table).where(table.c.submission.in_(identifiers)))
            connection.execute(sa.delete(SUBMISSIONS).where(SUBMISSIONS.c.id.in_(identifiers)))
            return len(identifiers)

    # ---- reading ----------------------------------------------------------------------------------------------------------

    def get(self, identifier: str) -> Record:
        """Return a submission; raise UnknownSubmission if there is none."""
        with self.database.transaction(reading=True) as connection:
            return self._get(connection, identifier)

    def events(self, identifier: str) -> list[Event]:
        """Return the events of a submission, the oldest first."""
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(sa.select(EVENTS).where(EVENTS.c.submission == identifier).order_by(EVENTS.c.position))
            return [Event(State(row.state), row.reason, row.time, row.details) for row in rows]

    def waiting(self) -> list[Record]:
        """Return the submissions that wait or run, the oldest first; the public part of the queue."""
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(
                sa.select(*COLUMNS)
                .where(SUBMISSIONS.c.state.in_([State.SCREENED, State.QUEUED, State.RUNNING]))
                .order_by(SUBMISSIONS.c.changed)
            )
            return list(map(make_record, rows))

    def published(self) -> list[Record]:
        """Return the published submissions, the latest first."""
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(
                sa.select(*COLUMNS).where(SUBMISSIONS.c.state == State.PUBLISHED).order_by(SUBMISSIONS.c.changed.desc())
            )
            return list(map(make_record, rows))

    def counts(self) -> dict[State, int]:
        """Return the number of submissions in each state."""
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(sa.select(SUBMISSIONS.c.state, sa.func.count()).group_by(SUBMISSIONS.c.state))
            return {**dict.fromkeys(State, 0), **{State(state): count for state, count in rows}}

    def durations(self) -> dict[State, tuple[int, float]]:
        """Return how often each state was left, and the seconds spent in it."""
        ended = EVENTS.alias()
        query = sa.select(EVENTS.c.state, sa.func.count(), sa.func.sum(ended.c.time - EVENTS.c.time)).join_from(
            EVENTS, ended, sa.and_(ended.c.submission == EVENTS.c.submission, ended.c.position == EVENTS.c.position + 1))
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(query.group_by(EVENTS.c.state))
            return {State(state): (count, seconds) for state, count, seconds in rows}

    # ---- transitions ------------------------------------------------------------------------------------------------------

    def _queue(self, connection: sa.Connection, record: Record) -> None:
        self._quotas.check_queue(connection, record.owner, self.database.now(connection))
        self._move(connection, record, State.QUEUED, "Waits for a runner.")
        connection.execute(sa.update(SUBMISSIONS).where(SUBMISSIONS.c.id == record.id).values(attempts=0))

    def _move(
        self, connection: sa.Connection, record: Record, state: State, reason: str, details: BaseModel | None = None
    ) -> None:
        """Append the event that follows the latest one of a record; the only place where states change."""
        if state not in FOLLOWING[record.state]:
            raise IllegalTransition(f"{state.value} cannot follow {record.state.value}")
        now = self.database.now(connection)
        changed = connection.execute(
            sa.update(SUBMISSIONS)
            .where(SUBMISSIONS.c.id == record.id, SUBMISSIONS.c.position == record.position, SUBMISSIONS.c.state == record.state)
            .values(state=state, position=record.position + 1, changed=now, runner=None, leased_until=None, progress=None)
        ).rowcount
        if not changed:
            raise IllegalTransition(f"the submission is not {record.state.value} any more")
        self._append(connection, record.id, record.position + 1, record.owner, state, reason, now, details)

    def _append(
        self,
        connection: sa.Connection,
        identifier: str,
        position: int,
        owner: str,
        state: State,
        reason: str,
        now: float,
        details: BaseModel | None = None,
    ) -> None:
        change = {"submission": identifier, "state": state.value, "reason": printable(reason, LOGGED_REASON)}
        connection.info[CHANGES].append(change)
        connection.execute(
            sa.insert(EVENTS).values(
                submission=identifier,
                position=position,
                owner=owner,
                state=state,
                reason=printable(reason, LONGEST_REASON),
                time=now,
                details=None if details is None else pack(details),
            )
        )

    def _get(self, connection: sa.Connection, identifier: str) -> Record:
        record = self._find(connection, SUBMISSIONS.c.id == identifier) if IDENTIFIER.fullmatch(identifier) else None
        if record is None:
            raise UnknownSubmission("There is no such submission; check the address.")
        return record

    def _find(self, connection: sa.Connection, condition: sa.ColumnElement[bool]) -> Record | None:
        row = connection.execute(sa.select(*COLUMNS).where(condition)).one_or_none()
        return None if row is None else make_record(row)


def pack(model: BaseModel) -> dict[str, object]:
    """Return a model as it is stored: as JSON values, without those that are the default."""
    return model.model_dump(mode="json", exclude_defaults=True)


def make_record(row: Any) -> Record:
    """Return a row as a record."""
    return Record(
        row.id,
        row.owner,
        row.filename,
        row.name,
        State(row.state),
        row.position,
        row.created,
        row.changed,
        row.attempts,
        None if row.progress is None else RunProgress.model_validate(row.progress),
        row.runner,
        row.queue,
    )
