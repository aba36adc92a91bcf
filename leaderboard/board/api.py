"""The board for machines: prepared JSON with ETags, tables as files, citations, the files of releases."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from harness.base.errors import TouchstoneError, printable
from leaderboard.board.downloads import FORMS, Order, table, written
from leaderboard.board.router import Shelf
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.citations import CITATIONS, cite
from leaderboard.publishing.release import ENSEMBLES, FACTS, REPLICATES, SCORES, SUMMARY, SUMS, UNITS
from leaderboard.scoring.comparison import compare_metrics
from leaderboard.scoring.custom_order import parse_weights

JSON = "application/json"
FILES = (FACTS, SCORES, SUMMARY, SUMS, UNITS, REPLICATES, ENSEMBLES)
Name = Annotated[str | None, Query(description="instead of what is shown first", max_length=80)]
Names = Annotated[str | None, Query(description="names parted by commas, in the wanted order", max_length=60_000)]
MOST_COMPARED = 8


class NotThere(Exception):
    """What an address names is not there; its words say what is."""


def add_api(site: FastAPI, shelf: Shelf) -> None:
    """All routes below /api."""

    @site.exception_handler(TouchstoneError)
    async def refused(request: Request, wrong: TouchstoneError) -> JSONResponse:
        return JSONResponse({"error": str(wrong)}, status_code=422)

    @site.exception_handler(NotThere)
    async def not_there(request: Request, wrong: NotThere) -> JSONResponse:
        return JSONResponse({"error": str(wrong)}, status_code=404)

    def snapshot_of(release: str | None, suite: str | None = None) -> Snapshot:
        try:
            return shelf.snapshot(release, suite)
        except TouchstoneError as wrong:
            raise NotThere(str(wrong)) from None

    @site.get("/api/board", summary="Everything that is shown")
    async def board(request: Request, release: Name = None, suite: Name = None) -> Response:
        snapshot = await run_in_threadpool(snapshot_of, release, suite) if release or suite else shelf.first
        return tagged(request, snapshot.content, snapshot.tag, JSON, snapshot.zipped)

    @site.get("/api/board.{form}", summary="The table of a track as a file")
    def board_file(request: Request, form: str, track: str = "corpus", names: Names = None, columns: Names = None,
                   weights: Annotated[str | None, Query(description="task:weight, parted by commas")] = None,
                   order: Annotated[str | None, Query(description="task.NAME or borda: ranks by that")] = None,
                   release: Name = None, suite: Name = None) -> Response:
        if form not in FORMS:
            raise NotThere(f"There is no board.{printable(form, 20)}; there are {', '.join(FORMS)}.")
        by = Order(None if weights is None else parse_weights(weights), order)
        content = written(table(snapshot_of(release, suite), track, listed(names), listed(columns), by), form)
        return tagged(request, content, tag_of(content), FORMS[form], file=f"touchstone-{track}.{form}")

    @site.get("/api/card/{name}", summary="All about one metric")
    def card(request: Request, name: str, release: Name = None, suite: Name = None) -> Response:
        snapshot = snapshot_of(release, suite)
        found = [entry for entry in snapshot.facts["entries"] if entry["name"] == name]
        if not found:
            raise NotThere(f'There is no metric "{printable(name, 80)}" here.')
        return as_json(request, {"suite": snapshot.facts["suite"]["name"], "release": snapshot.facts["release"], "tracks": found})

    @site.get("/api/compare", summary="Paired differences of some metrics")
    def compared(request: Request, metrics: Annotated[str, Query(max_length=2_000)], track: str = "corpus",
                 release: Name = None, suite: Name = None) -> Response:
        snapshot, names = snapshot_of(release, suite), listed(metrics) or []
        if not 2 <= len(names) <= MOST_COMPARED:
            raise TouchstoneError(f"Name 2 to {MOST_COMPARED} metrics, parted by commas.")
        for name in names:
            if snapshot.entry(name, track) is None:
                raise NotThere(f'There is no metric "{printable(name, 80)}" in this track.')
        found = compare_metrics(snapshot.samples, names, [task["name"] for task in snapshot.ranked_tasks(track)])
        for pair in found["pairs"]:
            pair["p_of_overall"] = snapshot.p(track, pair["a"], pair["b"])
        return as_json(request, found)

    @site.get("/api/cite", summary="A number of a release, ready to be quoted")
    def cited(request: Request, metric: str, task: str, form: Annotated[str, Query(alias="format")] = "bibtex",
              release: Name = None) -> Response:
        snapshot = snapshot_of(release)
        if snapshot.release is None:
            raise TouchstoneError("What is shown is not released, and cannot be cited for ever. Name a release.")
        if form not in CITATIONS:
            raise TouchstoneError(f'There is no format "{printable(form, 20)}"; there are {", ".join(CITATIONS)}.')
        content = cite(snapshot.release, metric, task, form).encode()
        return tagged(request, content, tag_of(content), "text/plain")

    @site.get("/api/releases", summary="The names of all releases")
    def names_of_releases(request: Request) -> Response:
        return as_json(request, shelf.names)

    @site.get("/api/suites", summary="The names of the suites that there are answers to, the one that is shown first")
    def names_of_suites(request: Request) -> Response:
        return as_json(request, [shelf.first.facts["suite"]["name"], *shelf.suites])

    @site.get("/api/releases/{name}/{file}", summary="A file of a release")
    def release_file(request: Request, name: str, file: str) -> Response:
        release = snapshot_of(name).release
        if release is None or release.name != name or file not in FILES or not (release.folder / file).exists():
            raise NotThere(f"There is no such file; a release has {', '.join(FILES[:-1])}, and {ENSEMBLES} where there are any.")
        content = (release.folder / file).read_bytes()
        return tagged(request, content, tag_of(content), "application/octet-stream", file=file)


def tagged(request: Request, content: bytes, tag: str, kind: str, zipped: bytes | None = None, file: str | None = None) -> Response:
    """The content, unless the reader has it already; as it was zipped before, where it was and the reader takes it."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if f'"{tag}"' in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file is not None:
        headers["Content-Disposition"] = f'attachment; filename="{file}"'
    if zipped is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(zipped, media_type=kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(content, media_type=kind, headers=headers)


def as_json(request: Request, value: Any) -> Response:
    content = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return tagged(request, content, tag_of(content), JSON)


def tag_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]
