"""The command `touchstone`; each command parses arguments, calls one function, and renders the result."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.base.errors import TouchstoneError
from harness.sandbox.faults import SupervisorLost
from leaderboard.cli.analyse import analyse_app
from leaderboard.cli.figure import figures_app
from leaderboard.cli.options import (
    ANSWERED,
    REFUSED,
    SOME_FAILED,
    STOPPED,
    DataOption,
    JobsOption,
    JsonOption,
    LimitOption,
    MemoryOption,
    SecondsOption,
    StoreOption,
    SuiteOption,
    TrackOption,
    TrustOption,
    default_jobs,
    print_json,
    read_limits,
    set_mirror,
    store_address,
    unknown_metric_error,
)
from leaderboard.cli.profile import profile_app
from leaderboard.cli.release import citing_app
from leaderboard.cli.reproduce import papers_app
from leaderboard.cli.serve import serving_app
from leaderboard.cli.sources.commands import data_app, models_app
from leaderboard.cli.submit import submitting_app

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.evaluation.suite import Suite
    from harness.submission.submission import Entry
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.publishing.answers import ReleasedResults
    from leaderboard.scoring.ranking import Ranking

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False,
    help="""Benchmark and leaderboard for text-similarity metrics.

    [bold]Examples[/bold]

      touchstone check my_metric.py        validate a submission
      touchstone run my_metric.py          run it on the suite "core"
      touchstone run                       run all of submissions/; resumes
      touchstone show                      print the ranked tables
      touchstone card energy               everything about one metric

    Stop a run at any time with Ctrl-C or SIGTERM; repeat the command to continue.
    Exit codes: 0 success, 1 some test units failed (recorded), 2 invalid input, 130 stopped.""")
app.add_typer(serving_app)
app.add_typer(submitting_app)
app.add_typer(citing_app)
app.add_typer(papers_app)
app.add_typer(figures_app)
app.add_typer(analyse_app)
app.add_typer(profile_app)
app.add_typer(data_app, name="data")
app.add_typer(models_app, name="models")

PICTURE_WIDTH = 112


def main() -> None:
    """Run the command line; errors are one sentence and exit code 2."""
    for number in (signal.SIGINT, signal.SIGTERM):      # SIGINT is ignored in processes that a script starts in the background
        signal.signal(number, signal.default_int_handler)
    try:
        app()
    except TouchstoneError as refusal:
        print(f"touchstone: {refusal}", file=sys.stderr)
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
                                                     "all of submissions/.", show_default=False)] = None,
    suite: SuiteOption = "core",
    only: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Run only this task; may be "
                                                                        "repeated.", show_default=False,
                                                   rich_help_panel="What")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed test units again.", rich_help_panel="What")] = False,
    every: Annotated[bool, typer.Option("--all", help="Run all of submissions/, also metrics whose answers are published.",
                                        rich_help_panel="What")] = False,
    refresh_env: Annotated[bool, typer.Option("--refresh-env", help="Run everything again, for example after a library "
                                              "update.", rich_help_panel="What")] = False,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run metrics on a suite, store the results, and rank them among the published metrics. A repeated command resumes.

    [bold]touchstone run my_metric.py[/bold]                 a new metric
    [bold]touchstone run energy fid[/bold]                   two published metrics, anew
    [bold]touchstone run[/bold]                              what of submissions/ is not published yet
    [bold]touchstone run --all[/bold]                        all of submissions/
    """
    from harness.base.paths import SUBMISSIONS
    from harness.evaluation.loop import RunInterrupted
    from harness.evaluation.run import run_suite
    from harness.submission.selection import select_entries
    from leaderboard.cli.console import ConsoleProgress, report_run
    from leaderboard.publishing.release import find_published
    from leaderboard.workflows.check import check_name
    from tasks.suite_files import load_suite

    if what and every:
        raise TouchstoneError("Name metrics or use --all, not both.")
    set_mirror(data_dir)
    progress, read = ConsoleProgress(), load_suite(suite)
    published, reason = find_published(read)
    entries = select_entries(what, SUBMISSIONS) if what else default_entries(progress, None if every else published)
    for submission in {entry.submission.filename: entry.submission for entry in entries}.values():
        check_name(submission)
    limits = read_limits(seconds, memory, limit)
    path = store_address(store)
    try:
        tally = run_suite(entries, read, path, only=only or [], rerun=refresh_env, retry_failed=retry, trust=trust, limits=limits,
                          jobs=default_jobs(jobs), progress=progress)
    except RunInterrupted as stopped:
        progress.say(f"Stopped. {stopped.tally.done:,} test units are stored, {stopped.tally.planned - stopped.tally.done:,} "
                     "are left; repeat the command to continue.")
        sys.exit(STOPPED)
    report_run(tally)
    if reason is not None:
        progress.say(f"Not ranked among the published metrics: {reason}")
    show_run(read, path, published, [entry.name for entry in entries] if what else None, as_json)
    sys.exit(REFUSED if tally.refused else SOME_FAILED if tally.failed_in_store else ANSWERED)


