"""The command `touchstone profile`: measures of a generated corpus, with training and test texts as baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import DataOption, JsonOption, default_jobs, print_json, set_mirror, write_file

profile_app = typer.Typer()

TEXTS = "A file (txt, csv, jsonl, parquet) or the name of a dataset."


@profile_app.command()
def profile(
    train: Annotated[str, typer.Option(metavar="FILE|NAME", help=f"Training texts of the generator. {TEXTS}")],
    test: Annotated[str, typer.Option(metavar="FILE|NAME", help="Held-out texts of the same kind.")],
    generated: Annotated[str, typer.Option(metavar="FILE|NAME", help="Generated texts.")],
    model: Annotated[str, typer.Option(help="Embedding model; `touchstone models list` shows them.")] = "minilm",
    plausibility: Annotated[str | None, typer.Option(
        metavar="MODEL", help="Causal or masked language model of transformers: a name or a folder.",
        show_default="n-grams of the training texts")] = None,
    languagetool: Annotated[str | None, typer.Option(
        metavar="URL", help="Address of a LanguageTool server.", show_default="a few built-in rules")] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write an HTML page with figures to this file.",
                                              show_default=False)] = None,
    keep: Annotated[int | None, typer.Option(
        min=1, help="Number of generated texts to select, by high semantic and low syntactic similarity.",
        show_default=False)] = None,
    filtered: Annotated[Path | None, typer.Option(
        metavar="FILE", help="Write the selected texts to this file, one per line.", show_default=False)] = None,
    data_dir: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Profile a generated corpus: repetition, copying, grammar, plausibility and similarity to real texts.

    [bold]touchstone profile --train train.txt --test test.txt --generated new.txt --html profile.html[/bold]
    [bold]touchstone profile --train t.csv --test v.csv --generated g.jsonl --keep 500 --filtered best.txt[/bold]
    """
    from leaderboard.cli.console import ConsoleProgress, messages, output
    from leaderboard.corpus_profile.profile import profile_corpora, select_best
    from leaderboard.corpus_profile.read_texts import read_texts
    from leaderboard.corpus_profile.report import to_html, to_json, to_terminal

    set_mirror(data_dir)
    if (keep is None) != (filtered is None):
        raise TouchstoneError("--keep and --filtered must be given together: the number of texts and the file for them.")
    for path in (html, filtered):
        if path is not None and not path.parent.is_dir():
            raise TouchstoneError(f"{path} cannot be written because the folder {path.parent} does not exist. Create it, or "
                                  "choose another file.")
    generated_texts = read_texts(generated)
    result = profile_corpora(read_texts(train), read_texts(test), generated_texts, model=model, language_model=plausibility,
                             languagetool=languagetool, threads=default_jobs(None), progress=ConsoleProgress())
    if filtered is not None and keep is not None:
        selected = select_best(result, generated_texts, keep)
        write_file(filtered, "".join(f"{' '.join(text.splitlines())}\n" for text in selected))
        messages.print(f"{filtered}: {len(selected):,} texts", soft_wrap=True, markup=False)
    if html is not None:
        write_file(html, to_html(result, generated_texts))
        messages.print(str(html), soft_wrap=True, markup=False)
    if as_json:
        print_json(to_json(result))
    else:
        output.print(to_terminal(result))
