"""The web application: a multipage Gradio app with an API beside it.  Neither the server nor the browser fetches anything elsewhere.

`launch` starts the app alone, as a Hugging Face Space does; `application` mounts the same app for `touchstone serve`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"            # read when Gradio is imported; otherwise it makes requests

import gradio as gr
import uvicorn
from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, Response
from starlette.middleware import Middleware

from harness.base.memory import limit_arenas, return_freed_memory
from leaderboard.board.components.layout import PAGES, STATIC
from leaderboard.board.interface.own_data import add_own_data
from leaderboard.board.interface.pages import ADDERS, add_changes, add_metric, add_page
from leaderboard.board.interface.ranking import add_ranking
from leaderboard.board.interface.submissions import add_submission_page
from leaderboard.board.middleware import LocalOnly, Pages
from leaderboard.board.reloading import ReloadingApp
from leaderboard.board.router import Library
from leaderboard.board.services.api import add_api
from leaderboard.board.services.client_endpoints import add_client_endpoints
from leaderboard.board.services.lookup import NotFound
from leaderboard.board.services.sharing import add_sharing
from leaderboard.board.services.sign_in import add_sign_in
from leaderboard.board.services.submissions_api import add_submissions_api
from leaderboard.board.services.verification import add_verification
from leaderboard.board.static_site import NOTES_FOLDER
from leaderboard.papers.published_comparison import NOTES

ARENAS = 2                                  # pools of freed memory, which each thread would have otherwise
LARGEST_UPLOAD = 1_000_000                  # bytes; the service has a smaller limit
SMALLEST_ZIPPED = 2_000                     # bytes
FONTS = {"font": ["system-ui", "sans-serif"], "font_mono": ["ui-monospace", "monospace"]}


def build(library: Library) -> gr.Blocks:
    """Return the Gradio app with all pages."""
    with gr.Blocks(title="Touchstone", analytics_enabled=False) as blocks:
        add_ranking(library, blocks)
        add_client_endpoints(library)
    for name, heading in PAGES.items():
        if name != "board":
            with blocks.route(heading, f"/{name}"):
                ADDERS.get(name, partial(add_page, name=name))(library, blocks)
    with blocks.route("Metric", "/metric", show_in_navbar=False):
        add_metric(library, blocks)
    with blocks.route("Changes", "/changes", show_in_navbar=False):
        add_changes(library, blocks)
    if library.own_data:
        with blocks.route("Your data", "/own"):
            add_own_data(library, blocks)
    if library.service is not None:
        with blocks.route("Submission", "/submission", show_in_navbar=False):
            add_submission_page(library, library.service, blocks)
    return blocks


def appearance() -> dict[str, Any]:
    """Return the options of `launch` and of `mount_gradio_app` on which the look depends.

    Style sheet and script are links that `Pages` adds: Gradio splits rules that contain `:is(a, b)`.
    """
    theme = gr.themes.Base(**FONTS, primary_hue="teal", neutral_hue="stone").set(
        body_text_color_subdued="#5b6370", body_text_color_subdued_dark="#b4bcc5", block_label_text_color="#5b6370",
        body_background_fill="#fbfaf7", body_background_fill_dark="#14171a", button_primary_background_fill="#2f5d62",
        button_primary_background_fill_hover="#24494d", button_primary_background_fill_dark="#2f5d62",
        button_primary_background_fill_hover_dark="#24494d")
    return {"theme": theme, "footer_links": [], "favicon_path": str(STATIC / "favicon.svg"), "ssr_mode": False, "show_error": False}


def make_site(library: Library) -> FastAPI:
    """Return the routes beside the Gradio app."""
    site = FastAPI(title="Touchstone", description="A leaderboard of text-similarity metrics.", docs_url=None, redoc_url=None)
    if library.service is not None:
        add_submissions_api(site, library.service)
        if library.service.providers:
            add_sign_in(site, library.service)
    add_verification(site, library)
    add_api(site, library)
    add_sharing(site, library)

    @site.get("/board.js", include_in_schema=False)
    def script() -> FileResponse:
        return FileResponse(STATIC / "board.js", media_type="text/javascript", headers={"Cache-Control": "no-cache"})

    @site.get("/style.css", include_in_schema=False)
    def style() -> FileResponse:
        return FileResponse(STATIC / "style.css", headers={"Cache-Control": "no-cache"})

    @site.get("/notes/{file}", include_in_schema=False)
    def note(file: str) -> Response:
        if file not in NOTES:
            raise NotFound(f"There are no notes of this name; available are {', '.join(NOTES)}.")
        return Response((NOTES_FOLDER / file).read_bytes(), media_type="text/plain; charset=utf-8")
    return site


def middleware(library: Library) -> list[Middleware]:
    """Return the middleware, the outermost first."""
    local = [Middleware(LocalOnly)] if library.own_data else []
    return [*local, Middleware(GZipMiddleware, minimum_size=SMALLEST_ZIPPED, compresslevel=3), Middleware(Pages, library=library)]


def application(library: Library) -> Any:
    """Return the site as an ASGI application."""
    site = make_site(library)
    site.user_middleware[:0] = middleware(library)
    warnings.filterwarnings("ignore", "SSR mode is not supported")      # which is off
    return gr.mount_gradio_app(site, build(library), path="/", max_file_size=LARGEST_UPLOAD, **appearance())


def launch(library: Library, **options: Any) -> Any:
    """Start the app alone; `options` are those of Gradio's `launch`."""
    site = make_site(library)
    return build(library).launch(**{**appearance(), "app_kwargs": {
        "routes": site.routes, "middleware": middleware(library), "exception_handlers": site.exception_handlers, "docs_url": None,
        "redoc_url": None, "openapi_url": None}, **options})


def serve(library: Library, host: str, port: int, read_if_changed: Callable[[], Library | None] | None = None) -> None:
    """Serve until interrupted.

    Args:
        library: What is served at first.
        host: The address to listen on.
        port: The port to listen on.
        read_if_changed: Returns the library with new results, or None if there are none since the last call; it is called every
            few seconds.
    """
    limit_arenas(ARENAS)
    app = application(library)
    return_freed_memory()                   # reading results takes more than they do
    if read_if_changed is not None:
        app = ReloadingApp(app, lambda: (renewed := read_if_changed()) and application(renewed))
    uvicorn.run(app, host=host, port=port, log_level="warning")
