"""The command `touchstone`; each command parses arguments, calls one function, and renders the result."""

from __future__ import annotations

import gc
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.base.errors import TouchstoneError
from harness.sandbox.faults import SupervisorLost
from leaderboard.cli.analyse import analyse_app
from leaderboard.cli.contribute.answers import answers_app
from leaderboard.cli.contribute.libraries import libraries_app
from leaderboard.cli.extras import describe_missing
from leaderboard.cli.figure import figures_app
from leaderboard.cli.options import (
    ANSWERED,
    REFUSED,
    SOME_FAILED,
    STOPPED,
    AxisOption,
    ClusterOption,
    DataOption,
    JobsOption,
    JsonOption,
    LimitOption,
    MemoryOption,
    OwnDataOption,
    ReleaseOption,
    ResultsSuiteOption,
    SecondsOption,
    StoreOption,
    SuiteOption,
    TrackOption,
    TrustOption,
    check_metric,
    connect_cluster,
    default_jobs,
    keep_public_draws,
    open_results,
    print_json,
    read_datasets,
    read_limits,
    select_axis,
    set_mirror,
    store_address,
)
from leaderboard.cli.own_data.choose import choosing_app
from leaderboard.cli.own_data.measure import measuring_app
from leaderboard.cli.profile import profile_app
from leaderboard.cli.release import citing_app
from leaderboard.cli.reproduce import papers_app
from leaderboard.cli.serving.epochs import epoch_app
from leaderboard.cli.serving.serve import serving_app
from leaderboard.cli.serving.service import service_app, submissions_app, tokens_app
from leaderboard.cli.sources.commands import data_app, models_app
from leaderboard.cli.submit import submitting_app

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.submission.submission import Entry
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.publishing.answers import ReleasedResults
    from leaderboard.publishing.views import ResultsView, StoreView

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False,
    help="""Benchmark and leaderboard for text-similarity metrics.

    [bold]Examples[/bold]

      touchstone check my_metric.py        validate a submission
      touchstone run my_metric.py          run it on the suite "core"
      touchstone run                       run all unpublished metrics
      touchstone show                      print the ranked tables
      touchstone card energy               print everything about one metric

    Stop a run at any time with Ctrl-C or SIGTERM; repeat the command to continue.
    Exit codes: 0 success, 1 some test units failed (recorded), 2 invalid input, 130 stopped.""")
app.add_typer(serving_app)
app.add_typer(service_app)
app.add_typer(submitting_app)
app.add_typer(answers_app)
app.add_typer(libraries_app)
app.add_typer(citing_app)
app.add_typer(papers_app)
app.add_typer(figures_app)
app.add_typer(analyse_app)
app.add_typer(profile_app)
app.add_typer(choosing_app)
app.add_typer(measuring_app)
app.add_typer(tokens_app, name="tokens")
app.add_typer(epoch_app, name="epoch")
app.add_typer(submissions_app, name="submissions")
app.add_typer(data_app, name="data")
app.add_typer(models_app, name="models")

PICTURE_WIDTH = 112
COLLECTED_AT = 100_000                      # new objects: at the default of 700, imports trigger hundreds of collections


def main() -> None:
    """Run the command line; errors are one sentence and exit code 2."""
    gc.set_threshold(COLLECTED_AT)
    for number in (signal.SIGINT, signal.SIGTERM):      # SIGINT is ignored in processes that a script starts in the background
        signal.signal(number, signal.default_int_handler)
    try:
        app()
    except TouchstoneError as refusal:
        print(f"touchstone: {refusal}", file=sys.stderr)
        sys.exit(REFUSED)
    except ModuleNotFoundError as missing:
        if (sentence := describe_missing(missing.name or "")) is None:
            raise
        print(f"touchstone: {sentence}", file=sys.stderr)
        sys.exit(REFUSED)
    except SupervisorLost as lost:
        print(f"touchstone: {lost} Nothing stored is lost; repeat the command to continue.", file=sys.stderr)
        sys.exit(SOME_FAILED)
    except KeyboardInterrupt:
        print("touchstone: stopped.", file=sys.stderr)
        sys.exit(STOPPED)
    except BrokenPipeError:                 # the reader of the output has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ANSWERED)


