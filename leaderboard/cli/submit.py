"""The commands `touchstone submit` and `touchstone rerun`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli.options import (
    ANSWERED,
    SOME_FAILED,
    DataOption,
    JobsOption,
    LimitOption,
    MemoryOption,
    SecondsOption,
    StoreOption,
    SuiteOption,
    default_jobs,
    keep_public_draws,
    read_limits,
    set_mirror,
    store_address,
)
from leaderboard.cli.serving.service import TokenOption, submit_to_server

submitting_app = typer.Typer()


@submitting_app.command()
def submit(
    file: Annotated[Path, typer.Argument(help="The submission's file.")],
    target: Annotated[str, typer.Option("--to", metavar="FOLDER|URL", help="Folder for the bundle, or address of a server that "
                                        "accepts submissions.")] = "bundles",
    token: TokenOption = None,
    suite: SuiteOption = "core",
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
) -> None:
    """Check a metric, run it on a suite, and write a bundle for a pull request (see CONTRIBUTING.md); or upload it to a server.

    [bold]touchstone submit my_metric.py[/bold]

    [bold]touchstone submit my_metric.py --to https://touchstone.example.org[/bold]
    """
    if target.startswith(("http://", "https://")):
        submit_to_server(file, target, token)
        return
    from harness.evaluation.run import run_suite
    from harness.results.store import Store
    from harness.submission.submission import load_submission
    from leaderboard.cli.console import ConsoleProgress, messages, output, position_view, report_run
    from leaderboard.cli.tables import print_check
    from leaderboard.publishing.release import find_published
    from leaderboard.scoring.results import Results
    from leaderboard.workflows.check import FIRST_SECONDS, check_entries
    from leaderboard.workflows.submit import State, write_bundle
    from tasks.suite_files import load_suite

    set_mirror(data_dir)
    submission, read, path, progress = load_submission(file), load_suite(suite), store_address(store), ConsoleProgress()
    keep_public_draws(suite)
    limits = read_limits(seconds, memory, limit)
    reports, confinement = check_entries(submission.entries, read, False, progress, limits, seconds or FIRST_SECONDS)
    print_check(reports, confinement)
    if not all(report.sound for report in reports):
        messages.print("Not submitted: fix the errors above and submit again.")
        sys.exit(SOME_FAILED)
    published, reason = find_published(read)
    report_run(run_suite(submission.entries, read, path, limits=limits, jobs=default_jobs(jobs), progress=progress,
                         published=None if published is None else published.times()))
    written, made = write_bundle(submission, read, reports, Results(read, Store(path), published), Path(target))
    for claim in made.entries:
        messages.print(f"{claim.name}: {claim.state.value}" + (f": {claim.reason}" if claim.reason else "")
                       + describe_overall(claim.overall), soft_wrap=True, markup=False)
    if reason is not None:
        messages.print(f"Not ranked among the published metrics: {reason}", soft_wrap=True, markup=False)
    if published is not None:
        for name in dict.fromkeys(position.name for position in made.positions):
            output.print(position_view([position for position in made.positions if position.name == name], published.name))
    messages.print(f"The bundle is in {written}; see CONTRIBUTING.md for the next step.", soft_wrap=True, markup=False)
    sys.exit(ANSWERED if all(claim.state is State.CHECKED for claim in made.entries) else SOME_FAILED)


@submitting_app.command()
def rerun(
    bundle: Annotated[Path, typer.Argument(help="Folder of a bundle.")],
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
    seconds: SecondsOption = None,
    memory: MemoryOption = None,
    limit: LimitOption = None,
) -> None:
    """Run the metric of a bundle again and print its score and rank, as the checks of a pull request do.

    [bold]touchstone rerun bundles/my_metric[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.workflows.submit import State, rerun_bundle

    set_mirror(data_dir)
    reruns = rerun_bundle(bundle, store_address(store), read_limits(seconds, memory, limit), default_jobs(jobs),
                          ConsoleProgress())
    for rerun_entry in reruns:
        overall = {track: rerun_entry.scored.in_track(track).overall for track in rerun_entry.scored.tracks}
        output.print(
            f"{rerun_entry.claim.name}: {rerun_entry.state.value}"
            + (f": {rerun_entry.reason}" if rerun_entry.reason else "")
            + f"{describe_overall(overall) or ', no score'}, {rerun_entry.rank}; largest difference from the bundle "
            f"{rerun_entry.difference:.2g}",
            soft_wrap=True,
            markup=False,
        )
    sys.exit(ANSWERED if all(rerun_entry.state is State.CHECKED for rerun_entry in reruns) else SOME_FAILED)


def describe_overall(overall: Mapping[str, float | None]) -> str:
    """Return the overall scores in words; tracks are named if there are several."""
    values = {track: value for track, value in overall.items() if value is not None}
    return "".join(f", {value:.3f} above chance" + (f" ({track})" if len(values) > 1 else "") for track, value in values.items())
