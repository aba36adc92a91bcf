"""Kour et al. 2022, table 3: published, the authors' code run again, ours, and the differences in noise units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.base.paths import SUBMISSIONS
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.outcomes import Outcome, Status
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.papers.base import Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import PublishedValue, kour2022_rerun, kour2022_table3
from leaderboard.report.formats import MISSING, format_number
from tasks.corpus.known_similarity import KnownSimilarity, measure_distances
from tasks.suite_files import load_suite

PAIR = ("clinc150", "banking77")
SUITE = "kour2022"
MAX_NOISE_UNITS = 3.0                       # larger differences are marked
# Our entry: the published name, and the name in the re-run.
METRICS: dict[str, tuple[str | None, str]] = {
    "chi[published]": ("CHI", "CHI (chi2.cdf, top 100 tokens, no padding)"), "zipf[published]": ("ZIPF", "ZIPF (no padding)"),
    "fid": ("FID", "FID"), "pr": ("PR", "PR"), "dc": ("DC", "DC"), "mauve": ("MAUVE", "MAUVE"),
    "classifier[published]": ("CLASSIFIER", "CLASSIFIER"), "irpr": ("IRPR", "IRPR"),
    "energy": (None, "ENERGY"), "ahd": (None, "AHD"), "medoid": (None, "MEDOID"),
}
MEASURES = ("accuracy_tree", "weighted_accuracy_tree", "monotonicity", "separability", "linearity_r", "size_robustness",
            "imbalance_robustness_unnormalised")
# Known causes of differences: (entry, prefix of a measure's name).
EXPLANATIONS = {
    ("energy", ""): "the re-run takes the square root of the energy distance",
    ("irpr", "imbalance"): "the authors' code divides each sum by the size of the other corpus, which matters for unequal sizes",
    ("zipf[published]", ""): "the published numbers count padding tokens, which leak the mixture",
    ("mauve", ""): "mauve-text is not symmetric, and the authors' code swaps its arguments",
}
CellKey = tuple[int | None, str]            # k, or None where the number does not depend on it; and the measure


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation over repetitions."""

    mean: float
    std: float | None
    repetitions: int

    def __str__(self) -> str:
        """Return "mean ± std"."""
        return format_number(self.mean, 3) + (f" ± {self.std:.3f}" if self.std is not None else "")


@dataclass(frozen=True)
class Cell:
    """One cell of the table from three sources."""

    metric: str
    k: int | None
    measure: str
    published: Sample | None
    rerun: Sample | None
    ours: Sample

    @property
    def difference(self) -> float | None:
        """Ours minus the re-run, in standard errors of the difference; None if a standard deviation is missing."""
        return noise_units(self.ours, self.rerun)

    @property
    def published_difference(self) -> float | None:
        """Ours minus published, with the standard deviation of the re-run in place of the unpublished one."""
        if self.published is None or self.rerun is None:
            return None
        return noise_units(self.ours, Sample(self.published.mean, self.rerun.std, self.published.repetitions))

    @property
    def deviates(self) -> bool:
        """Whether the difference from the re-run exceeds the noise."""
        return exceeds_noise(self.difference)

    @property
    def note(self) -> str:
        """The known cause of a difference that exceeds the noise."""
        if not (self.deviates or exceeds_noise(self.published_difference)):
            return ""
        return next((reason for (metric, prefix), reason in EXPLANATIONS.items()
                     if metric == self.metric and self.measure.startswith(prefix)), "")


def noise_units(a: Sample, b: Sample | None) -> float | None:
    """(a - b)/sqrt(s_a^2/n_a + s_b^2/n_b)."""
    if b is None or a.std is None or b.std is None:
        return None
    error = math.sqrt(a.std ** 2 / a.repetitions + b.std ** 2 / b.repetitions)
    return (a.mean - b.mean) / error if error > 0 else None


def exceeds_noise(difference: float | None) -> bool:
    """Return whether a difference is outside the accepted noise units."""
    return difference is not None and abs(difference) > MAX_NOISE_UNITS


def reproduce(options: Options) -> Reproduction:
    """Run the metrics of the paper, and compare table 3 with the results in the store."""
    suite = load_suite(SUITE, {KnownSimilarity.name: {"repetitions": options.repetitions}})
    tally = run_suite(paper_entries(), suite, options.store, only=options.only, jobs=options.jobs, progress=options.progress)
    cells = compare_cells(Store(options.store, read_only=True), suite)
    return Reproduction([build_table(cells)], build_records(cells), [tally])


def paper_entries() -> list[Entry]:
    """Return the entries to compare: one variant per metric of the paper."""
    return [entry for entry in select_entries(METRICS, SUBMISSIONS) if entry.name in METRICS]


