"""The command `touchstone measure`: distances of corpora and similarities of pairs, with their uncertainty."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import (
    ColumnOption,
    DataOption,
    HtmlOption,
    JobsOption,
    JsonOption,
    default_jobs,
    read_columns,
    set_mirror,
)

measuring_app = typer.Typer()


@measuring_app.command()
def measure(
    words: Annotated[list[str], typer.Argument(metavar="METRIC... [A B]", help="Metrics, then two corpora: files (txt, csv, "
                                               "jsonl, parquet), folders or datasets.", show_default=False)],
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare the first text of A with the first of B, and so on.")] = False,
    table: Annotated[str | None, typer.Option(metavar="FILE|NAME", help="Compare the pairs of texts in two columns of this file "
                                              "or dataset, instead of A and B.", show_default=False)] = None,
    column: ColumnOption = None,
    draws: Annotated[int, typer.Option(min=1, help="Number of permutations, and of random halves.")] = 99,
    texts: Annotated[int, typer.Option(min=8, help="Use at most this many texts of each corpus, drawn at random.")] = 2_000,
    model: Annotated[str, typer.Option(help="Embedding model; `touchstone models list` shows them.")] = "minilm",
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    html: HtmlOption = None,
    jobs: JobsOption = None,
    data_dir: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the distance of two corpora with a p-value, an interval, and the distance within one corpus.

    [bold]touchstone measure mauve pr dc classifier irpr real.txt generated.txt[/bold]
    [bold]touchstone measure chrf references.txt outputs.txt --pairs[/bold]
    [bold]touchstone measure chrf cosine --table pairs.csv[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.cli.own_data.rendering import show_report
    from leaderboard.own_data.measure import measure as measure_texts
    from leaderboard.own_data.measure import report_measurements
    from leaderboard.own_data.pairs.data import read_pairs

    set_mirror(data_dir)
    progress = ConsoleProgress()
    a: str | list[str]
    b: str | list[str]
    if table is not None:
        metrics, names, pairs = words, (f"first texts of {table}", "second texts"), True
        a, b = read_pairs(table, read_columns(column), progress)
    elif len(words) < 3:
        raise TouchstoneError("Name at least one metric and two corpora, as in touchstone measure energy a.txt b.txt.")
    elif column:
        raise TouchstoneError("--column needs --table.")
    else:
        *metrics, a, b = words
        names = a, b
    results = measure_texts(metrics, a, b, pairs=pairs, draws=draws, texts=texts, model=model, seed=seed,
                            jobs=default_jobs(jobs), progress=progress)
    show_report(report_measurements(results, *names, pairs), html, as_json)
