"""The command `touchstone profile`: a generated corpus beside its training and test texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import DataOption, JsonOption, default_jobs, print_json, set_mirror

profile_app = typer.Typer()

TEXTS = "A file (txt, csv, jsonl, parquet) or the name of a dataset."


@profile_app.command()
def profile(
    train: Annotated[str, typer.Option(metavar="FILE|NAME", help=f"What the generator learned from. {TEXTS}")],
    test: Annotated[str, typer.Option(metavar="FILE|NAME", help="What it should be like, and has not seen.")],
    generated: Annotated[str, typer.Option(metavar="FILE|NAME", help="What it wrote.")],
    model: Annotated[str, typer.Option(help="What makes the vectors; `touchstone models list` shows some.")] = "minilm",
    plausibility: Annotated[str | None, typer.Option(
        metavar="MODEL", help="A causal or masked model of transformers, a folder or a name.  [default: n-grams of the training "
        "texts]", show_default=False)] = None,
    languagetool: Annotated[str | None, typer.Option(
        metavar="URL", help="A LanguageTool server.  [default: a few rules of ours]", show_default=False)] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with the figures here.", show_default=False)] = None,
    keep: Annotated[int | None, typer.Option(
        min=1, help="How many texts the filter keeps: the best of semantic against syntactic.", show_default=False)] = None,
    filtered: Annotated[Path | None, typer.Option(
        metavar="FILE", help="Where it writes them, a line a text.", show_default=False)] = None,
    data_dir: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Profile a generated corpus: does it repeat itself, copy, err, and say what real texts say?

    [bold]touchstone profile --train train.txt --test test.txt --generated new.txt --html profile.html[/bold]
    [bold]touchstone profile --train t.csv --test v.csv --generated g.jsonl --keep 500 --filtered best.txt[/bold]
    """
    from harness.base.paths import cache_folder
    from harness.models.vector_cache import VectorCache
    from leaderboard.cli.console import ConsoleProgress, messages, output
    from leaderboard.corpus_profile import report as profile_report
    from leaderboard.corpus_profile.grammar import RULES, errors_by_rule, language_tool
    from leaderboard.corpus_profile.plausibility import ORDER, model_surprise, ngram_surprise
    from leaderboard.corpus_profile.profile import Judges, best
    from leaderboard.corpus_profile.profile import profile as profiled
    from leaderboard.corpus_profile.read_texts import read_texts

    set_mirror(data_dir)
    if (keep is None) != (filtered is None):
        raise TouchstoneError("--keep and --filtered belong together: how many texts, and where to.")
    for path in (html, filtered):
        if path is not None and not path.parent.is_dir():
            raise TouchstoneError(f"{path} cannot be written: there is no folder {path.parent}.")
    learned, held_out, written = (read_texts(one) for one in (train, test, generated))
    progress = ConsoleProgress()
    cache = VectorCache(model, cache_folder())
    check, check_name = ((language_tool(languagetool), f"LanguageTool at {languagetool}") if languagetool else
                         (errors_by_rule, f"{len(RULES)} rules of ours, which find less than LanguageTool"))
    surprise, surprise_name = ((model_surprise(plausibility), plausibility) if plausibility else
                               (ngram_surprise(learned), f"Kneser-Ney n-grams of order {ORDER} of the training texts"))
    cache.fill(sorted({text for corpus in (learned, held_out, written) for text in corpus}), progress, threads=default_jobs(None))
    judges = Judges(cache.vectors, model, check, check_name, surprise, surprise_name)
    found = profiled(learned, held_out, written, judges, progress)
    if filtered is not None and keep is not None:
        write(filtered, "".join(f"{' '.join(text.splitlines())}\n" for text in best(found, written, keep)))
        messages.print(f"{filtered}: {min(keep, len(set(written))):,} texts", soft_wrap=True)
    if html is not None:
        write(html, profile_report.as_html(found, written))
        messages.print(str(html), soft_wrap=True)
    if as_json:
        print_json(profile_report.as_json(found))
    else:
        output.print(profile_report.as_terminal(found))


def write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as wrong:
        raise TouchstoneError(f"{path} cannot be written ({wrong.strerror}).") from None
