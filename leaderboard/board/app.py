"""`touchstone serve`: FastAPI with Gradio mounted.  Nothing is fetched from elsewhere, neither by us nor by the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"            # read when Gradio is imported, or the server looks outside

import gradio as gr
import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse

from leaderboard.board import pages
from leaderboard.board.snapshot import Snapshot

STYLE = Path(__file__).with_name("style.css")
# The state stands in the query string: it can be kept, sent, and gone back to.
REMEMBER = """(words) => { const there = new URL(location); words ? there.searchParams.set('q', words) : there.searchParams.delete('q');
history.replaceState(null, '', there); return [words]; }"""


def application(snapshot: Snapshot) -> Any:
    """The whole site as an ASGI application."""
    def arrive(request: gr.Request) -> tuple[Any, str, str]:
        """What a visitor sees first: the board, or the metric that the address names."""
        asked = dict(request.query_params)
        words, name = asked.get("q", "")[:200], asked.get("metric")
        shown = pages.board(snapshot, words) if name is None else pages.metric(snapshot, name)
        return gr.update(value=words, visible=name is None), shown, f"Touchstone{f': {name}' if name else ''}"

    with gr.Blocks(title="Touchstone", analytics_enabled=False) as blocks:
        gr.HTML('<div class="ts"><h1><b style="color:var(--ts-gold)">◆</b> Touchstone</h1></div>')
        search = gr.Textbox(label="Search", placeholder="fid; embeddings; lifted", max_lines=1, elem_id="search")
        table = gr.HTML(elem_id="page")
        title = gr.Textbox(visible=False)
        blocks.load(arrive, None, [search, table, title], api_visibility="private")
        search.change(lambda words: pages.board(snapshot, words[:200]), search, table, js=REMEMBER, show_progress="hidden",
                      api_visibility="private", trigger_mode="always_last")
    site = FastAPI(title="Touchstone", docs_url=None, redoc_url=None)

    @site.get("/api/board.json")
    def board_json() -> JSONResponse:
        return JSONResponse(snapshot.as_json())

    return gr.mount_gradio_app(site, blocks, path="/", theme=gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["monospace"]),
                               css=STYLE.read_text(encoding="utf-8"), footer_links=[], ssr_mode=False, show_error=False)


def serve(snapshot: Snapshot, host: str, port: int) -> None:
    """Serves until it is stopped."""
    uvicorn.run(application(snapshot), host=host, port=port, log_level="warning")
