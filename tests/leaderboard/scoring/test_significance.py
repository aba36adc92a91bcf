"""What parts two metrics: exact where it can be enumerated, against scipy where it is there, unmoved by what should not move it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.scoring.estimates import answer_correlation, borda_share, pareto_front, unit_weights
from leaderboard.scoring.resampling import bca, bootstrap_plan
from leaderboard.scoring.significance import (
    dividing_lines,
    pairwise_tests_of_means,
    pairwise_tests_of_replicates,
    partial_conjunction_p,
    rank_intervals,
    step_down,
)

pytestmark = pytest.mark.unit

GENERATOR = np.random.default_rng


def parted(scores: np.ndarray, draws: int = 2000, seed: int = 1):
    return pairwise_tests_of_means(scores, np.full(scores.shape[1], 1 / scores.shape[1]), draws, GENERATOR(seed))


def test_two_metrics_are_judged_nearly_as_by_students_test():
    for seed in range(8):
        rng = GENERATOR(seed)
        a, b = rng.normal(0.3, 1, 40), rng.normal(0, 1, 40)
        assert parted(np.array([a, b]), 20_000).p[0, 1] == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.02)


def test_max_t_is_that_of_all_sign_patterns():
    """Three metrics on five units: the adjusted p-values from all 32 patterns, step by step."""
    scores = GENERATOR(3).normal(0, 1, (3, 5)) + np.array([[1.5], [0.0], [0.1]])
    pairs = list(itertools.combinations(range(3), 2))

    def variances(rows) -> np.ndarray:              # of the sums of the pairs' differences, unbiased
        return np.array([5 * np.var(rows[i] - rows[j], ddof=1) for i, j in pairs])
    residuals = (scores - scores.mean(axis=1, keepdims=True)) * np.sqrt(5 / 4)
    shared = np.median(variances(scores))

    def t(rows) -> list[float]:                     # a third metric lends as much as one unit
        spread = np.sqrt((5 * variances(rows) + shared) / 6)
        return [abs(np.sum(rows[i] - rows[j])) / s for (i, j), s in zip(pairs, spread, strict=True)]
    observed = np.array(t(scores))
    drawn = np.array([t(np.array(signs) * residuals) for signs in itertools.product((-1, 1), repeat=5)])
    expected, left, highest = {}, list(np.argsort(-observed)), 0.0
    while left:
        highest = max(highest, float(np.mean(drawn[:, left].max(axis=1) >= observed[left[0]] - 1e-12)))
        expected[pairs[left.pop(0)]] = highest
    found = parted(scores, 40_000).p
    for (i, j), p in expected.items():
        assert found[i, j] == found[j, i] == pytest.approx(p, abs=0.01)


def test_step_down_by_hand():
    # drawn maxima of all three: 3, 1, 2, 1; of the two smaller: 1, 1, 2, 1; of the smallest: 1, 1, 0, 1
    drawn = [np.array([[3.0, 1, 1], [0, 1, 1]]), np.array([[0.0, 2, 0], [0, 0, 1]])]
    assert step_down(np.array([2.5, 1.5, 0.5]), drawn, 4).tolist() == pytest.approx([2 / 5, 2 / 5, 4 / 5])


def test_metrics_that_answer_alike_are_never_parted():
    same = np.tile(GENERATOR(4).normal(0, 1, 20), (3, 1))
    assert parted(same).p.min() == 1
    constant = np.full((2, 20), 0.25)
    assert not parted(constant).better().any()


@given(st.integers(0, 10 ** 6))
@settings(max_examples=25, deadline=None)
def test_another_metric_changes_nobodys_difference_and_the_order_of_rows_nothing(seed):
    rng = GENERATOR(seed)
    scores = rng.normal(0, 1, (5, 12)) + rng.normal(0, 1, (5, 1))
    found = parted(scores, 200)
    order = rng.permutation(5)
    again = parted(scores[order], 200)
    assert np.allclose(found.p[np.ix_(order, order)], again.p)
    fewer = parted(scores[:4], 200)
    assert np.allclose(found.difference[:4, :4], fewer.difference)


@given(st.integers(0, 10 ** 6))
@settings(max_examples=25, deadline=None)
def test_better_on_every_unit_is_never_worse_for_sure(seed):
    rng = GENERATOR(seed)
    low = rng.normal(0, 1, 15)
    scores = np.array([low, low + rng.random(15) + 0.01, rng.normal(0, 1, 15)])
    found = parted(scores, 200)
    assert found.difference[1, 0] > 0
    assert not found.better()[0, 1]
    assert parted(scores[:2], 200).better()[1, 0]               # of the two alone: sure in all 2^15 sign patterns but two


def test_weights_are_those_of_the_mean_of_the_strata():
    assert unit_weights(["a", "a", "b", "a"]).tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 2, 1 / 6])


def test_lines_and_rank_intervals_by_hand():
    # 0 and 1 are better than 2 and 3 for sure, and 2 than 3
    better = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    assert rank_intervals(better) == [(1, 2), (1, 2), (3, 3), (4, 4)]
    assert dividing_lines([0, 1, 2, 3], better) == [2, 3]
    better[1, 2] = False
    assert dividing_lines([0, 1, 2, 3], better) == [3]
    assert dividing_lines([], np.zeros((0, 0), dtype=bool)) == []


def test_statistics_that_are_no_means_are_parted_by_replicates_of_one_plan():
    rng = GENERATOR(5)
    truth = rng.normal(0, 1, 200)
    answers = np.array([truth + rng.normal(0, noise, 200) for noise in (0.1, 0.1, 3.0)])
    plan = bootstrap_plan(range(200), 500, rng)

    def correlations(row: np.ndarray) -> np.ndarray:
        return np.array([np.cov(row, truth, fweights=times)[0, 1] / np.sqrt(np.cov(row, fweights=times) * np.cov(truth, fweights=times))
                         for times in plan])
    replicates = np.array([correlations(row) for row in answers])
    values = np.array([np.corrcoef(row, truth)[0, 1] for row in answers])
    better = pairwise_tests_of_replicates(values, replicates).better()
    assert better.tolist() == [[False, False, True], [False, False, True], [False, False, False]]


def test_a_plan_draws_whole_clusters_and_counts_them_all():
    plan = bootstrap_plan(["a", "b", "a", "c"], 1000, GENERATOR(6))
    assert (plan[:, 0] == plan[:, 2]).all()
    assert (plan[:, 0] + plan[:, 1] + plan[:, 3] == 3).all()
    assert plan[:, 1].mean() == pytest.approx(1, abs=0.1)


def test_bca_is_that_of_scipy():
    values = GENERATOR(7).exponential(1, 40)
    plan = bootstrap_plan(range(40), 20_000, GENERATOR(8))
    found = bca(lambda times: float(np.average(values, weights=times)), range(40), plan @ values / 40, expanded=False)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=GENERATOR(9)).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert (found.value, found.units) == (pytest.approx(values.mean()), 40)


def test_what_has_no_spread_or_one_cluster_has_no_interval():
    same = bca(lambda times: 1.0, range(5), np.ones(100))
    assert (same.low, same.high) == (1.0, 1.0)
    one = bca(lambda times: 1.0, ["a"] * 5, np.ones(100))
    assert (one.low, one.units) == (None, 1)


def test_in_at_least_u_of_n():
    # Benjamini and Heller 2008: of p = .01, .02, .04 - in one: 3 * .01; in two: 2 * .02; in all: .04
    assert [partial_conjunction_p([0.04, 0.01, 0.02], u) for u in (1, 2, 3)] == pytest.approx([0.03, 0.04, 0.04])


@given(st.lists(st.integers(0, 5), min_size=1), st.integers(0, 5))
def test_points_against_a_panel_are_the_share_that_is_beaten(panel, value):
    points = borda_share(value, panel)
    assert points == pytest.approx((sum(other < value for other in panel) + sum(other == value for other in panel) / 2) / len(panel))


def test_redundancy_is_spearmans():
    answers = GENERATOR(10).normal(0, 1, (3, 50))
    assert answer_correlation(answers) == pytest.approx(stats.spearmanr(answers.T).statistic)
    assert np.isnan(answer_correlation(np.array([[1.0, 1, 1], [1.0, 2, 3]]))[0, 1])


def test_the_frontier_of_cost_and_value():
    assert pareto_front([1, 2, 3, 1, 5], [0.5, 0.4, 0.9, 0.6, 0.9]) == [3, 2]
