"""Options that several commands share, and JSON output."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.base.errors import TouchstoneError, did_you_mean

if TYPE_CHECKING:
    from harness.evaluation.loop import MakeExecutor
    from harness.sandbox.limits import Limits
    from leaderboard.publishing.views import ResultsView
    from leaderboard.scoring.results import Results

SuiteOption = Annotated[str, typer.Option(help="Suite: core, smoke, or the path of a TOML file.", rich_help_panel="What")]
StoreOption = Annotated[str | None, typer.Option(metavar="FILE|sqlite:///…|postgresql://…", help="The results store.  \\["
                                                 "default: results/store.sqlite in the clone, or TOUCHSTONE_STORE]",
                                                 show_default=False, rich_help_panel="Where")]
ReleaseOption = Annotated[str | None, typer.Option(metavar="NAME|FOLDER", help="Show a release instead of the store.",
                                                   show_default=False, rich_help_panel="Where")]
ResultsSuiteOption = Annotated[str | None, typer.Option("--suite", help="Suite: core, smoke, or the path of a TOML file.  \\["
                                                        "default: core, or the suite of the release]", show_default=False,
                                                        rich_help_panel="What")]
DataOption = Annotated[Path | None, typer.Option(help="Folder of Parquet snapshots that takes precedence over downloads.  \\["
                                                      "default: TOUCHSTONE_DATA]", show_default=False, rich_help_panel="Where")]
OwnDataOption = Annotated[list[str] | None, typer.Option("--data", metavar="TASK=DATASET,...", help="Run only this task, on "
                                                         "these datasets or files; may be repeated.", show_default=False,
                                                         rich_help_panel="What")]
ColumnOption = Annotated[list[str] | None, typer.Option(metavar="ROLE=NAME", help="The column for a role, such as text_a=old; "
                                                        "may be repeated.", show_default=False)]
PositiveOption = Annotated[str | None, typer.Option(metavar="LABEL", help="The label of similar pairs, if labels are words.",
                                                    show_default=False)]
HtmlOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as an HTML page.", show_default=False)]
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
ClusterOption = Annotated[str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: tcp://scheduler:8786, a "
                                                   "scheduler file, or local:4 for four processes here.", show_default=False,
                                                   rich_help_panel="How")]
ANSWERED, SOME_FAILED, REFUSED, STOPPED = 0, 1, 2, 130


def set_mirror(folder: Path | None) -> None:
    """Use a folder of snapshots as the mirror of datasets."""
    if folder is not None:
        os.environ["TOUCHSTONE_DATA"] = str(folder.resolve())


def read_columns(options: Iterable[str] | None) -> dict[str, str]:
    """Return the columns by role from the options `ROLE=NAME`."""
    columns = {}
    for option in options or ():
        role, sign, name = option.partition("=")
        if not (role and sign and name):
            raise TouchstoneError(f'--column "{option}" is not of the form ROLE=NAME, such as text_a=question.')
        columns[role.strip()] = name.strip()
    return columns


def read_datasets(options: Iterable[str] | None) -> dict[str, list[str]] | None:
    """Return the datasets by task from the options `TASK=DATASET,...`; None if there are no options."""
    datasets: dict[str, list[str]] = {}
    for option in options or ():
        task, _, names = option.partition("=")
        named = [name.strip() for name in names.split(",")]
        if not (task and all(named)):
            raise TouchstoneError(f'--data "{option}" is not of the form TASK=DATASET,..., such as human_ordering=tickets.')
        datasets.setdefault(task.strip(), []).extend(named)
    return datasets or None


def keep_public_draws(suite: str) -> None:
    """Keep what the test units of a built-in suite draw for the next command; the texts of other suites may be the user's."""
    from tasks.data.drawn import keep_drawn
    from tasks.suite_files import list_suites

    if suite in list_suites():
        keep_drawn()


def write_file(path: Path, content: str) -> None:
    """Write a text file."""
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise TouchstoneError(f"{path} cannot be written ({error.strerror}). Choose another file.") from None


def read_limits(seconds: float | None, memory: int | None, others: Iterable[str] | None) -> Limits:
    """Return the limits of a metric from the options."""
    from harness.sandbox.limits import Limits

    named = {"seconds_per_unit": seconds, "memory_bytes": memory and memory * 1_000_000}
    return Limits().with_overrides([*(f"{name}={value}" for name, value in named.items() if value), *(others or ())])


