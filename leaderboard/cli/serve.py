"""The commands that show the board: `serve` in a browser, `site` as files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import ANSWERED, ReleaseOption, StoreOption, SuiteOption, is_store_named, store_address

if TYPE_CHECKING:
    from leaderboard.board.snapshot import Snapshot

serving_app = typer.Typer()


@serving_app.command()
def serve(
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
    host: Annotated[str, typer.Option(help="127.0.0.1: this machine only; 0.0.0.0: all network interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7860,
) -> None:
    """Show the board in a browser: the results of your store, or the latest release if there are none.  Works offline.

    [bold]touchstone serve[/bold]     then open http://127.0.0.1:7860
    """
    from leaderboard.board import app
    from leaderboard.board.router import Library
    from leaderboard.cli.console import messages

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise TouchstoneError(f"{host}:{port} is not available ({error.strerror}). Choose another with --port or "
                                  "--host.") from None
    first, suites = load_snapshot(suite, store, release)
    if first.empty_message:
        messages.print(first.empty_message, soft_wrap=True, markup=False)
    messages.print(f"http://{host}:{port}  ({first.title}; stop with Ctrl-C)", soft_wrap=True)
    app.serve(Library(first, suites), host, port)


@serving_app.command()
def site(
    folder: Annotated[Path, typer.Argument(help="Output folder.")],
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
) -> None:
    """Write the board as static files that need no server.

    [bold]touchstone site public[/bold]
    """
    import sys

    from leaderboard.board.static_site import write_site
    from leaderboard.cli.console import messages

    snapshot, _ = load_snapshot(suite, store, release)
    if snapshot.empty_message:
        raise TouchstoneError(snapshot.empty_message)
    messages.print(f"Wrote {write_site(snapshot, folder)} files to {folder}: {snapshot.title}.", soft_wrap=True, markup=False)
    sys.exit(ANSWERED)


def load_snapshot(suite: str, store: str | None, release: str | None) -> tuple[Snapshot, dict[str, Callable[[], Snapshot]]]:
    """Return the snapshot of the named release, of the store, or of the latest release if an unnamed store has no results.

    The second value loads the other suites with results in the same store, when they are requested.
    """
    from functools import partial

    from harness.results.store import Store
    from leaderboard.board.snapshot import of_release, of_store
    from leaderboard.publishing.release import read_release, releases
    from tasks.suite_files import FOLDER, load_suite

    def read_suite_snapshot(name: str) -> Snapshot:
        return of_store(load_suite(name), opened)

    path = store_address(store)
    may_replace = not is_store_named(store) and bool(releases())
    if release is not None or (may_replace and not os.path.exists(path)):
        return of_release(read_release(release)), {}
    opened, first = Store(path, read_only=True), load_suite(suite)
    others = [name for name in opened.suites() if name != first.name and (FOLDER / f"{name}.toml").exists()]
    snapshot = of_store(first, opened)
    if may_replace and snapshot.empty_message:
        snapshot = of_release(read_release())
    return snapshot, {name: partial(read_suite_snapshot, name) for name in others}
