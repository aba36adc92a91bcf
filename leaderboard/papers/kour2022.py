"""Published tables, set beside ours: published | the authors' code, run again | ours | difference in units of the noise."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from harness.base.paths import SUBMISSIONS
from harness.evaluation.suite import Suite
from harness.results.outcomes import Outcome, Status
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.papers.published_tables import Figure, kour2022_rerun, kour2022_table3
from tasks.corpus.known_similarity import distance_measures

PAIR = ("clinc150", "banking77")
SUITE = "kour2022"
OUTSIDE = 3.0                               # noise units: beyond, a cell is marked
# Our entry: the published name, and that of the re-run.
METRICS: dict[str, tuple[str | None, str]] = {
    "chi[published]": ("CHI", "CHI (chi2.cdf, top 100 tokens, no padding)"), "zipf[published]": ("ZIPF", "ZIPF (no padding)"),
    "fid": ("FID", "FID"), "pr": ("PR", "PR"), "dc": ("DC", "DC"), "mauve": ("MAUVE", "MAUVE"),
    "classifier[published]": ("CLASSIFIER", "CLASSIFIER"), "irpr": ("IRPR", "IRPR"),
    "energy": (None, "ENERGY"), "ahd": (None, "AHD"), "medoid": (None, "MEDOID"),
}
MEASURES = ("accuracy_tree", "weighted_accuracy_tree", "monotonicity", "separability", "linearity_r", "size_robustness",
            "imbalance_robustness_unnormalised")
# Why a cell may lie outside: (entry, the beginning of a measure's name).
KNOWN = {
    ("energy", ""): "the re-run takes the root of the energy distance, ours is the distance itself",
    ("irpr", "imbalance"): "the authors' code divides each sum by the other corpus's size; only unequal sizes show it",
    ("zipf[published]", ""): "the published column is of tokens with padding, which leaks the mixture",
    ("mauve", ""): "mauve-text is not symmetric, and its arguments are the other way round in the authors' code",
}


@dataclass(frozen=True)
class Sample:
    """Some repetitions of a number."""

    mean: float
    std: float | None
    repetitions: int


@dataclass(frozen=True)
class Cell:
    """One number of a table, three times over."""

    metric: str
    k: int | None                           # None: does not depend on it
    measure: str
    published: Sample | None
    rerun: Sample | None
    ours: Sample

    @property
    def off(self) -> float | None:
        """Ours less the re-run's, in standard errors of the difference; None where no spread is known."""
        return noise_units(self.ours, self.rerun)

    @property
    def off_published(self) -> float | None:
        """Ours less the published, which states no spread: the re-run's is taken for it."""
        if self.published is None or self.rerun is None:
            return None
        return noise_units(self.ours, Sample(self.published.mean, self.rerun.std, self.published.repetitions))

    @property
    def outside(self) -> bool:
        return self.off is not None and abs(self.off) > OUTSIDE

    @property
    def note(self) -> str:
        """What is known to make the difference, where the cell is outside, or the published one is."""
        off = any(one is not None and abs(one) > OUTSIDE for one in (self.off, self.off_published))
        known = next((why for (metric, measure), why in KNOWN.items()
                      if metric == self.metric and self.measure.startswith(measure)), "")
        return known if off else ""


def noise_units(a: Sample, b: Sample | None) -> float | None:
    """(a - b)/sqrt(s_a^2/n_a + s_b^2/n_b)."""
    if b is None or a.std is None or b.std is None:
        return None
    error = math.sqrt(a.std ** 2 / a.repetitions + b.std ** 2 / b.repetitions)
    return (a.mean - b.mean) / error if error > 0 else None


def compared() -> list[Entry]:
    """The entries that are compared; of a family only the one that the paper has."""
    return [entry for entry in select_entries(METRICS, SUBMISSIONS) if entry.name in METRICS]


def reproduce(store: Store, suite: Suite) -> list[Cell]:
    """The cells of table 3 for which the store has answers."""
    published = table(kour2022_table3(PAIR))
    rerun = table(kour2022_rerun(PAIR))
    cells = []
    entries = {stored.entry.name: stored for stored in store.entries()}
    for metric, (name, again) in METRICS.items():
        if metric not in entries:
            continue
        outcomes = store.outcomes(entries[metric].digest, suite.forms)
        found = ours(suite, outcomes)
        for (k, measure), values in sorted(found.items(), key=lambda one: (one[0][0] or 99, MEASURES.index(one[0][1]))):
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            cells.append(Cell(metric, k, measure, published.get((name or "", k, measure)), rerun.get((again, k, measure)),
                              Sample(float(np.mean(values)), spread, len(values))))
    return cells


