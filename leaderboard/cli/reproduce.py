"""The command `touchstone reproduce`: compare published tables with ours."""

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
    STOPPED,
    DataOption,
    JobsOption,
    StoreOption,
    default_jobs,
    set_mirror,
    store_address,
)
from leaderboard.papers.base import Paper

papers_app = typer.Typer()


class Format(StrEnum):
    """Output formats of a reproduction."""

    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"


@papers_app.command()
def reproduce(
    paper: Annotated[Paper, typer.Argument(
        metavar="PAPER", help="\n\n".join(f"{paper}: {paper.description}" for paper in Paper))],
    repetitions: Annotated[int, typer.Option(min=2, max=1000, help="Repetitions of known similarity (kour2022).")] = 25,
    only: Annotated[list[str] | None, typer.Option(
        metavar="TASK|CORPUS|CHECK", help="Only this task, corpus (zwerdling2021) or check (raisa2025); repeatable.",
        show_default=False)] = None,
    metric: Annotated[list[str] | None, typer.Option(
        metavar="NAME", help="Run only this metric (yamshchikov2020); repeatable.", show_default=False)] = None,
    output_format: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.terminal,
    figures: Annotated[Path | None, typer.Option(
        metavar="FOLDER", help="Write the figures of the paper to this folder (ackerman, zwerdling2021).",
        show_default=False)] = None,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
) -> None:
    """Reproduce the tables of a paper: published numbers, our numbers, and the differences. Runs the missing test units.

    [bold]touchstone reproduce kour2022 --only known_similarity[/bold]     minutes
    [bold]touchstone reproduce kour2022 --format markdown > table3.md[/bold]
    [bold]touchstone reproduce usmb --data-dir mirror[/bold]              needs snapshots of its datasets
    [bold]touchstone reproduce ackerman --figures figures[/bold]
    [bold]touchstone reproduce zwerdling2021 --only news_headlines --figures figures[/bold]
    [bold]touchstone reproduce yamshchikov2020 --data-dir mirror[/bold]   needs a snapshot of its pairs
    [bold]touchstone reproduce yamshchikov2020 --metric bleu --metric wmd[/bold]
    [bold]touchstone reproduce raisa2025[/bold]                           5 minutes
    """
    from harness.evaluation.loop import RunInterrupted
    from leaderboard.cli.console import ConsoleProgress, messages, output, report_run
    from leaderboard.figures.style import write_figure
    from leaderboard.papers.registry import reproduce as reproduce_paper

    set_mirror(data_dir)
    if figures is not None and figures.exists() and not figures.is_dir():
        raise TouchstoneError(f"--figures {figures} is a file. Name a folder.")
    progress = ConsoleProgress()
    try:
        result = reproduce_paper(paper, store_address(store), only=only or (), repetitions=repetitions, jobs=default_jobs(jobs),
                                 with_figures=figures is not None, metrics=metric or (), progress=progress)
    except RunInterrupted as interruption:
        progress.say(f"Stopped. {interruption.tally.done:,} test units are stored; run the same command to continue.")
        sys.exit(STOPPED)
    for tally in result.tallies:
        report_run(tally)
    if output_format is Format.terminal:
        output.print(result.to_terminal())
    else:
        print(result.to_markdown() if output_format is Format.markdown else result.to_csv(), end="")
    for name, figure in result.figures.items():
        for path in write_figure(figure, figures or Path(), name):
            messages.print(str(path), soft_wrap=True, markup=False)
    sys.exit(SOME_FAILED if result.has_failures else ANSWERED)