def compare_cells(store: Store, suite: Suite) -> list[Cell]:
    """Return the cells of table 3 for which the store has observations."""
    published, rerun = index_samples(kour2022_table3(PAIR)), index_samples(kour2022_rerun(PAIR))
    digests = {stored.entry.name: stored.digest for stored in store.entries()}
    cells = []
    for metric, (published_name, rerun_name) in METRICS.items():
        if metric not in digests:
            continue
        values = values_by_cell(suite, store.outcomes(digests[metric], suite.forms))
        for k, measure in sorted(values, key=lambda key: (key[0] or 99, MEASURES.index(key[1]))):
            repeated = values[k, measure]
            std = float(np.std(repeated, ddof=1)) if len(repeated) > 1 else None
            cells.append(Cell(metric, k, measure, published.get((published_name or "", k, measure)),
                              rerun.get((rerun_name, k, measure)), Sample(float(np.mean(repeated)), std, len(repeated))))
    return cells


def values_by_cell(suite: Suite, outcomes: Mapping[str, Outcome]) -> dict[CellKey, list[float]]:
    """Return the value of every repetition, from the direction d(c_i, c_j) of the authors' code alone."""
    by_cell: dict[CellKey, list[float]] = {}

    def add(k: int | None, values: Mapping[str, float | None]) -> None:
        for measure in MEASURES:
            value = values.get(measure)
            if value is not None:
                by_cell.setdefault((k, measure), []).append(value)

    for task in suite.tasks:
        units = [unit for unit in suite.units(task) if unit.id in outcomes and outcomes[unit.id].status is Status.ANSWERED]
        observations: list[Any] = [outcomes[unit.id].observation for unit in units]
        if task.name == "known_similarity":
            for observation in observations:
                distances = observation.scale.as_distance(np.array(observation.forward))
                add(observation.k, measure_distances(distances, observation.k))
        else:
            for measures in task.measure_all(units, observations):
                add(None, measures.values)
    return by_cell


def index_samples(numbers: Iterable[PublishedValue]) -> dict[tuple[str, int | None, str], Sample]:
    """Return samples by metric, k and measure."""
    return {(number.metric, number.k, number.measure): Sample(number.mean, number.std, number.repetitions or 0)
            for number in numbers}


def build_table(cells: Sequence[Cell]) -> PaperTable:
    """Return the table for reading; cells that deviate from the re-run are marked."""
    rows = [[cell.metric, cell.k, cell.measure, str(cell.published or MISSING), str(cell.rerun or MISSING), str(cell.ours),
             format_difference(cell.difference), format_difference(cell.published_difference), cell.note] for cell in cells]
    return PaperTable(
        ("metric", "k", "measure", "published", "authors' code, run again", "ours", "ours - run again (noise units)",
         "ours - published", "known cause"), rows, [summarize(cells)],
        {number: "yellow" for number, cell in enumerate(cells) if cell.deviates})


def format_difference(difference: float | None) -> str:
    """Return a difference in noise units, with a star if it exceeds the noise."""
    return MISSING if difference is None else f"{difference:+.1f}{' *' if exceeds_noise(difference) else ''}"


def summarize(cells: Sequence[Cell]) -> str:
    """Return how many cells agree with the re-run."""
    comparable = [cell for cell in cells if cell.difference is not None]
    inside = sum(not cell.deviates for cell in comparable)
    unexplained = sum(cell.deviates and not cell.note for cell in comparable)
    share = f"{inside / len(comparable):.0%}" if comparable else "none"
    return (f"{inside} of {len(comparable)} cells ({share}) lie within {MAX_NOISE_UNITS:g} noise units of the authors' code, run "
            f"again; of the others, marked *, {unexplained} have no known cause. A noise unit is the standard error of the "
            "difference of two means. The paper states no standard deviations; those of the re-run are used for them.")


def build_records(cells: Sequence[Cell]) -> PaperTable:
    """Return one row per cell, in full precision."""
    rows = []
    for cell in cells:
        rerun = [cell.rerun.mean, cell.rerun.std, cell.rerun.repetitions] if cell.rerun else [None] * 3
        rows.append([cell.metric, cell.k, cell.measure, cell.published.mean if cell.published else None, *rerun, cell.ours.mean,
                     cell.ours.std, cell.ours.repetitions, cell.difference, cell.published_difference, cell.note])
    return PaperTable(("metric", "k", "measure", "published", "rerun_mean", "rerun_std", "rerun_repetitions", "mean", "std",
                       "repetitions", "difference", "published_difference", "note"), rows)