def show_run(suite: Suite, path: str, published: ReleasedResults | None, names: list[str] | None, as_json: bool) -> None:
    """Print the positions of the named metrics among the published ones, or the ranking if none is named or published."""
    from harness.results.store import Store
    from leaderboard.cli.console import output, position_view, ranking_tables
    from leaderboard.report.build import build_overview
    from leaderboard.report.position import find_positions
    from leaderboard.scoring.ranking import rank_suite
    from leaderboard.scoring.results import Results

    rankings = rank_suite(Results(suite, Store(path), published), suite)
    if as_json:
        overview = build_overview(rankings, None if names is None else set(names)).model_dump(mode="json")
        positions = [asdict(position) for name in names or () for position in find_positions(name, rankings)]
        print_json({"suite": suite.name, "fingerprint": suite.fingerprint, "release": published and published.name, **overview,
                    **({"positions": positions} if names is not None else {})})
    elif not rankings:
        raise nothing_answered(suite, path)
    elif names is None or published is None:
        output.print(ranking_tables(rankings, suite))
    else:
        for name in names:
            output.print(position_view(find_positions(name, rankings), published.name))
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
        known = [entry for entry in entries if entry.digest in published.digests]
        progress.say(f"{len(known)} metrics are published in the release {published.name} and are not run again; --all runs "
                     "them.")
        entries = [entry for entry in entries if entry not in known]
    waiting = [entry.name for entry in entries if entry.on_request]
    if waiting:
        progress.say(f"Skipped: {', '.join(waiting)} are slow; name them to run them.")
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
    from leaderboard.workflows.check import FIRST_SECONDS, check_entries, check_json
    from tasks.suite_files import load_suite

    set_mirror(data_dir)
    entries = load_submission(file).entries
    read, progress = load_suite(suite), ConsoleProgress()
    reports, confinement = check_entries(entries, read, trust, progress, read_limits(seconds, memory, limit),
                                         seconds or FIRST_SECONDS)
    if as_json:
        print_json([check_json(report) for report in reports])
    else:
        print_check(reports, confinement)
    sys.exit(ANSWERED if all(report.sound for report in reports) else SOME_FAILED)


@app.command()
def show(
    suite: SuiteOption = "core", store: StoreOption = None, track: TrackOption = None, as_json: JsonOption = False,
    weights: Annotated[str | None, typer.Option(metavar="TASK:WEIGHT,…", help="Order by your own weights of the tasks instead; "
                                                "the others do not count.", show_default=False)] = None,
    borda: Annotated[bool, typer.Option("--borda", help="Order by Borda points instead: the mean share of the ranked metrics "
                                        "that are beaten on a task.")] = False,
    picture: Annotated[Path | None, typer.Option(help="Also draw the table into this SVG file.", show_default=False)] = None,
) -> None:
    """Print the ranked tables of a suite, one per track.

    [bold]touchstone show[/bold]
    [bold]touchstone show --suite smoke --json[/bold]
    [bold]touchstone show --track corpus --weights known_similarity:2,fine_tuning:1[/bold]
    """
    from tasks.suite_files import load_suite

    read, path = load_suite(suite), store_address(store)
    if weights is not None or borda:
        if weights is not None and borda:
            raise TouchstoneError("Use either --weights or --borda, not both.")
        show_own_order(read, path, weights, track, as_json)
        return
    if picture is not None:
        from leaderboard.cli.console import draw_table, ranking_tables

        draw_table(ranking_tables(ranking(read, path, track)[1], read), picture, PICTURE_WIDTH)
    show_ranking(read, path, as_json, track=track)


