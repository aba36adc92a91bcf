"""The commands of the submission service: `runner`, `tokens`, `status`, and the client behind `submit --to https://…`."""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.base.errors import TouchstoneError, printable
from leaderboard.cli.options import (
    ANSWERED,
    SOME_FAILED,
    ClusterOption,
    DataOption,
    JobsOption,
    LimitOption,
    MemoryOption,
    SecondsOption,
    StoreOption,
    SuiteOption,
    connect_cluster,
    default_jobs,
    read_limits,
    set_mirror,
    store_address,
)

if TYPE_CHECKING:
    import httpx

    from leaderboard.report.position import Position
    from leaderboard.service.epochs.views import PrivateView
    from leaderboard.service.tokens import Tokens
    from leaderboard.service.views import SubmissionView

service_app = typer.Typer()
tokens_app = typer.Typer(no_args_is_help=True, help="Create, list and revoke tokens of the submission service.")
submissions_app = typer.Typer(no_args_is_help=True, help="Maintain the submissions that a server received.")
TokenOption = Annotated[str | None, typer.Option(envvar="TOUCHSTONE_TOKEN", help="Token of the server.", show_default=False)]
LogOption = Annotated[
    str, typer.Option(metavar="text|json", help="Format of the log on standard error.", rich_help_panel="Submissions")
]
EpochSecretOption = Annotated[Path | None, typer.Option("--epoch-secret", metavar="FILE", envvar="TOUCHSTONE_EPOCH_SECRET_FILE",
                                                        help="Secret of the open epoch; without it, nothing is run on its "
                                                             "private draw.", show_default=False)]
POLL_SECONDS = 2.0


@service_app.command()
def runner(
    suite: SuiteOption = "core",
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
    epoch_secret: EpochSecretOption = None,
    cluster: ClusterOption = None,
    once: Annotated[bool, typer.Option("--once", help="Stop when no submission is waiting.")] = False,
    log: LogOption = "text",
) -> None:
    """Check and run the submissions that a server received.  Several runners can share a PostgreSQL store.

    [bold]touchstone runner --store postgresql://user@host/name[/bold]
    """
    from functools import partial

    from harness.sandbox.probe import probe_sandbox
    from leaderboard.cli.console import messages
    from leaderboard.service.database import ServiceDatabase
    from leaderboard.service.epochs.draws import SECRET_VARIABLE, read_secret
    from leaderboard.service.runner import RunConditions, Runner
    from leaderboard.service.settings import Settings
    from leaderboard.service.submissions import Submissions
    from tasks.suite_files import load_suite

    start_log(log)
    set_mirror(data_dir)
    secret = read_secret(epoch_secret) if epoch_secret is not None or SECRET_VARIABLE in os.environ else None
    read = load_suite(suite)
    connect = partial(connect_cluster, cluster, suite, read.fingerprint)
    conditions = RunConditions(read, read_limits(seconds, memory, limit), default_jobs(jobs), secret, connect)
    with connect():  # raises where no scheduler answers or a node cannot run metrics
        pass
    probe_sandbox(False)  # raises where a submission could not be isolated
    database = ServiceDatabase(store_address(store))
    worker = Runner(Submissions(database, Settings.from_environment()), conditions)
    messages.print(f"Runner {worker.name} on {database.name} (stop with Ctrl-C)", soft_wrap=True, markup=False)
    worker.run(once)


@submissions_app.command()
def prune(
    days: Annotated[float, typer.Option("--older-than", metavar="DAYS", min=0, help="Days since the submission ended.")] = 90,
    store: StoreOption = None,
) -> None:
    """Delete submissions that were refused, failed, expired or withdrawn, with their files; keep scored submissions."""
    from leaderboard.cli.console import messages
    from leaderboard.service.database import ServiceDatabase
    from leaderboard.service.settings import Settings
    from leaderboard.service.submissions import Submissions

    count = Submissions(ServiceDatabase(store_address(store)), Settings.from_environment()).prune(days)
    messages.print(f"Deleted {count:,} submissions.")


@tokens_app.command("new")
def new_token(
    owner: Annotated[str, typer.Argument(help="Name of the person or group.")],
    days: Annotated[float, typer.Option(min=0.01, help="Days until it expires.")] = 90,
    store: StoreOption = None,
) -> None:
    """Create a token and print it once; only its hash is stored."""
    print(open_tokens(store).create(owner, days))


@tokens_app.command("list")
def list_tokens(store: StoreOption = None) -> None:
    """List all tokens, without their secrets."""
    from leaderboard.cli.console import output
    from leaderboard.service.views import format_time

    for token in open_tokens(store).list():
        state = "revoked" if token.revoked is not None else "expired" if token.expires < time.time() else "valid"
        output.print(
            f"{token.id}  {token.owner}  {token.scope}  {state}, expires {format_time(token.expires)[:10]}",
            markup=False,
            soft_wrap=True,
        )


@tokens_app.command("revoke")
def revoke_token(
    identifier: Annotated[str, typer.Argument(help="The first column of `touchstone tokens list`.")], store: StoreOption = None
) -> None:
    """Revoke a token."""
    open_tokens(store).revoke(identifier)


