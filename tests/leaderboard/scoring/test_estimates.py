"""Intervals: those of scipy where there is one stratum, and they cover what they should where there are several."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leaderboard.scoring.estimates import stratified_mean

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
    assert stratified_mean([[1.0, 1.0]]).low == 1.0


def test_few_units_are_marked():
    assert stratified_mean([[1.0, 2.0]]).few
    assert not stratified_mean([[1.0, 2.0] * 5]).few


def test_intervals_cover_the_truth_19_times_in_20():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(2000):
        found = stratified_mean([rng.normal(0, 1, 20), rng.normal(1, 3, 20), rng.normal(2, 0.1, 20)])
        covered += found.low <= 1 <= found.high
    assert 0.935 <= covered / 2000 <= 0.965
