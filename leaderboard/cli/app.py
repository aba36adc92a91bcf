"""The command `touchstone`.  Every verb is a thin layer over a function one can call from a notebook."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.base.errors import Refusal
from leaderboard.cli.ensemble import ensembles_app
from leaderboard.cli.explain import explaining_app
from leaderboard.cli.figure import figures_app
from leaderboard.cli.options import (
    ANSWERED,
    REFUSED,
    SOME_FAILED,
    STOPPED,
    DataOption,
    JobsOption,
    JsonOption,
    StoreOption,
    SuiteOption,
    TrackOption,
    TrustOption,
    no_answers,
    print_json,
    side_by_side,
    store_path,
    use_mirror,
)
from leaderboard.cli.profile import profile_app
from leaderboard.cli.release import citing_app
from leaderboard.cli.reproduce import papers_app
from leaderboard.cli.serve import serving_app
from leaderboard.cli.sources import data_app, models_app
from leaderboard.cli.submit import submitting_app

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.submission.submission import Entry
    from leaderboard.cli.console import Drawn
    from leaderboard.scoring.ranking import Ranking
    from tasks.suite_files import Suite

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False,
    help="""Where a text-similarity metric proves what it is worth.

    [bold]Try it[/bold]

      touchstone check my_metric.py        is the file right, does it behave, how fast is it?
      touchstone run my_metric.py          ask it everything in the suite "core"
      touchstone run                       ask every metric in submissions/ what is still missing
      touchstone show                      the ranked table
      touchstone card energy               all about one metric

    Stop a run anywhere with Ctrl-C; the same line again goes on where it stopped.
    Exit codes: 0 all answered, 1 some units failed (they are recorded), 2 not understood or refused, 130 stopped.""")
app.add_typer(serving_app)
app.add_typer(submitting_app)
app.add_typer(citing_app)
app.add_typer(papers_app)
app.add_typer(figures_app)
app.add_typer(ensembles_app)
app.add_typer(explaining_app)
app.add_typer(profile_app)
app.add_typer(data_app, name="data")
app.add_typer(models_app, name="models")

PICTURE_WIDTH = 112


def main() -> None:
    """Runs the command line; a refusal is one sentence and exit code 2."""
    try:
        app()
    except Refusal as refusal:
        print(f"touchstone: {refusal}", file=sys.stderr)
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        print("touchstone: stopped.", file=sys.stderr)
        sys.exit(STOPPED)
    except BrokenPipeError:                 # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ANSWERED)


@app.command()
def run(
    what: Annotated[list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Names of submissions, or files; none: all "
                                                     "of submissions/.", show_default=False)] = None,
    suite: SuiteOption = "core",
    only: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Only this task; may be repeated.", show_default=False,
                                                   rich_help_panel="What")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Ask failed units again.", rich_help_panel="What")] = False,
    refresh_env: Annotated[bool, typer.Option("--refresh-env", help="Ask everything again, for instance after a library was "
                                              "updated.", rich_help_panel="What")] = False,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time a metric may take for one unit.", rich_help_panel="How")] = 300.0,
    memory: Annotated[int, typer.Option(min=500, help="Address space of a metric, in MB.", rich_help_panel="How")] = 8000,
    limit: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Any other limit, for instance threads=8; "
                                                    "may be repeated.", show_default=False, rich_help_panel="How")] = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Ask metrics what is still missing, store every answer, show the ranking.

    [bold]touchstone run[/bold]                              everything in submissions/, suite core
    [bold]touchstone run energy my_metric.py[/bold]          two of them
    [bold]touchstone run energy --only axioms --jobs 1[/bold]
    """
    from harness.base.paths import SUBMISSIONS
    from harness.evaluation.loop import Interrupted
    from harness.evaluation.run import run_suite
    from harness.sandbox.layers import Limits
    from harness.submission.submission import choose_entries
    from leaderboard.cli.console import Drawn, report_run
    from tasks.suite_files import read_suite

    use_mirror(data_dir)
    progress = Drawn()
    entries = choose_entries(what, SUBMISSIONS) if what else by_default(progress)
    read = read_suite(suite)
    limits = Limits(seconds_per_unit=seconds, memory_bytes=memory * 1_000_000).changed(limit or [])
    path = store_path(store)
    try:
        tally = run_suite(entries, read, path, only=only or [], again=refresh_env, retry=retry, trust=trust, limits=limits,
                          jobs=side_by_side(jobs), progress=progress)
    except Interrupted as stopped:
        progress.say(f"Stopped. {stopped.tally.done:,} units are done and stored, {stopped.tally.planned - stopped.tally.done:,} "
                     "are left; the same line again goes on.")
        sys.exit(STOPPED)
    report_run(tally)
    show_ranking(read, path, as_json, only_entries={entry.name for entry in entries} if as_json and what else None)
    sys.exit(REFUSED if tally.refused else SOME_FAILED if tally.failed_in_store else ANSWERED)