@app.command()
def card(
    name: Annotated[str, typer.Argument(help="A metric's name, such as energy or constant\\[0.875].")],
    suite: SuiteOption = "core", store: StoreOption = None, as_json: JsonOption = False,
) -> None:
    """Print everything about one metric: scores with intervals, axioms, failures, provenance.

    [bold]touchstone card energy[/bold]
    """
    from leaderboard.cli.console import card_view, output
    from leaderboard.report.build import build_card
    from tasks.suite_files import load_suite

    read = load_suite(suite)
    opened, rankings = ranking(read, store_address(store))
    places = [entry for ranked in rankings.values() for entry in ranked.places]
    entries = {entry.scored.track: entry for entry in places if entry.scored.name == name}
    if not entries:
        raise unknown_metric_error(name, suite, dict.fromkeys(entry.scored.name for entry in places))
    provenance = opened.provenance(next(iter(entries.values())).scored.stored.digest)
    if as_json:
        print_json({**build_card(entries.values()).model_dump(mode="json"), "runs": provenance})
    else:
        output.print(card_view(entries, provenance, relation_to_others(name, rankings)))


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


def relation_to_others(name: str, rankings: Mapping[str, Ranking]) -> list[str]:
    """Return sentences on redundancy with other metrics and on Pareto optimality."""
    from leaderboard.scoring.insights import cost_frontier, most_similar

    sentences = []
    for track, ranked in rankings.items():
        alike = most_similar(name, [entry.scored for entry in ranked.places])
        if alike:
            named = ", ".join(f"{other} ({r:.2f})" for other, r in alike)
            sentences.append(f"Most similar {track} metrics (rank correlation of answers): {named}.")
        if name in cost_frontier(ranked):
            sentences.append(f"Pareto-optimal among ranked {track} metrics: none scores higher at no higher cost.")
    return sentences


def show_ranking(suite: Suite, path: str, as_json: bool, only_entries: set[str] | None = None, track: str | None = None) -> None:
    """Print the rankings of a store, as tables or as JSON."""
    from leaderboard.cli.console import output, ranking_tables
    from leaderboard.report.build import build_overview

    _, rankings = ranking(suite, path, track)
    if as_json:
        overview = build_overview(rankings, only_entries).model_dump(mode="json")
        print_json({"suite": suite.name, "fingerprint": suite.fingerprint, **overview})
    elif rankings:
        output.print(ranking_tables(rankings, suite))
    else:
        raise nothing_answered(suite, path)


def nothing_answered(suite: Suite, path: str) -> TouchstoneError:
    """Return the error for a suite without results."""
    return TouchstoneError(f"The store {path} has no results of this version of the suite {suite.name} "
                           f"({suite.name}@{suite.fingerprint[:6]}); run `touchstone run --suite {suite.name}`.")


def show_own_order(suite: Suite, path: str, weights: str | None, track: str | None, as_json: bool) -> None:
    """Print the ranked entries ordered by weights, or by Borda points if there are no weights."""
    from leaderboard.cli.console import output, own_order_tables
    from leaderboard.scoring.custom_order import order_by_borda, order_by_weights, order_tracks, parse_weights

    _, rankings = ranking(suite, path, track)
    if not rankings:
        raise nothing_answered(suite, path)
    if not any(ranked.ranked for ranked in rankings.values()):
        raise TouchstoneError(f"No metric is ranked on {suite.name} yet; `touchstone show` prints the reasons.")
    if weights is None:
        orders = {name: order_by_borda(ranked) for name, ranked in rankings.items()}
    else:
        read = parse_weights(weights)
        orders = {name: order_by_weights(ranked, read) for name, ranked in order_tracks(rankings, read).items()}
    if as_json:
        print_json({"suite": suite.name, "fingerprint": suite.fingerprint, "orders": orders})
    else:
        output.print(own_order_tables(orders, "Borda points" if weights is None else f"by {weights}"))


def ranking(suite: Suite, path: str, track: str | None = None) -> tuple[Any, dict[str, Ranking]]:
    """Return the open store and its rankings."""
    from harness.results.store import Store
    from leaderboard.scoring.ranking import rank_suite, select_family_defaults

    store = Store(path, read_only=True)
    return store, select_family_defaults(rank_suite(store, suite), suite, track)