@app.command()
def run(
    what: Annotated[list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Names of submissions, or files; default: "
                                                     "the unpublished metrics of submissions/.", show_default=False)] = None,
    suite: SuiteOption = "core",
    only: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Run only this task; may be "
                                                                        "repeated.", show_default=False,
                                                   rich_help_panel="What")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed test units again.", rich_help_panel="What")] = False,
    every: Annotated[bool, typer.Option("--all", help="Run all of submissions/, including published metrics.",
                                        rich_help_panel="What")] = False,
    refresh_env: Annotated[bool, typer.Option("--refresh-env", help="Rebuild environments and run everything again, for "
                                              "example after a library update.", rich_help_panel="What")] = False,
    data: OwnDataOption = None,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
    trust: TrustOption = False,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run metrics on a suite, store the results, and rank the metrics among the published ones. Repeat the command to resume.

    [bold]touchstone run my_metric.py[/bold]                 a new metric
    [bold]touchstone run energy fid[/bold]                   two published metrics, again
    [bold]touchstone run[/bold]                              all unpublished metrics
    [bold]touchstone run --all[/bold]                        all metrics of submissions/
    [bold]touchstone run cosine my_metric.py --data human_ordering=rated.csv[/bold]
    """
    from harness.base.paths import SUBMISSIONS
    from harness.evaluation.loop import RunInterrupted
    from harness.evaluation.run import run_suite
    from harness.results.store import Store
    from harness.submission.selection import select_entries
    from leaderboard.cli.console import ConsoleProgress, report_run
    from leaderboard.publishing.release import find_published
    from leaderboard.publishing.views import StoreView
    from leaderboard.scoring.results import Results
    from leaderboard.workflows.check import check_name
    from tasks.suite_files import load_suite

    if what and every:
        raise TouchstoneError("Name metrics or use --all, not both.")
    if cluster and trust:
        raise TouchstoneError("Use either --cluster or --trust: the nodes of a cluster always isolate metrics.")
    if cluster and data:
        raise TouchstoneError("With --cluster, name your datasets in a suite file and not with --data; see docs/own_data.md.")
    set_mirror(data_dir)
    progress, read = ConsoleProgress(), load_suite(suite, datasets=read_datasets(data))
    if not data:
        keep_public_draws(suite)
    published, reason = find_published(read)
    entries = select_entries(what, SUBMISSIONS) if what else default_entries(progress, None if every else published)
    for submission in {entry.submission.filename: entry.submission for entry in entries}.values():
        check_name(submission)
    if what and "corpus" not in read.tracks and (corpus := [entry.name for entry in entries if entry.header.kind == "corpus"]):
        raise TouchstoneError(f"{', '.join(corpus)} compares corpora, which none of these tasks does; leave it out, or name a "
                              "task such as known_similarity.")
    limits = read_limits(seconds, memory, limit)
    path = store_address(store)
    try:
        with connect_cluster(cluster, suite, read.fingerprint) as make_executor:
            tally = run_suite(entries, read, path, only=only or [], rerun=refresh_env, retry_failed=retry, trust=trust,
                              limits=limits, jobs=default_jobs(jobs), progress=progress, make_executor=make_executor,
                              published=None if published is None else published.times())
    except RunInterrupted as stopped:
        progress.say(f"Stopped. {stopped.tally.done:,} test units are stored, {stopped.tally.planned - stopped.tally.done:,} "
                     "are left; repeat the command to continue.")
        sys.exit(STOPPED)
    report_run(tally)
    if reason is not None:
        progress.say(f"Not ranked among the published metrics: {reason}")
    results = StoreView(Results(read, Store(path), published))
    show_run(results, [entry.name for entry in entries] if what else None, as_json)
    if data:
        progress.say("Repeat the command to print this again; `touchstone show` prints the suite without these datasets.")
    results.keep()
    sys.exit(REFUSED if tally.refused else SOME_FAILED if tally.failed_in_store else ANSWERED)


def show_run(results: StoreView, names: list[str] | None, as_json: bool) -> None:
    """Print the positions of the named metrics among the published ones, or the ranking if none is named or published."""
    from leaderboard.cli.console import output, position_view
    from leaderboard.report.position import find_positions

    if results.release_name is None or names is None:
        show_results(results, as_json, None if names is None else set(names))
        return
    positions = [position for name in names for position in find_positions(name, results.rankings)]
    if as_json:
        overview = results.overview.of_tracks(results.tracks(), set(names)).model_dump(mode="json")
        print_json({**describe_source(results), **overview, "positions": [asdict(position) for position in positions]})
        return
    for name in names:
        output.print(position_view([position for position in positions if position.name == name], results.release_name))
    output.print("`touchstone show` prints the whole ranking; `touchstone serve` opens the board.", style="dim")


def default_entries(progress: ConsoleProgress, published: ReleasedResults | None) -> list[Entry]:
    """Return all entries of submissions/ that can run here, are not published and not marked `on_request`; report the others."""
    from harness.base.paths import SUBMISSIONS
    from harness.submission.selection import scan_folder

    here, absent = scan_folder(SUBMISSIONS)
    for name, lacking in absent.items():
        progress.say(f"Skipped: {name} needs the model {lacking.model}; see `touchstone models list`.")
    entries = [entry for submission in here for entry in submission.entries]
    if published is not None:
        unpublished = [entry for entry in entries if entry.digest not in published.digests]
        progress.say(f"{len(entries) - len(unpublished)} metrics are published in the release {published.name} and are not "
                     "run again; --all runs them.")
        entries = unpublished
    waiting = [entry.name for entry in entries if entry.on_request]
    if waiting:
        progress.say(f"Skipped slow metrics: {', '.join(waiting)}. Name them to run them.")
    return [entry for entry in entries if not entry.on_request]


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The submission's file.")],
    suite: SuiteOption = "core",
    data_dir: DataOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Validate a submission: header, name, direction, axioms, range, speed. Stores nothing.

    [bold]touchstone check my_metric.py[/bold]
    """
    from harness.submission.submission import load_submission
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.cli.tables import print_check
    from leaderboard.workflows.check import FIRST_SECONDS, check_entries, summarize_check
    from tasks.suite_files import load_suite

    set_mirror(data_dir)
    entries = load_submission(file).entries
    read, progress = load_suite(suite), ConsoleProgress()
    reports, confinement = check_entries(entries, read, trust, progress, read_limits(seconds, memory, limit),
                                         seconds or FIRST_SECONDS)
    if as_json:
        print_json([summarize_check(report).model_dump(mode="json") for report in reports])
    else:
        print_check(reports, confinement)
    sys.exit(ANSWERED if all(report.sound for report in reports) else SOME_FAILED)


