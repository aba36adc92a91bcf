"""The web application: FastAPI with Gradio mounted.  Neither the server nor the browser fetches anything from elsewhere.

Gradio serves the first page and named endpoints for its clients.  The content of pages is HTML from /page, so that moving
between pages costs one small request.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlencode

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"            # read when Gradio is imported; otherwise it makes requests

import gradio as gr
import uvicorn
from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import RedirectResponse, Response
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.types import ASGIApp, Receive, Scope, Send

from leaderboard.board.api import add_api, respond
from leaderboard.board.client_endpoints import add_client_endpoints
from leaderboard.board.components.layout import STATIC, join_scripts
from leaderboard.board.router import Library
from leaderboard.board.services.lookup import NotFound
from leaderboard.board.sharing import add_sharing
from leaderboard.board.static_site import NOTES_FOLDER
from leaderboard.board.try_api import add_trying
from leaderboard.papers.published_comparison import NOTES

NO_SCRIPT = b'<noscript>This page needs JavaScript. The same numbers are at <a href="/api/board.csv">/api/board.csv</a>; touchstone site ' \
    b"writes pages that do not need it.</noscript>"
FIRST = '<div id="touchstone" aria-busy="true"></div>'
SMALLEST_ZIPPED = 2_000                     # bytes
LONGEST_PARAMETER = 2_000                   # characters


def application(library: Library) -> Any:
    """Return the site as an ASGI application."""
    site = FastAPI(title="Touchstone", description="A leaderboard of text-similarity metrics.", docs_url=None, redoc_url=None)
    add_api(site, library)
    add_sharing(site, library)
    add_trying(site, library)

    @site.get("/page", include_in_schema=False)
    def page(request: Request) -> Response:
        content = library.page(read_query(request))
        return respond(request, content.content, content.tag, "application/json", content.zipped)

    site.add_middleware(FirstPage, library=library)
    site.add_middleware(GZipMiddleware, minimum_size=SMALLEST_ZIPPED, compresslevel=3)

    @site.get("/board.js", include_in_schema=False)
    def script() -> Response:
        return Response(join_scripts(), media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    @site.get("/notes/{file}", include_in_schema=False)
    def note(file: str) -> Response:
        if file not in NOTES:
            raise NotFound(f"There are no such notes; there are {', '.join(NOTES)}.")
        return Response((NOTES_FOLDER / file).read_bytes(), media_type="text/plain; charset=utf-8")

    return gr.mount_gradio_app(
        site, make_blocks(library), path="/", theme=gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["monospace"]),
        css=(STATIC / "style.css").read_text(encoding="utf-8"), head='<script src="/board.js"></script>', footer_links=[], ssr_mode=False,
        show_error=False)


class FirstPage(BaseHTTPMiddleware):
    """Sets the status of the first page, which is 200 in Gradio whatever the address names; other requests bypass it."""

    def __init__(self, app: ASGIApp, library: Library) -> None:
        super().__init__(app)
        self.library = library

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the first page; pass everything else on."""
        if scope["type"] == "http" and scope["path"] == "/":
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Redirect the parameter `page`, which Gradio reserves, and set the status of the page that the address names."""
        query = read_query(request)
        if "page" in query:
            return RedirectResponse(f"/?{urlencode({'view': query.pop('page'), **query})}")
        response = await call_next(request)
        if response.status_code == 200 and (query or self.library.first.empty_message):
            response.status_code = await run_in_threadpool(self.library.status, query)
        return await add_noscript(response)


async def add_noscript(response: Any) -> Response:
    """Return Gradio's page with a message for browsers without JavaScript, where it would be empty."""
    content = b"".join([part async for part in response.body_iterator])
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    if headers.get("content-type", "").startswith("text/html"):
        content = content.replace(b"</body>", NO_SCRIPT + b"</body>", 1)
    return Response(content, response.status_code, headers)


def read_query(request: Request) -> dict[str, str]:
    """Return the parameters of an address, bounded in length."""
    return {key: value[:LONGEST_PARAMETER] for key, value in request.query_params.items()}


def make_blocks(library: Library) -> gr.Blocks:
    """Return the first page, and the named endpoints for Gradio's clients."""
    with gr.Blocks(title="Touchstone", analytics_enabled=False) as blocks:
        gr.HTML(FIRST, elem_id="ts-holder", padding=False)
        add_client_endpoints(library)
    return blocks


def serve(library: Library, host: str, port: int) -> None:
    """Serve until interrupted."""
    uvicorn.run(application(library), host=host, port=port, log_level="warning")
