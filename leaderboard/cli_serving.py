"""The command `touchstone serve`."""

from __future__ import annotations

import socket
from typing import Annotated

import typer

from harness.errors import Refusal
from leaderboard.cli_options import StoreOption, SuiteOption, store_path

serving_app = typer.Typer()


@serving_app.command()
def serve(
    suite: SuiteOption = "core",
    store: StoreOption = None,
    host: Annotated[str, typer.Option(help="127.0.0.1: this machine alone; 0.0.0.0: whoever reaches it.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7860,
) -> None:
    """Show the board in a browser: the ranked table, a page a metric, and the board as JSON.  Needs no network.

    [bold]touchstone serve[/bold]     then open http://127.0.0.1:7860
    """
    from harness.store import Store
    from leaderboard.board import app
    from leaderboard.board.snapshot import take
    from leaderboard.terminal import messages
    from tasks.suite import read_suite

    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as wrong:
            raise Refusal(f"{host}:{port} cannot be served ({wrong.strerror}); take another with --port or --host.") from None
    snapshot = take(read_suite(suite), Store(store_path(store), read_only=True))
    messages.print(f"http://{host}:{port}  ({len(snapshot.names)} metrics; Ctrl-C stops it)")
    app.serve(snapshot, host, port)