@service_app.command()
def status(
    identifier: Annotated[str, typer.Argument(help="Identifier of the submission.")],
    server: Annotated[str, typer.Option("--server", help="Address of the server.")] = "http://127.0.0.1:7860",
    token: TokenOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Print changes until the state is final.")] = False,
) -> None:
    """Print the state of a submission on a server.

    [bold]touchstone status xHc2pM1f --server https://touchstone.example.org[/bold]
    """
    with connect(server, token) as client:
        follow_submission(client, identifier, follow)


def start_log(style: str) -> None:
    """Write the log of the service to standard error."""
    from leaderboard.service.logs import LogFormat, configure_logs

    if style not in list(LogFormat):
        raise TouchstoneError(f"--log must be one of {', '.join(LogFormat)}.")
    configure_logs(LogFormat(style))


def submit_to_server(file: Path, server: str, token: str | None, follow: bool = True) -> None:
    """Upload a metric to a server, queue it, and print its events."""
    from leaderboard.cli.console import messages

    try:
        source = file.read_bytes()
    except OSError as error:
        raise TouchstoneError(f"{file} cannot be read ({error.strerror}).") from None
    with connect(server, token) as client:
        submission = send(
            client,
            "POST",
            "/api/submissions",
            params={"filename": file.name, "queue": "true"},
            content=source,
            headers={"Content-Type": "text/x-python"},
        )
        messages.print(f"{server.rstrip('/')}/submission?id={submission.id}", soft_wrap=True, markup=False)
        messages.print("Ctrl-C ends only this display.")
        follow_submission(client, submission.id, follow)


def follow_submission(client: httpx.Client, identifier: str, follow: bool) -> None:
    """Print the events of a submission, and with `follow` further events until it is scored or its state is final."""
    from urllib.parse import quote

    from leaderboard.cli.console import output
    from leaderboard.service.states import State
    from leaderboard.service.views import format_time

    printed, last = 0, ""
    while True:
        submission = send(client, "GET", f"/api/submissions/{quote(identifier, safe='')}")
        for event in submission.events[printed:]:
            output.print(f"{format_time(event.time)}  {event.state:9}  {printable(event.reason)}", markup=False, soft_wrap=True)
        printed = len(submission.events)
        progress = submission.progress
        line = ("" if progress is None or progress.stage is None
                else f"{progress.stage}: {progress.done:,} of {progress.total:,} {progress.unit}")
        if line != last and line and follow:
            output.print(f"{'':21}{printable(line)}", markup=False, soft_wrap=True)
            last = line
        done = submission.final or submission.state in (State.CHECKED, State.SCORED, State.HELD)
        if done or not follow:
            positions = [] if submission.results is None else submission.results.positions
            private = itertools.chain.from_iterable(map(describe_private, submission.private))
            for line in (*map(describe_position, positions), *private):
                output.print(line, markup=False, soft_wrap=True)
            sys.exit(SOME_FAILED if submission.state in (State.REFUSED, State.FAILED) else ANSWERED)
        time.sleep(POLL_SECONDS)


def describe_position(position: Position) -> str:
    """Return the rank of an entry in a track as a line."""
    name, track = printable(position.name), printable(position.track)
    if position.rank is None:
        return f"{name}: not ranked among the {track} metrics: {printable(position.not_ranked or '')}"
    low, high = position.rank_interval or (position.rank, position.rank)
    return f"{name}: rank {position.rank} (95% {low}-{high}) of {position.of} {track} metrics"


def describe_private(private: PrivateView) -> list[str]:
    """Return the scores of an entry on a private draw, one per line."""
    name = f"{printable(private.name)}, private draw {printable(private.epoch)}"
    lines = [f"{name}: {printable(score.title)} {score.value} (95% {score.low} to {score.high})"
             + ("" if score.improved else ", the best so far of its owner, which it does not exceed")
             for score in private.scores]
    return [*lines, *(f"{name}: the public score on {printable(task)} is not confirmed" for task in private.flagged)]


def connect(server: str, token: str | None) -> httpx.Client:
    """Return a client of a server."""
    import httpx

    if not server.startswith(("http://", "https://")):
        raise TouchstoneError(f"{printable(server, 80)} is not the address of a server; it begins with http:// or https://.")
    return httpx.Client(base_url=server, timeout=30, headers={"Authorization": f"Bearer {token}"} if token else {})


def send(client: httpx.Client, method: str, path: str, **options: Any) -> SubmissionView:
    """Return the submission of a response; raise with the sentence of the server if it refuses the request."""
    import httpx

    from leaderboard.service.views import SubmissionView

    try:
        response = client.request(method, path, **options)
        content = response.json()
        if not response.is_error:
            return SubmissionView.model_validate(content)
        sentence = printable(str(content["error"]))
    except httpx.HTTPError as error:
        raise TouchstoneError(f"{client.base_url} does not answer ({error}). Check the address and the connection.") from None
    except (ValueError, LookupError, TypeError):
        raise TouchstoneError(f"{client.base_url} answered with status {response.status_code} and is not a Touchstone server "
                              "that accepts submissions. Check the address.") from None
    raise TouchstoneError(sentence)


def open_tokens(store: str | None) -> Tokens:
    """Return the tokens in a store."""
    from leaderboard.service.database import ServiceDatabase
    from leaderboard.service.tokens import Tokens

    return Tokens(ServiceDatabase(store_address(store)))
