"""The commands for numbers that are quoted: release, verify, cite, compare, export."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import (
    ANSWERED,
    SOME_FAILED,
    DataOption,
    JsonOption,
    StoreOption,
    SuiteOption,
    TrackOption,
    print_json,
    set_mirror,
    store_address,
    unknown_metric_error,
)

citing_app = typer.Typer()
ReleaseOption = Annotated[str | None, typer.Option("--release", metavar="NAME", help="[default: the latest]", show_default=False)]


class Citation(StrEnum):
    bibtex = "bibtex"
    latex = "latex"
    markdown = "markdown"
    text = "text"


class Table(StrEnum):
    csv = "csv"
    parquet = "parquet"
    json = "json"
    latex = "latex"
    markdown = "markdown"


@citing_app.command()
def release(
    name: Annotated[str, typer.Argument(help="Year and number, such as 2026.1.")],
    suite: SuiteOption = "core",
    store: StoreOption = None,
) -> None:
    """Write an immutable folder of scores that can be cited: leaderboard/releases/NAME.

    [bold]touchstone release 2026.1[/bold]
    """
    from harness.results.store import Store
    from leaderboard.cli.console import messages
    from leaderboard.publishing.release import release as make
    from tasks.suite_files import load_suite

    made = make(name, load_suite(suite), Store(store_address(store), read_only=True))
    names = {entry["name"] for entry in made.facts["entries"]}
    messages.print(f"{made.folder}: {len(names)} metrics, {len(made.units):,} scores of units, checksums in "
                   "SHA256SUMS.", soft_wrap=True)


@citing_app.command()
def verify(
    name: Annotated[str | None, typer.Argument(help="A release.  [default: the latest]", show_default=False)] = None,
    sample: Annotated[int, typer.Option(min=0, help="How many numbers to ask again; 0: look at the checksums only.")] = 20,
    data_dir: DataOption = None,
) -> None:
    """See whether a release is whole, and whether a sample of its numbers still comes out (to 0.001).

    [bold]touchstone verify 2026.1 --sample 20[/bold]
    """
    from harness.base.paths import SUBMISSIONS
    from harness.submission.selection import load_available
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.publishing.release import read_release
    from leaderboard.publishing.verify import verify as ask_again
    from tasks.suite_files import load_suite

    set_mirror(data_dir)
    read = read_release(name)
    messages.print(f"{read.name} is as it was made." + (f" It is {read.errata}." if read.errata else ""), soft_wrap=True)
    if not sample:
        return
    entries = [entry for submission in load_available(SUBMISSIONS) for entry in submission.entries]
    found = ask_again(read, load_suite(read.facts["suite"]["name"]), entries, sample, ConsoleProgress())
    for one in found:
        if not one.agrees:
            now = one.reason if one.now is None else f"{one.now:.6f} now"
            messages.print(f"{one.entry}, {one.task}, unit {one.unit[:8]}: {one.released:.6f} in the release, {now}",
                           soft_wrap=True)
    agree = sum(one.agrees for one in found)
    messages.print(f"{agree} of {len(found)} numbers come out again.")
    sys.exit(ANSWERED if agree == len(found) else SOME_FAILED)


@citing_app.command()
def cite(
    name: Annotated[str, typer.Argument(help="A metric's name.")],
    task: Annotated[str, typer.Option(help="Of which task.")] = "known_similarity",
    form: Annotated[Citation, typer.Option("--format")] = Citation.text,
    of_release: ReleaseOption = None,
) -> None:
    """A number of a release, ready to be pasted.

    [bold]touchstone cite fid --task known_similarity --format bibtex[/bold]
    """
    from leaderboard.publishing.citations import cite as cited
    from leaderboard.publishing.release import read_release

    print(cited(read_release(of_release), name, task, form.value), end="")


@citing_app.command()
def compare(
    a: Annotated[str, typer.Argument(help="A metric.")],
    b: Annotated[str, typer.Argument(help="Another.")],
    suite: SuiteOption = "core",
    store: StoreOption = None,
    track: TrackOption = None,
    as_json: JsonOption = False,
) -> None:
    """Two metrics on the units that both were asked: paired differences with intervals, and whether one is better for sure.

    [bold]touchstone compare energy fid[/bold]
    """
    from harness.results.store import Store
    from leaderboard.cli.console import difference_table, output
    from leaderboard.scoring.comparison import compare_metrics as compared
    from leaderboard.scoring.comparison import load_samples
    from leaderboard.scoring.ranking import rank_suite, select_family_defaults
    from tasks.suite_files import load_suite

    read = load_suite(suite)
    rankings = rank_suite(Store(store_address(store), read_only=True), read)
    known = {place.scored.name for ranking in rankings.values() for place in ranking.places}
    for name in (a, b):
        if name not in known:
            raise unknown_metric_error(name, suite, known)
    found: dict[str, Any] = {}
    for name, ranking in select_family_defaults(rankings, read, track).items():
        scored = {place.scored.name: place.scored for place in ranking.places}
        if a not in scored or b not in scored:
            continue
        tasks = [score.task.name for score in scored[a].ranked_tasks]
        pair, = compared(load_samples([ranking]), (a, b), tasks)["pairs"]
        found[name] = {**pair, "p_of_overall": ranking.p(a, b)}
        if not as_json:
            output.print(difference_table(scored[a], scored[b], found[name]))
    if not found:
        raise TouchstoneError(f'"{a}" and "{b}" have no track in common in which both were asked.')
    if as_json:
        print_json({"a": a, "b": b, "tracks": found})


@citing_app.command()
def export(
    form: Annotated[Table, typer.Option("--format")] = Table.csv,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Into this file.", show_default=False)] = None,
    suite: SuiteOption = "core",
    store: StoreOption = None,
    track: TrackOption = None,
) -> None:
    """The whole table: CSV, Parquet and JSON with every measure, LaTeX and Markdown with the scores of the ranked.

    [bold]touchstone export --format latex > table.tex[/bold]
    """
    from harness.results.store import Store
    from leaderboard.publishing.citations import export as exported
    from leaderboard.scoring.ranking import rank_suite, select_family_defaults
    from tasks.suite_files import load_suite

    read = load_suite(suite)
    content = exported(select_family_defaults(rank_suite(Store(store_address(store), read_only=True), read), read, track), form.value, to)
    if content is not None and to is not None:
        try:
            to.write_text(content, encoding="utf-8")
        except OSError as wrong:
            raise TouchstoneError(f"{to} cannot be written ({wrong.strerror}).") from None
    elif content is not None:
        print(content, end="")
