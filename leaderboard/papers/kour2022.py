"""Kour et al. 2022, table 3: published, the authors' code run again, ours, and the differences in noise units.

The second pair of the table, run times and section 5 can be compared in shape only: see `kour2022_findings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.outcomes import Outcome, Status
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.papers import kour2022_findings as findings
from leaderboard.papers.base import Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import PublishedValue, kour2022_rerun, kour2022_table3
from leaderboard.report.formats import MISSING, format_number
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.scores import score_task
from tasks.corpus.fine_tuning import FineTuning
from tasks.corpus.known_similarity import KnownSimilarity, measure_distances
from tasks.properties.timing import Timing
from tasks.suite_files import load_suite

PAIR = ("clinc150", "banking77")
SECOND_PAIR = ("atis", "yahoo_nonfactoid")  # as published; ours has nf_cats for the Yahoo questions
SUITE, STAND_IN, FINE_TUNING = "kour2022", "kour2022_stand_in", "kour2022_fine_tuning"
# The tasks of the suites that are run if their datasets are available.
OPTIONAL_SUITES = {STAND_IN: {"known_similarity", "convergence"}, FINE_TUNING: {"fine_tuning"}}
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
CellKey = tuple[int | None, str]            # k, or None where the number does not depend on it; and the measure


@dataclass(frozen=True)
class Explanation:
    """The known cause of a difference of some cells from one or both of the columns."""

    metric: str
    measures: frozenset[str]
    from_rerun: bool
    from_published: bool
    cause: str


# Only the square root of a distance changes these measures: A, Aw and monotonicity depend on its order alone.
SCALE_DEPENDENT = frozenset({"separability", "linearity_r", "size_robustness", "imbalance_robustness_unnormalised"})
EXPLANATIONS = (
    Explanation("energy", SCALE_DEPENDENT, True, False, "the re-run takes the square root of the energy distance"),
    Explanation("irpr", frozenset({"imbalance_robustness_unnormalised"}), True, True,
                "the authors' code divides each sum by the size of the other corpus, which matters for unequal sizes"),
)


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation over repetitions."""

    mean: float
    std: float | None
    repetitions: int
    std_repetitions: int | None = None      # behind the standard deviation, if it is that of other repetitions

    def __str__(self) -> str:
        """Return "mean ± std"."""
        return format_number(self.mean, 3) + (f" ± {self.std:.3f}" if self.std is not None else "")


@dataclass(frozen=True)
class Difference:
    """The difference of two means in standard errors, with the degrees of freedom of Student's t."""

    units: float
    freedom: int

    @property
    def exceeds_noise(self) -> bool:
        """Whether it is less probable by Student's t than MAX_NOISE_UNITS are by the normal distribution."""
        return bool(scipy.stats.t.sf(abs(self.units), self.freedom) < scipy.stats.norm.sf(MAX_NOISE_UNITS))

    def __str__(self) -> str:
        """Return the noise units, with a star if they exceed the noise."""
        return f"{self.units:+.1f}{' *' if self.exceeds_noise else ''}"


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
    def difference(self) -> Difference | None:
        """Ours minus the re-run; None if a standard deviation is missing."""
        return compare_means(self.ours, self.rerun)

    @property
    def published_difference(self) -> Difference | None:
        """Ours minus published, with the standard deviation of the re-run in place of the unpublished one."""
        if self.published is None or self.rerun is None:
            return None
        return compare_means(self.ours, Sample(self.published.mean, self.rerun.std, self.published.repetitions,
                                               self.rerun.repetitions))

    @property
    def note(self) -> str:
        """The known cause of a difference that exceeds the noise."""
        for explanation in EXPLANATIONS:
            differences = [self.difference] * explanation.from_rerun + [self.published_difference] * explanation.from_published
            applies = self.metric == explanation.metric and self.measure in explanation.measures
            if applies and any(map(exceeds_noise, differences)):
                return explanation.cause
        return ""


def compare_means(a: Sample, b: Sample | None) -> Difference | None:
    """Return (a - b)/(s sqrt(1/n_a + 1/n_b)) with the pooled standard deviation s; None if one is missing."""
    if b is None or a.std is None or b.std is None:
        return None
    freedom = [(sample.std_repetitions or sample.repetitions) - 1 for sample in (a, b)]
    variance = (freedom[0] * a.std ** 2 + freedom[1] * b.std ** 2) / sum(freedom)
    if not variance:
        return None
    return Difference((a.mean - b.mean) / math.sqrt(variance * (1 / a.repetitions + 1 / b.repetitions)), sum(freedom))


def exceeds_noise(difference: Difference | None) -> bool:
    """Return whether there is a difference that exceeds the noise."""
    return difference is not None and difference.exceeds_noise


