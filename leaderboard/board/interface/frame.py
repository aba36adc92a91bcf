"""What all pages share: navigation, the choice of a release, the switch between light and dark, the parameters of the address."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr

from harness.base.errors import TouchstoneError
from leaderboard.board.components.layout import HEADED, PAGES
from leaderboard.board.rendering import render
from leaderboard.board.router import Library

EventOptions = dict[str, Any]               # keyword arguments of Gradio's events
PRIVATE: EventOptions = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}      # of events of the pages
LONGEST_PARAMETER = 2_000                   # characters
SITE = "site"                               # the address of the board, which is no parameter of pages


@dataclass(frozen=True)
class Frame:
    """The choice of a release, and the parameters of the address as the browser knows them."""

    selection: gr.Dropdown
    query: gr.Textbox

    def on_open(self, restore: Callable[[Mapping[str, str]], Sequence[Any]], outputs: Sequence[Any]) -> None:
        """Call a function with the parameters when the page is opened by an address that has some."""
        def open_page(query: str, request: gr.Request) -> Sequence[Any]:
            return restore({**parse_query(query), SITE: str(request.request.base_url) if request.request else ""})
        self.query.change(open_page, self.query, list(outputs), **PRIVATE)


def add_frame(library: Library, blocks: gr.Blocks, page: str) -> Frame:
    """Add the head of a page to the current context."""
    gr.Navbar(main_page_name=PAGES["board"])
    choices = library.choices()
    with gr.Row(elem_id="ts-head"):
        selection = gr.Dropdown([(choice.title, choice.query) for choice in choices], value="", label="Suite and release", show_label=False,
                                container=False, filterable=False, interactive=len(choices) > 1, elem_id="ts-selection")
        theme = gr.Button("Light / dark", size="sm", elem_id="ts-theme", scale=0, min_width=110)
    if page in HEADED:
        add_html(render("heading.html", heading=PAGES[page]))
    query = gr.Textbox("", visible=False, label="Parameters")
    blocks.load(None, None, query, js="() => window.Touchstone?.open() ?? location.search", **PRIVATE)
    selection.input(None, selection, None, js="(query) => Touchstone.select(query)", **PRIVATE)
    theme.click(None, None, None, js="() => Touchstone.toggleTheme()", **PRIVATE)
    return Frame(selection, query)


def add_html(content: str, **options: Any) -> gr.HTML:
    """Add HTML from the templates."""
    return gr.HTML(str(content), elem_classes="ts", apply_default_css=False, **options)


def parse_query(query: str) -> dict[str, str]:
    """Return the parameters of an address, bounded in length."""
    return {key: value[:LONGEST_PARAMETER] for key, value in parse_qsl(query.removeprefix("?"), keep_blank_values=True)}


def read_query(request: gr.Request) -> dict[str, str]:
    """Return the parameters of the address of the page that sends a request."""
    return parse_query(str(request.query_params))


@contextmanager
def show_errors() -> Iterator[None]:
    """Show an error of an event or of a client's request as its sentence."""
    try:
        yield
    except TouchstoneError as error:
        raise gr.Error(str(error), print_exception=False) from None
