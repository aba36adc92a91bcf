"""The command `touchstone explain`."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import DataOption, JsonOption, StoreOption, SuiteOption, print_json, set_mirror, store_address

explaining_app = typer.Typer()


@explaining_app.command()
def explain(
    metric: Annotated[str, typer.Argument(help="A text metric, such as cosine or chrf\\[published].")],
    first: Annotated[str, typer.Argument(metavar="TEXT", help="First text.")],
    second: Annotated[str, typer.Argument(metavar="TEXT", help="Second text.")],
    suite: SuiteOption = "core",
    store: StoreOption = None,
    data_dir: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a metric's score of two texts: its position among random pairs, related pairs and paraphrases.

    [bold]touchstone explain cosine "The train is late." "Our train has a delay."[/bold]

    Classes consist of the rated pairs of the suite's human_ordering task with stored scores: at least 4 of 5 is a paraphrase, 2
    to under 4 related, under 1 (or randomly combined) random.
    """
    from harness.results.store import Store
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.cli.tables import explanation_table
    from leaderboard.workflows import explain as explaining
    from tasks.suite_files import load_suite

    for text in (first, second):
        if any(0xD800 <= ord(letter) < 0xE000 for letter in text):
            raise TouchstoneError("One of the texts is not valid UTF-8; encode it as UTF-8.")
    set_mirror(data_dir)
    explanation = explaining.explain(
        metric, first, second, load_suite(suite), Store(store_address(store), read_only=True), ConsoleProgress()
    )
    if as_json:
        print_json(explaining.explanation_json(explanation))
        return
    output.print(explanation_table(explanation))
    output.print()
    output.print(explanation.sentence, markup=False, highlight=False, soft_wrap=True)
    output.print(explaining.describe_classes(explanation), style="dim", markup=False, soft_wrap=True)
