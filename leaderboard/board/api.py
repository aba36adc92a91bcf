"""The board for machines: prepared JSON with ETags, tables as files, citations, the files of releases."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse

from harness.errors import Refusal, printable
from leaderboard.board.pages import Shelf
from leaderboard.board.snapshot import Snapshot
from leaderboard.board.tables import FORMS, table, written
from leaderboard.citing import CITATIONS, cite
from leaderboard.comparing import compare
from leaderboard.own_order import read_weights
from leaderboard.releases import ENSEMBLES, FACTS, REPLICATES, SCORES, SUMMARY, SUMS, UNITS

Names = Annotated[str | None, Query(description="names parted by commas, in the wanted order", max_length=20_000)]
MOST_COMPARED = 8


class NotThere(Exception):
    """What an address names is not there; its words say what is."""


def add_api(site: FastAPI, shelf: Shelf) -> None:
    """All routes below /api."""

    @site.exception_handler(Refusal)
    async def refused(request: Request, wrong: Refusal) -> JSONResponse:
        return JSONResponse({"error": str(wrong)}, status_code=422)

    @site.exception_handler(NotThere)
    async def not_there(request: Request, wrong: NotThere) -> JSONResponse:
        return JSONResponse({"error": str(wrong)}, status_code=404)

    def snapshot_of(release: str | None) -> Snapshot:
        try:
            return shelf.snapshot(release)
        except Refusal as wrong:
            raise NotThere(str(wrong)) from None

    def tagged(request: Request, content: bytes, tag: str, kind: str) -> Response:
        """The content, unless the reader has it already."""
        headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
        if f'"{tag}"' in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    @site.get("/api/board", summary="Everything that is shown")
    async def board(request: Request, release: str | None = None) -> Response:
        snapshot = snapshot_of(release)
        return tagged(request, snapshot.content, snapshot.tag, "application/json")

    @site.get("/api/board.{form}", summary="The table of a track as a file")
    def board_file(form: str, track: str = "corpus", names: Names = None, columns: Names = None,
                   weights: Annotated[str | None, Query(description="task:weight, parted by commas")] = None,
                   release: str | None = None) -> Response:
        if form not in FORMS:
            raise NotThere(f"There is no board.{printable(form, 20)}; there are {', '.join(FORMS)}.")
        shown = table(snapshot_of(release), track, listed(names), listed(columns), None if weights is None else read_weights(weights))
        return Response(written(shown, form), media_type=FORMS[form],
                        headers={"Content-Disposition": f'attachment; filename="touchstone-{track}.{form}"'})

    @site.get("/api/card/{name}", summary="All about one metric")
    async def card(request: Request, name: str, release: str | None = None) -> Response:
        snapshot = snapshot_of(release)
        found = [entry for entry in snapshot.facts["entries"] if entry["name"] == name]
        if not found:
            raise NotThere(f'There is no metric "{printable(name, 80)}" here.')
        content = json.dumps({"suite": snapshot.facts["suite"]["name"], "release": snapshot.facts["release"], "tracks": found},
                             ensure_ascii=False, allow_nan=False).encode()
        return tagged(request, content, snapshot.tag, "application/json")

    @site.get("/api/compare", summary="Paired differences of some metrics")
    def compared(metrics: Annotated[str, Query(max_length=2_000)], track: str = "corpus", release: str | None = None) -> dict[str, Any]:
        snapshot, names = snapshot_of(release), listed(metrics) or []
        if not 2 <= len(names) <= MOST_COMPARED:
            raise Refusal(f"Name 2 to {MOST_COMPARED} metrics, parted by commas.")
        for name in names:
            if snapshot.entry(name, track) is None:
                raise NotThere(f'There is no metric "{printable(name, 80)}" in this track.')
        found = compare(snapshot.samples, names, [task["name"] for task in snapshot.ranked_tasks(track)])
        for pair in found["pairs"]:
            pair["p_of_overall"] = snapshot.p(track, pair["a"], pair["b"])
        return found

    @site.get("/api/cite", summary="A number of a release, ready to be quoted")
    def cited(metric: str, task: str, form: Annotated[str, Query(alias="format")] = "bibtex", release: str | None = None) -> Response:
        snapshot = snapshot_of(release)
        if snapshot.release is None:
            raise Refusal("What is shown is not released, and cannot be cited for ever. Name a release.")
        if form not in CITATIONS:
            raise Refusal(f'There is no format "{printable(form, 20)}"; there are {", ".join(CITATIONS)}.')
        return Response(cite(snapshot.release, metric, task, form), media_type="text/plain")

    @site.get("/api/releases", summary="The names of all releases")
    async def names_of_releases() -> list[str]:
        return shelf.names

    @site.get("/api/releases/{name}/{file}", summary="A file of a release")
    def release_file(name: str, file: str) -> Response:
        release = snapshot_of(name).release
        known = (FACTS, SCORES, SUMMARY, SUMS, UNITS, REPLICATES, ENSEMBLES)
        if release is None or release.name != name or file not in known or not (release.folder / file).exists():
            raise NotThere(f"There is no such file; a release has {', '.join(known[:-1])}, and {ENSEMBLES} where there are any.")
        return Response((release.folder / file).read_bytes(), media_type="application/octet-stream",
                        headers={"Content-Disposition": f'attachment; filename="{file}"'})


def listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]
