"""The commands that show the board: `serve` in a browser, `site` as files."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import ANSWERED, ReleaseOption, StoreOption, SuiteOption, is_store_named, store_address
from leaderboard.cli.serving.service import LogOption, start_log

if TYPE_CHECKING:
    from leaderboard.board.snapshot import Snapshot
    from leaderboard.service.access import Service

serving_app = typer.Typer()


@serving_app.command()
def serve(
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
    with_metrics: Annotated[list[str] | None, typer.Option(
        "--with", metavar="NAME|FILE", help="Show only this metric of your store among the published ones; may be repeated.",
        show_default=False)] = None,
    host: Annotated[str, typer.Option(help="127.0.0.1: this machine only; 0.0.0.0: all network interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7860,
    submissions: Annotated[bool, typer.Option("--submissions", help="Accept metrics for scoring; `touchstone runner` runs them.",
                                              rich_help_panel="Submissions")] = False,
    with_runner: Annotated[bool, typer.Option("--with-runner", help="Also start a runner on this machine.",
                                              rich_help_panel="Submissions")] = False,
    auth: Annotated[str, typer.Option(metavar="none|token|oauth", help="How owners of submissions are identified.",
                                      rich_help_panel="Submissions")] = "none",
    log: LogOption = "text",
    own_data: Annotated[bool, typer.Option("--own-data", help="Add a page that recommends a metric for files on this machine; "
                                           "only for browsers on this machine.")] = False,
) -> None:
    """Show the board in a browser: the results of your store among the published ones.  Works offline.

    New results are shown when the run that computes them has ended.

    [bold]touchstone serve[/bold]                        then open http://127.0.0.1:7860

    [bold]touchstone serve --with my_metric.py[/bold]    one metric of your store among the published ones

    [bold]touchstone serve --submissions --with-runner[/bold]    accept metrics, and run them on this machine
    """
    from leaderboard.board import app
    from leaderboard.board.router import Library
    from leaderboard.cli.console import messages
    from leaderboard.publishing.release import releases

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise TouchstoneError(f"{host}:{port} is not available ({error.strerror}). Choose another address with --port or "
                                  "--host.") from None
    if own_data and (host not in ("127.0.0.1", "localhost", "::1") or submissions):
        raise TouchstoneError("--own-data reads files of this machine; use it with --host 127.0.0.1 and without --submissions.")
    if with_runner and not submissions:
        raise TouchstoneError("--with-runner needs --submissions.")
    service = open_service(store, auth, log) if submissions else None
    published = release or next(reversed(releases()), None) if submissions else release    # results that are held are not shown
    ended = last_end(store) if published is None else None      # before results are read: a run that ends meanwhile is noticed

    def read() -> Library:
        first, suites = load_snapshot(suite, store, published, with_metrics)
        return Library(first, suites, service=service, own_data=own_data)

    def read_if_changed() -> Library | None:
        nonlocal ended
        before, ended = ended, last_end(store)
        return read() if ended != before else None

    library = read()
    if library.first.empty_message:
        messages.print(library.first.empty_message, soft_wrap=True, markup=False)
    messages.print(f"http://{host}:{port}  ({library.first.title}; stop with Ctrl-C)", soft_wrap=True)
    with run_beside(store, suite, log) if with_runner else contextlib.nullcontext():
        app.serve(library, host, port, read_if_changed if published is None else None)


def last_end(store: str | None) -> str | None:
    """Return when the last run on the store ended; None if there is no store, or no run has ended."""
    from harness.results.store import Store

    address = store_address(store)
    if "://" not in address and not os.path.exists(address):
        return None
    opened = Store(address, read_only=True)
    try:
        return opened.last_end()
    finally:
        opened.close()


def open_service(store: str | None, auth: str, log: str) -> Service:
    """Return the submission service on a store, which is created if there is none."""
    from leaderboard.service.access import Auth, Service
    from leaderboard.service.database import ServiceDatabase
    from leaderboard.service.providers import read_providers
    from leaderboard.service.settings import Settings

    if auth not in list(Auth):
        raise TouchstoneError(f"--auth must be one of {', '.join(Auth)}.")
    start_log(log)
    providers = read_providers() if auth == Auth.OAUTH else ()
    return Service(ServiceDatabase(store_address(store)), Settings.from_environment(), Auth(auth), providers)


@contextlib.contextmanager
def run_beside(store: str | None, suite: str, log: str) -> Iterator[None]:
    """Keep a runner process while the server runs."""
    runner = subprocess.Popen([sys.executable, "-m", "leaderboard", "runner", "--store", store_address(store), "--suite", suite,
                               "--log", log])
    try:
        yield
    finally:
        runner.terminate()
        try:
            runner.wait(60)
        except subprocess.TimeoutExpired:
            runner.kill()


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
    from leaderboard.board.static_site import write_site
    from leaderboard.cli.console import messages

    snapshot, _ = load_snapshot(suite, store, release)
    if snapshot.empty_message:
        raise TouchstoneError(snapshot.empty_message)
    messages.print(f"Wrote {write_site(snapshot, folder)} files to {folder}: {snapshot.title}.", soft_wrap=True, markup=False)
    sys.exit(ANSWERED)


@serving_app.command()
def space(
    folder: Annotated[Path, typer.Argument(help="Output folder.")],
    wheel: Annotated[Path | None, typer.Option(help="A wheel of this package to copy and install, instead of the published one.",
                                               show_default=False)] = None,
) -> None:
    """Write a folder that runs the board on Hugging Face Spaces, or anywhere with `python app.py`.

    [bold]touchstone space my-space --wheel dist/touchstone_benchmark-0.1.0-py3-none-any.whl[/bold]
    """
    from leaderboard.board.space import write_space
    from leaderboard.cli.console import messages

    for path in write_space(folder, wheel):
        messages.print(str(path), soft_wrap=True, markup=False)
    messages.print("Not verified on Hugging Face Spaces. See docs/deploy.md.", soft_wrap=True)


def load_snapshot(suite: str, store: str | None, release: str | None,
                  with_metrics: Sequence[str] | None = None) -> tuple[Snapshot, dict[str, Callable[[], Snapshot]]]:
    """Return the snapshot of the named release, of the store, or of the latest release if an unnamed store has no results.

    A store is shown among the published metrics, all its entries or the named ones. The second value loads the other suites
    with results in the same store, when they are requested.
    """
    from functools import partial

    from harness.base.paths import SUBMISSIONS
    from harness.results.store import Store
    from harness.submission.selection import select_entries
    from leaderboard.board.snapshot import of_release, of_store
    from leaderboard.cli.console import messages
    from leaderboard.publishing.release import find_published, read_release, releases
    from tasks.suite_files import FOLDER, load_suite

    def read_suite_snapshot(name: str) -> Snapshot:
        loaded = load_suite(name)
        published, reason = find_published(loaded)
        if reason is not None:
            messages.print(f"Without the published metrics: {reason}", soft_wrap=True, markup=False)
        return of_store(loaded, opened, published, only)

    path = store_address(store)
    only = {entry.digest: entry.name for entry in select_entries(with_metrics, SUBMISSIONS)} if with_metrics else None
    if only and release is not None:
        raise TouchstoneError("Use either --with or --release, not both.")
    may_replace = not is_store_named(store) and bool(releases()) and not only
    if release is not None or (may_replace and not os.path.exists(path)):
        return of_release(read_release(release)), {}
    opened = Store(path, read_only=True)
    stored = opened.finished_by_entry(load_suite(suite).observation_types) if only else {}
    for digest, name in (only or {}).items():
        if digest not in stored:
            raise TouchstoneError(f'The store {opened.name} has no results of "{name}" on the suite {suite}. Run `touchstone run '
                                  f"{' '.join(with_metrics or ())} --suite {suite}` first.")
    snapshot = read_suite_snapshot(suite)
    others = [name for name in opened.suites() if name != snapshot.report.suite.name and (FOLDER / f"{name}.toml").exists()]
    if may_replace and snapshot.empty_message:
        snapshot = of_release(read_release())
    return snapshot, {name: partial(read_suite_snapshot, name) for name in others}
