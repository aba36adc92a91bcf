"""Ackerman, Kour and Farchi 2023 again.  The paper has figures and no tables: what can be compared are classes and shapes.

Its finding: of FID, MAUVE, PR, DC, CLASSIFIER and IRPR, only IRPR is nearer to the average Hausdorff distance than to the energy
distance; and neither prototype is near PR and DC.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from harness.base.paths import SUBMISSIONS
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.resampling import make_plans
from leaderboard.scoring.scores import score_entry

SUITE = "ackerman"
# Our entry: the paper's name, and whether the paper has it nearer to the energy distance.
METRICS: dict[str, tuple[str, bool]] = {
    "energy": ("ENERGY", True), "ahd": ("AHD", False), "irpr": ("IRPR", False), "fid": ("FID", True), "mauve": ("MAUVE", True),
    "pr[k=2]": ("PR_2", True), "pr": ("PR_5", True), "dc[k=2]": ("DC_2", True), "dc": ("DC_5", True),
    "classifier": ("CLASSIFIER", True)}
ENOUGH = 0.9                                # of the redraws, to be of a class
FAR = 0.25                                  # deviation from both prototypes, above which neither is near
HEADINGS = ("metric", "paper's class", "nearer to ENERGY", "", "from ENERGY", "from AHD", "distributionality", "without l=K",
            "rise with l", "lowest at l=K", "locality")


@dataclass(frozen=True)
class Line:
    """One metric, classed."""

    metric: str
    published: str                          # the prototype that the paper has it nearer to
    nearer_energy: float                    # share of redraws
    measures: dict[str, Estimate]

    @property
    def agrees(self) -> bool:
        share = self.nearer_energy if self.published == "ENERGY" else 1 - self.nearer_energy
        return share >= ENOUGH


def compared() -> list[Entry]:
    """The entries that are compared; of a family only those that the paper has."""
    return [entry for entry in select_entries(dict.fromkeys(name.partition("[")[0] for name in METRICS), SUBMISSIONS)
            if entry.name in METRICS]


def reproduce(store: Store, suite: Suite) -> list[Line]:
    """A line for each metric of which the store has answers."""
    entries, drawn = {stored.entry.name: stored for stored in store.entries()}, make_plans(suite)
    lines = []
    for name, (published, energy) in METRICS.items():
        if name not in entries:
            continue
        tasks = score_entry(store, suite, entries[name], drawn).tasks
        measures = dict(tasks["distributionality"].measures)
        if "nearer_energy" in measures:
            local = tasks["local_perturbation"].measures
            lines.append(Line(published, "ENERGY" if energy else "AHD", measures["nearer_energy"].value, {**measures, **local}))
    return lines


def cells(line: Line) -> list[str]:
    def shown(name: str, digits: int = 2) -> str:
        return f"{line.measures[name].value:.{digits}f}" if name in line.measures else "unknown"

    score = line.measures.get("distributionality")
    between = f" ({score.low:.2f} to {score.high:.2f})" if score and score.low is not None and score.high is not None else ""
    return [line.metric, line.published, f"{line.nearer_energy:.0%} of redraws",
            "as published" if line.agrees else "not as published",
            shown("deviation_energy"), shown("deviation_ahd"), shown("distributionality") + between,
            shown("distributionality_without_last"), shown("rise"), f"{line.measures['last_is_lowest'].value:.0%}",
            shown("locality")]


def summary(lines: Sequence[Line]) -> str:
    agreeing = sum(line.agrees for line in lines)
    far = [line.metric for line in lines
           if min(line.measures[name].value for name in ("deviation_energy", "deviation_ahd")) > FAR]
    return (f"{agreeing} of {len(lines)} metrics are in the paper's class in at least {ENOUGH:.0%} of the redraws of the pairs. "
            f"Neither prototype is near {', '.join(far) or 'none of them'} (both deviations above {FAR}). The paper publishes "
            "figures and no tables, so that classes and shapes are compared, not numbers.")


def as_terminal(lines: Sequence[Line]) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in HEADINGS:
        drawn.add_column(heading)
    for line in lines:
        drawn.add_row(*(Text(cell, style="" if line.agrees else "yellow") for cell in cells(line)))
    return drawn


def as_markdown(lines: Sequence[Line]) -> str:
    rows = [HEADINGS, ["---"] * len(HEADINGS), *map(cells, lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + f"\n\n{summary(lines)}\n"


def as_csv(lines: Sequence[Line]) -> str:
    """One line a measure of a metric, numbers in full."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["metric", "published_class", "measure", "mean", "low", "high", "units"])
    for line in lines:
        for name, one in line.measures.items():
            writer.writerow([line.metric, line.published, name, one.value, one.low, one.high, one.units])
    return written.getvalue()
