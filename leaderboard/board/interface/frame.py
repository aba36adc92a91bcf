"""What all pages share: navigation, the choice of a release, the switch between light and dark."""

from __future__ import annotations

from typing import Any

import gradio as gr

from leaderboard.board.components.layout import HEADED, PAGES
from leaderboard.board.rendering import render
from leaderboard.board.router import Library

PRIVATE: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}      # of events of the pages
LONGEST_PARAMETER = 2_000                   # characters


def add_frame(library: Library, page: str) -> gr.Dropdown:
    """Add the head of a page to the current context; return the choice of the release."""
    gr.Navbar(main_page_name=PAGES["board"])
    choices = library.choices()
    with gr.Row(elem_id="ts-head"):
        selection = gr.Dropdown([(choice.title, choice.query) for choice in choices], value="", label="Suite and release", show_label=False,
                                container=False, filterable=False, interactive=len(choices) > 1, elem_id="ts-selection")
        theme = gr.Button("Light / dark", size="sm", elem_id="ts-theme", scale=0, min_width=110)
    if page in HEADED:
        gr.HTML(str(render("heading.html", heading=PAGES[page])), elem_classes="ts", apply_default_css=False)
    selection.input(None, selection, None, js="(query) => Touchstone.select(query)", **PRIVATE)
    theme.click(None, None, None, js="() => Touchstone.toggleTheme()", **PRIVATE)
    return selection


def read_query(request: gr.Request) -> dict[str, str]:
    """Return the parameters of the address of a page, bounded in length."""
    return {key: value[:LONGEST_PARAMETER] for key, value in request.query_params.items()}
