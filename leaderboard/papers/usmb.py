"""USMB's tables beside ours: published | ours with its interval, on which data, and what is known about the difference."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.base.paths import SUBMISSIONS
from harness.submission.submission import Entry, read_folder
from leaderboard.ensembles.learning import ensemble
from leaderboard.ensembles.training_tables import tables
from leaderboard.papers.published_tables import UsmbFigure, usmb_tables
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.scores import Scored
from tasks.suite_files import Suite
from tasks.text.base import USMB

SUITE, BY_CONDITION = "papers_stand_ins", "usmb_by_condition"
IN_ITS_BATCH = "bm25_plus[published]"       # asked one call a condition, in the second suite
# The published name, and ours; of BM25+ the variant that depends on its batch, since only that one's numbers come out.
METRICS = {"cosine": "cosine", "levenshtein": "levenshtein", "rouge": "rouge", "jaccard": "jaccard",
           "bm25plus": IN_ITS_BATCH}
TASKS = ("alignment", "robustness", "sensitivity", "clustering", "retrieval")
SEEDS = 20
# What is known of a table's column: (table, measure; "" for any): the explanation.
KNOWN: Mapping[tuple[str, str], str] = {
    ("axis", ""): "published holds 0.5(1+r); OpenAI's ratings are not to be had as a snapshot, SummEval stands in",
    ("comparisons", ""): "the number of words alone reaches .62",
    ("robustness", "superficial_over_summary"): "for embeddings it depends on where the model cuts texts off",
    ("usmb", "sensitivity"): "a function of length alone comes near 1; see constant_length on the task's card",
    ("usmb", "clustering"): "V-measure of Ward's linkage on rows; random labels have one too",
    ("usmb", "retrieval"): "the augmented score itself: retention, as the text has it, is .8 to 1 for everybody",
    ("weights_comparisons", ""): "the paper repeats the row of the axis weights here",
}


@dataclass(frozen=True)
class Row:
    """One published number and ours."""

    figure: UsmbFigure
    entry: str
    ours: Estimate | None                   # None: not asked
    data: str
    note: str


def compared() -> list[Entry]:
    """The entries that stand in the published tables, as far as this clone has them."""
    wanted = set(METRICS.values())
    return [entry for submission in read_folder(SUBMISSIONS) for entry in submission.entries if entry.name in wanted]


def reproduce(scored: Mapping[str, Scored], suite: Suite, by_condition: Scored | None = None) -> list[Row]:
    """Every published number, beside what the answers in a store say; `by_condition` is the entry that depends on its batch."""
    learned = ensembles(scored, suite)
    found = []
    for figure in usmb_tables():
        name = METRICS.get(figure.metric, figure.metric)
        if figure.metric == "ensemble":
            ours = learned.get((figure.table, figure.measure))
        else:
            one = scored.get(name)
            ours = None if one is None else measured(one, figure)
            if name == IN_ITS_BATCH and by_condition is not None:
                ours = measured(by_condition, figure) or ours
        note = KNOWN.get((figure.table, figure.measure)) or KNOWN.get((figure.table, ""), "")
        found.append(Row(figure, name, ours, data_of(suite, figure), note))
    return found


def measured(one: Scored, figure: UsmbFigure) -> Estimate | None:
    """Our number for a published one."""
    if figure.table == "usmb" and figure.measure == "overall":
        return None if one.usmb is None else Estimate(one.usmb, None, None, len(TASKS))
    task, measure = stands_for(figure)
    return on_their_scale(figure, one.tasks[task].measures.get(measure) if task in one.tasks else None)


def stands_for(figure: UsmbFigure) -> tuple[str, str]:
    """The task and the measure of ours that a number of a table is of."""
    if figure.table == "usmb":
        return figure.measure, USMB
    task = {"axis": "alignment", "comparisons": "alignment"}.get(figure.table, figure.table)
    if figure.table == "axis":
        return task, f"pearson_{figure.measure}"
    return task, USMB if figure.measure == "overall" else figure.measure


def on_their_scale(figure: UsmbFigure, estimate: Estimate | None) -> Estimate | None:
    """Return our estimate on the scale of the published table, which has 0.5(1 + r) for correlations."""
    if estimate is None or figure.table != "axis":
        return estimate
    low, high = (None if edge is None else (1 + edge) / 2 for edge in (estimate.low, estimate.high))
    return Estimate((1 + estimate.value) / 2, low, high, estimate.units)


def ensembles(scored: Mapping[str, Scored], suite: Suite) -> dict[tuple[str, str], Estimate]:
    """Our linear ensembles of the five metrics, held out by document, where all of them have answered; and their weights."""
    members = [scored[name] for name in METRICS.values() if name in scored]
    found: dict[tuple[str, str], Estimate] = {}
    if len(members) < len(METRICS):
        return found
    published = {ours: name for name, ours in METRICS.items()}
    for name in ("axis", "comparisons", "robustness", "sensitivity"):
        of_task = "alignment" if name in ("axis", "comparisons") else name
        if not all(one.tasks[of_task].complete and not one.tasks[of_task].failures for one in members if of_task in one.tasks):
            continue
        learned = ensemble(tables(members, name)[0], SEEDS)
        value = Estimate(learned.score, None, None, SEEDS)
        keys = {"axis": ("axis", "overall"), "comparisons": ("comparisons", "accuracy"), "robustness": ("robustness", "overall"),
                "sensitivity": ("usmb", "sensitivity")}
        found[keys[name]] = value
        if name == "robustness":
            found["usmb", "robustness"] = value
        for metric, weight in learned.weights.items():
            found[f"weights_{name}", published[metric]] = Estimate(weight, None, None, SEEDS)
    return found


def data_of(suite: Suite, figure: UsmbFigure) -> str:
    """The datasets behind our number."""
    table = figure.table.removeprefix("weights_")
    task = {"axis": "alignment", "comparisons": "alignment", "usmb": figure.measure}.get(table, table)
    kinds = {"axis": "axis", "comparisons": "comparisons"}
    names: dict[str, None] = {}
    for question in suite.questions:
        stratum = question.unit.stratum
        if question.task.name == task and (table not in kinds or stratum[0] == kinds[table]):
            names[stratum[-1]] = None
    return ", ".join(names)


HEADINGS = ("table", "metric", "measure", "published", "ours", "95%", "data", "")


def lines(rows: Sequence[Row]) -> list[list[str]]:
    return [[row.figure.table, row.entry, row.figure.measure, f"{row.figure.value:.2f}",
             "-" if row.ours is None else f"{row.ours.value:.2f}",
             "" if row.ours is None or row.ours.low is None else f"{row.ours.low:.2f} to {row.ours.high:.2f}", row.data, row.note]
            for row in rows]


def as_markdown(rows: Sequence[Row]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (HEADINGS, ["---"] * len(HEADINGS), *lines(rows))) + "\n"


def as_csv(rows: Sequence[Row]) -> str:
    """One line a number, in full."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["table", "metric", "measure", "published", "ours", "low", "high", "data", "note"])
    for row in rows:
        ours = row.ours
        writer.writerow([row.figure.table, row.entry, row.figure.measure, row.figure.value,
                         *([ours.value, ours.low, ours.high] if ours else [None] * 3), row.data, row.note])
    return written.getvalue()
