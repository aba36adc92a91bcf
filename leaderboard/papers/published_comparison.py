"""Published numbers beside those of a report, by task, for the board."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from leaderboard.papers import ackerman2023, kour2022, usmb
from leaderboard.papers.published_tables import PublishedValue, kour2022_rerun, kour2022_table3, usmb_tables
from leaderboard.report.schema import Report, TaskInfo
from leaderboard.scoring.estimates import Estimate

NOTES: Mapping[str, Sequence[str]] = {
    "kour2022.md": ("known_similarity", "convergence", "fine_tuning", "timing"), "usmb.md": usmb.TASKS,
    "ackerman2023.md": ("distributionality", "local_perturbation"), "zwerdling2021.md": ("diagnostics",)}
FEWEST_CORRELATED = 4
UNKNOWN = "\N{EN DASH}"
Cell = str | Estimate | None


@dataclass(frozen=True)
class PublishedTable:
    """A table with a row per metric (the first cell) or per metric and measure."""

    introduction: str
    command: str                            # reproduces the paper on its own data
    caption: str
    headings: Sequence[str]
    rows: Sequence[tuple[Cell, ...]]
    words: bool = False                     # whether cells are sentences
    digits: int = 2                         # of our numbers


@dataclass(frozen=True)
class PublishedComparison:
    """What the board shows of the papers behind a task."""

    table: PublishedTable | None = None
    notes: Sequence[str] = field(default_factory=list)         # files with notes on a paper


def compare_published(report: Report) -> dict[str, PublishedComparison]:
    """Return the published numbers and the notes of each task that has some."""
    comparisons = {}
    for task in report.suite.tasks:
        make = TABLES.get(task.name, usmb_table if task.name in usmb.TASKS else None)
        notes = [file for file, tasks in NOTES.items() if task.name in tasks]
        if make is not None or notes:
            comparisons[task.name] = PublishedComparison(make(report, task) if make is not None else None, notes)
    return comparisons


def find_measure(report: Report, name: str, task: str, measure: str) -> Estimate | None:
    """Return a metric's measure in the report, or None if it was not run."""
    results = [entry.tasks[task] for entry in report.entries if entry.name == name and task in entry.tasks]
    estimates = [result.measures.get(measure) for result in results]
    return next((estimate for estimate in estimates if estimate is not None), None)


def accuracy_table(report: Report, task: TaskInfo) -> PublishedTable:
    """Return table 3 of Kour et al. 2022: accuracy as published at both k, from the authors' code run again, and ours."""
    published, rerun = accuracies(kour2022_table3(kour2022.PAIR)), accuracies(kour2022_rerun(kour2022.PAIR))
    rows: list[tuple[Cell, ...]] = []
    both = []
    for name, (paper, code) in kour2022.METRICS.items():
        ours = find_measure(report, name, task.name, "accuracy_tree")
        figures, repeated = [published.get((paper or "", k)) for k in (7, 12)], [rerun.get((code, k)) for k in (7, 12)]
        if ours is not None and figures[1] is not None:
            both.append((figures[1].mean, ours.value))
        rows.append((name, *(UNKNOWN if figure is None else f"{figure.mean:.3f}" for figure in figures),
                     *(UNKNOWN if figure is None else f"{figure.mean:.3f} ± {figure.std:.3f}" for figure in repeated), ours))
    if set(task.data) == set(kour2022.PAIR):
        data = "on the same data"
    else:
        data = f"published on {' and '.join(kour2022.PAIR)}, ours on {', '.join(task.data)}: compare the order"
    return PublishedTable(
        f"A, the share of nested pairs judged correctly as the paper counts it; {data}.{correlation_note(both)} "
        "On the paper's own data:", "touchstone reproduce kour2022", "Kour et al. 2022, table 3, compared with ours",
        ("Metric", "Published, k=7", "k=12", "Authors' code rerun, k=7", "k=12", "Ours"), rows, digits=3)


def accuracies(figures: Sequence[PublishedValue]) -> dict[tuple[str, int | None], PublishedValue]:
    """Return the figures of the accuracy by metric and k."""
    return {(figure.metric, figure.k): figure for figure in figures if figure.measure == "accuracy_tree"}


def correlation_note(both: Sequence[tuple[float, float]]) -> str:
    """Return the rank correlation of published and our numbers in words; nothing for few or constant numbers."""
    if len(both) < FEWEST_CORRELATED or min(np.ptp(np.array(both), axis=0)) == 0:
        return ""
    rho = float(pd.DataFrame(both).corr("spearman").to_numpy()[0, 1])
    return f" Rank correlation of published (k=12) and ours over {len(both)} metrics: {rho:.2f}."


def usmb_table(report: Report, task: TaskInfo) -> PublishedTable:
    """Return USMB's numbers on a task; without its ensembles, which are not entries."""
    rows: list[tuple[Cell, ...]] = []
    for figure in usmb_tables():
        figure_task, measure = usmb.stands_for(figure)
        name = usmb.METRICS.get(figure.metric)
        if figure_task != task.name or name is None:
            continue
        ours = usmb.on_their_scale(figure, find_measure(report, name, figure_task, measure))
        note = usmb.explain_difference(figure)
        rows.append((name, f"{figure.table}: {figure.measure}".replace("_", " "), f"{figure.value:.2f}", ours, note))
    return PublishedTable(
        f"Ours on {', '.join(task.data)}, in this suite; with the paper's data or their stand-ins:", "touchstone reproduce usmb",
        "USMB's numbers compared with ours", ("Metric", "Table and measure", "Published", "Ours", "Notes"), rows, words=True)


def prototype_table(report: Report, task: TaskInfo) -> PublishedTable:
    """Return the prototype that each metric is closer to in Ackerman et al. 2023, and ours."""
    rows: list[tuple[Cell, ...]] = []
    for name, (paper, energy) in ackerman2023.METRICS.items():
        ours = find_measure(report, name, task.name, "nearer_energy")
        rows.append((name, paper, "energy distance" if energy else "average Hausdorff distance",
                     UNKNOWN if ours is None else f"{ours.value:.0%}"))
    headings = ("Metric", "In the paper", "Published: closer to", "Ours: share of redraws closer to the energy distance")
    return PublishedTable("", "", "Ackerman et al. 2023 compared with ours", headings, rows, words=True)


TABLES: Mapping[str, Callable[[Report, TaskInfo], PublishedTable]] = {
    "known_similarity": accuracy_table, "distributionality": prototype_table}
