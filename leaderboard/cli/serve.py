"""The commands that show the board: `serve` in a browser, `site` as files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import ANSWERED, StoreOption, SuiteOption, store_address

if TYPE_CHECKING:
    from leaderboard.board.snapshot import Snapshot

serving_app = typer.Typer()

ReleaseOption = Annotated[str | None, typer.Option(metavar="YEAR.NUMBER", help="Show a release instead of the store.",
                                                   rich_help_panel="What")]


@serving_app.command()
def serve(
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
    host: Annotated[str, typer.Option(help="127.0.0.1: this machine alone; 0.0.0.0: whoever reaches it.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7860,
) -> None:
    """Show the board in a browser: your store's answers, or the latest release where there are none yet.  Needs no network.

    [bold]touchstone serve[/bold]     then open http://127.0.0.1:7860
    """
    from leaderboard.board import app
    from leaderboard.board.router import Shelf
    from leaderboard.cli.console import messages

    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except OSError as wrong:
            raise TouchstoneError(f"{host}:{port} cannot be served ({wrong.strerror}); take another with --port or "
                                  "--host.") from None
    shown, suites = snapshot(suite, store, release)
    if shown.nobody:
        messages.print(shown.nobody, soft_wrap=True, markup=False)
    messages.print(f"http://{host}:{port}  ({shown.title}; Ctrl-C stops it)", soft_wrap=True)
    app.serve(Shelf(shown, suites), host, port)


@serving_app.command()
def site(
    folder: Annotated[Path, typer.Argument(help="Where to write the pages.")],
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
) -> None:
    """Write the board as plain files that need no server.

    [bold]touchstone site public[/bold]
    """
    import sys

    from leaderboard.board.static_site import write_site
    from leaderboard.cli.console import messages

    shown, _ = snapshot(suite, store, release)
    if shown.nobody:
        raise TouchstoneError(shown.nobody)
    messages.print(f"{write_site(shown, folder)} files in {folder}: {shown.title}.", soft_wrap=True, markup=False)
    sys.exit(ANSWERED)


def snapshot(suite: str, store: str | None, release: str | None) -> tuple[Snapshot, dict[str, Callable[[], Snapshot]]]:
    """Of the release that is named; of the store; of the latest release where no store is named and none is there.

    With it, of the same store, the other suites that it has answers to: to be read when somebody asks for them.
    """
    from functools import partial

    from harness.results.store import Store
    from leaderboard.board.snapshot import of_release, of_store
    from leaderboard.publishing.release import read_release, releases
    from tasks.suite_files import FOLDER, load_suite

    def read_again(name: str) -> Snapshot:
        return of_store(load_suite(name), opened)

    path = store_address(store)
    nothing_asked = store is None and "TOUCHSTONE_STORE" not in os.environ and not os.path.exists(path)
    if release is not None or (nothing_asked and releases()):
        return of_release(read_release(release)), {}
    opened, first = Store(path, read_only=True), load_suite(suite)
    others = [name for name in opened.suites() if name != first.name and (FOLDER / f"{name}.toml").exists()]
    return of_store(first, opened), {name: partial(read_again, name) for name in others}
