"""The JSON API: the report with ETags, tables as files, citations, and the files of releases."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, create_model
from starlette.exceptions import HTTPException
from starlette.routing import Match

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.router import Library
from leaderboard.board.services.api_docs import render_api_docs
from leaderboard.board.services.downloads import FORMS, Ordering, make_table, write_table
from leaderboard.board.services.lookup import NotFound, find_compared, find_entries, find_snapshot, find_track, split_names
from leaderboard.board.snapshot import Snapshot
from leaderboard.own_data.differences import DifferenceMeaning, DomainThreshold, explain_difference, thresholds_by_domain
from leaderboard.publishing.citations import OVERALL, cite
from leaderboard.report.build import build_comparison
from leaderboard.report.schema import Comparison, EntryReport, Report
from leaderboard.scoring.custom_order import parse_weights

JSON = "application/json"
MOST_ENTRIES = 1_000                        # on one page
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class TableFormat(StrEnum):
    """Formats of tables."""

    CSV = "csv"
    PARQUET = "parquet"
    TEX = "tex"
    MD = "md"


class CitationFormat(StrEnum):
    """Formats of citations."""

    BIBTEX = "bibtex"
    LATEX = "latex"
    MARKDOWN = "markdown"
    TEXT = "text"


class ReleaseFile(StrEnum):
    """Files of a release."""

    REPORT = "release.json"
    SCORES = "scores.csv"
    SUMMARY = "summary.txt"
    SUMS = "SHA256SUMS"
    UNITS = "units.parquet"
    REPLICATES = "replicates.parquet"
    ENSEMBLES = "ensembles.csv"


class Problem(BaseModel):
    """The error of a request."""

    error: str = Field(description="one sentence")


class MetricCard(BaseModel):
    """Everything about one metric, once per track."""

    suite: str
    release: str | None
    tracks: list[EntryReport]


SelectedFields: Any = create_model(
    "SelectedFields", __doc__="The selected fields of an entry.",
    **{name: (field.annotation | None, None) for name, field in EntryReport.model_fields.items()})      # type: ignore[call-overload, operator]


class EntriesPage(BaseModel):
    """Some entries of the report, with some of their fields."""

    suite: str
    release: str | None
    total: int = Field(description="number of entries on all pages")
    offset: int
    entries: list[SelectedFields]


Responses = dict[int | str, dict[str, Any]]             # as FastAPI declares them
ERRORS: Responses = {
    304: {"description": "Not modified: the ETag equals If-None-Match"},
    404: {"model": Problem, "description": "The address names something that does not exist"},
    422: {"model": Problem, "description": "A parameter is not valid"}}

ReleaseName = Annotated[str | None, Query(description="name of a release, instead of the default results", max_length=80, examples=["2026.3"])]
SuiteName = Annotated[str | None, Query(description="name of a suite, instead of the default suite", max_length=80)]
Track = Annotated[str, Query(description="the track, `corpus` or `text`", max_length=80)]
Names = Annotated[str | None, Query(description="metrics, comma-separated, in the order of the output", max_length=60_000)]
Columns = Annotated[str | None, Query(description="columns, comma-separated, in the order of the output", max_length=60_000)]
Fields = Annotated[str | None, Query(description="fields of an entry, comma-separated; the response is then a page of entries",
                                     max_length=2_000, examples=["name,track,rank,overall"])]
Limit = Annotated[int | None, Query(description="largest number of entries on a page", ge=1, le=MOST_ENTRIES, examples=[10])]
Offset = Annotated[int | None, Query(description="number of entries to skip", ge=0)]


def binary(*kinds: str) -> Responses:
    """Return the description of a successful response that is a file."""
    return {200: {"description": "The file", "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}}}


def add_api(site: FastAPI, library: Library) -> None:
    """Add all routes below /api, their documentation at /docs, and the shape of their errors."""
    add_error_handlers(site)
    api = APIRouter(prefix="/api", responses=ERRORS, generate_unique_id_function=lambda route: route.name)

    @api.get("/board", summary="The whole report, or a page of its entries", tags=["Results"], response_model=Report | EntriesPage)
    async def board(request: Request, fields: Fields = None, limit: Limit = None, offset: Offset = None,
                    track: Annotated[str | None, Query(description="only the entries of a track", max_length=80)] = None,
                    release: ReleaseName = None, suite: SuiteName = None) -> Response:
        """Return the report; with `fields`, `limit`, `offset` or `track` only a page of its entries."""
        snapshot = await run_in_threadpool(find_snapshot, library, release, suite) if release or suite else library.first
        if all(parameter is None for parameter in (fields, limit, offset, track)):
            zipped = "gzip" in request.headers.get("accept-encoding", "")
            return respond(request, snapshot.zipped if zipped else snapshot.content, snapshot.tag, JSON, encoding="gzip" if zipped else None)
        return await run_in_threadpool(lambda: respond_json(request, select_entries(snapshot, fields, track, offset or 0, limit)))

    @api.get("/board.{form}", summary="The table of a track as a file", tags=["Results"], response_class=Response,
             responses=binary(*FORMS.values()))
    def table(request: Request, form: Annotated[TableFormat, Path(description="the format", examples=["csv"])], track: Track = "corpus",
              names: Names = None, columns: Columns = None,
              weights: Annotated[str | None, Query(description="rank by weights: task:weight, comma-separated", max_length=60_000)] = None,
              order: Annotated[str | None, Query(description="rank by a task or by Borda points: task.NAME or borda", max_length=80)] = None,
              release: ReleaseName = None, suite: SuiteName = None) -> Response:
        """Return the ranked metrics of a track with their scores, in the order and with the columns of the page."""
        snapshot = find_snapshot(library, release, suite)
        ordering = Ordering(None if weights is None else parse_weights(weights), order)
        content = write_table(make_table(snapshot, find_track(snapshot, track), None if names is None else split_names(names),
                                         None if columns is None else split_names(columns), ordering), form)
        return respond(request, content, make_tag(content), FORMS[form], file=f"touchstone-{track}.{form}")

    @api.get("/card/{name}", summary="Everything about one metric", tags=["Results"], response_model=MetricCard)
    def card(request: Request, name: Annotated[str, Path(description="the metric", examples=["energy"])],
             release: ReleaseName = None, suite: SuiteName = None) -> Response:
        """Return the entries of a metric, one per track."""
        report = (snapshot := find_snapshot(library, release, suite)).report
        return respond_model(request, MetricCard(suite=report.suite.name, release=report.release, tracks=find_entries(snapshot, name)))

    @api.get("/compare", summary="Paired differences of metrics", tags=["Results"], response_model=Comparison)
    def compare(request: Request, metrics: Annotated[str, Query(description="2 to 8 metrics, comma-separated", max_length=2_000, examples=["energy,fid"])],
                track: Track = "corpus", release: ReleaseName = None, suite: SuiteName = None) -> Response:
        """Return the differences of each pair of metrics on every ranked task, with intervals and p-values."""
        snapshot = find_snapshot(library, release, suite)
        return respond_model(request, compare_in_track(snapshot, track, find_compared(snapshot, metrics, track)))

    @api.get("/difference", summary="What a difference of a metric means", tags=["Differences"], response_model=DifferenceMeaning)
    def difference(request: Request, metric: Annotated[str, Query(description="the metric", max_length=500, examples=["energy"])],
                   difference: Annotated[float, Query(description="the difference of two values, other than 0", examples=[0.004])],
                   size: Annotated[int, Query(description="texts per corpus, or pairs of texts per mean", examples=[100])] = 100,
                   corpora: Annotated[bool, Query(description="explain distances of corpora for a text metric too, which is then lifted")] = False,
                   release: ReleaseName = None, suite: SuiteName = None) -> Response:
        """Return the probability that the difference shows the true order, with its calibration error."""
        snapshot = find_snapshot(library, release, suite)
        find_entries(snapshot, metric)
        meaning = explain_difference(metric, difference, size, snapshot.answers, corpora)
        return respond_json(request, {**asdict(meaning), "sentence": meaning.sentence})

    @api.get("/thresholds", summary="Thresholds of a text metric", tags=["Differences"], response_model=list[DomainThreshold])
    def thresholds(request: Request, metric: Annotated[str, Query(description="the text metric", max_length=500, examples=["cosine"])],
                   release: ReleaseName = None, suite: SuiteName = None) -> Response:
        """Return the scores that 1%, 5% and 10% of the dissimilar pairs exceed, by dataset."""
        snapshot = find_snapshot(library, release, suite)
        find_entries(snapshot, metric)
        return respond_json(request, [asdict(item) for item in thresholds_by_domain(metric, snapshot.answers)])

    @api.get("/cite", summary="A citation of a released score", tags=["Citations"], response_class=Response, responses=binary("text/plain"))
    def citation(request: Request, metric: Annotated[str, Query(description="the metric or ensemble", max_length=500, examples=["energy"])],
                 task: Annotated[str, Query(description="a task, an axis, or overall", max_length=80)] = OVERALL,
                 form: Annotated[CitationFormat, Query(alias="format", description="the format")] = CitationFormat.BIBTEX,
                 track: Annotated[str | None, Query(description="the track of the overall score", max_length=80)] = None,
                 release: ReleaseName = None) -> Response:
        """Return the citation of a score with its interval, its rank, its signature and the errata of the release."""
        snapshot = find_snapshot(library, release)
        if track is not None:
            find_track(snapshot, track)
        if snapshot.release is None:
            raise TouchstoneError("The default results are not released and may change, so they cannot be cited. Name a release.")
        ensembles = snapshot.report.ensembles
        if ensembles is None or metric not in [row.name for row in ensembles.rows]:
            find_entries(snapshot, metric)
        content = cite(snapshot.release, metric, task, form, track, site=str(request.base_url)).encode()
        return respond(request, content, make_tag(content), "text/plain")

    @api.get("/releases", summary="The names of all releases, the oldest first", tags=["Releases"], response_model=list[str])
    def list_releases(request: Request) -> Response:
        """Return the names that the parameter `release` accepts."""
        return respond_json(request, library.names)

    @api.get("/suites", summary="The names of the suites with results, the default first", tags=["Results"], response_model=list[str])
    def list_suites(request: Request) -> Response:
        """Return the names that the parameter `suite` accepts."""
        return respond_json(request, [library.first.report.suite.name, *library.suites])

    @api.get("/releases/{name}/{file}", summary="A file of a release", tags=["Releases"], response_class=Response,
             responses=binary("application/octet-stream"))
    def release_file(request: Request, name: Annotated[str, Path(description="the release", max_length=80, examples=["2026.3"])],
                     file: Annotated[ReleaseFile, Path(description="the file", examples=["scores.csv"])]) -> Response:
        """Return a file as it was published; not every release has ensembles."""
        release = find_snapshot(library, name).release
        if release is None or release.name != name or not (release.folder / file).exists():
            raise NotFound(f"There is no such file in this release; a release has {', '.join(ReleaseFile)}, the last if it has ensembles.")
        content = (release.folder / file).read_bytes()
        return respond(request, content, make_tag(content), "application/octet-stream", file=file)

    @api.api_route("/{path:path}", methods=METHODS, include_in_schema=False)
    def unmatched(request: Request, path: str) -> Response:
        """Respond with an error to addresses that no route matches; otherwise Gradio, which is mounted at /, would respond."""
        allowed = {method for route in api.routes if isinstance(route, APIRoute) and route.matches(request.scope)[0] is Match.PARTIAL
                   for method in route.methods or ()}
        if allowed:
            return JSONResponse({"error": f"The method of this address is {' or '.join(sorted(allowed))}."}, 405, {"Allow": ", ".join(sorted(allowed))})
        raise NotFound(f'There is no address "/api/{printable(path, 80)}"; /docs lists all addresses.')

    site.include_router(api)

    @site.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    def docs(request: Request) -> str:
        return render_api_docs(site.openapi(), str(request.base_url))


def add_error_handlers(site: FastAPI) -> None:
    """Give every error the shape of `Problem`."""

    @site.exception_handler(TouchstoneError)
    async def handle_refusal(request: Request, error: TouchstoneError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 404 if isinstance(error, NotFound) else 422)

    @site.exception_handler(RequestValidationError)
    async def handle_invalid_request(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place, *_, name = first["loc"]
        sentence = f"{name}: {first['msg']}."
        if first["type"] == "enum":
            sentence = f'There is no {name} "{printable(str(first["input"]), 80)}"; there are {first["ctx"]["expected"]}.'
        return JSONResponse({"error": sentence}, 404 if place == "path" else 422)

    @site.exception_handler(HTTPException)
    async def handle_http_error(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": f"{error.detail}."}, error.status_code, error.headers)

    @site.exception_handler(Exception)
    async def handle_failure(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"error": "The server failed to respond; the error is in its output."}, 500)


def select_entries(snapshot: Snapshot, fields: str | None, track: str | None, offset: int, limit: int | None) -> dict[str, object]:
    """Return the values of an `EntriesPage`; all fields if none are named."""
    names = list(EntryReport.model_fields) if fields is None else list(dict.fromkeys(split_names(fields)))
    for name in names:
        if name not in EntryReport.model_fields:
            raise TouchstoneError(f'An entry has no field "{printable(name, 80)}".{did_you_mean(name[:80], EntryReport.model_fields)}')
    entries = snapshot.report.entries if track is None else snapshot.entries(find_track(snapshot, track))
    page = entries[offset:offset + (limit or MOST_ENTRIES)]
    values = [entry.model_dump(mode="json", include=set(names)) for entry in page]
    return {"suite": snapshot.report.suite.name, "release": snapshot.report.release, "total": len(entries), "offset": offset,
            "entries": [{name: value[name] for name in names} for value in values]}


def compare_in_track(snapshot: Snapshot, track: str, names: list[str]) -> Comparison:
    """Return the paired comparison of metrics on the ranked tasks of a track, with the p-values of the overall scores."""
    comparison = build_comparison(snapshot.samples, names, [task.name for task in snapshot.ranked_tasks(track)])
    pairs = [pair.model_copy(update={"p_of_overall": snapshot.p(track, pair.a, pair.b)}) for pair in comparison.pairs]
    return comparison.model_copy(update={"pairs": pairs})


def respond(request: Request, content: bytes, tag: str, kind: str, file: str | None = None, encoding: str | None = None) -> Response:
    """Return the content, or status 304 if the client has it."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file is not None:
        headers["Content-Disposition"] = f'attachment; filename="{file}"'
    if encoding is not None:
        headers["Content-Encoding"] = encoding
    return Response(content, media_type=kind, headers=headers)


def respond_model(request: Request, model: BaseModel) -> Response:
    """Return a model as JSON."""
    content = model.model_dump_json().encode()
    return respond(request, content, make_tag(content), JSON)


def respond_json(request: Request, values: object) -> Response:
    """Return plain values as JSON."""
    content = json.dumps(values, ensure_ascii=False).encode()
    return respond(request, content, make_tag(content), JSON)


def make_tag(content: bytes) -> str:
    """Return the ETag of a content."""
    return hashlib.sha256(content).hexdigest()[:32]