@app.command()
def show(
    suite: ResultsSuiteOption = None, store: StoreOption = None, release: ReleaseOption = None, track: TrackOption = None,
    axis: AxisOption = None, as_json: JsonOption = False,
    weights: Annotated[str | None, typer.Option(metavar="TASK:WEIGHT,…", help="Order by your own weights of tasks; tasks without "
                                                "a weight do not count.", show_default=False)] = None,
    borda: Annotated[bool, typer.Option("--borda", help="Order by Borda points: the share of the other ranked metrics that a "
                                        "metric beats on a task, averaged over tasks.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Also write the table to this SVG file.", show_default=False)] = None,
) -> None:
    """Print the ranked tables of a suite, one per track, from your store, or from the latest release if there is no store yet.

    [bold]touchstone show[/bold]
    [bold]touchstone show --suite smoke --json[/bold]
    [bold]touchstone show --release 2026.2 --track text[/bold]
    [bold]touchstone show --axis usmb[/bold]
    [bold]touchstone show --track corpus --weights known_similarity:2,fine_tuning:1[/bold]
    """
    if weights is not None and borda:
        raise TouchstoneError("Use either --weights or --borda, not both.")
    results, track = select_axis(open_results(suite, store, release), axis, track)
    if weights is not None or borda:
        show_own_order(results, weights, track, as_json)
        return
    if picture is not None:
        from leaderboard.cli.console import draw_table, ranking_tables

        draw_table(ranking_tables(results, results.tracks(track)), picture, PICTURE_WIDTH)
    show_results(results, as_json, track=track)


