"""The commands for citable numbers: release, verify, cite, compare, export."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import (
    ANSWERED,
    SOME_FAILED,
    AxisOption,
    DataOption,
    JsonOption,
    ReleaseOption,
    ResultsSuiteOption,
    StoreOption,
    SuiteOption,
    TrackOption,
    check_metric,
    open_answers,
    open_results,
    print_json,
    select_axis,
    set_mirror,
    store_address,
    write_file,
)

citing_app = typer.Typer()


class Citation(StrEnum):
    """Formats of a citation."""

    bibtex = "bibtex"
    latex = "latex"
    markdown = "markdown"
    text = "text"


class Table(StrEnum):
    """Formats of the whole table."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    latex = "latex"
    markdown = "markdown"
    croissant = "croissant"
    every_eval_ever = "every_eval_ever"


@citing_app.command()
def release(
    name: Annotated[str, typer.Argument(help="Year and number, such as 2026.1.")],
    suite: SuiteOption = "core",
    store: StoreOption = None,
    to: Annotated[Path | None, typer.Option(help="Folder in which to create NAME.  \\[default: leaderboard/releases of a clone]",
                                            show_default=False)] = None,
    only_store: Annotated[bool, typer.Option("--only-store", help="Leave out published metrics without results in the "
                                             "store.")] = False,
) -> None:
    """Write the answers and scores of your store and of published metrics to an immutable, citable folder.

    [bold]touchstone release 2026.1[/bold]                    in a clone: leaderboard/releases/2026.1

    [bold]touchstone release 2026.1 --to releases[/bold]      then: touchstone cite energy --release releases/2026.1
    """
    from harness.base.paths import is_clone
    from harness.results.store import Store
    from leaderboard.cli.console import messages
    from leaderboard.publishing import release as publishing
    from leaderboard.scoring.results import Results
    from tasks.suite_files import load_suite

    if to is None and not is_clone():
        raise TouchstoneError("This is an installed package, not a clone: name a folder for the release with --to.")
    results = (Results(load_suite(suite), Store(store_address(store), read_only=True)) if only_store else
               open_answers(suite, store, None))
    result = publishing.release(name, results.suite, results, to or publishing.FOLDER)
    names = {entry.name for entry in result.report.entries}
    messages.print(f"{result.folder}: {len(names)} metrics, {len(result.units):,} scores of test units, checksums in "
                   f"{publishing.SUMS}.", soft_wrap=True)


@citing_app.command()
def verify(
    name: Annotated[str | None, typer.Argument(help="A release.  \\[default: the latest]", show_default=False)] = None,
    sample: Annotated[int, typer.Option(min=0, help="Number of scores to recompute; 0: verify the checksums only.")] = 20,
    data_dir: DataOption = None,
) -> None:
    """Verify the checksums of a release, and recompute a sample of its scores (tolerance 0.001).

    [bold]touchstone verify 2026.1 --sample 20[/bold]
    """
    from harness.base.paths import SUBMISSIONS
    from harness.submission.selection import load_available
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.publishing import verify as verification
    from leaderboard.publishing.release import read_release

    set_mirror(data_dir)
    release = read_release(name)
    messages.print(" ".join([f"{release.name}: all checksums match.", *release.errata.sentences()]), soft_wrap=True, markup=False)
    if not sample:
        return
    entries = [entry for submission in load_available(SUBMISSIONS) for entry in submission.entries]
    suite = verification.find_suite(release)
    for kind, changed in (("tasks", verification.find_changed_tasks(release, suite)),
                          ("metrics", verification.find_changed_entries(release, entries))):
        if changed:
            listed = "; ".join(f"{name}: {reason}" for name, reason in changed.items())
            messages.print(f"These {kind} are not recomputed ({listed}).", soft_wrap=True, markup=False)
    results = verification.verify(release, suite, entries, sample, ConsoleProgress())
    for result in results:
        if not result.agrees:
            now = "but the metric now fails" if result.now is None else f"now {result.now:.6f}"
            messages.print(f"{result.entry}, {result.task}, test unit {result.unit[:8]}: {result.released:.6f} in the release, "
                           f"{now}", soft_wrap=True)
    agree = sum(result.agrees for result in results)
    messages.print(f"{agree} of {len(results)} scores were reproduced.")
    sys.exit(ANSWERED if agree == len(results) else SOME_FAILED)


