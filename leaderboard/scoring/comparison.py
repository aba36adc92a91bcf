"""Compare two metrics: paired differences on each task, and the number of tasks on which one is significantly better.

Samples are compared: the score of each test unit where a task's score is a mean over test units, else bootstrap replicates under
the task's resampling plan. Samples come from a store or from the files of a release.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.hashing import seed_of
from harness.evaluation.suite import Suite
from harness.evaluation.task import Bounds
from leaderboard.scoring.estimates import CONFIDENCE, Estimate, stratified_mean, unit_weights
from leaderboard.scoring.ranking import Ranking, rank_suite
from leaderboard.scoring.resampling import Resampled
from leaderboard.scoring.results import PublishedResults, Results
from leaderboard.scoring.significance import (
    jackknife_influences,
    pairwise_tests_of_means,
    pairwise_tests_of_replicates,
    partial_conjunction_p,
)
from tasks.registry import TASKS

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.store import Store

DRAWS = 5_000


@dataclass(frozen=True)
class ByUnit:
    """A score that is the mean over strata of means over test units, by test unit."""

    score: Mapping[str, float]
    stratum: Mapping[str, str]
    bounds: Bounds = (None, None)


Sample = ByUnit | Resampled
Samples = Mapping[tuple[str, str], Sample]                  # keyed by entry and task


@dataclass(frozen=True)
class Difference:
    """The difference of two metrics on a task, with its one-sided p-value."""

    estimate: Estimate
    p: float


def load_samples(rankings: Iterable[Ranking]) -> dict[tuple[str, str], Sample]:
    """Return the samples of all entries on the ranked tasks."""
    samples: dict[tuple[str, str], Sample] = {}
    for ranking in rankings:
        for scored in (entry.scored for entry in ranking.places):
            for score in scored.ranked_tasks:
                if score.complete and score.by_unit:
                    strata = {unit.id: " | ".join(unit.stratum) for unit in scored.suite.units(score.task)}
                    samples[scored.name, score.task.name] = score.resampled or ByUnit(
                        score.by_unit, strata, score.task.info.bounds_of("score"))
    return samples


def samples_of_release(units: pd.DataFrame, replicates: pd.DataFrame) -> dict[tuple[str, str], Sample]:
    """Return the samples stored in a release."""
    samples: dict[tuple[str, str], Sample] = {}
    for (entry, task), rows in units.groupby(["entry", "task"], sort=False):
        score, stratum = (dict(zip(rows.unit, column, strict=True)) for column in (rows.score, rows.stratum))
        bounds = TASKS[str(task)].info.bounds_of("score") if task in TASKS else (None, None)
        samples[str(entry), str(task)] = ByUnit(score, stratum, bounds)
    columns = ["entry", "task", "value", "left_out", "replicates", "strata"]
    for entry, task, value, left_out, drawn, strata in replicates[columns].itertuples(index=False):
        samples[entry, task] = Resampled(value, np.asarray(left_out, dtype=float), np.asarray(drawn, dtype=float),
                                         np.asarray(strata, dtype=int))
    return samples


def paired_difference(a: Sample, b: Sample) -> Difference | None:
    """Return the paired difference a - b; None if the two share no test units."""
    estimate = estimate_difference(a, b)
    if estimate is None:
        return None
    if isinstance(a, Resampled) and isinstance(b, Resampled):
        both = np.array([a.left_out, b.left_out])
        parted = pairwise_tests_of_replicates(
            np.array([a.value, b.value]), np.array([a.replicates, b.replicates]), jackknife_influences(both, a.strata)
        )
        return Difference(estimate, one_sided_p(float(parted.p[0, 1]), a.value - b.value))
    assert isinstance(a, ByUnit)
    assert isinstance(b, ByUnit)
    shared = common_units(a, b)
    scores = np.array([[sample.score[unit] for unit in shared] for sample in (a, b)])
    rng = np.random.default_rng(seed_of("two beside each other", min(shared)))
    parted = pairwise_tests_of_means(scores, unit_weights([a.stratum[unit] for unit in shared]), DRAWS, rng)
    return Difference(estimate, one_sided_p(float(parted.p[0, 1]), estimate.value))


def estimate_difference(a: Sample, b: Sample) -> Estimate | None:
    """Return the difference without its p-value, which takes thousands of draws."""
    if isinstance(a, Resampled) and isinstance(b, Resampled):
        return a.minus(b).estimate()
    if not isinstance(a, ByUnit) or not isinstance(b, ByUnit):
        return None
    cells: dict[str, list[float]] = {}
    for unit in common_units(a, b):
        cells.setdefault(a.stratum[unit], []).append(a.score[unit] - b.score[unit])
    low, high = a.bounds
    bounds = (None, None) if low is None or high is None else (low - high, high - low)
    return stratified_mean(cells.values(), bounds) if cells else None


def common_units(a: ByUnit, b: ByUnit) -> list[str]:
    """Return the test units that both samples contain."""
    return [unit for unit in a.score if unit in b.score]


def one_sided_p(p: float, difference: float) -> float:
    """Return the p-value of "a is better" from a two-sided p-value and the sign of the difference."""
    return p / 2 if difference > 0 else 1 - p / 2


def count_better(p: Sequence[float], level: float = 1 - CONFIDENCE) -> int:
    """Return a lower bound on the number of tasks on which a is better (Benjamini and Heller 2008).

    It is the largest u whose partial conjunction p-value p(u of n) is at most `level`.
    """
    return max((u for u in range(1, len(p) + 1) if partial_conjunction_p(p, u) <= level), default=0)


def compare_metrics(samples: Samples, names: Sequence[str], tasks: Sequence[str]) -> dict[str, object]:
    """Return all paired comparisons of some metrics on some tasks, as plain values."""
    pairs = []
    for a, b in itertools.combinations(names, 2):
        differences = {task: paired_difference(samples[a, task], samples[b, task]) for task in tasks
                       if (a, task) in samples and (b, task) in samples}
        comparable = {task: difference for task, difference in differences.items() if difference is not None}
        p = [difference.p for difference in comparable.values()]
        pairs.append({
            "a": a, "b": b, "a_better_on": count_better(p), "b_better_on": count_better([1 - value for value in p]), "of": len(p),
            "tasks": {task: {**difference.estimate.to_dict(), "p": difference.p} for task, difference in comparable.items()}})
    return {"entries": list(names), "pairs": pairs}


def compare(store: Results | Store | Path | str | None, suite: Suite, a: str, b: str,
            published: PublishedResults | None = None) -> pd.DataFrame:
    """Return the paired comparison of two metrics: one row per ranked task, and one for the overall score of each track.

    Args:
        store: The results store, or its path or address; None for published results alone.
        suite: The suite whose results are compared.
        a: Name of an entry.
        b: Name of another entry.
        published: Published results, such as `load_release().results(suite)`.

    Returns:
        Columns track, task (`"overall"` for the overall score), difference (a - b), low and high (95% interval), and p: one-sided
        for a task, two-sided and adjusted for all pairs of ranked metrics for the overall score.
    """
    import pandas as pd

    rankings = rank_suite(store, suite, published)
    names = {entry.scored.name for ranking in rankings.values() for entry in ranking.places}
    for name in (a, b):
        if name not in names:
            raise TouchstoneError(f'There are no results of "{name}" on the suite {suite.name}.{did_you_mean(name, names)}')
    samples = load_samples(rankings.values())
    rows: list[tuple[str, str, float, float | None, float | None, float | None]] = []
    for track, ranking in rankings.items():
        scored = {entry.scored.name: entry.scored for entry in ranking.places}
        if a not in scored or b not in scored:
            continue
        for score in scored[a].ranked_tasks:
            task = score.task.name
            if (a, task) in samples and (b, task) in samples:
                difference = paired_difference(samples[a, task], samples[b, task])
                if difference is not None:
                    rows.append((track, task, difference.estimate.value, difference.estimate.low, difference.estimate.high,
                                 difference.p))
        overall = [scored[name].overall for name in (a, b)]
        if None not in overall:
            rows.append((track, "overall", (overall[0] or 0.0) - (overall[1] or 0.0), None, None, ranking.p(a, b)))
    return pd.DataFrame(rows, columns=["track", "task", "difference", "low", "high", "p"])
