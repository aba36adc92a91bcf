"""The command `touchstone choose`: which metric for the texts of a user."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import (
    ColumnOption,
    DataOption,
    HtmlOption,
    JobsOption,
    JsonOption,
    PositiveOption,
    default_jobs,
    read_columns,
    set_mirror,
)

choosing_app = typer.Typer()


@choosing_app.command()
def choose(
    pairs: Annotated[str | None, typer.Option(metavar="FILE|NAME", help="Rated or labelled pairs of texts: a file, or a dataset.",
                                              show_default=False, rich_help_panel="What you have")] = None,
    column: ColumnOption = None,
    positive: PositiveOption = None,
    metric: Annotated[list[str] | None, typer.Option(metavar="NAME|FILE", help="Choose among these metrics only; with + before "
                                                     "it, a metric is added to the default selection. May be repeated.",
                                                     show_default=False)] = None,
    model: Annotated[str, typer.Option(help="Embedding model; `touchstone models list` shows them.")] = "minilm",
    single: Annotated[bool, typer.Option("--single", help="Consider no combinations of metrics.")] = False,
    similar_from: Annotated[float | None, typer.Option(help="The lowest rating of a similar pair, for thresholds.  \\[default: "
                                                       "the middle of the scale]", show_default=False)] = None,
    html: HtmlOption = None,
    python: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a Python file that uses the recommendation without "
                                                "Touchstone.", show_default=False)] = None,
    jobs: JobsOption = None,
    data_dir: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Recommend a metric for your texts. Nothing leaves this machine.

    [bold]touchstone choose --pairs rated.csv --html choice.html --python similarity.py[/bold]
    [bold]touchstone choose --pairs tickets --metric +my_metric.py[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.cli.own_data.rendering import show_report
    from leaderboard.own_data.answers import select_candidates
    from leaderboard.own_data.pair_data import read_judged_pairs
    from leaderboard.own_data.pair_report import report_on_pairs
    from leaderboard.own_data.pairs import choose_by_pairs
    from leaderboard.own_data.usage import write_usage

    set_mirror(data_dir)
    for path in (html, python):
        if path is not None and not path.parent.is_dir():
            raise TouchstoneError(f"{path} cannot be written because the folder {path.parent} does not exist. Create it.")
    if pairs is None:
        raise TouchstoneError("Name what you have: --pairs FILE.")
    judged, progress = read_judged_pairs(pairs, read_columns(column), positive), ConsoleProgress()
    choice = choose_by_pairs(judged, select_candidates("text", metric or [], progress), progress, model=model,
                             jobs=default_jobs(jobs), combine=not single, similar_from=similar_from)
    if python is not None:
        for path in write_usage(choice, python, model):
            messages.print(str(path), soft_wrap=True, markup=False)
    show_report(report_on_pairs(choice), html, as_json)
