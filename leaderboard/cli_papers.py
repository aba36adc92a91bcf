"""The commands `touchstone reproduce` and `touchstone figure`: the papers' tables and pictures, from answers in the store."""

from __future__ import annotations

import dataclasses
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli_options import (
    ANSWERED,
    SOME_FAILED,
    STOPPED,
    DataOption,
    JobsOption,
    JsonOption,
    StoreOption,
    SuiteOption,
    no_answers,
    print_json,
    side_by_side,
    store_path,
    use_mirror,
)

papers_app = typer.Typer()


class Paper(StrEnum):
    kour2022 = "kour2022"
    usmb = "usmb"


class Form(StrEnum):
    terminal = "terminal"
    markdown = "markdown"
    csv = "csv"


@papers_app.command()
def reproduce(
    paper: Annotated[Paper, typer.Argument(help="kour2022: known-similarity corpora, table 3. usmb: five tasks for text "
                                           "metrics.")],
    repetitions: Annotated[int, typer.Option(min=2, max=1000, help="Of known similarity.")] = 25,
    only: Annotated[list[str] | None, typer.Option(metavar="TASK", help="known_similarity or convergence alone.",
                                                   show_default=False)] = None,
    form: Annotated[Form, typer.Option("--format", help="How to print the table.")] = Form.terminal,
    store: StoreOption = None,
    data_dir: DataOption = None,
    jobs: JobsOption = None,
) -> None:
    """A paper's table again: published beside ours; of kour2022 also the authors' code run again, and how far off in noise units.

    [bold]touchstone reproduce kour2022 --only known_similarity[/bold]     minutes
    [bold]touchstone reproduce kour2022 --format markdown > table3.md[/bold]
    [bold]touchstone reproduce usmb --data-dir mirror[/bold]              needs snapshots of its sets
    """
    from harness.run import Interrupted
    from harness.store import Store
    from leaderboard import reproduction, usmb
    from leaderboard.running import run_suite
    from leaderboard.scores import score_suite
    from leaderboard.terminal import Drawn, output, plain_table, report_run
    from tasks.suite import read_suite

    use_mirror(data_dir)
    of_usmb = paper is Paper.usmb
    suite = read_suite(usmb.SUITE) if of_usmb else read_suite(reproduction.SUITE, repetitions)
    path, progress = store_path(store), Drawn()
    wanted = only or (list(usmb.TASKS) if of_usmb else [])
    try:
        tally = run_suite(usmb.compared() if of_usmb else reproduction.compared(), suite, path, only=wanted,
                          jobs=side_by_side(jobs), progress=progress)
    except Interrupted as stopped:
        progress.say(f"Stopped. {stopped.tally.done:,} units are done and stored; the same line again goes on.")
        sys.exit(STOPPED)
    report_run(tally)
    if of_usmb:
        unmixed = read_suite(usmb.BY_CONDITION)
        in_its_batch = [entry for entry in usmb.compared() if entry.name == usmb.IN_ITS_BATCH]
        report_run(run_suite(in_its_batch, unmixed, path, only=[one for one in wanted if one in ("robustness", "sensitivity")],
                             jobs=side_by_side(jobs), progress=progress))
        opened = Store(path, read_only=True)
        scored = {one.name: one.in_track("text") for one in score_suite(opened, suite)}
        by_condition = {one.name: one.in_track("text") for one in score_suite(opened, unmixed)}
        rows = usmb.reproduce(scored, suite, by_condition.get(usmb.IN_ITS_BATCH))
        if form is Form.terminal:
            output.print(plain_table(usmb.HEADINGS, usmb.lines(rows)))
        else:
            print(usmb.as_markdown(rows) if form is Form.markdown else usmb.as_csv(rows), end="")
        sys.exit(SOME_FAILED if tally.failed_in_store else ANSWERED)
    cells = reproduction.reproduce(Store(path, read_only=True), suite)
    if form is Form.terminal:
        output.print(reproduction.as_terminal(cells))
        output.print()
        output.print(reproduction.summary(cells))
    else:
        print(reproduction.as_markdown(cells) if form is Form.markdown else reproduction.as_csv(cells), end="")
    sys.exit(SOME_FAILED if tally.failed_in_store else ANSWERED)


@papers_app.command()
def parity(
    metric: Annotated[str, typer.Argument(help="chrf, bleu, rouge_l, meteor, levenshtein or bm25.")],
    as_json: JsonOption = False,
) -> None:
    """What several libraries say by default of the same 200 pairs, and which of them our submission is.

    [bold]touchstone parity chrf[/bold]
    """
    from leaderboard.parity import as_terminal, compare
    from leaderboard.terminal import Drawn, output

    rows = compare(metric, Drawn())
    if as_json:
        print_json([dataclasses.asdict(row) for row in rows])
    else:
        output.print(as_terminal(rows))


class Kind(StrEnum):
    separation = "separation"
    convergence = "convergence"
    radar = "radar"
    boxes = "boxes"
    sensitivity = "sensitivity"
    tasks = "tasks"


@papers_app.command()
def figure(
    kind: Annotated[Kind, typer.Argument(help="separation: distance against separation. convergence: as samples grow, and get "
                                         "unequal. radar: the measures side by side. boxes: the measures over repetitions. "
                                         "sensitivity: similarity by size and place of changes. tasks: bars of the text tasks.")],
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Metrics, as the table calls them.")],
    folder: Annotated[Path, typer.Option("--to", help="Where to write the files.")] = Path(),
    suite: SuiteOption = "core",
    store: StoreOption = None,
) -> None:
    """Draw a figure of the papers from the answers in the store: HTML to look around in, and PNG.

    [bold]touchstone figure separation energy fid mauve[/bold]
    [bold]touchstone figure radar fid mauve --suite papers --to figures[/bold]
    """
    from harness.store import Store
    from leaderboard.figures import draw, write
    from leaderboard.scores import score_suite
    from leaderboard.terminal import messages
    from tasks.suite import read_suite

    read = read_suite(suite)
    scored = {one.name: one for one in score_suite(Store(store_path(store), read_only=True), read)}
    for name in names:
        if name not in scored:
            raise no_answers(name, suite, scored)
    drawn = draw(kind.value, [scored[name] for name in names])
    for path in write(drawn, folder, f"{kind.value}-{'-'.join(names)}"):
        messages.print(str(path), soft_wrap=True)
