"""The command `epoch`: private draws of a suite, their commitments, and the scores of published metrics on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import (
    DataOption,
    JobsOption,
    JsonOption,
    LimitOption,
    MemoryOption,
    SecondsOption,
    StoreOption,
    default_jobs,
    print_json,
    read_limits,
    set_mirror,
    store_address,
)

if TYPE_CHECKING:
    from leaderboard.service.epochs.ledger import Epochs

epoch_app = typer.Typer(no_args_is_help=True, help="Open, close and verify private draws of a suite (docs/service.md).")
SecretOption = Annotated[Path | None, typer.Option("--secret", metavar="FILE", envvar="TOUCHSTONE_EPOCH_SECRET_FILE",
                                                   help="File with the secret.  \\[default: TOUCHSTONE_EPOCH_SECRET]",
                                                   show_default=False)]
NameArgument = Annotated[str, typer.Argument(help="Name of the epoch, such as 2026Q4.")]


@epoch_app.command()
def new(
    recipe: Annotated[Path, typer.Argument(metavar="RECIPE", help="TOML file, such as deploy/epoch.toml.")],
    secret: Annotated[Path, typer.Option("--secret", metavar="FILE", help="Where to write the new secret.")],
    store: StoreOption = None,
    data_dir: DataOption = None,
) -> None:
    """Open an epoch: create its secret, draw its items once, and store the commitment.

    [bold]touchstone epoch new deploy/epoch.toml --secret ~/epoch-2026Q4[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.service.epochs.draws import create_secret, read_recipe
    from leaderboard.service.epochs.scoring import open_epoch

    set_mirror(data_dir)
    text, epochs = read_recipe(recipe), open_epochs(store)
    value = create_secret(secret)
    try:
        epoch = open_epoch(epochs, text, value, ConsoleProgress())
    except BaseException:
        secret.unlink()
        raise
    messages.print(f"The epoch {epoch.name} is open; publish its commitment. Its secret is in {secret}: keep a copy, it cannot "
                   "be restored.", soft_wrap=True, markup=False)
    print(epoch.commitment)


@epoch_app.command()
def score(
    what: Annotated[list[str] | None, typer.Argument(metavar="[NAME|FILE]...", show_default=False, help="Metrics to run; "
                                                     "default: those of the release, and scored submissions.")] = None,
    secret: SecretOption = None,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
) -> None:
    """Run published metrics on the draw of the open epoch, to compare submissions with. Repeat the command to resume."""
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.service.epochs.draws import read_secret
    from leaderboard.service.epochs.scoring import PrivateDraw, private_store, score_published

    set_mirror(data_dir)
    epochs = open_epochs(store)
    epoch = epochs.current()
    if epoch is None:
        raise TouchstoneError("No epoch is open; open one with `touchstone epoch new RECIPE`.")
    draw = PrivateDraw.load(epochs, epoch, read_secret(secret), private_store(epochs.database, epoch.name))
    count = score_published(draw, what or (), read_limits(seconds, memory, limit), default_jobs(jobs), ConsoleProgress())
    messages.print(f"{count} entries have scores on the draw of {epoch.name}.", markup=False)


@epoch_app.command()
def close(
    name: NameArgument,
    secret: SecretOption = None,
    lost: Annotated[bool, typer.Option("--lost", help="Close the epoch although its secret was lost; its badges "
                                       "become invalid.")] = False,
    store: StoreOption = None,
) -> None:
    """Close an epoch and publish its secret, with which anybody can derive its draw."""
    from leaderboard.cli.console import messages
    from leaderboard.service.epochs.draws import read_secret

    if lost and secret is not None:
        raise TouchstoneError("Use either --secret or --lost, not both.")
    epochs = open_epochs(store)
    epochs.require_open(name)
    epoch = epochs.close(name, None if lost else read_secret(secret))
    messages.print(f"The epoch {name} is closed{' without its secret' if lost else '; this is its secret'}.", markup=False)
    if epoch.secret is not None:
        print(epoch.secret)


@epoch_app.command()
def verify(
    what: Annotated[str, typer.Argument(metavar="NAME|FILE", help="Epoch in the store, or its record from /api/epochs/NAME.")],
    store: StoreOption = None,
    data_dir: DataOption = None,
) -> None:
    """Derive the draw of a closed epoch from its secret, and compare it with the commitment and the record."""
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.service.epochs.ledger import read_record, verify_epoch

    set_mirror(data_dir)
    epoch = read_record(Path(what)) if what.endswith(".json") else open_epochs(store).get(what)
    verify_epoch(epoch, ConsoleProgress())
    messages.print(f"The draw of {epoch.name} matches its commitment: the hash, the fingerprint and all texts are equal.",
                   soft_wrap=True, markup=False)


@epoch_app.command("list")
def list_epochs(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the epochs with their commitments."""
    from leaderboard.cli.console import messages, output
    from leaderboard.service.views import format_time

    epochs = [epoch.visible for epoch in open_epochs(store).list()]
    if as_json:
        print_json([epoch.model_dump(mode="json") for epoch in epochs])
        return
    for epoch in epochs:
        state = "open" if epoch.closed is None else f"closed {format_time(epoch.closed)[:10]}"
        output.print(f"{epoch.name}  {state}, opened {format_time(epoch.opened)[:10]}, badges valid until {epoch.expires}  "
                     f"{epoch.commitment}", markup=False, soft_wrap=True)
    if not epochs:
        messages.print("There are no epochs; open one with `touchstone epoch new RECIPE`.")


def open_epochs(store: str | None) -> Epochs:
    """Return the epochs in a store."""
    from leaderboard.service.database import ServiceDatabase
    from leaderboard.service.epochs.ledger import Epochs

    return Epochs(ServiceDatabase(store_address(store)))