def by_default(progress: Drawn) -> list[Entry]:
    """Every entry of submissions/ that can be asked here, and does not wait to be named; the others are said."""
    from harness.base.paths import SUBMISSIONS
    from harness.submission.submission import look_through

    here, absent = look_through(SUBMISSIONS)
    for name, lacking in absent.items():
        progress.say(f"Not asked: {name}, which needs the model {lacking.model}; see `touchstone models list`.")
    entries = [entry for submission in here for entry in submission.entries]
    waiting = [entry.name for entry in entries if entry.on_request]
    if waiting:
        progress.say(f"Not asked: {', '.join(waiting)}, which take long; name them to have them asked.")
    return [entry for entry in entries if not entry.on_request]


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="The submission's file.")],
    suite: SuiteOption = "core",
    data_dir: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """See whether a submission is sound: its header, the axioms, its direction, its speed.  Stores nothing.

    [bold]touchstone check my_metric.py[/bold]
    """
    from harness.submission.submission import read_submission
    from leaderboard.cli.console import Drawn
    from leaderboard.workflows import check as checking
    from leaderboard.workflows.check_report import check_json, print_check
    from tasks.suite_files import read_suite

    use_mirror(data_dir)
    entries = read_submission(file).entries
    read, progress = read_suite(suite), Drawn()
    reports, confinement = checking.check_all(entries, read, trust, progress)
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
    """The ranked tables of a suite, one a track.

    [bold]touchstone show[/bold]
    [bold]touchstone show --suite smoke --json[/bold]
    [bold]touchstone show --track corpus --weights known_similarity:2,fine_tuning:1[/bold]
    """
    from tasks.suite_files import read_suite

    read, path = read_suite(suite), store_path(store)
    if weights is not None or borda:
        if weights is not None and borda:
            raise Refusal("An order is by --weights or by --borda, not by both.")
        show_own_order(read, path, weights, track, as_json)
        return
    if picture is not None:
        from leaderboard.cli.console import draw, ranking_tables

        draw(ranking_tables(ranking(read, path, track)[1], read, PICTURE_WIDTH), picture, PICTURE_WIDTH)
    show_ranking(read, path, as_json, track=track)


@app.command()
def card(
    name: Annotated[str, typer.Argument(help="A metric's name, such as energy or constant\\[0.875].")],
    suite: SuiteOption = "core", store: StoreOption = None, as_json: JsonOption = False,
) -> None:
    """All about one metric: scores with intervals, axioms, failures, provenance.

    [bold]touchstone card energy[/bold]
    """
    from leaderboard.cli.console import card as drawn
    from leaderboard.cli.console import output
    from leaderboard.report.build import build_card
    from tasks.suite_files import read_suite

    read = read_suite(suite)
    opened, rankings = ranking(read, store_path(store))
    places = [place for ranked in rankings.values() for place in ranked.places]
    found = {place.scored.track: place for place in places if place.scored.name == name}
    if not found:
        raise no_answers(name, suite, dict.fromkeys(place.scored.name for place in places))
    provenance = opened.provenance(next(iter(found.values())).scored.stored.digest)
    if as_json:
        print_json({**build_card(found.values()).model_dump(mode="json"), "runs": provenance})
    else:
        output.print(drawn(found, provenance, beside(name, rankings)))


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """What works on this machine and what does not: models, vectors, workers, folders, package index."""
    from leaderboard.workflows.doctor import examine, print_findings

    findings = examine()
    if as_json:
        print_json([{"what": one.what, "ok": one.ok, "says": one.says} for one in findings])
    else:
        print_findings(findings)
    sys.exit(ANSWERED if all(one.ok for one in findings) else SOME_FAILED)


def beside(name: str, rankings: Mapping[str, Ranking]) -> list[str]:
    """How an entry stands to others: who answers as it does, and whether it is the best for what it costs."""
    from leaderboard.scoring.insights import cost_frontier, most_similar

    sentences = []
    for track, ranked in rankings.items():
        alike = most_similar(name, [place.scored for place in ranked.places])
        if alike:
            named = ", ".join(f"{other} ({r:.2f})" for other, r in alike)
            sentences.append(f"Among {track} metrics it answers most like {named}: rank correlation of the answers.")
        if name in cost_frontier(ranked):
            sentences.append(f"No ranked {track} metric that costs as little scores higher.")
    return sentences


def show_ranking(suite: Suite, path: str, as_json: bool, only_entries: set[str] | None = None, track: str | None = None) -> None:
    from leaderboard.cli.console import output, ranking_tables
    from leaderboard.report.build import build_overview

    _, rankings = ranking(suite, path, track)
    if as_json:
        overview = build_overview(rankings, only_entries).model_dump(mode="json")
        print_json({"suite": suite.name, "fingerprint": suite.fingerprint, **overview})
    elif rankings:
        output.print(ranking_tables(rankings, suite, output.width))
    else:
        raise nothing_answered(suite, path)


def nothing_answered(suite: Suite, path: str) -> Refusal:
    return Refusal(f"The store {path} has no answers to this state of the suite {suite.name} "
                   f"({suite.name}@{suite.fingerprint[:6]}); `touchstone run --suite {suite.name}` asks for them.")


def show_own_order(suite: Suite, path: str, weights: str | None, track: str | None, as_json: bool) -> None:
    """The ranked entries in another order: by weights, or where there are none by Borda points."""
    from leaderboard.cli.console import output, own_order_tables
    from leaderboard.scoring.custom_order import by_borda, by_own_weights, of_tracks, read_weights

    _, rankings = ranking(suite, path, track)
    if not rankings:
        raise nothing_answered(suite, path)
    if not any(ranked.ranked for ranked in rankings.values()):
        raise Refusal(f"Nobody is ranked on {suite.name} yet; `touchstone show` says why.")
    if weights is None:
        orders = {name: by_borda(ranked) for name, ranked in rankings.items()}
    else:
        read = read_weights(weights)
        orders = {name: by_own_weights(ranked, read) for name, ranked in of_tracks(rankings, read).items()}
    if as_json:
        print_json({"suite": suite.name, "fingerprint": suite.fingerprint, "orders": orders})
    else:
        output.print(own_order_tables(orders, "Borda points" if weights is None else f"by {weights}"))


def ranking(suite: Suite, path: str, track: str | None = None) -> tuple[Any, dict[str, Ranking]]:
    from harness.results.store import Store
    from leaderboard.scoring.ranking import chosen, rank_suite

    store = Store(path, read_only=True)
    return store, chosen(rank_suite(store, suite), suite, track)
