"""Intervals: those of scipy where there is one stratum, and they cover what they should where there are several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.evaluation.task import AT_MOST_ONE, CORRELATION, NONNEGATIVE, SHARE
from leaderboard.scoring.estimates import average_ranks, stratified_mean

pytestmark = pytest.mark.unit


def test_one_stratum_is_students_t():
    values = np.random.default_rng(1).normal(3, 1, 12)
    found, theirs = stratified_mean([values]), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.value == pytest.approx(values.mean())


def test_two_strata_are_welchs_interval_of_a_difference_halved():
    # mean(a, -b) is half of a - b: its interval is half of Welch's.
    rng = np.random.default_rng(2)
    a, b = rng.normal(3, 1, 12), rng.normal(1, 4, 9)
    found = stratified_mean([a, -b])
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (2 * found.low, 2 * found.high) == pytest.approx((theirs.low, theirs.high))


def test_too_little_to_tell_the_spread_is_unknown():
    assert stratified_mean([]) is None
    assert stratified_mean([[1.0]]).low is None
    assert stratified_mean([[1.0, 2.0], [3.0]]).low is None
    assert stratified_mean([[1.0, 1.0], [1.0, 2.0]]).low is None         # four units
    assert stratified_mean([[1.0] * 5]).low == 1.0


def test_few_units_are_marked():
    assert stratified_mean([[1.0, 2.0]]).few
    assert not stratified_mean([[1.0, 2.0] * 5]).few


def test_two_bounds_give_wilsons_interval_of_a_share():
    """For yes/no values, up to the t quantile and the n - 1 of the sample variance."""
    count, successes = 400, 380
    estimate = stratified_mean([[1.0] * successes + [0.0] * (count - successes)], SHARE)
    wilson = stats.binomtest(successes, count).proportion_ci(0.95, method="wilson")
    assert (estimate.low, estimate.high) == pytest.approx((wilson.low, wilson.high), abs=2e-4)


def test_one_bound_gives_students_t_of_the_logarithm():
    values = np.random.default_rng(4).lognormal(0, 0.01, 50)            # so narrow that the delta method is exact
    expected = stats.ttest_1samp(np.log(values), 0).confidence_interval(0.95)
    estimate = stratified_mean([values], NONNEGATIVE)
    assert (estimate.low, estimate.high) == pytest.approx((np.exp(expected.low), np.exp(expected.high)), rel=1e-3)
    mirrored = stratified_mean([1 - values], AT_MOST_ONE)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((estimate.low, estimate.high))


@pytest.mark.parametrize("bounds", [SHARE, CORRELATION, NONNEGATIVE, AT_MOST_ONE, (2.0, 5.0)])
def test_intervals_are_within_the_bounds_and_contain_the_value(bounds):
    low, high = (-np.inf if bounds[0] is None else bounds[0]), (np.inf if bounds[1] is None else bounds[1])
    rng = np.random.default_rng(5)
    for _ in range(300):
        values = rng.beta(*rng.uniform(0.05, 2, 2), rng.integers(5, 12)).round(rng.integers(0, 3))
        start, span = (low if np.isfinite(low) else high - 3), (high - low if np.isfinite(high - low) else 3)
        estimate = stratified_mean([start + span * values], bounds)
        assert low <= estimate.low <= estimate.value + 1e-12
        assert estimate.value - 1e-12 <= estimate.high <= high


def test_values_that_are_all_at_a_bound_leave_uncertainty():
    estimate = stratified_mean([[1.0] * 10], SHARE)
    assert estimate.high == 1.0
    assert estimate.low == pytest.approx(10 / (10 + stats.t.ppf(0.975, 9) ** 2))         # Wilson's with t for z
    assert stratified_mean([[0.5] * 10], SHARE).low == 0.5


@pytest.mark.parametrize(("draw", "bounds", "least", "most"), [
    (lambda rng, n: rng.beta(2, 2, n), SHARE, 0.93, 0.97),
    (lambda rng, n: rng.beta(8, 1, n), SHARE, 0.93, 0.97),
    (lambda rng, n: rng.beta(20, 1, n), SHARE, 0.93, 0.97),
    (lambda rng, n: np.tanh(rng.normal(1, 0.5, n)), CORRELATION, 0.93, 0.97),
    (lambda rng, n: rng.binomial(10, 0.93, n) / 10, SHARE, 0.93, 0.97),
    (lambda rng, n: (rng.random(n) < 0.9).astype(float), SHARE, 0.93, 0.995),            # discrete: more than 95% is inevitable
    (lambda rng, n: rng.lognormal(0, 0.4, n), NONNEGATIVE, 0.93, 0.97),
], ids=["beta(2, 2)", "beta(8, 1)", "beta(20, 1)", "correlations", "shares of ten", "yes or no", "log-normal"])
@pytest.mark.parametrize("count", [10, 30])
def test_bounded_intervals_cover_the_truth(draw, bounds, least, most, count):
    rng = np.random.default_rng(6)
    truth, simulations = float(draw(rng, 2_000_000).mean()), 3000
    estimates = [stratified_mean([draw(rng, count)], bounds) for _ in range(simulations)]
    share = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    error = 2 * np.sqrt(0.05 * 0.95 / simulations)
    assert least - error <= share <= most + error


def test_intervals_cover_the_truth_19_times_in_20():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        found = stratified_mean([rng.normal(0, 1, 20), rng.normal(1, 3, 20), rng.normal(2, 0.1, 20)])
        covered += found.low <= 1 <= found.high
    assert 0.935 <= covered / 2000 <= 0.965


def test_average_ranks_are_those_of_scipy():
    values = np.random.default_rng(3).integers(0, 9, (4, 50)).astype(float)
    values[1, 7], values[2, :3] = np.nan, np.inf
    assert np.array_equal(average_ranks(values), stats.rankdata(values, axis=1), equal_nan=True)
