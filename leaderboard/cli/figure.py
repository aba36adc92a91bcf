"""The commands `touchstone figure` and `touchstone parity`: the papers' pictures, and what libraries mean by a name."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli.options import JsonOption, StoreOption, SuiteOption, print_json, store_address, unknown_metric_error

figures_app = typer.Typer()


@figures_app.command()
def parity(
    metric: Annotated[str, typer.Argument(help="chrf, bleu, rouge_l, meteor, levenshtein or bm25.")],
    as_json: JsonOption = False,
) -> None:
    """What several libraries say by default of the same 200 pairs, and which of them our submission is.

    [bold]touchstone parity chrf[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.cli.tables import parity_table
    from leaderboard.workflows.parity import compare_libraries

    rows = compare_libraries(metric, ConsoleProgress())
    if as_json:
        print_json([dataclasses.asdict(row) for row in rows])
    else:
        output.print(parity_table(rows))


class Kind(StrEnum):
    separation = "separation"
    convergence = "convergence"
    radar = "radar"
    boxes = "boxes"
    distributionality = "distributionality"
    densities = "densities"
    deviations = "deviations"
    perturbation = "perturbation"
    fine_tuning = "fine_tuning"
    faults = "faults"
    sensitivity = "sensitivity"
    tasks = "tasks"


@figures_app.command()
def figure(
    kind: Annotated[Kind, typer.Argument(help="separation: distance against separation. convergence: as samples grow, and get "
                                         "unequal. radar: the measures side by side. boxes: the measures over repetitions. "
                                         "distributionality: distance against separation of paraphrases. densities: of those "
                                         "distances. deviations: from both prototypes. perturbation: as neighbours move. "
                                         "fine_tuning: as a generator learns. faults: which a metric sees. "
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
    from harness.results.store import Store
    from leaderboard.cli.console import messages
    from leaderboard.figures.corpus import FIGURES, write
    from leaderboard.figures.distributional import CORPUS_FIGURES
    from leaderboard.scoring.scores import score_suite
    from tasks.suite_files import load_suite

    read = load_suite(suite)
    scored = {one.name: one for one in score_suite(Store(store_address(store), read_only=True), read)}
    for name in names:
        if name not in scored:
            raise unknown_metric_error(name, suite, scored)
    drawn = {**FIGURES, **CORPUS_FIGURES}[kind.value]([scored[name] for name in names])
    for path in write(drawn, folder, f"{kind.value}-{'-'.join(names)}"):
        messages.print(str(path), soft_wrap=True)
