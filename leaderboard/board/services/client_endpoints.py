"""Named endpoints for Gradio's clients: `Client(address).predict("energy", api_name="/card")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import gradio as gr

from harness.base.errors import TouchstoneError
from leaderboard.board.router import Library
from leaderboard.board.services.api import compare_in_track
from leaderboard.board.services.lookup import find_compared, find_entries, find_snapshot

Answer = TypeVar("Answer")


def add_client_endpoints(library: Library) -> None:
    """Add the endpoints `board`, `card` and `compare`; inside a context of `gr.Blocks`."""

    def board(release: str = "", suite: str = "") -> dict[str, object]:
        """Return the whole report, of a release or of another suite if one is named."""
        return answer(lambda: find_snapshot(library, release, suite).report.model_dump(mode="json"))

    def card(metric: str, release: str = "", suite: str = "") -> list[dict[str, object]]:
        """Return everything about one metric, once per track."""
        return answer(lambda: [entry.model_dump(mode="json") for entry in find_entries(find_snapshot(library, release, suite), metric)])

    def compare(metrics: str, track: str = "corpus", release: str = "", suite: str = "") -> dict[str, object]:
        """Return paired differences of comma-separated metrics."""
        def differences() -> dict[str, object]:
            snapshot = find_snapshot(library, release, suite)
            return compare_in_track(snapshot, track, find_compared(snapshot, metrics, track)).model_dump(mode="json")
        return answer(differences)

    for endpoint in (board, card, compare):
        gr.api(endpoint, api_name=endpoint.__name__)


def answer(compute: Callable[[], Answer]) -> Answer:
    """Return what a function computes; an error of the request is shown to the client as its sentence."""
    try:
        return compute()
    except TouchstoneError as error:
        raise gr.Error(str(error), print_exception=False) from None
