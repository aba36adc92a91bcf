"""What the command groups share: options, and how JSON is printed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.base.errors import TouchstoneError, did_you_mean

SuiteOption = Annotated[str, typer.Option(help="core, smoke, or a TOML file of your own.", rich_help_panel="What")]
StoreOption = Annotated[str | None, typer.Option(metavar="FILE|postgresql://…", help="The results store.  [default: "
                                                 "results/store.sqlite in the clone, or TOUCHSTONE_STORE]",
                                                 show_default=False, rich_help_panel="Where")]
DataOption = Annotated[Path | None, typer.Option(help="A folder of Parquet snapshots, looked at before anything is fetched.  "
                                                      "[default: TOUCHSTONE_DATA]", show_default=False, rich_help_panel="Where")]
TrackOption = Annotated[str | None, typer.Option(help="Only this track: corpus or text.", show_default=False,
                                                 rich_help_panel="What")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
TrustOption = Annotated[bool, typer.Option("--trust", help="Run without walls files whose source you have read; the record "
                                           "says so.", rich_help_panel="How")]
JobsOption = Annotated[int | None, typer.Option(min=1, max=256, help="Metrics asked side by side.  [default: one a processor]",
                                                show_default=False, rich_help_panel="How")]
ANSWERED, SOME_FAILED, REFUSED, STOPPED = 0, 1, 2, 130


def set_mirror(folder: Path | None) -> None:
    if folder is not None:
        os.environ["TOUCHSTONE_DATA"] = str(folder.resolve())


def default_jobs(jobs: int | None) -> int:
    """As many as were asked for, or one a processor."""
    return jobs or len(os.sched_getaffinity(0))


def unknown_metric_error(name: str, suite: str, names: Iterable[str]) -> TouchstoneError:
    """What to say of a metric that the store knows nothing of."""
    return TouchstoneError(f'The store has no answers of "{name}" to the suite {suite}.{did_you_mean(name, names)} '
                           f"`touchstone run {name} --suite {suite}` asks it.")


def store_address(named: str | None) -> str:
    """The store's file or address; a password has no place on a command line, which everybody on the machine can read."""
    from urllib.parse import urlsplit

    from harness.base.paths import default_store

    if named is not None and "://" in named and urlsplit(named).password is not None:
        raise TouchstoneError("--store holds a password, which everybody on this machine can read there; put it into PGPASSWORD "
                              "or ~/.pgpass, or the whole address into TOUCHSTONE_STORE.")
    return named if named is not None else default_store()


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
