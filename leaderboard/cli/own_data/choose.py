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
    corpora: Annotated[tuple[str, str] | None, typer.Option(metavar="A B", help="Two corpora: files, folders or datasets.",
                                                            show_default=False, rich_help_panel="What you have")] = None,
    like: Annotated[str | None, typer.Option(metavar="C", help="With --corpora: a third corpus; the report says whether A or "
                                             "B is nearer to it.",
                                             show_default=False, rich_help_panel="What you have")] = None,
    texts: Annotated[str | None, typer.Option(metavar="FILE|NAME", help="English texts without judgements.", show_default=False,
                                              rich_help_panel="What you have")] = None,
    column: ColumnOption = None,
    positive: PositiveOption = None,
    metric: Annotated[list[str] | None, typer.Option(metavar="NAME|FILE", help="Choose among these metrics only; +NAME adds a "
                                                     "metric to the default selection. May be repeated.",
                                                     show_default=False)] = None,
    model: Annotated[str, typer.Option(help="Embedding model; `touchstone models list` shows them.")] = "minilm",
    single: Annotated[bool, typer.Option("--single", help="Do not consider combinations of metrics.")] = False,
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
    [bold]touchstone choose --corpora generated1.txt generated2.txt --like real.txt[/bold]
    [bold]touchstone choose --texts tickets.txt[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, messages
    from leaderboard.cli.own_data.rendering import show_report
    from leaderboard.own_data.choose import choose as choose_metric

    set_mirror(data_dir)
    for path in (html, python):
        if path is not None and not path.parent.is_dir():
            raise TouchstoneError(f"{path} cannot be written because the folder {path.parent} does not exist. Create it.")
    if python is not None and pairs is None:
        raise TouchstoneError("--python needs --pairs: without judgements there is no threshold and no single best metric.")
    choice = choose_metric(pairs=pairs, corpora=corpora, like=like, texts=texts, metrics=metric or (),
                           columns=read_columns(column), positive=positive, combine=not single, similar_from=similar_from,
                           model=model, jobs=default_jobs(jobs), progress=ConsoleProgress())
    if python is not None:
        for path in choice.write_python(python):
            messages.print(str(path), soft_wrap=True, markup=False)
    show_report(choice.report, html, as_json)
