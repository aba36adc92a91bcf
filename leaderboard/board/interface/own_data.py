"""The page that chooses a metric by data of the user; only on a server for its own machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from leaderboard.board.interface.frame import EventOptions, add_frame, add_html, show_errors
from leaderboard.board.pages.own_data import render_report, report_corpora, report_pairs, report_texts
from leaderboard.board.router import Library
from leaderboard.own_data.report import Report

RUN: EventOptions = {"api_visibility": "private", "concurrency_limit": 1, "concurrency_id": "own-data"}


class ShownProgress:
    """Shows stages on the page."""

    def __init__(self, progress: gr.Progress, title: str = "", total: int = 0) -> None:
        self._progress, self._title, self._total, self._done = progress, title, total, 0

    def stage(self, title: str, total: int, unit: str) -> ShownProgress:
        """Begin a stage."""
        return ShownProgress(self._progress, title, total)

    def say(self, sentence: str) -> None:
        """Show a message for a moment."""
        gr.Info(sentence)

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        """Show how much is done."""
        self._done += amount
        self._progress((self._done, max(self._total, self._done)), desc=self._title)

    def close(self) -> None:
        """Do nothing: the next stage replaces this one."""


def add_own_data(library: Library, blocks: gr.Blocks) -> None:
    """Add a form for each kind of data, each with its report."""
    add_frame(library, blocks, "own")
    add_html(library.page("own", {}).content)
    with gr.Tabs():
        with gr.Tab("Judged pairs"):
            source = gr.Textbox(label="File or dataset with rated or labelled pairs", placeholder="rated.csv", elem_id="own-pairs")
            single = gr.Checkbox(False, label="Do not consider combinations of metrics")
            add_run(report_pairs, "own-pairs-report", source, single)
        with gr.Tab("Two corpora"):
            with gr.Row():
                corpora = [gr.Textbox(label=label, elem_id=f"own-{name}") for name, label in (
                    ("first", "First corpus: file, folder or dataset"), ("second", "Second corpus"), ("like", "Target corpus (optional)"))]
            add_run(report_corpora, "own-corpora-report", *corpora)
        with gr.Tab("Texts without judgements"):
            add_run(report_texts, "own-texts-report", gr.Textbox(label="File, folder or dataset of English texts", elem_id="own-texts"))


def add_run(make: Callable[..., Report], identifier: str, *inputs: Any) -> None:
    """Add a button that makes a report from the inputs, and a place for the report."""
    button, content = gr.Button("Choose a metric", variant="primary"), add_html("", elem_id=identifier, min_height=120)

    def run(*values: Any, progress: gr.Progress = gr.Progress()) -> str:       # noqa: B008
        with show_errors():
            return str(render_report(make(ShownProgress(progress), *values)))
    button.click(run, list(inputs), content, **RUN)