@citing_app.command()
def cite(
    name: Annotated[str | None, typer.Argument(help="A metric or an ensemble; default: the benchmark itself.")] = None,
    task: Annotated[str, typer.Option(help="Task or axis (such as usmb) whose score to cite, or overall.")] = "overall",
    form: Annotated[Citation, typer.Option("--format")] = Citation.text,
    track: Annotated[str | None, typer.Option(help="Track of the overall score: corpus or text.  \\[default: the track "
                                                   "of the metric's kind]", show_default=False)] = None,
    release: Annotated[str | None, typer.Option(metavar="NAME|FOLDER", help="A release.  \\[default: the latest]",
                                                show_default=False)] = None,
) -> None:
    """Print a citation of a released score, or BibTeX entries of the release and of the papers of its tasks.

    [bold]touchstone cite fid[/bold]                                          the overall score and its rank

    [bold]touchstone cite fid --task known_similarity --format bibtex[/bold]

    [bold]touchstone cite[/bold]                                              the benchmark
    """
    from leaderboard.publishing import citations
    from leaderboard.publishing.release import read_release

    cited = read_release(release)
    print(citations.cite_release(cited) if name is None else citations.cite(cited, name, task, form.value, track), end="")


@citing_app.command()
def compare(
    a: Annotated[str, typer.Argument(help="A metric.")],
    b: Annotated[str, typer.Argument(help="Another metric.")],
    suite: ResultsSuiteOption = None,
    store: StoreOption = None,
    release: ReleaseOption = None,
    track: TrackOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two metrics on their common test units: paired differences, intervals and significance.

    [bold]touchstone compare energy fid[/bold]
    """
    from leaderboard.cli.console import difference_table, output

    results = open_results(suite, store, release)
    for name in (a, b):
        check_metric(name, results, suite)
    standings = {name: results.overview.standings(name) for name in results.tracks(track)}
    pairs = {name: results.compare(name, a, b) for name, entries in standings.items() if a in entries and b in entries}
    if not pairs:
        raise TouchstoneError(f'"{a}" and "{b}" have no results in a common track.')
    if as_json:
        print_json({"a": a, "b": b, "release": results.release_name,
                    "tracks": {name: pair.model_dump() for name, pair in pairs.items()}})
        return
    for name, pair in pairs.items():
        output.print(difference_table(standings[name][a], standings[name][b], results.suite.ranked_tasks(name), pair))


@citing_app.command()
def quality(
    suite: ResultsSuiteOption = None,
    store: StoreOption = None,
    release: ReleaseOption = None,
    track: TrackOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print how well each task measures: weight, agreement with the other tasks, noise, trivial baselines, admission.

    [bold]touchstone quality --track text[/bold]
    """
    from leaderboard.cli.console import output, quality_view

    results = open_results(suite, store, release)
    measured = {name: quality for name in results.tracks(track) if (quality := results.quality(name)) is not None}
    if not measured:
        raise TouchstoneError(f"{results.source} has no statistics of the tasks; releases contain them since schema version 3.")
    if as_json:
        print_json({name: quality.model_dump(mode="json") for name, quality in measured.items()})
        return
    for name, quality in measured.items():
        output.print(quality_view(results.suite, name, quality))


@citing_app.command()
def changes(
    old: Annotated[str, typer.Argument(help="The earlier release.")],
    new: Annotated[str | None, typer.Argument(help="The later release.  \\[default: the latest]", show_default=False)] = None,
    as_json: JsonOption = False,
) -> None:
    """Print what differs between two releases: suite, tasks, and metrics whose rank or score moved, with the reason.

    [bold]touchstone changes 2026.3 2026.4[/bold]
    """
    from leaderboard.cli.console import changes_view, output
    from leaderboard.publishing.changes import compare_releases
    from leaderboard.publishing.release import read_release

    compared = compare_releases(read_release(old).report, read_release(new).report)
    if as_json:
        print_json({"old": compared.old, "new": compared.new, "suite": compared.suite,
                    "moves": {track: [move._asdict() for move in moves] for track, moves in compared.moves.items()}})
        return
    output.print(changes_view(compared))


@citing_app.command()
def export(
    form: Annotated[Table, typer.Option("--format")] = Table.csv,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Output file.", show_default=False)] = None,
    suite: ResultsSuiteOption = None,
    store: StoreOption = None,
    release: ReleaseOption = None,
    track: TrackOption = None,
    axis: AxisOption = None,
) -> None:
    """Export the whole table: all measures as CSV, Parquet or JSON; scores of ranked metrics as LaTeX or Markdown.

    A release is also exported as a Croissant dataset, or as records of the schema Every Eval Ever.

    [bold]touchstone export --format latex > table.tex[/bold]

    [bold]touchstone export --format croissant --release 2026.4 > croissant.json[/bold]
    """
    from leaderboard.publishing import citations, metadata

    results, track = select_axis(open_results(suite, store, release), axis, track)
    if form in (Table.croissant, Table.every_eval_ever):
        content: str | None = metadata.export_metadata(results.release, form.value)
    else:
        content = citations.export(results, results.tracks(track), form.value, to)
    if content is not None and to is not None:
        write_file(to, content)
    elif content is not None:
        print(content, end="")