def reproduce(options: Options) -> Reproduction:
    """Run the metrics of the paper, and compare table 3, run times and section 5 with the results in the store."""
    suites, absent = load_suites(options)
    everything = replace(suites[SUITE], task_units=tuple(question for suite in suites.values() for question in suite.task_units))
    tally = run_suite(paper_entries(), everything, options.store, only=options.only, jobs=options.jobs,
                      progress=options.progress)
    store = Store(options.store, read_only=True)
    cells = compare_cells(store, suites[SUITE])
    second = compare_cells(store, suites[STAND_IN], SECOND_PAIR) if STAND_IN in suites else []
    tables = [build_table(cells)] if cells else []
    if second:
        tables.append(build_second_table(second))
    if cells:
        tables.append(findings.judge_table3([(", ".join(pair), published_means(pair), average_cells(pair_cells))
                                             for pair, pair_cells in ((PAIR, cells), (SECOND_PAIR, second))]))
    times = score_metrics(store, suites[SUITE], Timing.name)
    costs = {metric: measures["cost_in_chi"] for metric, measures in times.items() if "cost_in_chi" in measures}
    if "CHI" in costs:
        tables.append(findings.compare_costs(costs, PAIR))
    curves = {}
    if FINE_TUNING in suites:
        for stratum in dict.fromkeys(unit.stratum for unit in suites[FINE_TUNING].units(FineTuning())):
            if measures := score_metrics(store, suites[FINE_TUNING], FineTuning.name, stratum):
                curves[stratum[0]] = measures
        tables += findings.judge_training(curves) if curves else []
    if absent:
        tables.append(PaperTable(("not run",), [[reason] for reason in absent]))
    return Reproduction(tables, build_records({PAIR: cells, SECOND_PAIR: second}, {", ".join(PAIR): times, **curves}), [tally])


def load_suites(options: Options) -> tuple[dict[str, Suite], list[str]]:
    """Return the suites with the requested tasks, and why others are not available."""
    repetitions = {KnownSimilarity.name: {"repetitions": options.repetitions}}
    suites, absent = {SUITE: load_suite(SUITE, repetitions)}, []
    main_tasks = {task.name for task in suites[SUITE].tasks}
    for name, tasks in OPTIONAL_SUITES.items():
        if options.only and not tasks.intersection(options.only):
            continue
        try:
            suite = load_suite(name, repetitions)
            for dataset in {source.name for question in suite.task_units for source in question.unit.data}:
                suite.load_dataset(dataset, options.progress)
            suites[name] = suite
        except TouchstoneError as error:
            if set(options.only) & (tasks - main_tasks):
                raise
            absent.append(str(error))
    return suites, absent


def paper_entries() -> list[Entry]:
    """Return the entries to compare: one variant per metric of the paper."""
    return [entry for entry in select_entries(METRICS, SUBMISSIONS) if entry.name in METRICS]


def score_metrics(store: Store, suite: Suite, task_name: str,
                  stratum: tuple[str, ...] | None = None) -> dict[str, dict[str, Estimate]]:
    """Return the measures of a task, on one stratum or all, by the published names of the metrics that have results."""
    task, = (task for task in suite.tasks if task.name == task_name)
    units = [unit for unit in suite.units(task) if stratum in (None, unit.stratum)]
    digests = {stored.entry.name: stored.digest for stored in store.entries()}
    scores = {published: score_task(task, units, store.outcomes(digests[name], suite.observation_types))
              for name, (published, _) in METRICS.items() if published is not None and name in digests}
    return {metric: dict(score.measures) for metric, score in scores.items() if score.answered}


def compare_cells(store: Store, suite: Suite, pair: tuple[str, str] = PAIR) -> list[Cell]:
    """Return the cells of table 3 for which the store has observations."""
    published, rerun = index_samples(kour2022_table3(pair)), index_samples(kour2022_rerun(pair))
    digests = {stored.entry.name: stored.digest for stored in store.entries()}
    cells = []
    for metric, (published_name, rerun_name) in METRICS.items():
        if metric not in digests:
            continue
        values = values_by_cell(suite, store.outcomes(digests[metric], suite.observation_types))
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
        elif task.name == "convergence":
            for measures in task.measure_all(units, observations):
                add(None, measures.values)
    return by_cell


def index_samples(numbers: Iterable[PublishedValue]) -> dict[tuple[str, int | None, str], Sample]:
    """Return samples by metric, k and measure."""
    return {(number.metric, number.k, number.measure): Sample(number.mean, number.std, number.repetitions or 0)
            for number in numbers}


def published_means(pair: tuple[str, str]) -> findings.Means:
    """Return the numbers of table 3 by metric, k and measure."""
    return {key: sample.mean for key, sample in index_samples(kour2022_table3(pair)).items()}


def average_cells(cells: Sequence[Cell]) -> findings.Means:
    """Return our means of the paper's metrics, by their published names."""
    return {(METRICS[cell.metric][0] or "", cell.k, cell.measure): cell.ours.mean for cell in cells if METRICS[cell.metric][0]}


