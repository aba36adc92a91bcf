"""Thresholds for promised false alarms."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard.own_data.pairs.thresholds import describe_needed, find_thresholds

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("draw", [lambda rng, n: rng.normal(size=n), lambda rng, n: rng.beta(0.5, 3, n)])
@pytest.mark.parametrize("count", [19, 40, 150])
def test_new_dissimilar_pairs_exceed_the_threshold_as_often_as_promised(draw, count):
    rng, shares = np.random.default_rng(1), []
    for _ in range(600):
        threshold = next(item for item in find_thresholds(draw(rng, count), np.empty(0)) if item.false_alarms == 0.05)
        shares.append(np.mean(draw(rng, 500) > threshold.value))
    assert np.mean(shares) == pytest.approx(0.05, abs=0.008)


def test_the_interval_contains_the_share_in_nine_of_ten_samples():
    rng, hits = np.random.default_rng(2), 0
    for _ in range(500):
        (threshold,) = find_thresholds(rng.normal(size=60), np.empty(0), (0.05,))
        hits += threshold.low <= np.mean(rng.normal(size=4_000) > threshold.value) <= threshold.high
    assert 0.86 <= hits / 500 <= 0.94


def test_no_threshold_is_promised_without_enough_dissimilar_pairs():
    assert [item.false_alarms for item in find_thresholds(np.arange(98.0), np.empty(0))] == [0.05, 0.10]
    assert [item.false_alarms for item in find_thresholds(np.arange(99.0), np.empty(0))] == [0.01, 0.05, 0.10]
    assert find_thresholds(np.arange(8.0), np.empty(0)) == []
    assert describe_needed(18) == ["A threshold for 1% false alarms needs 99 dissimilar pairs; there are 18.",
                                   "A threshold for 5% false alarms needs 19 dissimilar pairs; there are 18."]


def test_detected_is_the_share_of_similar_pairs_above():
    (threshold,) = find_thresholds(np.arange(9.0), np.array([3.0, 8.5, 20.0, 21.0]), (0.10,))
    assert (threshold.value, threshold.detected) == (8.0, 0.75)       # the largest of nine: one of ten new ones exceeds it