def ours(suite: Suite, outcomes: Mapping[str, Outcome]) -> dict[tuple[int | None, str], list[float]]:
    """The values of every repetition, of the answers in the direction of the authors' code alone."""
    found: dict[tuple[int | None, str], list[float]] = {}

    def keep(k: int | None, values: Mapping[str, float | None]) -> None:
        for measure in MEASURES:
            value = values.get(measure)
            if value is not None:
                found.setdefault((k, measure), []).append(value)

    for task in suite.tasks:
        answered = [unit for unit in suite.units(task) if unit.id in outcomes and outcomes[unit.id].status is Status.ANSWERED]
        seen: list[Any] = [outcomes[unit.id].observation for unit in answered]
        if task.name == "known_similarity":
            for one in seen:
                keep(one.k, distance_measures(one.scale.as_distance(np.array(one.forward)), one.k))
        else:
            for measures in task.measure_all(answered, seen):
                keep(None, measures.values)
    return found


def table(figures: Iterable[Figure]) -> dict[tuple[str, int | None, str], Sample]:
    return {(one.metric, one.k, one.measure): Sample(one.mean, one.std, one.repetitions or 0) for one in figures}


HEADINGS = ("metric", "k", "measure", "published", "authors' code again", "ours", "off (noise units)", "off the published", "")


def lines(cells: Sequence[Cell]) -> list[list[str]]:
    return [[cell.metric, "" if cell.k is None else str(cell.k), cell.measure, shown(cell.published), shown(cell.rerun),
             shown(cell.ours), units(cell.off), units(cell.off_published), cell.note] for cell in cells]


def shown(sample: Sample | None) -> str:
    if sample is None:
        return "-"
    spread = f" ± {sample.std:.3f}" if sample.std is not None else ""
    return f"{sample.mean:.3f}{spread}"


def units(off: float | None) -> str:
    return "-" if off is None else f"{off:+.1f}{' *' if abs(off) > OUTSIDE else ''}"


def summary(cells: Sequence[Cell]) -> str:
    """How many cells are as the re-run has them."""
    judged = [cell for cell in cells if cell.off is not None]
    inside = sum(not cell.outside for cell in judged)
    unexplained = sum(cell.outside and not cell.note for cell in judged)
    share = f"{inside / len(judged):.0%}" if judged else "none"
    return (f"{inside} of {len(judged)} cells ({share}) lie within {OUTSIDE:g} noise units of the authors' code, run again; "
            f"of the others, marked *, {unexplained} are unexplained. A noise unit is the standard error of the difference "
            "of the two means; the published column states no spread, so the re-run's stands in for it.")


def as_terminal(cells: Sequence[Cell]) -> Table:
    drawn = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in HEADINGS:
        drawn.add_column(heading, no_wrap=heading in ("metric", "measure"),
                         justify="left" if heading in ("metric", "measure", "") else "right")
    for cell, words in zip(cells, lines(cells), strict=True):
        style = "yellow" if cell.outside else ""
        drawn.add_row(*(Text(word, style=style) for word in words))
    return drawn


def as_markdown(cells: Sequence[Cell]) -> str:
    rows = [HEADINGS, ["---"] * len(HEADINGS), *lines(cells)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + f"\n\n{summary(cells)}\n"


def as_csv(cells: Sequence[Cell]) -> str:
    """One line a cell, numbers in full."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["metric", "k", "measure", "published", "rerun_mean", "rerun_std", "rerun_repetitions", "mean", "std",
                     "repetitions", "off", "off_published", "note"])
    for cell in cells:
        again = cell.rerun
        writer.writerow([cell.metric, cell.k, cell.measure, cell.published.mean if cell.published else None,
                         *([again.mean, again.std, again.repetitions] if again else [None] * 3),
                         cell.ours.mean, cell.ours.std, cell.ours.repetitions, cell.off, cell.off_published, cell.note])
    return written.getvalue()
