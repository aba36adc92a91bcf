"""What a reader sees of a submission: its state, place in the queue, progress, history and results."""

from __future__ import annotations

import datetime
import statistics
from dataclasses import replace

import sqlalchemy as sa
from pydantic import BaseModel, Field

from leaderboard.service.database import EVENTS, SUBMISSIONS
from leaderboard.service.epochs.disclosure import correct_for_tries
from leaderboard.service.epochs.ledger import Epochs
from leaderboard.service.epochs.views import PrivateView, view_private
from leaderboard.service.states import FINAL, CheckDetails, RunDetails, RunProgress, State, SubmittedPosition
from leaderboard.service.submissions import Record, Submissions
from leaderboard.workflows.check import CheckSummary

RECENT = 20                                 # runs from which the time of one is estimated


def format_time(seconds: float) -> str:
    """Return a time in UTC."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


class EventView(BaseModel):
    """A state, its reason and the time when it began."""

    state: State
    reason: str
    time: float = Field(description="seconds since 1970")


class SubmissionView(BaseModel):
    """A submission as its page and the API show it."""

    id: str
    name: str | None
    filename: str
    state: State
    reason: str
    final: bool = Field(description="whether the state is final")
    created: float
    place: int | None = Field(description="place in the queue, from 1")
    seconds_left: float | None = Field(description="estimate of the time until it is scored, from recent runs")
    progress: RunProgress | None
    events: list[EventView]
    check: list[CheckSummary] | None = Field(description="the reports of the check, one for each entry")
    bundle: bool = Field(False, description="whether there is a bundle that the reader may download")
    results: RunDetails | None = Field(description="positions among the published metrics, once they are visible")
    tries: int = Field(1, description="number of scored submissions in its family (near variants by the same owner)")
    private: list[PrivateView] = Field([], description="rounded scores on private draws, once they are visible")


def view_submission(submissions: Submissions, epochs: Epochs, record: Record, with_results: bool) -> SubmissionView:
    """Return what a reader sees of a submission."""
    events = submissions.events(record.id)
    details = {event.state: event.details for event in events if event.details}
    position, seconds = find_place(submissions, record)
    run = details.get(State.SCORED) or (details.get(State.FAILED) if record.state is State.FAILED else None)
    checked = details.get(State.CHECKED) or details.get(State.REFUSED)
    results = None if run is None else RunDetails.model_validate(run)
    tries = 1 if results is None else epochs.tries_of_family(record.id)
    if results is not None and tries > 1:
        results.positions = [correct_position(position, tries) for position in results.positions]
    return SubmissionView(
        id=record.id, name=record.name, filename=record.filename, state=record.state, reason=events[-1].reason,
        final=record.state in FINAL, created=record.created, place=position, seconds_left=seconds, progress=record.progress,
        events=[EventView(state=event.state, reason=event.reason, time=event.time) for event in events],
        check=None if checked is None else CheckDetails.model_validate(checked).reports,
        bundle=with_results and State.SCORED in details, results=results if with_results else None,
        tries=tries, private=view_private(epochs, record.id) if results and with_results else [])


def correct_position(position: SubmittedPosition, tries: int) -> SubmittedPosition:
    """Return a position with the interval of its overall score at the level that the number of tries requires."""
    return replace(position, overall_corrected=None if position.overall is None else correct_for_tries(position.overall, tries))


def find_place(submissions: Submissions, record: Record) -> tuple[int | None, float | None]:
    """Return the place of a submission in the queue, and an estimate of the seconds until it is scored."""
    if record.state not in (State.QUEUED, State.RUNNING):
        return None, None
    started, ended = EVENTS.alias(), EVENTS.alias()
    with submissions.database.transaction(reading=True) as connection:
        query = (sa.select(ended.c.time - started.c.time).join_from(ended, started, sa.and_(
            started.c.submission == ended.c.submission, started.c.position == ended.c.position - 1))
            .where(ended.c.state == State.SCORED).order_by(ended.c.time.desc()).limit(RECENT))
        durations = list(connection.execute(query).scalars())
        before = connection.execute(sa.select(sa.func.count()).select_from(SUBMISSIONS).where(
            SUBMISSIONS.c.state == State.QUEUED, SUBMISSIONS.c.changed < record.changed)).scalar_one()
    left = None if record.progress is None else record.progress.left
    if record.state is State.RUNNING:
        return None, left
    return before + 1, statistics.median(durations) * (before + 1) if durations else None
