"""The command `touchstone reproduce`: the papers' tables, from answers in the store."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.base.errors import TouchstoneError, did_you_mean
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

if TYPE_CHECKING:
    from harness.evaluation.suite import Suite
    from harness.submission.submission import Entry

papers_app = typer.Typer()


class Paper(StrEnum):
    kour2022 = "kour2022"
    usmb = "usmb"
    ackerman = "ackerman"
    zwerdling2021 = "zwerdling2021"
    yamshchikov2020 = "yamshchikov2020"


class Form(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"


@papers_app.command()
def reproduce(
    paper: Annotated[Paper, typer.Argument(help="kour2022: known-similarity corpora, table 3. usmb: five tasks for text "
                                           "metrics. ackerman: distributionality, classes and shapes. zwerdling2021: profiles of "
                                           "generated corpora. yamshchikov2020: fourteen sets of pairs in the order of their "
                                           "means.")],
    repetitions: Annotated[int, typer.Option(min=2, max=1000, help="Of known similarity (kour2022).")] = 25,
    only: Annotated[list[str] | None, typer.Option(metavar="TASK|CORPUS", help="One task of kour2022 or ackerman, one corpus of "
                                                   "zwerdling2021.", show_default=False)] = None,
    form: Annotated[Form, typer.Option("--format", help="How to print the table.")] = Form.terminal,
    figures: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the paper's figures there (ackerman).",
                                                 show_default=False)] = None,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
) -> None:
    """A paper's table again: published, the authors' code run again, ours, and how far off in units of the noise.

    [bold]touchstone reproduce kour2022 --only known_similarity[/bold]     minutes
    [bold]touchstone reproduce kour2022 --format markdown > table3.md[/bold]
    [bold]touchstone reproduce usmb --data-dir mirror[/bold]              needs snapshots of its sets
    [bold]touchstone reproduce ackerman --figures figures[/bold]
    [bold]touchstone reproduce zwerdling2021 --only news_headlines[/bold]
    [bold]touchstone reproduce yamshchikov2020 --data-dir mirror[/bold]   needs a snapshot of its pairs
    """
    if figures is not None and paper is not Paper.ackerman:
        raise TouchstoneError("--figures goes with ackerman; of the others, `touchstone figure` draws what is in the store.")
    set_mirror(data_dir)
    if paper is Paper.zwerdling2021:
        reproduce_zwerdling(only or [], form, default_jobs(jobs))
    elif paper is Paper.yamshchikov2020:
        reproduce_yamshchikov(only or [], form, store_address(store), default_jobs(jobs))
    elif paper is Paper.ackerman:
        reproduce_ackerman(only or [], form, figures, store_address(store), default_jobs(jobs))
    elif paper is Paper.usmb:
        reproduce_usmb(only or [], form, store_address(store), default_jobs(jobs))
    else:
        reproduce_kour(repetitions, only or [], form, store_address(store), default_jobs(jobs))


def reproduce_kour(repetitions: int, only: list[str], form: Form, path: str, jobs: int) -> None:
    from harness.results.store import Store
    from leaderboard.papers import kour2022 as reproduction
    from tasks.suite_files import load_suite

    suite = load_suite(reproduction.SUITE, repetitions)
    failed = ask(reproduction.compared(), suite, path, only, jobs)
    cells = reproduction.reproduce(Store(path, read_only=True), suite)
    show(form, reproduction.as_terminal(cells), reproduction.summary(cells), reproduction.as_markdown(cells),
         reproduction.as_csv(cells))
    sys.exit(SOME_FAILED if failed else ANSWERED)


def reproduce_usmb(only: list[str], form: Form, path: str, jobs: int) -> None:
    from harness.results.store import Store
    from leaderboard.cli.console import plain_table
    from leaderboard.papers import usmb
    from leaderboard.scoring.scores import score_suite
    from tasks.suite_files import load_suite

    suite, unmixed, wanted = load_suite(usmb.SUITE), load_suite(usmb.BY_CONDITION), only or list(usmb.TASKS)
    failed = ask(usmb.compared(), suite, path, wanted, jobs)
    in_its_batch = [entry for entry in usmb.compared() if entry.name == usmb.IN_ITS_BATCH]
    conditions = [one for one in wanted if one in ("robustness", "sensitivity")]
    failed |= bool(conditions) and ask(in_its_batch, unmixed, path, conditions, jobs)
    opened = Store(path, read_only=True)
    scored = {one.name: one.in_track("text") for one in score_suite(opened, suite)}
    by_condition = {one.name: one.in_track("text") for one in score_suite(opened, unmixed)}
    rows = usmb.reproduce(scored, suite, by_condition.get(usmb.IN_ITS_BATCH))
    show(form, plain_table(usmb.HEADINGS, usmb.lines(rows)), "", usmb.as_markdown(rows), usmb.as_csv(rows))
    sys.exit(SOME_FAILED if failed else ANSWERED)


def reproduce_ackerman(only: list[str], form: Form, folder: Path | None, path: str, jobs: int) -> None:
    from harness.base.paths import cache_folder
    from harness.models.vector_cache import VectorCache
    from harness.results.store import Store
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.figures.corpus import write
    from leaderboard.figures.distributional import CORPUS_FIGURES, component_curves, components_figure
    from leaderboard.papers import ackerman2023 as reproduction
    from leaderboard.scoring.scores import score_suite
    from tasks.corpus.distributionality import Distributionality
    from tasks.suite_files import load_suite

    suite = load_suite(reproduction.SUITE)
    failed = ask(reproduction.compared(), suite, path, only, jobs)
    lines = reproduction.reproduce(Store(path, read_only=True), suite)
    show(form, reproduction.as_terminal(lines), reproduction.summary(lines), reproduction.as_markdown(lines),
         reproduction.as_csv(lines))
    if folder is not None:
        scored = [one for one in score_suite(Store(path, read_only=True), suite) if one.name in reproduction.METRICS]
        drawn = {kind: CORPUS_FIGURES[kind](scored) for kind in ("distributionality", "densities", "deviations", "perturbation")}
        task, cache = Distributionality(), VectorCache(suite.model.name, cache_folder())
        units = suite.units(task)
        cache.fill(sorted({text for unit in units for text in task.texts(unit)}), ConsoleProgress(), jobs)
        drawn["components"] = components_figure(component_curves(units, task, cache))
        for kind, figure_ in drawn.items():
            for file in write(figure_, folder, kind):
                messages.print(str(file), soft_wrap=True)
    sys.exit(SOME_FAILED if failed else ANSWERED)


def reproduce_zwerdling(only: list[str], form: Form, jobs: int) -> None:
    from harness.base.paths import cache_folder
    from harness.models.vector_cache import VectorCache
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.papers import zwerdling2021 as reproduction

    for name in only:
        if name not in reproduction.CORPORA:
            raise TouchstoneError(f'The paper has no corpus "{name}".{did_you_mean(name, reproduction.CORPORA)} '
                                  f"It has {', '.join(reproduction.CORPORA)}.")
    cache = VectorCache(reproduction.MODEL, cache_folder())
    rows = reproduction.reproduce(only or list(reproduction.CORPORA), cache, jobs, ConsoleProgress())
    show(form, reproduction.as_terminal(rows), reproduction.LEGEND, reproduction.as_markdown(rows), reproduction.as_csv(rows))


def reproduce_yamshchikov(only: list[str], form: Form, path: str, jobs: int) -> None:
    from harness.results.store import Store
    from leaderboard.papers import yamshchikov2020 as reproduction
    from tasks.suite_files import load_suite
    from tasks.text.human_ordering import read_pairs

    suite = load_suite(reproduction.SUITE)
    failed = ask(reproduction.compared(), suite, path, only, jobs)
    rows = reproduction.reproduce(Store(path, read_only=True), suite)
    most = reproduction.ceilings(read_pairs(reproduction.DATASET))
    show(form, reproduction.as_terminal(rows, most), "\n".join(reproduction.remarks(rows)), reproduction.as_markdown(rows, most),
         reproduction.as_csv(rows, most))
    sys.exit(SOME_FAILED if failed else ANSWERED)


def ask(entries: list[Entry], suite: Suite, path: str, only: list[str], jobs: int) -> bool:
    """Asks what the store has no answers of; whether some of all units have failed."""
    from harness.evaluation.loop import RunInterrupted
    from harness.evaluation.run import run_suite
    from leaderboard.cli.console import ConsoleProgress, report_run

    progress = ConsoleProgress()
    try:
        tally = run_suite(entries, suite, path, only=only, jobs=jobs, progress=progress)
    except RunInterrupted as stopped:
        progress.say(f"Stopped. {stopped.tally.done:,} units are done and stored; the same line again goes on.")
        sys.exit(STOPPED)
    report_run(tally)
    return bool(tally.failed_in_store)


def show(form: Form, table: Any, legend: str, markdown: str, csv: str) -> None:
    from leaderboard.cli.console import output

    if form is Form.terminal:
        output.print(table)
        output.print()
        output.print(legend)
    else:
        print(markdown if form is Form.markdown else csv, end="")
