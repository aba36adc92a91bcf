"""The limits of owners and addresses, counted from the stored events, so they hold for several servers and after a restart."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from harness.base.errors import TouchstoneError
from leaderboard.service.database import EVENTS, SUBMISSIONS
from leaderboard.service.settings import DAY, HOUR, Settings
from leaderboard.service.states import State

MONTH = 30 * DAY


class RefusedRequest(TouchstoneError):
    """A request is refused; `status` is its HTTP status, `seconds` the time after which it may succeed."""

    def __init__(self, sentence: str, status: int = 422, seconds: float | None = None) -> None:
        super().__init__(sentence)
        self.status, self.seconds = status, seconds


class Quotas:
    """Checks of limits inside a transaction."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def check_upload(self, connection: sa.Connection, address: str, now: float) -> None:
        """Refuse an upload from an address that has reached its limit, or while too many wait."""
        rows = sa.select(SUBMISSIONS.c.created).where(SUBMISSIONS.c.address == address, SUBMISSIONS.c.created > now - DAY)
        self._refuse(connection, rows, self._settings.uploads_per_day, now, DAY, "uploads from one address in 24 hours")
        waiting = connection.execute(
            sa.select(sa.func.count()).select_from(SUBMISSIONS).where(SUBMISSIONS.c.state.in_([State.SCREENED, State.QUEUED]))
        ).scalar_one()
        if waiting >= self._settings.queue_length:
            raise RefusedRequest(f"The queue is full ({self._settings.queue_length} submissions). Try again later.", 503, HOUR)

    def check_rate(self, connection: sa.Connection, owner: str, now: float) -> None:
        """Refuse an upload of an owner who has reached the limit of checks."""
        rows = sa.select(SUBMISSIONS.c.created).where(
            SUBMISSIONS.c.owner == owner, SUBMISSIONS.c.created > now - HOUR, SUBMISSIONS.c.state != State.REFUSED
        )
        self._refuse(connection, rows, self._settings.checks_per_hour, now, HOUR, "checks in an hour")

    def check_queue(self, connection: sa.Connection, owner: str, now: float) -> None:
        """Refuse to queue more than an owner may."""
        waiting = connection.execute(
            sa.select(sa.func.count())
            .select_from(SUBMISSIONS)
            .where(SUBMISSIONS.c.owner == owner, SUBMISSIONS.c.state == State.QUEUED)
        ).scalar_one()
        if waiting >= self._settings.waiting_per_owner:
            raise RefusedRequest(
                f"{waiting} of your submissions are in the queue, which is the limit. Wait until one of them has "
                "started, or withdraw one of them.",
                429,
            )
        scored = (
            sa.select(EVENTS.c.time, EVENTS.c.details)
            .where(EVENTS.c.owner == owner, EVENTS.c.state == State.SCORED, EVENTS.c.time > now - MONTH)
            .order_by(EVENTS.c.time)
        )
        runs = connection.execute(scored).all()
        if len(runs) + waiting >= self._settings.runs_per_month:
            ends = (
                runs[len(runs) - self._settings.runs_per_month].time + MONTH - now
                if len(runs) >= self._settings.runs_per_month
                else None
            )
            raise RefusedRequest(
                f"The limit is {self._settings.runs_per_month} scored submissions in 30 days ({len(runs)} scored, "
                f"{waiting} waiting). {describe_wait(ends)}",
                429,
                ends,
            )
        seconds = sum((run.details or {}).get("seconds", 0.0) for run in runs)
        if seconds >= self._settings.hours_per_month * HOUR:
            ends = runs[0].time + MONTH - now
            raise RefusedRequest(
                f"The limit is {self._settings.hours_per_month:g} hours of processor time in 30 days. {describe_wait(ends)}",
                429,
                ends,
            )

    def _refuse(self, connection: sa.Connection, rows: sa.Select[Any], limit: int, now: float, period: float, what: str) -> None:
        times = sorted(connection.execute(rows).scalars())
        if len(times) >= limit:
            ends = times[len(times) - limit] + period - now
            raise RefusedRequest(f"The limit of {limit} {what} is reached. {describe_wait(ends)}", 429, ends)


def describe_wait(seconds: float | None) -> str:
    """Return when a limit ends."""
    if seconds is None:
        return "Withdraw a waiting submission, or try again when the waiting submissions have been run."
    amount, unit = (
        (seconds / DAY, "days")
        if seconds > 2 * DAY
        else (seconds / HOUR, "hours")
        if seconds > 2 * HOUR
        else (seconds / 60, "minutes")
    )
    return f"Try again in {amount + 0.5:.0f} {unit}."