def build_table(cells: Sequence[Cell]) -> PaperTable:
    """Return the table for reading; cells that deviate from the re-run are marked."""
    rows = [[cell.metric, cell.k, cell.measure, str(cell.published or MISSING), str(cell.rerun or MISSING), str(cell.ours),
             str(cell.difference or MISSING), str(cell.published_difference or MISSING), cell.note] for cell in cells]
    return PaperTable(
        ("metric", "k", "measure", "published", "authors' code, run again", "ours", "ours - run again (noise units)",
         "ours - published", "known cause"), rows, [summarize(cells)],
        {number: "yellow" for number, cell in enumerate(cells) if exceeds_noise(cell.difference)})


def build_second_table(cells: Sequence[Cell]) -> PaperTable:
    """Return the second pair with ranks among the paper's metrics; ours has another corpus, so values are not compared."""
    groups: dict[CellKey, list[Cell]] = {}
    for cell in cells:
        if cell.published is not None:
            groups.setdefault((cell.k, cell.measure), []).append(cell)
    rows: list[list[str | float | None]] = []
    correlations = []
    for (k, measure), group in groups.items():
        published, ours = [cell.published.mean for cell in group if cell.published], [cell.ours.mean for cell in group]
        ranks = [scipy.stats.rankdata(-np.array(values), "min").astype(int).tolist() for values in (published, ours)]
        rows += [[cell.metric, k, measure, str(cell.published), str(cell.ours), rank, own_rank]
                 for cell, rank, own_rank in zip(group, *ranks, strict=True)]
        if len(group) > 2:
            correlations.append(f"{measure}{f' (k={k})' if k else ''} {scipy.stats.spearmanr(published, ours).statistic:.2f}")
    return PaperTable(("metric", "k", "measure", "published (yahoo)", "ours (nf_cats)", "published rank", "our rank"), rows, [
        "The second pair, atis and Yahoo questions. The Yahoo questions are not available; ours has nf_cats, other questions, in "
        f"their place: compare ranks, not values. Rank correlation of published and ours: {', '.join(correlations)}. Published I "
        "of IRPR: the authors' code divides each sum by the size of the other corpus."])


def summarize(cells: Sequence[Cell]) -> str:
    """Return how many cells agree with the re-run, and with the published column."""
    comparable = [cell for cell in cells if cell.difference is not None]
    outside = [cell for cell in comparable if exceeds_noise(cell.difference)]
    unexplained = sum(not cell.note for cell in outside)
    printed = [cell.published_difference for cell in cells if cell.published_difference is not None]
    agreeing = sum(not difference.exceeds_noise for difference in printed)
    return (f"{count_share(len(comparable) - len(outside), len(comparable))} lie within {MAX_NOISE_UNITS:g} noise units of the "
            f"authors' code, run again{f'; of the others, marked *, {unexplained} have no known cause' if outside else ''}. "
            f"{count_share(agreeing, len(printed))} lie within {MAX_NOISE_UNITS:g} noise units of the published number. A noise "
            "unit is the standard error of the difference of two means; with few repetitions the limit is wider, by Student's t. "
            "The paper states no standard deviations; those of the re-run are used for them. S and I are not counted, since the "
            "re-run has none.")


def count_share(count: int, total: int) -> str:
    """Return "count of total cells (percent)"."""
    return f"{count} of {total} cells" + (f" ({count / total:.0%})" if total else "")


def build_records(cells_by_pair: Mapping[tuple[str, str], Sequence[Cell]],
                  estimates: Mapping[str, Mapping[str, Mapping[str, Estimate]]] = MappingProxyType({})) -> PaperTable:
    """Return one row per cell, and one per measure of run times and training, in full precision."""
    rows: list[list[str | float | None]] = []
    for pair, cells in cells_by_pair.items():
        for cell in cells:
            rerun = [cell.rerun.mean, cell.rerun.std, cell.rerun.repetitions] if cell.rerun else [None] * 3
            differences = [None if difference is None else difference.units
                           for difference in (cell.difference, cell.published_difference)]
            rows.append([cell.metric, cell.k, cell.measure, cell.published.mean if cell.published else None, *rerun,
                         cell.ours.mean, cell.ours.std, cell.ours.repetitions, *differences, cell.note, ", ".join(pair)])
    rows += [[metric, None, name, None, None, None, None, estimate.value, None, estimate.units, None, None, "", data]
             for data, by_metric in estimates.items() for metric, measures in by_metric.items()
             for name, estimate in measures.items()]
    return PaperTable(("metric", "k", "measure", "published", "rerun_mean", "rerun_std", "rerun_repetitions", "mean", "std",
                       "repetitions", "difference", "published_difference", "note", "data"), rows)
