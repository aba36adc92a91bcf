"""Whether the ranking may be believed: false lines among equals, lines where there are differences, intervals that cover."""

from __future__ import annotations

import resource
import time

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import v_measure_score

from leaderboard.scoring.estimates import stratified_mean
from leaderboard.scoring.resampling import bca, bootstrap_plan, stratified_plan
from leaderboard.scoring.significance import (
    dividing_lines,
    jackknife_influences,
    pairwise_tests_of_means,
    pairwise_tests_of_replicates,
    rank_intervals,
)

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
    better = pairwise_tests_of_means(found, np.full(units, 1 / units), draws, rng).better()
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


@pytest.mark.parametrize("units", [10, 30])
def test_equal_metrics_of_unequal_noise_are_seldom_parted(units, report):
    """Some are fifteen times as noisy as others; skewed, so that the differences are, too."""
    rng, spreads = np.random.default_rng(2000 + units), np.linspace(0.2, 3, METRICS)[:, None]
    parted = np.mean([lines(spreads * (rng.gamma(2, 1, (METRICS, units)) - 2), DRAWS, rng)[1] for _ in range(RUNS)])
    report(f"{METRICS} equal metrics of unequal noise, {units} units, {RUNS:,} runs: any pair parted in {parted:.1%} (at most {ALLOWED:.1%})")
    assert parted <= ALLOWED


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
    parted = pairwise_tests_of_means(found, np.full(3000, 1 / 3000), 2000, rng)
    rank_intervals(parted.better())
    took = time.perf_counter() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
    report(f"200 metrics x 3,000 units, 2,000 draws: {took:.1f} s (at most 10), {grown:.2f} GB more (at most 1)")
    assert took <= 10
    assert grown <= 1


def test_p_values_of_one_pair_are_uniform(report):
    rng = np.random.default_rng(9)
    p = [pairwise_tests_of_means(scores(rng, 40, np.zeros(2)), np.full(40, 1 / 40), 499, rng).p[0, 1] for _ in range(1000)]
    fit = stats.kstest(p, "uniform").pvalue
    report(f"p-values of one equal pair: Kolmogorov-Smirnov p = {fit:.2f}")
    assert fit > 0.001


def test_equal_metrics_are_seldom_parted_by_replicates_of_clustered_scores(report):
    """Correlations over clusters of pairs in two strata, beside a mean over three units a stratum: the text track's kind."""
    runs, metrics, documents, each = RUNS, 8, 60, 4
    rng = np.random.default_rng(11)
    strata = np.repeat([0, 1], documents)
    of_pair = np.repeat(np.arange(2 * documents), each)
    units = np.repeat(np.arange(4), 3)
    split = parted = 0
    for _ in range(runs):
        counts = stratified_plan(strata.tolist(), 999, rng)
        with_value = np.concatenate([np.ones((1, 2 * documents)), 1 - np.eye(2 * documents), counts])
        truth = rng.normal(0, 1, 2 * documents)[of_pair] + rng.normal(0, 1, len(of_pair))
        few = stratified_plan(units.tolist(), 999, rng)
        found = []
        for _ in range(metrics):
            answers = truth + rng.normal(0, 1, 2 * documents)[of_pair] + rng.normal(0, 1, len(of_pair))
            clustered = np.mean([correlations(truth[inside], answers[inside], with_value[:, of_pair[inside]])
                                 for inside in (strata[of_pair] == 0, strata[of_pair] == 1)], axis=0)
            values = rng.normal(0, 0.05, 12)
            means = np.concatenate([np.ones((1, 12)), 1 - np.eye(12), few])
            plain = np.mean([means[:, units == u] @ values[units == u] / means[:, units == u].sum(axis=1) for u in range(4)], axis=0)
            found.append((clustered / 2, plain / 2))
        first, second = (np.array(side) for side in zip(*found, strict=True))
        values = first[:, 0] + second[:, 0]
        parts = [*jackknife_influences(first[:, 1:2 * documents + 1], strata), *jackknife_influences(second[:, 1:13], units)]
        better = pairwise_tests_of_replicates(values, first[:, 2 * documents + 1:] + second[:, 13:], parts).better()
        split += bool(dividing_lines(np.argsort(-values).tolist(), better))
        parted += bool(better.any())
    report(f"{metrics} equal metrics, clustered correlations and few units, {runs} runs: a line in {split / runs:.1%}, any pair parted in "
           f"{parted / runs:.1%} (at most {ALLOWED:.1%})")
    assert split / runs <= ALLOWED
    assert parted / runs <= ALLOWED


def correlations(x: np.ndarray, y: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The correlation under each row of how often the pairs count."""
    whole = times.sum(axis=1)
    mx, my = times @ x / whole, times @ y / whole
    spread = (times @ x ** 2 / whole - mx ** 2) * (times @ y ** 2 / whole - my ** 2)
    return np.asarray((times @ (x * y) / whole - mx * my) / np.sqrt(spread))
