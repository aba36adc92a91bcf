"""The commands `touchstone ensemble`, `touchstone baselines` and `touchstone explain`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import (
    DataOption,
    JobsOption,
    JsonOption,
    ReleaseOption,
    StoreOption,
    SuiteOption,
    open_answers,
    print_json,
    set_mirror,
    store_address,
)

if TYPE_CHECKING:
    from leaderboard.ensembles.build import TaskEnsemble
    from leaderboard.ensembles.learning import ValueAdded
    from leaderboard.ensembles.summary import AddedValue
    from leaderboard.scoring.results import Results

analyse_app = typer.Typer()
TABLED_SHARE, TABLED_SETS = 0.05, 5


@analyse_app.command()
def ensemble(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Names of text metrics.")],
    task: Annotated[str | None, typer.Option(help="axis, comparisons, robustness, sensitivity, clustering, retrieval, "
                                             "human_ordering; default: all.", show_default=False)] = None,
    suite: SuiteOption = "core",
    store: StoreOption = None,
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Number of splits into training and held-out groups.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Train a combination of metrics on some documents and evaluate it on others: scores, weights, added value, ablations.

    [bold]touchstone ensemble cosine jaccard my_metric.py --task sensitivity[/bold]
    """
    from leaderboard.cli.console import output
    from leaderboard.cli.fitted_table import plain_table
    from leaderboard.ensembles.build import build_ensemble
    from tasks.suite_files import load_suite

    read = load_suite(suite)
    report = build_ensemble(store_address(store), read, names, task=task, splits=seeds)
    if as_json:
        print_json({"suite": read.name, "fingerprint": read.fingerprint, "metrics": names, "general": report.general,
                    "tasks": {name: ensemble_json(result) for name, result in report.tasks.items()}})
        return
    for name, result in report.tasks.items():
        learned = result.ensemble
        interval = f" (95% {learned.low:.3f} to {learned.high:.3f})" if learned.low is not None else ""
        leaves = f"; with at least 10 pairs per leaf: {result.leaves_of_10:.3f}" if result.leaves_of_10 is not None else ""
        common = f"; one linear combination for all tasks: {report.general[name]:.3f}" if report.general else ""
        output.print(
            f"[bold]{name}[/bold]  {result.learner}, {result.splits} splits: {learned.score:.3f}{interval}{leaves}{common}"
        )
        output.print(plain_table(("", "alone, held out", "weight", "adds (95%)"), [
            (escape(member), f"{learned.members[member]:.3f}", f"{learned.weights[member]:.2f}",
             format_gain(result.added.get(member))) for member in names]))
        for left_out, score in result.left_out.items():
            output.print(f"  without {left_out} in learning: {score:.3f}", style="dim")
        output.print()


def ensemble_json(result: TaskEnsemble) -> dict[str, object]:
    """Return an ensemble as plain values."""
    learned = result.ensemble
    return {"learner": result.learner, "splits": result.splits, "score": learned.score, "low": learned.low, "high": learned.high,
            "weights": learned.weights, "members": learned.members,
            "added": {name: vars(added) for name, added in result.added.items()}, "left_out": result.left_out,
            **({} if result.leaves_of_10 is None else {"leaves_of_10": result.leaves_of_10})}


