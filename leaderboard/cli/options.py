"""Options that several commands share, and JSON output."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.base.errors import TouchstoneError, did_you_mean

if TYPE_CHECKING:
    from harness.sandbox.limits import Limits

SuiteOption = Annotated[str, typer.Option(help="Suite: core, smoke, or the path of a TOML file.", rich_help_panel="What")]
StoreOption = Annotated[str | None, typer.Option(metavar="FILE|sqlite:///…|postgresql://…", help="The results store.  \\["
                                                 "default: results/store.sqlite in the clone, or TOUCHSTONE_STORE]",
                                                 show_default=False, rich_help_panel="Where")]
DataOption = Annotated[Path | None, typer.Option(help="Folder of Parquet snapshots that takes precedence over downloads.  \\["
                                                      "default: TOUCHSTONE_DATA]", show_default=False, rich_help_panel="Where")]
TrackOption = Annotated[str | None, typer.Option(help="Only this track: corpus or text.", show_default=False,
                                                 rich_help_panel="What")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TrustOption = Annotated[bool, typer.Option("--trust", help="Disable the sandbox for code you have reviewed (recorded in the "
                                           "results).", rich_help_panel="How")]
JobsOption = Annotated[int | None, typer.Option(min=1, max=256, help="Number of metrics that run at the same time.  "
                                                                     "\\[default: number of processors]",
                                                show_default=False, rich_help_panel="How")]
SecondsOption = Annotated[float | None, typer.Option(min=0.1, help="Time limit per test unit, in seconds.  \\[default: 300]",
                                                     show_default=False, rich_help_panel="How")]
MemoryOption = Annotated[int | None, typer.Option(min=500, help="Memory limit of a metric, in MB.  \\[default: 8000]",
                                                  show_default=False, rich_help_panel="How")]
LimitOption = Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Any other limit, for example threads=8; "
                                                       "may be repeated.", show_default=False, rich_help_panel="How")]
ANSWERED, SOME_FAILED, REFUSED, STOPPED = 0, 1, 2, 130


def set_mirror(folder: Path | None) -> None:
    """Use a folder of snapshots as the mirror of datasets."""
    if folder is not None:
        os.environ["TOUCHSTONE_DATA"] = str(folder.resolve())


def read_limits(seconds: float | None, memory: int | None, others: Iterable[str] | None) -> Limits:
    """Return the limits of a metric from the options."""
    from harness.sandbox.limits import Limits

    named = {"seconds_per_unit": seconds, "memory_bytes": memory and memory * 1_000_000}
    return Limits().with_overrides([*(f"{name}={value}" for name, value in named.items() if value), *(others or ())])


def default_jobs(jobs: int | None) -> int:
    """Return the requested number of jobs, or the number of processors."""
    return jobs or len(os.sched_getaffinity(0))


def unknown_metric_error(name: str, suite: str, names: Iterable[str]) -> TouchstoneError:
    """Return the error for a metric without results in the store."""
    return TouchstoneError(f'The store has no results of "{name}" on the suite {suite}.{did_you_mean(name, names)} '
                           f"Run `touchstone run {name} --suite {suite}`.")


def store_address(named: str | None) -> str:
    """Return the path or address of the store; raise if the address contains a password, which other users could see."""
    from urllib.parse import urlsplit

    from harness.base.paths import default_store

    if named is not None and "://" in named and urlsplit(named).password is not None:
        raise TouchstoneError("--store contains a password, which other users of this machine can see; put it into PGPASSWORD "
                              "or ~/.pgpass, or the whole address into TOUCHSTONE_STORE.")
    return named if named is not None else default_store()


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
