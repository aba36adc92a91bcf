"""The commands `touchstone figure` and `touchstone parity`: figures of the papers, and a comparison of libraries."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli.options import (
    JsonOption,
    ReleaseOption,
    StoreOption,
    SuiteOption,
    open_answers,
    print_json,
    unknown_metric_error,
)
from leaderboard.figures.kinds import FigureKind

figures_app = typer.Typer()


@figures_app.command()
def parity(
    metric: Annotated[str, typer.Argument(help="chrf, bleu, bleu_sentence, rouge1, rouge2, rouge_l, meteor, levenshtein, bm25, "
                                               "bertscore, mauve, pr, dc or c2st_knn.")],
    as_json: JsonOption = False,
) -> None:
    """Compare our implementation of a metric with other libraries on 200 pairs of texts, or on 12 pairs of corpora.

    [bold]touchstone parity chrf[/bold]
    [bold]touchstone parity mauve[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.cli.tables import parity_table
    from leaderboard.workflows.parity import compare_libraries

    rows = compare_libraries(metric, ConsoleProgress())
    if as_json:
        print_json([dataclasses.asdict(row) for row in rows])
    else:
        output.print(parity_table(rows))


@figures_app.command()
def figure(
    kind: Annotated[FigureKind, typer.Argument(
        metavar="KIND", help="\n\n".join(f"{kind}: {kind.description}" for kind in FigureKind))],
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of entries.")],
    pair: Annotated[str | None, typer.Option(help="Only this pair of sources, such as 'clinc150, banking77' (separation, radar, "
                                                  "boxes).", show_default=False)] = None,
    k: Annotated[int | None, typer.Option(help="Only this number of steps between the sources (separation, radar, boxes).",
                                          show_default=False)] = None,
    folder: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder for the files.")] = Path(),
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
) -> None:
    """Draw a figure of stored or published results, as interactive HTML and as PNG.

    [bold]touchstone figure separation energy fid mauve[/bold]
    [bold]touchstone figure radar fid mauve --suite papers --k 12 --to figures[/bold]
    """
    from leaderboard.cli.console import messages
    from leaderboard.figures.registry import draw_figure
    from leaderboard.figures.style import write_figure

    scored = {entry.name: entry for entry in open_answers(suite, store, release).scored}
    for name in names:
        if name not in scored:
            raise unknown_metric_error(name, suite, scored)
    for path in write_figure(draw_figure(kind, [scored[name] for name in names], pair, k), folder, f"{kind}-{'-'.join(names)}"):
        messages.print(str(path), soft_wrap=True, markup=False)
