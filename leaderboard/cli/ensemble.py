"""The command `touchstone ensemble`: what metrics are worth together, and what each adds."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from harness.base.errors import Refusal
from leaderboard.cli.options import JsonOption, StoreOption, SuiteOption, no_answers, print_json, store_path

if TYPE_CHECKING:
    from leaderboard.ensembles.summary import AddedValue

ensembles_app = typer.Typer()
FEW_SEEDS, MANY_DRAWS = 5, 200              # forests take seconds a split, so few of them; not learned again for an interval
MOST_ADDED = 5                              # metrics of which a forest tells what each adds


@ensembles_app.command()
def ensemble(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Text metrics, as the table calls them.")],
    task: Annotated[str | None, typer.Option(help="axis, comparisons, robustness, sensitivity, clustering, retrieval, "
                                             "human_ordering; none: all.", show_default=False)] = None,
    suite: SuiteOption = "core",
    store: StoreOption = None,
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="Splits into learned and held out.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Metrics together, learned on some documents and judged on others: scores, weights, what each adds, what if one is left out.

    [bold]touchstone ensemble cosine jaccard my_metric.py --task sensitivity[/bold]
    """
    from harness.results.store import Store
    from leaderboard.cli.console import output, plain_table
    from leaderboard.ensembles.learning import added, general
    from leaderboard.ensembles.learning import ensemble as learn
    from leaderboard.ensembles.training_tables import tables
    from leaderboard.scoring.scores import score_suite
    from tasks.suite_files import read_suite

    if len(set(names)) != len(names) or len(names) < 2:
        raise Refusal("An ensemble is made of two metrics or more, each named once.")
    read = read_suite(suite)
    scored = {one.name: one for one in score_suite(Store(store_path(store), read_only=True), read)}
    for name in names:
        if name not in scored:
            raise no_answers(name, suite, scored)
    made = tables([scored[name] for name in names], task)
    found: dict[str, Any] = {}
    for table in made:
        quick = table.learner == "linear"
        rounds, draws = (seeds, MANY_DRAWS) if quick else (min(seeds, FEW_SEEDS), 0)
        learned = learn(table, rounds, draws)
        found[table.task] = {
            "learner": "linear regression without intercept" if quick else "random forest", "splits": rounds,
            "score": learned.score, "low": learned.low, "high": learned.high, "weights": learned.weights,
            "members": learned.members,
            "added": {name: vars(added(table, name, rounds, draws)) for name in names
                      if quick or len(names) <= MOST_ADDED},
            "left_out": left_out(table) if quick else {}}
        if not quick:
            found[table.task]["leaves_of_10"] = learn(table, rounds, learner="leaves").score
    whole = general(made, seeds) if len(made) > 1 else {}
    if as_json:
        print_json({"suite": read.name, "fingerprint": read.fingerprint, "metrics": names, "tasks": found, "general": whole})
        return
    for title, one in found.items():
        between = f" (95% {one['low']:.3f} to {one['high']:.3f})" if one["low"] is not None else ""
        output.print(f"[bold]{title}[/bold]  {one['learner']}, {one['splits']} splits: {one['score']:.3f}{between}"
                     + (f"; with leaves of at least 10: {one['leaves_of_10']:.3f}" if "leaves_of_10" in one else "")
                     + (f"; the general ensemble: {whole[title]:.3f}" if whole else ""))
        rows = [(escape(name), f"{one['members'][name]:.3f}", f"{one['weights'][name]:.2f}", said(one["added"].get(name)))
                for name in names]
        output.print(plain_table(("", "alone, held out", "weight", "adds (95%)"), rows))
        for name, score in one["left_out"].items():
            output.print(f"  not learned from {name}: {score:.3f}", style="dim")
        output.print()


@ensembles_app.command()
def baselines(suite: SuiteOption = "core", store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Compute the text track's ensemble rows and what each metric adds to them; the store keeps them for board and release.

    [bold]touchstone baselines[/bold]     what is kept is not computed again: stop it anywhere, the same line goes on
    """
    from harness.results.store import Store
    from leaderboard.cli.console import Drawn, output, plain_table
    from leaderboard.ensembles.baselines import KIND, Baselines, compute
    from leaderboard.ensembles.summary import added_values, summarise_ensembles
    from leaderboard.scoring.scores import score_suite
    from tasks.suite_files import read_suite

    read, opened, progress = read_suite(suite), Store(store_path(store)), Drawn()
    scored = score_suite(opened, read)
    compute(read, scored, opened, progress)
    known = Baselines(read, scored, opened.derived(KIND))
    summary, adds = summarise_ensembles(known), added_values(known)
    if as_json:
        print_json({"suite": read.name, "fingerprint": read.fingerprint, "ensembles": asdict(summary),
                    "adds": {name: {table: asdict(value) for table, value in values.items()} for name, values in adds.items()}})
        return
    short = {task.name: task.declares.short for task in read.tasks}
    tasks = list(dict.fromkeys(task for row in summary.rows for task in row.tasks))
    output.print(plain_table(("", "all", *(short[task] for task in tasks)), [
        (escape(row.name), f"{row.overall.value:.3f}", *(f"{row.tasks[task].score.value:.3f}" for task in tasks))
        for row in summary.rows]))
    named = list(dict.fromkeys(table for one in adds.values() for table in one))
    output.print(plain_table(("adds to the five", *(short.get(table, table[:5]) for table in named)), [
        (escape(name), *(for_sure(one.get(table)) for table in named)) for name, one in adds.items()]))
    output.print("all: the mean above chance. *: the 95% interval, which --json and the board show, is on one side of 0; of what "
                 "adds nothing, one in twenty is so by chance.", style="dim")


def left_out(table: Any) -> dict[str, float]:
    """The score where one condition, or one dataset, was not learned from."""
    import numpy as np

    from leaderboard.ensembles.learning import without

    found = {}
    for what in ("condition", "dataset"):
        names = np.unique(getattr(table, what)).tolist()
        if 1 < len(names) <= 12:
            for name in names:
                scores = [without(table, what, name, seed).score for seed in range(FEW_SEEDS)]
                found[name] = float(np.mean(scores))
    return found


def for_sure(added: AddedValue | None) -> str:
    """Return the added value, with a star where its interval excludes 0."""
    if added is None:
        return "-"
    significant = added.low is not None and added.high is not None and (added.low > 0 or added.high < 0)
    return f"{added.value:+.3f}{'*' if significant else ''}"


def said(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    between = f" ({one['low']:+.3f} to {one['high']:+.3f})" if one["low"] is not None and one["high"] is not None else ""
    return f"{one['value']:+.3f}{between}"
