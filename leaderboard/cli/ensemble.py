"""The commands `touchstone ensemble` and `touchstone baselines`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from harness.base.errors import TouchstoneError
from leaderboard.cli.options import JsonOption, StoreOption, SuiteOption, print_json, store_address, unknown_metric_error

ensembles_app = typer.Typer()
FEW_SEEDS, MANY_DRAWS = 5, 200              # forests take seconds per split: few splits, no resampling
MOST_ADDED = 5                              # metrics whose added value is measured with forests


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
    """Combine metrics, learned on some documents and evaluated on others: scores, weights, added value, ablations.

    [bold]touchstone ensemble cosine jaccard my_metric.py --task sensitivity[/bold]
    """
    from harness.results.store import Store
    from leaderboard.cli.console import output, plain_table
    from leaderboard.ensembles.learning import general, value_added
    from leaderboard.ensembles.learning import learn as learn
    from leaderboard.ensembles.training_tables import training_tables
    from leaderboard.scoring.scores import score_suite
    from tasks.suite_files import load_suite

    if len(set(names)) != len(names) or len(names) < 2:
        raise TouchstoneError("An ensemble is made of two metrics or more, each named once.")
    read = load_suite(suite)
    scored = {entry.name: entry for entry in score_suite(Store(store_address(store), read_only=True), read)}
    for name in names:
        if name not in scored:
            raise unknown_metric_error(name, suite, scored)
    made = training_tables([scored[name] for name in names], task)
    results: dict[str, Any] = {}
    for table in made:
        quick = table.learner == "linear"
        rounds, draws = (seeds, MANY_DRAWS) if quick else (min(seeds, FEW_SEEDS), 0)
        learned = learn(table, rounds, draws)
        results[table.task] = {
            "learner": "linear regression without intercept" if quick else "random forest", "splits": rounds,
            "score": learned.score, "low": learned.low, "high": learned.high, "weights": learned.weights,
            "members": learned.members,
            "added": {name: vars(value_added(table, name, rounds, draws)) for name in names
                      if quick or len(names) <= MOST_ADDED},
            "left_out": left_out(table) if quick else {}}
        if not quick:
            results[table.task]["leaves_of_10"] = learn(table, rounds, learner="leaves").score
    whole = general(made, seeds) if len(made) > 1 else {}
    if as_json:
        print_json({"suite": read.name, "fingerprint": read.fingerprint, "metrics": names, "tasks": results, "general": whole})
        return
    for title, entry in results.items():
        between = f" (95% {entry['low']:.3f} to {entry['high']:.3f})" if entry["low"] is not None else ""
        output.print(f"[bold]{title}[/bold]  {entry['learner']}, {entry['splits']} splits: {entry['score']:.3f}{between}"
                     + (f"; with leaves of at least 10: {entry['leaves_of_10']:.3f}" if "leaves_of_10" in entry else "")
                     + (f"; the general ensemble: {whole[title]:.3f}" if whole else ""))
        rows = [(escape(name), f"{entry['members'][name]:.3f}", f"{entry['weights'][name]:.2f}", said(entry["added"].get(name)))
                for name in names]
        output.print(plain_table(("", "alone, held out", "weight", "adds (95%)"), rows))
        for name, score in entry["left_out"].items():
            output.print(f"  not learned from {name}: {score:.3f}", style="dim")
        output.print()


@ensembles_app.command()
def baselines(suite: SuiteOption = "core", store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Compute the ensemble rows of the text track and what each metric adds to them; stored for board and releases.

    [bold]touchstone baselines[/bold]     resumes: stored results are not computed again
    """
    from harness.results.store import Store
    from leaderboard.cli.console import ConsoleProgress, output, plain_table
    from leaderboard.ensembles.baselines import KIND, Baselines, compute_baselines
    from leaderboard.ensembles.summary import adds_facts, ensembles_facts
    from leaderboard.scoring.scores import score_suite
    from tasks.suite_files import load_suite

    read, opened, progress = load_suite(suite), Store(store_address(store)), ConsoleProgress()
    scored = score_suite(opened, read)
    compute_baselines(read, scored, opened, progress)
    computed = Baselines(read, scored, opened.cache_get(KIND))
    facts, adds = ensembles_facts(computed), adds_facts(computed)
    if as_json:
        print_json({"suite": read.name, "fingerprint": read.fingerprint, "ensembles": facts, "adds": adds})
        return
    short = {task.name: task.info.short for task in read.tasks}
    tasks = list(dict.fromkeys(task for row in facts["rows"] for task in row["tasks"]))
    output.print(plain_table(("", "all", *(short[task] for task in tasks)), [
        (escape(row["name"]), f"{row['overall']['value']:.3f}",
         *(f"{row['tasks'][task]['score']['value']:.3f}" for task in tasks))
        for row in facts["rows"]]))
    named = list(dict.fromkeys(table for added in adds.values() for table in added))
    output.print(plain_table(("adds to the five", *(short.get(table, table[:5]) for table in named)), [
        (escape(name), *(for_sure(added.get(table)) for table in named)) for name, added in adds.items()]))
    output.print("all: the mean above chance. *: the 95% interval, which --json and the board show, is on one side of 0; of what "
                 "adds nothing, one in twenty is so by chance.", style="dim")


def left_out(table: Any) -> dict[str, float]:
    """Return the scores without one condition or dataset in learning."""
    import numpy as np

    from leaderboard.ensembles.learning import without

    results = {}
    for what in ("condition", "dataset"):
        names = np.unique(getattr(table, what)).tolist()
        if 1 < len(names) <= 12:
            for name in names:
                scores = [without(table, what, name, seed).score for seed in range(FEW_SEEDS)]
                results[name] = float(np.mean(scores))
    return results


def for_sure(added: dict[str, Any] | None) -> str:
    """Return an added value as text, marked if its interval excludes 0."""
    if added is None:
        return "-"
    return f"{added['value']:+.3f}" + ("*" if added["low"] is not None and (added["low"] > 0 or added["high"] < 0) else "")


def said(estimate: dict[str, Any] | None) -> str:
    """Return an estimate as text."""
    if estimate is None:
        return "-"
    between = (
        f" ({estimate['low']:+.3f} to {estimate['high']:+.3f})"
        if estimate["low"] is not None and estimate["high"] is not None
        else ""
    )
    return f"{estimate['value']:+.3f}{between}"