def default_jobs(jobs: int | None) -> int:
    """Return the requested number of jobs, or the number of processors."""
    return jobs or len(os.sched_getaffinity(0))


@contextlib.contextmanager
def connect_cluster(address: str | None, suite: str, fingerprint: str) -> Iterator[MakeExecutor]:
    """Connect to a Dask cluster and yield a factory of its executors; without an address, of local executors."""
    from functools import partial

    from harness.evaluation.executor import Executor
    from tasks.suite_files import suite_fingerprint

    if address is None:
        yield Executor
        return
    from harness.evaluation.cluster.executor import Cluster
    from harness.evaluation.cluster.node import Requirements

    connected = Cluster(address, Requirements(partial(suite_fingerprint, suite), fingerprint))
    try:
        yield connected.executor
    finally:
        connected.close()


def unknown_metric_error(name: str, suite: str, names: Iterable[str]) -> TouchstoneError:
    """Return the error for a metric without results in the store."""
    return TouchstoneError(f'The store has no results of "{name}" on the suite {suite}.{did_you_mean(name, names)} '
                           f"Run `touchstone run {name} --suite {suite}`.")


def is_store_named(store: str | None) -> bool:
    """Return whether the store is named, by the option or by TOUCHSTONE_STORE."""
    return store is not None or bool(os.environ.get("TOUCHSTONE_STORE"))


def open_results(suite: str | None, store: str | None, release: str | None) -> ResultsView:
    """Return the results in a release or a store; in the latest release if neither is named and there is no store yet."""
    from leaderboard.cli.console import messages
    from leaderboard.publishing.release import read_release, releases
    from leaderboard.publishing.views import ReleaseView, StoreView

    if store is not None and release is not None:
        raise TouchstoneError("Use either --store or --release, not both.")
    path, read = store_address(store), None
    if release is not None or not (is_store_named(store) or os.path.exists(path) or not releases()):
        read = read_release(release)
    if read is not None and suite is not None and Path(suite).name.removesuffix(".toml") != read.report.suite.name:
        if release is not None:
            raise TouchstoneError(f"The release {read.name} is of the suite {read.report.suite.label}, not of {suite}; omit "
                                  "--suite.")
        read = None
    if read is None:
        return StoreView(open_answers(suite or "core", store, None))
    if release is None:
        messages.print(f"There is no results store yet; showing the release {read.name} (suite {read.report.suite.label}).",
                       soft_wrap=True, markup=False)
    if read.errata.status:
        messages.print(read.errata.status, soft_wrap=True, markup=False)
    return ReleaseView(read)


def open_answers(suite: str, store: str | None, release: str | None) -> Results:
    """Return the answers and scores in a store among the published ones, or those of a release alone."""
    from harness.results.store import Store
    from leaderboard.cli.console import messages
    from leaderboard.publishing.release import find_published, read_release
    from leaderboard.scoring.results import Results
    from tasks.suite_files import load_suite

    if store is not None and release is not None:
        raise TouchstoneError("Use either --store or --release, not both.")
    path, loaded = store_address(store), load_suite(suite)
    if release is not None:
        return Results(loaded, None, read_release(release).results(loaded))
    published, reason = find_published(loaded)
    if published is not None and not is_store_named(store) and not os.path.exists(path):
        messages.print(f"There is no results store yet; using the release {published.name}.", soft_wrap=True, markup=False)
        return Results(loaded, None, published)
    opened = Store(path, read_only=True)
    if reason is not None:
        messages.print(f"Without the published metrics: {reason}", soft_wrap=True, markup=False)
    return Results(loaded, opened, published)


AxisOption = Annotated[str | None, typer.Option("--axis", metavar="NAME", help="Rank by another axis of the suite, such as usmb.",
                                                show_default=False)]


def check_metric(name: str, results: ResultsView, suite: str | None) -> None:
    """Raise unless there are results of a metric."""
    names = dict.fromkeys(entry.name for entry in results.overview.entries)
    if name in names:
        return
    if results.release is None:
        raise unknown_metric_error(name, suite or "core", names)
    results.release.entry(name)


def select_axis(results: ResultsView, axis: str | None, track: str | None) -> tuple[ResultsView, str | None]:
    """Return the results ranked by an axis, and the track of the axis; both arguments unchanged if no axis is named."""
    if axis is None:
        return results, track
    of_track = results.suite.axis(axis).track
    if track not in (None, of_track):
        raise TouchstoneError(f"The axis {axis} belongs to the {of_track} track; omit --track {track}.")
    return results.on_axis(axis), of_track


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