@app.command()
def card(
    name: Annotated[str, typer.Argument(help="A metric's name, such as energy or constant\\[0.875].")],
    suite: ResultsSuiteOption = None, store: StoreOption = None, release: ReleaseOption = None, as_json: JsonOption = False,
) -> None:
    """Print everything about one metric: scores with intervals, axioms, failures, provenance.

    [bold]touchstone card energy[/bold]
    [bold]touchstone card energy --release 2026.2[/bold]
    """
    from leaderboard.cli.console import card_view, output
    from leaderboard.report.build import build_card

    results = open_results(suite, store, release)
    check_metric(name, results, suite)
    entries = results.describe(name)
    if as_json:
        print_json({**build_card(entries).model_dump(mode="json"), "release": results.release_name,
                    "runs": results.runs(entries[0])})
    else:
        output.print(card_view(entries, results.suite, relation_to_others(name, [entry.track for entry in entries], results)))


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Check what works on this machine: models, vectors, workers, folders, package index."""
    from leaderboard.cli.tables import print_findings
    from leaderboard.workflows.doctor import examine_machine

    findings = examine_machine()
    if as_json:
        print_json([{"what": finding.what, "ok": finding.ok, "says": finding.says} for finding in findings])
    else:
        print_findings(findings)
    sys.exit(ANSWERED if all(finding.ok for finding in findings) else SOME_FAILED)


def relation_to_others(name: str, tracks: Iterable[str], results: ResultsView) -> list[str]:
    """Return sentences on redundancy with other metrics and on Pareto optimality."""
    from leaderboard.scoring.insights import most_similar

    sentences = []
    for track in tracks:
        alike = most_similar(name, results.agreement(track))
        if alike:
            named = ", ".join(f"{other} ({r:.2f})" for other, r in alike)
            sentences.append(f"Most similar {track} metrics (rank correlation of answers): {named}.")
        if name in results.pareto_optimal(track):
            sentences.append(f"Pareto-optimal among ranked {track} metrics: no metric of the same or lower cost scores higher.")
    return sentences


def show_results(results: ResultsView, as_json: bool, only_entries: set[str] | None = None, track: str | None = None) -> None:
    """Print the ranked tables, or as JSON the scores of all entries or of the named ones."""
    from leaderboard.cli.console import output, ranking_tables

    tracks = results.tracks(track)
    if as_json:
        print_json({**describe_source(results), **results.overview.of_tracks(tracks, only_entries).model_dump(mode="json")})
    elif tracks:
        output.print(ranking_tables(results, tracks))
    else:
        raise nothing_answered(results)


def describe_source(results: ResultsView) -> dict[str, str | None]:
    """Return the suite, its fingerprint, and the release or None."""
    return {"suite": results.suite.name, "fingerprint": results.suite.fingerprint, "release": results.release_name}


def nothing_answered(results: ResultsView) -> TouchstoneError:
    """Return the error for a suite without results."""
    suite = results.suite
    return TouchstoneError(f"{results.source} has no results of this version of the suite {suite.name} ({suite.label}); run "
                           f"`touchstone run --suite {suite.name}`.")


def show_own_order(results: ResultsView, weights: str | None, track: str | None, as_json: bool) -> None:
    """Print the ranked entries ordered by weights, or by Borda points if there are no weights."""
    from leaderboard.cli.console import output, own_order_tables
    from leaderboard.scoring.custom_order import order_by_borda, order_by_weights, parse_weights

    tracks = results.tracks(track)
    if not tracks:
        raise nothing_answered(results)
    if not any(results.overview.ranked(name) for name in tracks):
        raise TouchstoneError(f"No metric is ranked on {results.suite.name} yet; `touchstone show` prints the reasons.")
    if weights is None:
        orders = {name: order_by_borda(results.ranked_scores(name)) for name in tracks}
    else:
        scores = {name: results.ranked_scores(name, above_chance=True) for name in tracks}
        orders = order_by_weights(scores, parse_weights(weights))
    if as_json:
        print_json({**describe_source(results), "orders": orders})
    else:
        output.print(own_order_tables(orders, "Borda points" if weights is None else f"by {weights}"))
