"""The API of the submission service: uploads, states, server-sent events, health and metrics."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping
from typing import Annotated

from fastapi import APIRouter, FastAPI, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from pydantic import BaseModel, Field

from leaderboard.board.services.api import Problem, Responses
from leaderboard.board.services.sign_in import browser_sender, client_host
from leaderboard.service.access import Sender, Service
from leaderboard.service.database import DatabaseAway
from leaderboard.service.epochs.views import fold_families
from leaderboard.service.logs import FIELDS
from leaderboard.service.quotas import RefusedRequest
from leaderboard.service.states import State
from leaderboard.service.submissions import Record, UnknownSubmission
from leaderboard.service.tokens import InvalidToken
from leaderboard.service.views import SubmissionView, view_submission

MEDIA_TYPES = ("text/x-python", "application/octet-stream")     # which a form on another site cannot send
EVENT_SECONDS, KEEP_ALIVE_SECONDS = 0.5, 15.0
AWAY_SECONDS = 30.0                                             # after which a request to a database that is away may be repeated
LOG = logging.getLogger("touchstone.service")
Authorization = Annotated[str | None, Header(max_length=200)]


class WaitingView(BaseModel):
    """A submission in the public queue, without its identifier."""

    name: str | None
    state: State
    since: float
    variants: int = Field(0, description="other submissions of the same family in this list")


class QueueView(BaseModel):
    """The public queue, and the published submissions."""

    waiting: list[WaitingView]
    published: list[WaitingView]


REFUSALS: Responses = {status: {"model": Problem, "description": description} for status, description in {
    401: "The token is missing, unknown, expired or revoked.", 403: "The results are not published yet.", 404: "There is no such submission.",
    409: "The state of the submission does not allow this.", 413: "The file is too large.", 415: "The content type is not accepted.",
    422: "A parameter is wrong.", 429: "A limit is reached.", 503: "The queue is full, or the database does not answer."}.items()}


def add_submissions_api(site: FastAPI, service: Service) -> None:
    """Add the routes of the service; before those of `/api`, whose last route matches everything."""
    add_service_errors(site, service)
    api = APIRouter(prefix="/api/submissions", tags=["Submissions"], responses=REFUSALS, generate_unique_id_function=lambda route: route.name)

    def may_see(record: Record, request: Request, authorization: str | None) -> bool:
        """Return whether the caller may see results; the session of a browser counts, because nothing is changed."""
        return service.may_see_results(record, browser_sender(request, authorization))

    def view(record: Record, request: Request, authorization: str | None) -> SubmissionView:
        return view_submission(service.submissions, service.epochs, record, may_see(record, request, authorization))

    @api.post("", summary="Upload a metric", response_model=SubmissionView, status_code=201,
              responses={200: {"model": SubmissionView, "description": "The same file was received before."}}, openapi_extra={
        "requestBody": {"required": True, "content": {kind: {"schema": {"type": "string"}} for kind in MEDIA_TYPES}}})
    async def upload(request: Request, filename: Annotated[str, Query(max_length=200, examples=["my_metric.py"])],
                     queue: Annotated[bool, Query(description="run it once the check has succeeded")] = False,
                     authorization: Authorization = None) -> Response:
        """Store and check one Python file, the body of the request. The same file again returns the same submission (status 200)."""
        if request.headers.get("content-type", "").partition(";")[0].strip() not in MEDIA_TYPES:
            raise RefusedRequest(f"Send the file itself as the body, with the content type {MEDIA_TYPES[0]}.", 415)
        source = await read_bounded(request, service.submissions.settings.file_bytes)

        def receive() -> tuple[SubmissionView, bool]:
            caller = service.identify(sender_of(request, authorization))
            record, new = service.submissions.receive(caller.owner, caller.address, filename, source, queue)
            return view(record, request, authorization), new
        current, new = await run_in_threadpool(receive)
        return Response(current.model_dump_json(), 201 if new else 200, {"Location": f"/api/submissions/{current.id}"}, "application/json")

    @api.get("", summary="The public queue", response_model=QueueView)
    def queue() -> QueueView:
        """Return the waiting, running and published submissions, without identifiers."""
        submissions, families = service.submissions, service.epochs.families()
        return QueueView(waiting=list_records(submissions.waiting(), families), published=list_records(submissions.published(), families))

    @api.get("/{identifier}", summary="A submission", response_model=SubmissionView)
    def submission(request: Request, identifier: str, authorization: Authorization = None) -> SubmissionView:
        """Return the state, the history and the results of a submission."""
        return view(service.submissions.get(identifier[:80]), request, authorization)

    @api.get("/{identifier}/bundle", summary="The file and its scores", response_class=Response,
             responses={200: {"content": {"application/zip": {}}}})
    def bundle(request: Request, identifier: str, authorization: Authorization = None) -> Response:
        """Return the bundle of a scored submission: the file, and its scores by task and test unit, which `touchstone rerun` verifies."""
        record = service.submissions.get(identifier[:80])
        if not may_see(record, request, authorization):
            raise RefusedRequest("The results are not published yet; only their owner can download them.", 403)
        return Response(service.submissions.bundle(record.id), media_type="application/zip", headers={
            "Content-Disposition": f'attachment; filename="{record.id}.zip"'})

    @api.post("/{identifier}/queue", summary="Queue a submission", response_model=SubmissionView)
    def enqueue(request: Request, identifier: str, authorization: Authorization = None) -> SubmissionView:
        """Queue a submission whose check has succeeded; a submission that is being checked is queued after its check."""
        record = service.own(identifier[:80], sender_of(request, authorization))
        return view(service.submissions.enqueue(record.id), request, authorization)

    @api.post("/{identifier}/withdraw", summary="Withdraw a submission", response_model=SubmissionView)
    def withdraw(request: Request, identifier: str, authorization: Authorization = None) -> SubmissionView:
        """Withdraw a submission that has not been run."""
        record = service.own(identifier[:80], sender_of(request, authorization))
        return view(service.submissions.withdraw(record.id), request, authorization)

    @api.get("/{identifier}/events", summary="Progress as server-sent events", response_class=StreamingResponse)
    async def events(request: Request, identifier: str, authorization: Authorization = None) -> StreamingResponse:
        """Send the submission as JSON whenever it changes, until its state is final."""
        def read() -> SubmissionView:
            return view(service.submissions.get(identifier[:80]), request, authorization)
        first = await run_in_threadpool(read)               # an unknown one is a 404, not a stream

        async def stream() -> AsyncIterator[str]:
            current, last, sent = first, "", time.monotonic()
            while True:
                content = current.model_dump_json()
                if content != last:
                    yield f"event: {current.state.value}\ndata: {content}\n\n"
                    last, sent = content, time.monotonic()
                elif time.monotonic() - sent > KEEP_ALIVE_SECONDS:
                    yield ": still here\n\n"
                    sent = time.monotonic()
                if current.final or await request.is_disconnected():
                    return
                await asyncio.sleep(EVENT_SECONDS)
                current = await run_in_threadpool(read)
        return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})

    site.include_router(api)
    add_operations(site, service)


def add_operations(site: FastAPI, service: Service) -> None:
    """Add the addresses that operators and their monitoring request."""

    @site.get("/health", include_in_schema=False)
    def health() -> PlainTextResponse:
        """Report that the process is alive."""
        return PlainTextResponse("alive\n")

    @site.get("/ready", include_in_schema=False)
    def ready() -> PlainTextResponse:
        """Report whether the database responds."""
        service.submissions.counts()
        return PlainTextResponse("ready\n")

    @site.get("/metrics", include_in_schema=False)
    def metrics() -> PlainTextResponse:
        """Return counts in the text format of Prometheus."""
        submissions = service.submissions
        oldest = min((record.changed for record in submissions.waiting()), default=None)
        durations = submissions.durations().items()
        return PlainTextResponse("".join((
            format_metric("submissions", "gauge", "Submissions by state.", {f'{{state="{state}"}}': n for state, n in submissions.counts().items()}),
            format_metric("queue_age_seconds", "gauge", "Age of the oldest submission that is waiting or running.",
                          {"": 0.0 if oldest is None else max(0.0, time.time() - oldest)}),
            format_metric("state_seconds", "summary", "Time that submissions spent in each state.", {
                **{f'_count{{state="{state}"}}': count for state, (count, _) in durations},
                **{f'_sum{{state="{state}"}}': seconds for state, (_, seconds) in durations}}),
            format_metric("refused_requests_total", "counter", "Requests that this process refused, by status.",
                          {f'{{status="{status}"}}': count for status, count in sorted(service.refusals.items())}))),
            media_type="text/plain; version=0.0.4")


def format_metric(name: str, kind: str, description: str, values: Mapping[str, float]) -> str:
    """Return a metric in the text format of Prometheus; keys are suffixes of its name and labels."""
    lines = (f"touchstone_{name}{suffix} {value:.10g}\n" for suffix, value in values.items())
    return f"# HELP touchstone_{name} {description}\n# TYPE touchstone_{name} {kind}\n{''.join(lines)}"


def add_service_errors(site: FastAPI, service: Service) -> None:
    """Give the refusals of the service their status codes; count and log them."""

    def refuse(error: Exception, status: int, seconds: float | None = None) -> JSONResponse:
        service.refusals[status] += 1
        LOG.info("refused with status %s: %s", status, error, extra={FIELDS: {"status": status}})
        headers = {"Retry-After": str(round(seconds))} if seconds is not None else {}
        return JSONResponse({"error": str(error)}, status, headers | ({"WWW-Authenticate": "Bearer"} if status == 401 else {}))

    @site.exception_handler(RefusedRequest)
    async def handle_limit(request: Request, refusal: RefusedRequest) -> JSONResponse:
        return refuse(refusal, refusal.status, refusal.seconds)

    @site.exception_handler(UnknownSubmission)
    async def handle_unknown(request: Request, error: UnknownSubmission) -> JSONResponse:
        return refuse(error, 404)

    @site.exception_handler(InvalidToken)
    async def handle_token(request: Request, error: InvalidToken) -> JSONResponse:
        return refuse(error, 401)

    @site.exception_handler(DatabaseAway)
    async def handle_away(request: Request, error: DatabaseAway) -> JSONResponse:
        return refuse(error, 503, AWAY_SECONDS)


async def read_bounded(request: Request, most: int) -> bytes:
    """Return the body of a request; refuse a longer one without reading it to the end."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > most:
            raise RefusedRequest(f"The file is too large; a submission has at most {most:,} bytes.", 413)
    return content


def sender_of(request: Request, authorization: str | None) -> Sender:
    """Return the sender of a request that changes something. Cookies do not count, so no other site can act for a reader."""
    return Sender(client_host(request), authorization)


def list_records(records: list[Record], families: Mapping[str, str]) -> list[WaitingView]:
    """Return records as the public queue shows them."""
    return [WaitingView(name=record.name, state=record.state, since=record.changed, variants=variants)
            for record, variants in fold_families(records, families)]
