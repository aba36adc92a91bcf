"""What papers published for a task, beside what the same metrics scored here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from scipy import stats

from leaderboard.board.components.layout import Estimate, Links, interval, number, table
from leaderboard.board.snapshot import Snapshot
from leaderboard.papers import ackerman2023 as reproduction_ackerman
from leaderboard.papers import kour2022 as reproduction
from leaderboard.papers import usmb
from leaderboard.papers.published_tables import PublishedValue, kour2022_rerun, kour2022_table3, usmb_tables
from leaderboard.report.build import estimate_facts
from leaderboard.scoring import estimates

NOTES = {"kour2022.md": ("known_similarity", "convergence", "fine_tuning"), "usmb.md": usmb.TASKS,
         "ackerman2023.md": ("distributionality", "local_perturbation"), "zwerdling2021.md": ("diagnostics",)}
FEWEST_CORRELATED = 4


def published(snapshot: Snapshot, links: Links, task: Mapping[str, Any]) -> str:
    """The table of a task, with the page of words on the paper; nothing where no paper published figures of it."""
    make = TABLES.get(task["name"], usmb_table if task["name"] in usmb.TASKS else None)
    shown = make(snapshot, links, task) if make is not None else ""
    if shown:
        shown = f"<details><summary>Published numbers beside ours</summary>{shown}</details>"
    notes = "".join(f'<p><a href="{escape(links.note(file))}">What we found in the paper and its code</a></p>'
                    for file, of in NOTES.items() if task["name"] in of)
    return shown + notes


def ours(snapshot: Snapshot, name: str, task: str, measure: str) -> Estimate:
    """What a metric has here; None where it was not asked."""
    found = [entry["tasks"][task]["measures"].get(measure) for entry in snapshot.facts["entries"]
             if entry["name"] == name and task in entry["tasks"]]
    return next((one for one in found if one is not None), None)


def named(snapshot: Snapshot, links: Links, name: str) -> str:
    shown = escape(name)
    return f'<a href="{escape(links.to("metric", metric=name))}">{shown}</a>' if snapshot.entry(name) is not None else shown


def accuracy_table(snapshot: Snapshot, links: Links, task: Mapping[str, Any]) -> str:
    """Kour et al. 2022, table 3: A as published counts it, at both k; the authors' code run again; ours."""
    pair = reproduction.PAIR
    figures, again = by_metric(kour2022_table3(pair)), by_metric(kour2022_rerun(pair))
    rows, both = [], []
    for name, (paper, rerun) in reproduction.METRICS.items():
        here = ours(snapshot, name, "known_similarity", "accuracy_tree")
        said = [figures.get((paper or "", k)) for k in (7, 12)]
        repeated = [again.get((rerun, k)) for k in (7, 12)]
        if here is not None and said[1] is not None:
            both.append((said[1].mean, here["value"]))
        rows.append([named(snapshot, links, name), *("–" if one is None else f"{one.mean:.3f}" for one in said),
                     *("–" if one is None else f"{one.mean:.3f} <small>± {one.std:.3f}</small>" for one in repeated),
                     f"{number(here, 3)} {interval(here, 3)}"])
    on = ", ".join(map(escape, task["data"]))
    same = "on the same data" if set(task["data"]) == set(pair) else f"theirs on {escape(' and '.join(pair))}, ours on {on}: compare the order"
    heads = ["Metric", "Published, k=7", "k=12", "Authors' code again, k=7", "k=12", "Ours"]
    return (f"<p>A, the share of nested pairs judged right as published counts it; {same}.{alike(both)} On the paper's own data: "
            f"<code>touchstone reproduce kour2022</code>.</p>{table(heads, rows, 'Kour et al. 2022, table 3, beside ours')}")


def by_metric(figures: Sequence[PublishedValue]) -> dict[tuple[str, int | None], PublishedValue]:
    return {(one.metric, one.k): one for one in figures if one.measure == "accuracy_tree"}


def alike(both: Sequence[tuple[float, float]]) -> str:
    """How alike the two orders are, where there are enough metrics in both."""
    if len(both) < FEWEST_CORRELATED or min(np.ptp(np.array(both), axis=0)) == 0:
        return ""
    rho = float(stats.spearmanr([one[0] for one in both], [one[1] for one in both]).statistic)
    return f" Rank correlation of published (k=12) and ours over {len(both)} metrics: {rho:.2f}."


def usmb_table(snapshot: Snapshot, links: Links, task: Mapping[str, Any]) -> str:
    """USMB's tables, as far as they are of this task; ensembles apart, which are no entries."""
    rows = []
    for figure in usmb_tables():
        asked, measure = usmb.stands_for(figure)
        name = usmb.METRICS.get(figure.metric)
        if asked != task["name"] or name is None:
            continue
        estimate = ours(snapshot, name, asked, measure)
        here = estimate_facts(usmb.on_their_scale(figure, None if estimate is None else estimates.Estimate(**estimate)))
        note = usmb.explain_difference(figure)
        rows.append([named(snapshot, links, name), escape(f"{figure.table}: {figure.measure}".replace("_", " ")), f"{figure.value:.2f}",
                     f"{number(here)} {interval(here)}", f'<span class="reason">{escape(note)}</span>'])
    on = ", ".join(map(escape, task["data"]))
    return (f"<p>Ours on {on}, in this suite; with the paper's data or their stand-ins: <code>touchstone reproduce usmb</code>.</p>"
            + table(["Metric", "Table and measure", "Published", "Ours", "What is known of it"], rows, "USMB's numbers beside ours", words=True))


def class_table(snapshot: Snapshot, links: Links, task: Mapping[str, Any]) -> str:
    """Ackerman et al. 2023: the prototype that a metric is nearer to."""
    rows = []
    for name, (paper, energy) in reproduction_ackerman.METRICS.items():
        here = ours(snapshot, name, task["name"], "nearer_energy")
        share = "–" if here is None else f"{here['value']:.0%}"
        rows.append([named(snapshot, links, name), escape(paper), "energy distance" if energy else "average Hausdorff distance", share])
    heads = ["Metric", "In the paper", "Published: nearer to", "Ours: share of redraws nearer to the energy distance"]
    return table(heads, rows, "Ackerman et al. 2023 beside ours", words=True)


TABLES: Mapping[str, Callable[[Snapshot, Links, Mapping[str, Any]], str]] = {
    "known_similarity": accuracy_table, "distributionality": class_table}
