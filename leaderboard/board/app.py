"""`touchstone serve`: FastAPI with Gradio mounted.  Nothing is fetched from elsewhere, neither by us nor by the browser.

Gradio holds the page and gives the same data to its clients by named endpoints; what is on the page comes as HTML from
/page, so that moving from one page to another costs one small request.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlencode

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"            # read when Gradio is imported, or the server looks outside

import gradio as gr
import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import RedirectResponse, Response
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.types import ASGIApp, Receive, Scope, Send

from harness.base.paths import PROJECT
from leaderboard.board.api import NotThere, add_api, tagged
from leaderboard.board.components.layout import STATIC, script_of_pages
from leaderboard.board.components.published import NOTES
from leaderboard.board.router import Shelf
from leaderboard.board.try_api import add_trying
from leaderboard.scoring.comparison import compare_metrics

NO_SCRIPT = b'<noscript>This page needs JavaScript. The same numbers are at <a href="/api/board.csv">/api/board.csv</a>; touchstone site ' \
    b"writes pages that need none.</noscript>"
FIRST = '<div id="touchstone" aria-busy="true"></div>'
SMALLEST_ZIPPED = 2_000                     # bytes
LONGEST_ASKED = 2_000                       # characters of a value in an address


def application(shelf: Shelf) -> Any:
    """The whole site as an ASGI application."""
    site = FastAPI(title="Touchstone", description="A leaderboard of text-similarity metrics.", docs_url=None, redoc_url=None)
    add_api(site, shelf)
    add_trying(site, shelf)

    @site.get("/page", include_in_schema=False)
    def page(request: Request) -> Response:
        asked = shelf.page(asked_of(request))
        return tagged(request, asked.content, asked.tag, "application/json", asked.zipped)

    site.add_middleware(FirstPage, shelf=shelf)
    site.add_middleware(GZipMiddleware, minimum_size=SMALLEST_ZIPPED, compresslevel=3)       # around what stands above

    @site.get("/board.js", include_in_schema=False)
    def script() -> Response:
        return Response(script_of_pages(), media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    @site.get("/notes/{file}", include_in_schema=False)
    def note(file: str) -> Response:
        if file not in NOTES:
            raise NotThere(f"There is no such page; there are {', '.join(NOTES)}.")
        return Response((PROJECT / "leaderboard" / "papers" / file).read_bytes(), media_type="text/plain; charset=utf-8")

    return gr.mount_gradio_app(
        site, blocks(shelf), path="/", theme=gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["monospace"]),
        css=(STATIC / "style.css").read_text(encoding="utf-8"), head='<script src="/board.js"></script>', footer_links=[], ssr_mode=False,
        show_error=False)


class FirstPage(BaseHTTPMiddleware):
    """Gradio answers 200 whatever the address names, and fails where it names a `page`; everything else goes past this."""

    def __init__(self, app: ASGIApp, shelf: Shelf) -> None:
        super().__init__(app)
        self.shelf = shelf

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/":
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        asked = asked_of(request)
        if "page" in asked:
            return RedirectResponse(f"/?{urlencode({'view': asked.pop('page'), **asked})}")
        response = await call_next(request)
        if response.status_code == 200 and (asked or self.shelf.first.nobody):
            response.status_code = await run_in_threadpool(self.shelf.status, asked)
        return await with_words_without_script(response)


async def with_words_without_script(response: Any) -> Response:
    """The page that Gradio serves is empty without JavaScript; it says so."""
    content = b"".join([part async for part in response.body_iterator])
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    if headers.get("content-type", "").startswith("text/html"):
        content = content.replace(b"</body>", NO_SCRIPT + b"</body>", 1)
    return Response(content, response.status_code, headers)


def asked_of(request: Request) -> dict[str, str]:
    return {key: value[:LONGEST_ASKED] for key, value in request.query_params.items()}


def blocks(shelf: Shelf) -> gr.Blocks:
    """The page that Gradio serves, and the named endpoints of its clients."""
    with gr.Blocks(title="Touchstone", analytics_enabled=False) as made:
        gr.HTML(FIRST, elem_id="ts-holder", padding=False)

        def board(release: str = "", suite: str = "") -> dict[str, Any]:
            """Everything that is shown, of a release or another suite if one is named."""
            return dict(shelf.snapshot(release, suite).facts)

        def card(metric: str, release: str = "", suite: str = "") -> list[dict[str, Any]]:
            """All about one metric, once a track."""
            return [entry for entry in shelf.snapshot(release, suite).facts["entries"] if entry["name"] == metric]

        def compared(metrics: str, track: str = "corpus", release: str = "", suite: str = "") -> dict[str, Any]:
            """Paired differences of metrics named with commas between."""
            snapshot = shelf.snapshot(release, suite)
            names = [name.strip() for name in metrics.split(",") if snapshot.entry(name.strip(), track)][:8]
            return compare_metrics(snapshot.samples, names, [task["name"] for task in snapshot.ranked_tasks(track)])
        gr.api(board, api_name="board")
        gr.api(card, api_name="card")
        gr.api(compared, api_name="compare")
    return made


def serve(shelf: Shelf, host: str, port: int) -> None:
    """Serves until it is stopped."""
    uvicorn.run(application(shelf), host=host, port=port, log_level="warning")
