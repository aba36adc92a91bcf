"""Named endpoints for Gradio's clients: `Client(address).predict("energy", api_name="/card")`."""

from __future__ import annotations

import gradio as gr

from leaderboard.board.interface.frame import show_errors
from leaderboard.board.router import Library
from leaderboard.board.services.api import compare_in_track
from leaderboard.board.services.lookup import find_compared, find_entries, find_snapshot


def add_client_endpoints(library: Library) -> None:
    """Add the endpoints `board`, `card` and `compare`; inside a context of `gr.Blocks`."""

    def board(release: str = "", suite: str = "") -> dict[str, object]:
        """Return the whole report, of a release or of another suite if one is named."""
        with show_errors():
            return find_snapshot(library, release, suite).report.model_dump(mode="json")

    def card(metric: str, release: str = "", suite: str = "") -> list[dict[str, object]]:
        """Return everything about one metric, once per track."""
        with show_errors():
            return [entry.model_dump(mode="json") for entry in find_entries(find_snapshot(library, release, suite), metric)]

    def compare(metrics: str, track: str = "corpus", release: str = "", suite: str = "") -> dict[str, object]:
        """Return paired differences of comma-separated metrics."""
        with show_errors():
            snapshot = find_snapshot(library, release, suite)
            return compare_in_track(snapshot, track, find_compared(snapshot, metrics, track)).model_dump(mode="json")

    for endpoint in (board, card, compare):
        gr.api(endpoint, api_name=endpoint.__name__)