@analyse_app.command()
def baselines(suite: SuiteOption = "core", store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Compute the ensembles of the text track and the contribution of each metric, and store them for the board and releases.

    [bold]touchstone baselines[/bold]     resumes: stored results are not computed again
    """
    from harness.results.store import Store
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.cli.fitted_table import plain_table
    from leaderboard.ensembles.baselines import KIND, Baselines, compute_baselines
    from leaderboard.ensembles.summary import added_values, summarise_ensembles
    from leaderboard.scoring.results import score_suite
    from tasks.suite_files import load_suite

    read, opened, progress = load_suite(suite), Store(store_address(store)), ConsoleProgress()
    scored = score_suite(opened, read)
    compute_baselines(read, scored, opened, progress)
    computed = Baselines(read, scored, opened.cache_get(KIND))
    summary, adds = summarise_ensembles(computed), added_values(computed)
    if as_json:
        print_json({"suite": read.name, "fingerprint": read.fingerprint, "ensembles": asdict(summary),
                    "adds": {name: {table: asdict(value) for table, value in values.items()} for name, values in adds.items()}})
        return
    short = {task.name: task.info.short for task in read.tasks}
    tasks = list(dict.fromkeys(task for row in summary.rows for task in row.tasks))
    output.print(plain_table(("", "all", *(short[task] for task in tasks)), [
        (escape(row.name), f"{row.overall.value:.3f}", *(f"{row.tasks[task].score.value:.3f}" for task in tasks))
        for row in summary.rows]))
    named = list(dict.fromkeys(table for added in adds.values() for table in added))
    output.print(plain_table(("adds to the five", *(short.get(table, table[:5]) for table in named)), [
        (escape(name), *(mark_significant(added.get(table)) for table in named)) for name, added in adds.items()]))
    output.print("all: mean score above chance. *: the 95% interval excludes 0 (see --json or the board for intervals); expect "
                 "one in twenty by chance among metrics that add nothing.", style="dim")


def mark_significant(added: AddedValue | None) -> str:
    """Return an added value as text, marked if its interval excludes 0."""
    if added is None:
        return "-"
    excludes_zero = added.low is not None and added.high is not None and (added.low > 0 or added.high < 0)
    return f"{added.value:+.3f}" + "*" * excludes_zero


def format_gain(gain: ValueAdded | None) -> str:
    """Return what a metric adds as text."""
    if gain is None:
        return "-"
    between = "" if gain.low is None or gain.high is None else f" ({gain.low:+.3f} to {gain.high:+.3f})"
    return f"{gain.value:+.3f}{between}"


@analyse_app.command()
def encoders(
    names: Annotated[list[str], typer.Argument(metavar="NAME|FILE...", help="Metrics that take vectors.")],
    models: Annotated[str, typer.Option(help="Embedding models, separated by commas.")] = "minilm,mpnet,use-multilingual",
    suite: SuiteOption = "encoders",
    only: Annotated[list[str] | None, typer.Option(metavar="TASK", help="Run only this task; may be repeated; default: all whose "
                                                                        "answers can be compared.", show_default=False)] = None,
    store: StoreOption = None,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run metrics with several embedding models: their scores, and how much their answers depend on the model.

    [bold]touchstone encoders cosine energy --only known_similarity[/bold]     resumes: stored answers are not computed again
    """
    from harness.base.paths import SUBMISSIONS
    from harness.submission.selection import select_entries
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.cli.fitted_table import plain_table
    from leaderboard.workflows.encoders import compare_encoders

    chosen = [model.strip() for model in models.split(",") if model.strip()]
    rows = compare_encoders(select_entries(names, SUBMISSIONS), suite, chosen, store_address(store), only or (), jobs,
                            ConsoleProgress())
    if as_json:
        print_json({"suite": suite, "models": chosen, "rows": [asdict(row) for row in rows]})
        return
    output.print(plain_table(("metric", "task", "r", "lowest", *chosen), [
        (escape(row.metric), row.task, *("-" if value is None else f"{value:.3f}" for value in (
            row.correlation, row.lowest, *row.scores.values()))) for row in rows]))
    output.print("r, lowest: mean and lowest Spearman correlation of the answers with two models, within a test unit; 1: the "
                 "model does not matter. Then the score with each model.", style="dim")


@analyse_app.command("explain")
def explain_score(
    metric: Annotated[str | None, typer.Argument(help="A metric, such as cosine or chrf\\[published].",
                                                      show_default=False)] = None,
    first: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="First text.", show_default=False)] = None,
    second: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Second text.", show_default=False)] = None,
    difference: Annotated[float | None, typer.Option(metavar="X", help="Explain a difference of two values instead of a score.",
                                                     show_default=False)] = None,
    corpora: Annotated[bool, typer.Option("--corpora", help="With --difference: explain distances of corpora for a text "
                                          "metric too, which is then lifted.")] = False,
    size: Annotated[int, typer.Option("--sample-size", help="With --difference: texts per corpus, or pairs per mean.")] = 100,
    suite: SuiteOption = "core",
    store: StoreOption = None,
    release: ReleaseOption = None,
    data_dir: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain a metric's score for two texts: its position among random pairs, related pairs and paraphrases.

    [bold]touchstone explain cosine "The train is late." "Our train has a delay."[/bold]
    [bold]touchstone explain bleu --difference 0.008 --sample-size 200[/bold]   what a difference means
    [bold]touchstone explain cosine[/bold]   thresholds for 1, 5 and 10% false alarms, by dataset
    [bold]touchstone explain[/bold]   thresholds of all text metrics for 5%

    The score is compared with the stored scores of the rated pairs of the suite's human_ordering task.
    Pairs rated at least 4 of 5 count as paraphrases, from 2 to below 4 as related, and below 1 as random; randomly combined texts
    also count as random.
    """
    from leaderboard.cli.console import ConsoleProgress, output
    from leaderboard.cli.tables import explanation_table
    from leaderboard.workflows.explain import describe_classes, explain, explanation_json

    if metric is None:
        if difference is not None:
            raise TouchstoneError("Name the metric of the difference: touchstone explain METRIC --difference X.")
        set_mirror(data_dir)
        show_all_thresholds(open_answers(suite, store, release), as_json)
        return
    if first is None or difference is not None:
        if first is not None:
            raise TouchstoneError("Name two texts or --difference, not both.")
        set_mirror(data_dir)
        explain_scale(metric, difference, size, corpora, open_answers(suite, store, release), as_json)
        return
    if second is None:
        raise TouchstoneError("Name two texts, or none.")
    for text in (first, second):
        if any(0xD800 <= ord(letter) < 0xE000 for letter in text):
            raise TouchstoneError("One of the texts is not valid UTF-8; encode it as UTF-8.")
    set_mirror(data_dir)
    results = open_answers(suite, store, release)
    explanation = explain(metric, first, second, results.suite, results, ConsoleProgress())
    if as_json:
        print_json(explanation_json(explanation))
        return
    output.print(explanation_table(explanation))
    output.print()
    output.print(explanation.sentence, markup=False, highlight=False, soft_wrap=True)
    output.print(describe_classes(explanation), style="dim", markup=False, soft_wrap=True)


def explain_scale(metric: str, difference: float | None, size: int, corpora: bool, results: Results, as_json: bool) -> None:
    """Print what a difference of a metric means, or its thresholds if there is no difference."""
    from leaderboard.cli.console import output
    from leaderboard.cli.fitted_table import plain_table
    from leaderboard.own_data.differences import explain_difference, thresholds_by_domain

    if difference is None:
        thresholds = thresholds_by_domain(metric, results)
        if as_json:
            print_json([asdict(item) for item in thresholds])
            return
        output.print(plain_table(("dataset", "false alarms", "threshold", "similar pairs detected", "dissimilar pairs"), [
            (item.dataset, f"{item.false_alarms:.0%}", f"{item.value:.4f}", f"{item.detected:.0%}", f"{item.negatives:,}")
            for item in thresholds]))
        output.print("Pairs rated below the middle of the scale are dissimilar. Thresholds differ between kinds of texts; "
                     "`touchstone choose --pairs` finds yours.", style="dim")
        return
    meaning = explain_difference(metric, difference, size, results, corpora)
    if as_json:
        print_json({**asdict(meaning), "sentence": meaning.sentence})
        return
    output.print(meaning.sentence, markup=False, highlight=False, soft_wrap=True)
    needed = ", ".join(f"{'none observed' if value is None else f'{value:.3g}'} for {share}" for share, value in
                       meaning.needed.items())
    output.print(f"Difference needed for a probability: {needed}.", markup=False, highlight=False, soft_wrap=True)
    for note in meaning.notes:
        output.print(note, style="yellow", markup=False, highlight=False, soft_wrap=True)
    output.print(f"From {'; '.join(meaning.sources)}. Calibration error on sources that were left out: "
                 f"{meaning.calibration_error:.3f}.", style="dim", markup=False, highlight=False, soft_wrap=True)


def show_all_thresholds(results: Results, as_json: bool) -> None:
    """Print the thresholds of all text metrics: a row per metric, a column per set of pairs."""
    from leaderboard.cli.console import output
    from leaderboard.cli.fitted_table import plain_table
    from leaderboard.own_data.differences import all_thresholds

    thresholds = all_thresholds(results)
    if as_json:
        print_json([asdict(item) for item in thresholds])
        return
    values = {(item.metric, item.dataset): f"{item.value:.3f}" for item in thresholds if item.false_alarms == TABLED_SHARE}
    metrics, datasets = (list(dict.fromkeys(key[part] for key in values)) for part in (0, 1))
    for start in range(0, len(datasets), TABLED_SETS):
        columns = datasets[start:start + TABLED_SETS]
        output.print(plain_table(("metric", *columns), [
            (escape(metric), *(values.get((metric, dataset), "-") for dataset in columns)) for metric in metrics]))
        output.print()
    output.print(f"Thresholds that {TABLED_SHARE:.0%} of the dissimilar pairs (rated below the middle of the scale) exceed, or "
                 "fall below for a distance. -: too few such pairs. --json adds 1% and 10%, and the shares of similar pairs that "
                 "are detected.", style="dim")
