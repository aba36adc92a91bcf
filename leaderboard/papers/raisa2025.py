"""Räisä et al. 2025: improved precision and recall, density and coverage on fifteen checks, by the authors' criteria.

The experiments are those of the task `synthetic_checks`; the values, sizes and criteria are the paper's (raisa2025.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from harness.base.errors import TouchstoneError, did_you_mean
from leaderboard.papers.base import Cell, Options, PaperTable, Reproduction
from leaderboard.papers.published_tables import raisa2025_passes
from tasks.corpus.synthetic_points import EXPERIMENTS, FAR, Experiment, Points

METRICS = {"precision": "I-Prec", "recall": "I-Rec", "density": "Density", "coverage": "Coverage"}
FIDELITY = ("precision", "density")
K_PRECISION, K_DENSITY = 3, 5               # 5 is the smallest k with an expected coverage of 0.95, for 100 to 10,000 points
N, REPETITIONS, CHUNK = 1_000, 10, 1_000
SEED = 20250528
NEAR, FLAT, DROP, EARLY, END = 0.05, 0.05, 0.2, 0.1, 0.1        # tolerances of the criteria

Values = np.ndarray
Verdict = bool | str                        # "low" and "high": two kinds of diversity that the paper accepts
Judge = Callable[[Values, Values], Verdict]     # of the values of x and the mean of a metric for each


def spaced(ends: Mapping[int, float], count: int) -> dict[int, Values]:
    """Return values from minus to plus an end, by dimensions."""
    return {dimensions: np.linspace(-end, end, count) for dimensions, end in ends.items()}


SIZES = np.logspace(2, 4, 20).astype(int) / N
GRIDS: Mapping[str, Mapping[int, Values]] = {                   # values of x by check and dimensions
    "mean_difference": spaced(FAR, 51), "outlier": spaced(FAR, 51), "pareto": spaced({2: 6.0}, 51),
    "spread_difference": {dimensions: 10 ** x for dimensions, x in spaced({1: 3, 8: 1, 64: 0.5}, 51).items()},
    "simultaneous_mode_dropping": dict.fromkeys(FAR, np.linspace(0, 1, 50)),
    "sequential_mode_dropping": dict.fromkeys(FAR, np.arange(10.0)),
    "mode_invention": {2: np.arange(1.0, 11)},
    "sphere_surface": dict.fromkeys((2, 16, 128), np.linspace(0.1, 1.9, 51)),
    "sample_size": dict.fromkeys(FAR, SIZES), "generated_size": dict.fromkeys(FAR, SIZES), "sphere_torus": {3: SIZES},
    "mode_collapse": dict.fromkeys(FAR, np.linspace(0, 5, 20)),
    "scaled_dimension": {2: np.logspace(-3, 3, 20)},
    "disjoint_dimension": {0: np.logspace(0, 3, 20).astype(int).astype(float)},
    "discrete_values": {1: np.logspace(-3, 0, 20)},
}
FIRST, LAST = -np.inf, np.inf


def value_at(at: float, x: Values, y: Values) -> float:
    """Return the metric at the value of x that is nearest to `at`."""
    return float(y[np.abs(x - np.clip(at, x.min(), x.max())).argmin()])


def close(at: float, target: float) -> Judge:
    """Return a judge of whether the metric is near a target at a value of x."""
    return lambda x, y: abs(value_at(at, x, y) - target) <= NEAR


def one_or_zero(at: float) -> Judge:
    """Return a judge of the diversity of generated points that are spread too widely: 1 is "high", 0 is "low"."""
    return lambda x, y: "high" if close(at, 1)(x, y) else "low" if close(at, 0)(x, y) else False


def bell(middle: float) -> Judge:
    """Return a judge of whether the metric is highest at `middle` and falls to both sides."""
    def judge(x: Values, y: Values) -> bool:
        top = value_at(middle, x, y)
        return bool(top - max(y[0], y[-1]) >= DROP and y.max() - top <= END and min(y[0], y[-1]) - y.min() <= END)
    return judge


def rises(x: Values, y: Values) -> bool:
    """Return whether the metric is low at the first value and high at the last."""
    return bool(y[-1] - y[0] >= DROP and y[0] - y.min() <= END and y.max() - y[-1] <= END)


def falls(x: Values, y: Values) -> bool:
    """Return whether the metric is high at the first value and low at the last."""
    return rises(x, -y)


def falls_by(quantile: float) -> Judge:
    """Return a judge of whether the metric falls, and has begun to fall at a quantile of the values."""
    return lambda x, y: falls(x, y) and bool(y[0] - y[round(quantile * (len(y) - 1))] >= EARLY)


def flat(x: Values, y: Values) -> bool:
    """Return whether the metric hardly changes."""
    return bool(np.ptp(y) <= FLAT)


def settles(x: Values, y: Values) -> bool:
    """Return whether the metric hardly changes in the upper half of the values."""
    return flat(x, y[x >= np.median(x)])


def either(low: Judge, high: Judge) -> Judge:
    """Return a judge of a diversity metric of one of two kinds."""
    return lambda x, y: "low" if low(x, y) else "high" if high(x, y) else False


@dataclass(frozen=True)
class Criterion:
    """What a curve must fulfil, for fidelity and for diversity; None: not judged."""

    desideratum: str
    name: str
    fidelity: Judge | None
    diversity: Judge | None
    variant: str | None = None              # None: all variants of the check


def both(desideratum: str, name: str, judge: Judge) -> Criterion:
    """Return a criterion that is the same for fidelity and diversity."""
    return Criterion(desideratum, name, judge, judge)


MEANS = [both("bounds", "equal", close(0, 1)), both("bounds", "first", close(FIRST, 0)), both("bounds", "last", close(LAST, 0)),
         both("property", "shape", bell(0))]


def dropping(quantile: float) -> list[Criterion]:
    """Return the criteria of mode dropping."""
    return [both("bounds", "equal", close(FIRST, 1)), Criterion("bounds", "all dropped", close(LAST, 1), None),
            Criterion("property", "shape", flat, falls_by(quantile))]


def sizes(name: str) -> list[Criterion]:
    """Return the criteria of overlapping hypercubes."""
    return [both("size", "shape", settles), both("property", name, close(LAST, 0.2))]


CRITERIA: Mapping[str, Sequence[Criterion]] = {
    "mean_difference": MEANS, "outlier": MEANS, "pareto": MEANS,
    "spread_difference": [
        both("bounds", "equal", close(1, 1)), Criterion("bounds", "narrow", close(FIRST, 1), close(FIRST, 0)),
        Criterion("bounds", "wide", close(LAST, 0), one_or_zero(LAST)),
        Criterion("property", "shape", falls, either(bell(1), rises))],
    "simultaneous_mode_dropping": dropping(0.95), "sequential_mode_dropping": dropping(0.5),
    "mode_invention": [both("bounds", "equal", close(5, 1)), Criterion("bounds", "most dropped", close(FIRST, 1), None),
                       Criterion("bounds", "most invented", None, close(LAST, 1)), Criterion("property", "shape", falls, rises)],
    "sphere_surface": [both("bounds", "equal", close(1, 1)), both("bounds", "small", close(FIRST, 0)),
                       both("bounds", "large", close(LAST, 0)), both("property", "shape", bell(1))],
    "sample_size": sizes("largest"), "generated_size": sizes("largest"),
    "sphere_torus": [both("property", "shape", settles), both("bounds", "largest", close(LAST, 0))],
    "mode_collapse": [Criterion("property", "shape", falls, either(falls, flat)), both("bounds", "equal", close(FIRST, 1))],
    "scaled_dimension": [both("transformations", "shape", flat), both("bounds", "first", close(FIRST, 0)),
                         both("bounds", "last", close(LAST, 0))],
    "disjoint_dimension": [both("property", "shape", flat), both("bounds", "first", close(FIRST, 0)),
                           both("bounds", "last", close(LAST, 0))],
    "discrete_values": [
        both("property", "shape", flat),
        *(Criterion("bounds", name, close(at, fidelity), diversity, variant)
          for name, at in (("coarse", LAST), ("fine", FIRST))
          for variant, fidelity, diversity in (("in the reference", 0, one_or_zero(at)),
                                               ("in the generated points", 1, close(at, 0))))],
}


@dataclass(frozen=True)
class Series:
    """The values of the four metrics along a curve: repetitions x values of x, by metric."""

    check: str
    variant: str
    dimensions: int
    x: Values
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Finding:
    """The verdict of a criterion on a curve, and the share of the repetitions without which it stays the same."""

    series: Series
    criterion: Criterion
    metric: str
    verdict: Verdict
    stability: float


def reproduce(options: Options) -> Reproduction:
    """Compute the four metrics on the checks, all or those in `options.only`, and compare the verdicts with the published."""
    for name in options.only:
        if name not in CRITERIA:
            raise TouchstoneError(f'The paper has no check "{name}".{did_you_mean(name, CRITERIA)} It has {", ".join(CRITERIA)}.')
    findings: list[Finding] = []
    for check in options.only or CRITERIA:
        options.progress.say(f"{check}: {REPETITIONS} repetitions.")
        for series in compute_check(check, REPETITIONS):
            findings += judge_series(series)
    return Reproduction([build_table(findings)], build_records(findings))


def compute_check(check: str, repetitions: int, n: int = N) -> Iterator[Series]:
    """Yield the curves of a check, by variant and dimensions."""
    for variant, experiment in EXPERIMENTS[check].items():
        for dimensions, x in GRIDS[check].items():
            rngs = [np.random.default_rng([SEED, list(GRIDS).index(check), dimensions, repetition])
                    for repetition in range(repetitions)]
            rows = np.array([list(compute_curve(experiment, x, n, dimensions, rng)) for rng in rngs])
            yield Series(check, variant, dimensions, x, dict(zip(METRICS, np.moveaxis(rows, -1, 0), strict=True)))


def compute_curve(experiment: Experiment, x: Values, n: int, dimensions: int,
                  rng: np.random.Generator) -> Iterator[tuple[float, float, float, float]]:
    """Yield the four metrics for each value, on points standardised by the reference."""
    previous, real = None, None
    for reference, generated in experiment.pairs(x.tolist(), n, dimensions, rng):
        if reference is not previous or real is None:
            previous, mean, deviation = reference, reference.mean(axis=0), reference.std(axis=0)
            real = Neighbourhoods.of((reference - mean) / deviation)
        yield measure(real, Neighbourhoods.of((generated - mean) / deviation))


@dataclass(frozen=True)
class Neighbourhoods:
    """Points and the squared distances to their third and fifth neighbours."""

    points: Points
    third: np.ndarray
    fifth: np.ndarray

    @classmethod
    def of(cls, points: Points) -> Neighbourhoods:
        """Return the neighbourhoods of points."""
        distances, _ = NearestNeighbors(n_neighbors=K_DENSITY).fit(points).kneighbors()
        return cls(points, distances[:, K_PRECISION - 1] ** 2, distances[:, K_DENSITY - 1] ** 2)


def measure(real: Neighbourhoods, generated: Neighbourhoods) -> tuple[float, float, float, float]:
    """Return improved precision and recall (k = 3), density and coverage (k = 5); neighbourhoods are closed balls."""
    precise = np.zeros(len(generated.points), bool)
    recalled, inside, covered = 0, 0, 0
    for rows in np.array_split(np.arange(len(real.points)), -(-len(real.points) // CHUNK)):
        squared = euclidean_distances(real.points[rows], generated.points, squared=True)
        precise |= (squared <= real.third[rows, None]).any(axis=0)
        recalled += int((squared <= generated.third).any(axis=1).sum())
        inside += int((squared <= real.fifth[rows, None]).sum())
        covered += int((squared.min(axis=1) <= real.fifth[rows]).sum())
    size = len(real.points)
    return float(precise.mean()), recalled / size, inside / K_DENSITY / len(generated.points), covered / size


def judge_series(series: Series) -> Iterator[Finding]:
    """Yield the verdict of each criterion and metric on the mean curve."""
    for criterion in CRITERIA[series.check]:
        if criterion.variant not in (None, series.variant):
            continue
        for metric, values in series.values.items():
            judge = criterion.fidelity if metric in FIDELITY else criterion.diversity
            if judge is not None:
                verdict = judge(series.x, values.mean(axis=0))
                same = [judge(series.x, np.delete(values, row, axis=0).mean(axis=0)) == verdict for row in range(len(values))]
                yield Finding(series, criterion, metric, verdict, float(np.mean(same)))


def summarise(verdicts: Iterable[Verdict]) -> str:
    """Return T, F, or L and H for the two kinds of diversity; a metric of both kinds fails."""
    kinds = set(verdicts)
    if False in kinds or {"low", "high"} <= kinds:
        return "F"
    return "L" if "low" in kinds else "H" if "high" in kinds else "T"


def build_table(findings: Sequence[Finding]) -> PaperTable:
    """Return the published verdicts beside ours, one row per check and desideratum."""
    rows: list[list[Cell]] = []
    differences: dict[int, str] = {}
    agreed = 0
    for (check, desideratum), published in raisa2025_passes().items():
        own = [finding for finding in findings if (finding.series.check, finding.criterion.desideratum) == (check, desideratum)]
        if not own:
            continue
        by_metric = {metric: [finding for finding in own if finding.metric == metric] for metric in METRICS}
        ours = {metric: summarise(finding.verdict for finding in by_metric[metric]) for metric in METRICS}
        different = [metric for metric in METRICS if ours[metric] != published[metric]]
        agreed += len(METRICS) - len(different)
        if different:
            differences[len(rows)] = f"{check}, {desideratum}: {'; '.join(explain(by_metric[metric]) for metric in different)}."
        rows.append([check, desideratum, *(verdict for metric in METRICS for verdict in (published[metric], ours[metric]))])
    legend = (f"{agreed} of {len(METRICS) * len(rows)} verdicts are as published. T: all criteria are met; F: one is not; L and "
              "H: met by a diversity metric that is low or high for points that are spread too widely.")
    columns = ["check", "desideratum", *(name for title in METRICS.values() for name in (title, "ours"))]
    return PaperTable(columns, rows, [legend, *differences.values()], dict.fromkeys(differences, "yellow"))


def explain(findings: Sequence[Finding]) -> str:
    """Return the criterion that decides a verdict: the most certain failure, or without one the least certain pass."""
    failures = [finding for finding in findings if finding.verdict is False]
    finding = max(failures, key=attrgetter("stability")) if failures else min(findings, key=attrgetter("stability"))
    series = finding.series
    dimensions = f"{series.dimensions} dimensions" if series.dimensions else ""
    where = ", ".join(part for part in (series.variant, dimensions) if part)
    return (f'{METRICS[finding.metric]} {"fails" if failures else "meets"} "{finding.criterion.name}"{where and f" ({where})"} '
            f"(the same in {finding.stability:.0%} of the means that leave one repetition out)")


def build_records(findings: Sequence[Finding]) -> PaperTable:
    """Return one row per criterion, curve and metric."""
    columns = ("check", "variant", "dimensions", "desideratum", "criterion", "metric", "verdict", "stability", "first", "last",
               "lowest", "highest")
    rows: list[list[Cell]] = []
    for finding in findings:
        mean = finding.series.values[finding.metric].mean(axis=0)
        rows.append([finding.series.check, finding.series.variant, finding.series.dimensions, finding.criterion.desideratum,
                     finding.criterion.name, finding.metric, str(finding.verdict), finding.stability,
                     *(float(value) for value in (mean[0], mean[-1], mean.min(), mean.max()))])
    return PaperTable(columns, rows)
