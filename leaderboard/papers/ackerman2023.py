"""Ackerman, Kour and Farchi 2023: the prototype to which each metric is nearer, and the shape of its distances.

The paper has figures and no tables, so classes and shapes can be compared, not numbers.  Its finding: of FID, MAUVE, PR, DC,
CLASSIFIER and IRPR, only IRPR is nearer to the average Hausdorff distance than to the energy distance; PR and DC are near
neither prototype.  In section 2, where neighbours move, FID reacts late, IRPR early, and PR and DC the sooner the smaller k.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from harness.base.paths import SUBMISSIONS, cache_folder
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.models.vector_cache import VectorCache
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.figures.distributional import component_curves, draw_components
from leaderboard.figures.registry import draw_figure
from leaderboard.papers.base import Options, PaperTable, Reproduction
from leaderboard.report.formats import format_interval
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.results import score_suite
from tasks.corpus.distributionality import Distributionality
from tasks.suite_files import load_suite

SUITE = "ackerman"
# Our entry: the name in the paper, and whether the paper finds it nearer to the energy distance.
METRICS: dict[str, tuple[str, bool]] = {
    "energy": ("ENERGY", True), "ahd": ("AHD", False), "irpr": ("IRPR", False), "fid": ("FID", True), "mauve": ("MAUVE", True),
    "pr[k=2]": ("PR_2", True), "pr": ("PR_5", True), "pr[k=15]": ("PR_15", True), "dc[k=2]": ("DC_2", True), "dc": ("DC_5", True),
    "dc[k=15]": ("DC_15", True), "classifier": ("CLASSIFIER", True)}
PROTOTYPES = ("ENERGY", "AHD")              # in their class by definition
MIN_SHARE = 0.9                             # of the redraws, for a measure to be known and for a metric to belong to a class
MAX_NEAR_DEVIATION = 0.25                   # deviation from a prototype, up to which a metric is near it
COLUMNS = ("metric", "paper", "nearer to ENERGY", "as in paper", "from ENERGY", "from AHD", "distributionality", "95% CI",
           "without l=K", "rise with l", "lowest at l=K", "locality")
LINEAR = 0.5                                # locality of a metric that grows linearly with the move
# Findings of section 2: metrics from the soonest to react to the latest; None stands for LINEAR.
FINDINGS: dict[str, tuple[str | None, ...]] = {
    "FID reacts late": (None, "FID"), "IRPR reacts early": ("IRPR", None),
    "PR reacts the sooner the smaller k": ("PR_2", "PR_5", "PR_15"),
    "DC reacts the sooner the smaller k": ("DC_2", "DC_5", "DC_15")}
FIGURES = ("distributionality", "densities", "deviations", "perturbation")


@dataclass(frozen=True)
class Comparison:
    """The class and the measures of one metric."""

    metric: str
    published: str                          # the prototype to which the paper finds it nearer
    measures: dict[str, Estimate]           # those known in enough redraws
    tasks: frozenset[str]                   # tasks with results

    @property
    def nearer_energy(self) -> float | None:
        """Share of redraws in which the metric is nearer to ENERGY; None if it is unknown or was not computed."""
        return self.measures["nearer_energy"].value if "nearer_energy" in self.measures else None

    @property
    def agrees(self) -> bool | None:
        """Whether enough redraws put the metric into its published class; None if its class is unknown."""
        if self.nearer_energy is None:
            return None
        return (self.nearer_energy if self.published == "ENERGY" else 1 - self.nearer_energy) >= MIN_SHARE

    @property
    def is_far(self) -> bool:
        """Whether the metric is near neither prototype."""
        deviations = [self.measures[name].value for name in ("deviation_energy", "deviation_ahd") if name in self.measures]
        return bool(deviations) and min(deviations) > MAX_NEAR_DEVIATION


def reproduce(options: Options) -> Reproduction:
    """Run the metrics of the paper, compare their classes, and draw the figures if requested."""
    suite = load_suite(SUITE)
    tally = run_suite(paper_entries(), suite, options.store, only=options.only, jobs=options.jobs, progress=options.progress)
    store = Store(options.store, read_only=True)
    comparisons = compare_classes(store, suite)
    figures = draw_figures(store, suite, options) if options.with_figures else {}
    return Reproduction([build_table(comparisons), *judge_findings(comparisons)], build_records(comparisons), [tally], figures)


def paper_entries() -> list[Entry]:
    """Return the entries to compare: the variants that the paper has."""
    return [entry for entry in select_entries(dict.fromkeys(name.partition("[")[0] for name in METRICS), SUBMISSIONS)
            if entry.name in METRICS]


def compare_classes(store: Store, suite: Suite) -> list[Comparison]:
    """Return a comparison for each metric that has results in the store."""
    scored = {entry.name: entry for entry in score_suite(store, suite)}
    comparisons = []
    for name, (published_name, nearer_energy) in METRICS.items():
        if name not in scored:
            continue
        scores = scored[name].tasks
        measures = {measure: estimate for score in scores.values() for measure, estimate in score.measures.items()
                    if estimate.units >= MIN_SHARE * score.answered}
        comparisons.append(Comparison(published_name, "ENERGY" if nearer_energy else "AHD", measures,
                                      frozenset(task for task, score in scores.items() if score.answered)))
    return comparisons


def draw_figures(store: Store, suite: Suite, options: Options) -> dict[str, go.Figure]:
    """Return the figures of the paper by name."""
    scored = [entry for entry in score_suite(store, suite) if entry.name in METRICS]
    figures = {kind: draw_figure(kind, scored) for kind in FIGURES}
    task, cache = Distributionality(), VectorCache(suite.model.name, cache_folder())
    units = suite.units(task)
    cache.fill(sorted({text for unit in units for text in task.texts(unit)}), options.progress, options.jobs)
    return {**figures, "components": draw_components(component_curves(units, task, cache))}


def build_table(comparisons: Sequence[Comparison]) -> PaperTable:
    """Return the table for reading; metrics outside their published class are marked."""
    return PaperTable(COLUMNS, [table_row(comparison) for comparison in comparisons],
                      summarize_classes(comparisons),
                      {number: "yellow" for number, comparison in enumerate(comparisons) if comparison.agrees is False})


def table_row(comparison: Comparison) -> list[str]:
    """Return the cells of one metric in the order of COLUMNS."""
    def format_measure(name: str, form: str = ".2f", task: str = "distributionality") -> str:
        if name in comparison.measures:
            return f"{comparison.measures[name].value:{form}}"
        return "unknown" if task in comparison.tasks else "not run"

    is_prototype = comparison.metric in PROTOTYPES
    score = None if is_prototype else comparison.measures.get("distributionality")
    agreement = "by definition" if is_prototype else {True: "yes", False: "no", None: ""}[comparison.agrees]
    return [comparison.metric, comparison.published, format_measure("nearer_energy", ".0%"), agreement,
            format_measure("deviation_energy"), format_measure("deviation_ahd"), format_measure("distributionality"),
            format_interval(score.low, score.high) if score else "", format_measure("distributionality_without_last"),
            format_measure("rise"), format_measure("last_is_lowest", ".0%"),
            format_measure("locality", task="local_perturbation")]


def summarize_classes(comparisons: Sequence[Comparison]) -> list[str]:
    """Return how many metrics are in their published class, which have none, and which are near neither prototype."""
    compared = [comparison for comparison in comparisons if "distributionality" in comparison.tasks]
    if not compared:
        return []
    judged = [comparison for comparison in compared if comparison.agrees is not None and comparison.metric not in PROTOTYPES]
    unknown = ", ".join(comparison.metric for comparison in compared if comparison.agrees is None)
    far = ", ".join(comparison.metric for comparison in compared if comparison.is_far) or "none"
    agreeing = sum(comparison.agrees is True for comparison in judged)
    return [f"{agreeing} of {len(judged)} metrics other than the prototypes are in their published class (nearer "
            f"to ENERGY or to AHD) in at least {MIN_SHARE:.0%} of the redraws of the pairs. "
            + (f"Class unknown, since all distances are equal in most redraws: {unknown}. " if unknown else "") +
            f"Near neither prototype (both deviations above {MAX_NEAR_DEVIATION}): {far}. The paper publishes figures and no "
            "tables, so classes and shapes are compared, not numbers."]


def judge_findings(comparisons: Sequence[Comparison]) -> list[PaperTable]:
    """Return a table of the findings of section 2 with our localities; none if local perturbation was not run."""
    localities = {comparison.metric: comparison.measures.get("locality") for comparison in comparisons
                  if "local_perturbation" in comparison.tasks}
    if not localities:
        return []
    rows: list[list[str]] = []
    for finding, metrics in FINDINGS.items():
        estimates = [localities.get(metric) if metric else Estimate(LINEAR, LINEAR, LINEAR, 0) for metric in metrics]
        values = [f"{metric} {format_locality(metric in localities, estimate)}"
                  for metric, estimate in zip(metrics, estimates, strict=True) if metric]
        available = [estimate for estimate in estimates if estimate is not None]
        rows.append([finding, ", ".join(values), judge_order(available) if len(available) == len(estimates) else ""])
    return [PaperTable(("section 2 of the paper", "our locality (95% CI)", "holds"), rows, [
        f"Locality is 1 if a metric reacts to the smallest move of a few neighbours, and {LINEAR:g} if it grows linearly with "
        "the move. A finding holds if the localities are in its order and the intervals of the first and the last do not "
        "overlap; it is unclear if they overlap."])]


def format_locality(was_run: bool, locality: Estimate | None) -> str:
    """Return a locality with its interval."""
    if locality is None:
        return "unknown" if was_run else "not run"
    interval = format_interval(locality.low, locality.high)
    return f"{locality.value:.2f}" + (f" ({interval})" if interval else "")


def judge_order(localities: Sequence[Estimate]) -> str:
    """Return whether localities fall; "unclear" if the intervals of the first and the last overlap."""
    if intervals_overlap(localities[0], localities[-1]):
        return "unclear"
    return "yes" if all(a.value > b.value for a, b in itertools.pairwise(localities)) else "no"


def intervals_overlap(a: Estimate, b: Estimate) -> bool:
    """Return whether two intervals overlap, or one is missing."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return True
    return a.low <= b.high and b.low <= a.high


def build_records(comparisons: Sequence[Comparison]) -> PaperTable:
    """Return one row per measure of a metric, in full precision."""
    return PaperTable(("metric", "published_class", "measure", "mean", "low", "high", "units"), [
        [comparison.metric, comparison.published, name, estimate.value, estimate.low, estimate.high, estimate.units]
        for comparison in comparisons for name, estimate in comparison.measures.items()])
