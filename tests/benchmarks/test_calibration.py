"""Whether the ranking may be believed: false lines among equals, lines where there are differences, intervals that cover."""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import v_measure_score

from harness.statistics import bca, bootstrap_plan, dividing_lines, part_means, rank_intervals, stratified_mean

pytestmark = pytest.mark.benchmark

RUNS, METRICS, DRAWS = 1000, 30, 1000
ALLOWED = 0.064                             # 5% and two standard errors of 1,000 runs


def scores(rng: np.random.Generator, units: int, means: np.ndarray) -> np.ndarray:
    """Metrics on shared units: units differ in difficulty, metrics in their own noise; skewed, as shares near 1 are."""
    difficulty = rng.normal(0, 1, units)
    noise = rng.gamma(2, 1, (len(means), units)) / np.sqrt(2) - np.sqrt(2)
    return means[:, None] + difficulty + noise


def lines(found: np.ndarray, draws: int, rng: np.random.Generator) -> tuple[list[int], bool]:
    """The dividing lines, and whether anybody is parted at all."""
    units = found.shape[1]
    better = part_means(found, np.full(units, 1 / units), draws, rng).better()
    return dividing_lines(np.argsort(-found.mean(axis=1)).tolist(), better), bool(better.any())


@pytest.mark.parametrize("units", [15, 50, 500])
def test_equal_metrics_are_seldom_parted(units, report):
    rng = np.random.default_rng(units)
    split = parted = 0
    for _ in range(RUNS):
        drawn, anybody = lines(scores(rng, units, np.zeros(METRICS)), DRAWS, rng)
        split += bool(drawn)
        parted += anybody
    report(f"{METRICS} equal metrics, {units} units, {RUNS:,} runs: a line in {split / RUNS:.1%}, any pair parted in {parted / RUNS:.1%} "
           f"(at most {ALLOWED:.1%})")
    assert split / RUNS <= ALLOWED
    assert parted / RUNS <= ALLOWED


@pytest.mark.parametrize("units", [15, 50, 500])
def test_metrics_that_differ_are_parted(units, report):
    """Half of the metrics lie two standard errors of a difference apart, one below the other; the other half are equal."""
    rng = np.random.default_rng(1000 + units)
    apart = 2 * np.sqrt(2 / units)          # a difference of two metrics has variance 2 on a unit
    means = np.concatenate([np.zeros(METRICS // 2), -apart * np.arange(1, METRICS // 2 + 1)])
    drawn = [lines(scores(rng, units, means), DRAWS, rng)[0] for _ in range(400)]
    share = np.mean([bool(one) for one in drawn])
    report(f"half of {METRICS} metrics 2 SE apart, {units} units: lines in {share:.0%} of runs (at least 50%), "
           f"{np.mean([len(one) for one in drawn]):.1f} a run")
    assert share >= 0.5


def test_intervals_cover_what_they_should(report):
    """Means by Student's t, correlations and V-measure by the clustered BCa bootstrap, at 10 units and more."""
    rng = np.random.default_rng(7)
    means = np.mean([bool((found := stratified_mean([rng.normal(0, 1, 10)])) and found.low <= 0 <= found.high) for _ in range(4000)])
    assert 0.93 <= means <= 0.97

    def covered(draw, statistic, truth: float, runs: int) -> float:
        inside = 0
        for _ in range(runs):
            data = draw()
            units = len(data[0])
            plan = bootstrap_plan(range(units), 999, rng)
            found = bca(lambda times, data=data: statistic(data, times), range(units), np.array([statistic(data, times) for times in plan]))
            inside += found.low is not None and found.low <= truth <= found.high
        return inside / runs

    def correlation(data, times) -> float:
        x, y = data
        mx, my = np.average(x, weights=times), np.average(y, weights=times)
        return float(np.sum(times * (x - mx) * (y - my)) / np.sqrt(np.sum(times * (x - mx) ** 2) * np.sum(times * (y - my) ** 2)))

    def pairs(units: int):
        x = rng.normal(0, 1, units)
        return x, 0.6 * x + 0.8 * rng.normal(0, 1, units)
    correlations = {units: covered(lambda units=units: pairs(units), correlation, 0.6, 1000) for units in (50, 200)}

    def samples(units: int):
        """Samples of 60 texts with four labels, clustered with 30% noise: the V-measure of each, averaged."""
        found = []
        for _ in range(units):
            labels = rng.integers(0, 4, 60)
            guessed = np.where(rng.random(60) < 0.3, rng.integers(0, 4, 60), labels)
            found.append(v_measure_score(labels, guessed))
        return np.array(found), np.zeros(units)
    truth = float(np.mean(samples(20_000)[0]))
    v_measures = covered(lambda: samples(12), lambda data, times: float(np.average(data[0], weights=times)), truth, 500)
    report(f"95% intervals cover: means of 10 {means:.1%}; correlations of 50 {correlations[50]:.1%}, of 200 {correlations[200]:.1%}; "
           f"V-measure of 12 samples {v_measures:.1%} (93 - 97%)")
    for share in (*correlations.values(), v_measures):
        assert 0.93 <= share <= 0.97


def test_two_hundred_metrics_are_ranked_in_ten_seconds_and_a_gigabyte(report):
    rng = np.random.default_rng(8)
    found = scores(rng, 3000, rng.normal(0, 0.1, 200))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    parted = part_means(found, np.full(3000, 1 / 3000), 2000, rng)
    rank_intervals(parted.better())
    took = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
    report(f"200 metrics x 3,000 units, 2,000 draws: {took:.1f} s (at most 10), {grown:.2f} GB more (at most 1)")
    assert took <= 10
    assert grown <= 1


def test_p_values_of_one_pair_are_uniform(report):
    rng = np.random.default_rng(9)
    p = [part_means(scores(rng, 40, np.zeros(2)), np.full(40, 1 / 40), 499, rng).p[0, 1] for _ in range(1000)]
    fit = stats.kstest(p, "uniform").pvalue
    report(f"p-values of one equal pair: Kolmogorov-Smirnov p = {fit:.2f}")
    assert fit > 0.001
