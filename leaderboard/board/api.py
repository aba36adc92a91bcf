"""The JSON API: the report with ETags, tables as files, citations, and the files of releases."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated

from fastapi import FastAPI, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from harness.base.errors import TouchstoneError, printable
from leaderboard.board.downloads import FORMS, Ordering, make_table, write_table
from leaderboard.board.router import Library
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.citations import OVERALL, cite
from leaderboard.publishing.release import ENSEMBLES, REPLICATES, REPORT, SCORES, SUMMARY, SUMS, UNITS
from leaderboard.report.build import build_comparison
from leaderboard.report.schema import Comparison, EntryReport, Report
from leaderboard.scoring.custom_order import parse_weights

JSON = "application/json"
FILES = (REPORT, SCORES, SUMMARY, SUMS, UNITS, REPLICATES, ENSEMBLES)
Name = Annotated[str | None, Query(description="instead of the default", max_length=80)]
Names = Annotated[str | None, Query(description="comma-separated, in the order of the output", max_length=60_000)]
MOST_COMPARED = 8


class NotFound(Exception):
    """An address names something that does not exist; the message says what does."""


class Problem(BaseModel):
    """What is wrong with a request."""

    error: str


class MetricCard(BaseModel):
    """Everything about one metric, once per track."""

    suite: str
    release: str | None
    tracks: list[EntryReport]


ERRORS: dict[int | str, dict[str, type[BaseModel]]] = {404: {"model": Problem}, 422: {"model": Problem}}


def add_api(site: FastAPI, library: Library) -> None:
    """Add all routes below /api."""

    @site.exception_handler(TouchstoneError)
    async def handle_refusal(request: Request, error: TouchstoneError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=422)

    @site.exception_handler(RequestValidationError)
    async def handle_invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return JSONResponse({"error": f"{first['loc'][-1]}: {first['msg']}."}, status_code=422)

    @site.exception_handler(NotFound)
    async def handle_not_found(request: Request, error: NotFound) -> JSONResponse:
        return JSONResponse({"error": str(error)}, status_code=404)

    def find_snapshot(release: str | None, suite: str | None = None) -> Snapshot:
        try:
            return library.snapshot(release, suite)
        except TouchstoneError as error:
            raise NotFound(str(error)) from None

    @site.get("/api/board", summary="The whole report", response_model=Report, responses=ERRORS)
    async def board(request: Request, release: Name = None, suite: Name = None) -> Response:
        snapshot = await run_in_threadpool(find_snapshot, release, suite) if release or suite else library.first
        return respond(request, snapshot.content, snapshot.tag, JSON, snapshot.zipped)

    @site.get("/api/board.{form}", summary="The table of a track as a file", response_class=Response, responses=ERRORS)
    def board_file(request: Request, form: str, track: str = "corpus", names: Names = None, columns: Names = None,
                   weights: Annotated[str | None, Query(description="task:weight, comma-separated")] = None,
                   order: Annotated[str | None, Query(description="task.NAME or borda")] = None,
                   release: Name = None, suite: Name = None) -> Response:
        if form not in FORMS:
            raise NotFound(f"There is no board.{printable(form, 20)}; there are {', '.join(FORMS)}.")
        ordering = Ordering(None if weights is None else parse_weights(weights), order)
        content = write_table(make_table(find_snapshot(release, suite), track, split_names(names), split_names(columns), ordering), form)
        return respond(request, content, make_tag(content), FORMS[form], file=f"touchstone-{track}.{form}")

    @site.get("/api/card/{name}", summary="Everything about one metric", response_model=MetricCard, responses=ERRORS)
    def card(request: Request, name: str, release: Name = None, suite: Name = None) -> Response:
        report = find_snapshot(release, suite).report
        entries = [entry for entry in report.entries if entry.name == name]
        if not entries:
            raise NotFound(f'There is no metric "{printable(name, 80)}".')
        return respond_model(request, MetricCard(suite=report.suite.name, release=report.release, tracks=entries))

    @site.get("/api/compare", summary="Paired differences of metrics", response_model=Comparison, responses=ERRORS)
    def compared(request: Request, metrics: Annotated[str, Query(max_length=2_000)], track: str = "corpus",
                 release: Name = None, suite: Name = None) -> Response:
        snapshot, names = find_snapshot(release, suite), split_names(metrics) or []
        if not 2 <= len(names) <= MOST_COMPARED:
            raise TouchstoneError(f"Name 2 to {MOST_COMPARED} metrics, comma-separated.")
        if track not in snapshot.tracks:
            raise NotFound(f'There is no track "{printable(track, 40)}"; there are {", ".join(snapshot.tracks)}.')
        for name in names:
            if snapshot.entry(name, track) is None:
                raise NotFound(f'There is no metric "{printable(name, 80)}" in the track {track}.')
        return respond_model(request, compare_in_track(snapshot, track, names))

    @site.get("/api/cite", summary="A citation of a released score", response_class=Response, responses=ERRORS)
    def cited(request: Request, metric: str, task: str = OVERALL, form: Annotated[str, Query(alias="format")] = "bibtex",
              track: str | None = None, release: Name = None) -> Response:
        snapshot = find_snapshot(release)
        if snapshot.release is None:
            raise TouchstoneError("The default results are not released and may change, so they cannot be cited. Name a release.")
        content = cite(snapshot.release, metric, task, form, track, site=str(request.base_url)).encode()
        return respond(request, content, make_tag(content), "text/plain")

    @site.get("/api/releases", summary="The names of all releases, the oldest first", response_model=list[str])
    def list_releases(request: Request) -> Response:
        return respond_json(request, library.names)

    @site.get("/api/suites", summary="The names of the suites with results, the default first", response_model=list[str])
    def list_suites(request: Request) -> Response:
        return respond_json(request, [library.first.report.suite.name, *library.suites])

    @site.get("/api/releases/{name}/{file}", summary="A file of a release", response_class=Response, responses=ERRORS)
    def release_file(request: Request, name: str, file: str) -> Response:
        release = find_snapshot(name).release
        if release is None or release.name != name or file not in FILES or not (release.folder / file).exists():
            raise NotFound(f"There is no such file; a release has {', '.join(FILES[:-1])}, and {ENSEMBLES} if it has ensembles.")
        content = (release.folder / file).read_bytes()
        return respond(request, content, make_tag(content), "application/octet-stream", file=file)


def compare_in_track(snapshot: Snapshot, track: str, names: list[str]) -> Comparison:
    """Return the paired comparison of metrics on the ranked tasks of a track, with the p-values of the overall scores."""
    comparison = build_comparison(snapshot.samples, names, [task.name for task in snapshot.ranked_tasks(track)])
    pairs = [pair.model_copy(update={"p_of_overall": snapshot.p(track, pair.a, pair.b)}) for pair in comparison.pairs]
    return comparison.model_copy(update={"pairs": pairs})


def respond(request: Request, content: bytes, tag: str, kind: str, zipped: bytes | None = None, file: str | None = None) -> Response:
    """Return the content, status 304 if the client has it, or the compressed content if the client accepts that."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file is not None:
        headers["Content-Disposition"] = f'attachment; filename="{file}"'
    if zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(zipped, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(content, media_type=kind, headers=headers)


def respond_model(request: Request, model: BaseModel) -> Response:
    """Return a model as JSON."""
    content = model.model_dump_json().encode()
    return respond(request, content, make_tag(content), JSON)


def respond_json(request: Request, names: list[str]) -> Response:
    """Return names as JSON."""
    content = json.dumps(names, ensure_ascii=False).encode()
    return respond(request, content, make_tag(content), JSON)


def make_tag(content: bytes) -> str:
    """Return the ETag of a content."""
    return hashlib.sha256(content).hexdigest()[:32]


def split_names(names: str | None) -> list[str] | None:
    """Return comma-separated names as a list."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]
