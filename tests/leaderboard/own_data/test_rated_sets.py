"""Differences of text metrics on sets of rated pairs."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard.own_data.rated_sets import (
    TILT,
    KnownSet,
    SpreadMixture,
    compare_sets,
    describe_set,
    draw_sets,
    known_calibration,
    read_calibration,
    read_known_sets,
)

pytestmark = pytest.mark.unit


def draw(count: int, spread: float, correlation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=count)
    return spread * (correlation * human + np.sqrt(1 - correlation ** 2) * rng.normal(size=count)), human


def test_the_moments_are_those_of_drawn_sets():
    """Both are compared with 3,000 draws from normal scores of which spread and correlation are known."""
    similarity, human = draw(20_000, 0.2, 0.6, 1)
    for size in (1, 30, 300):
        rows = draw_sets(human, size)
        difference, rating = (np.subtract(*values[rows].mean(axis=2)) for values in (similarity, human))
        (deviation,), (correlation,) = SpreadMixture([KnownSet("a", "a", 0.2, 0.6)], size).moments
        assert difference.std() == pytest.approx(deviation, rel=0.05)
        assert np.corrcoef(difference, rating)[0, 1] == pytest.approx(correlation, abs=0.04)


def test_the_probability_by_hand():
    """One pair each: the difference has the standard deviation .2 sqrt(2) and the correlation .6; z = 1: Phi(.6 / .8) = .7734."""
    mixture = SpreadMixture([KnownSet("a", "a", 0.2, 0.6)], 1)
    assert float(mixture.probability(0.2 * np.sqrt(2))) == pytest.approx(0.7734, abs=1e-4)
    assert float(mixture.probability(0.0)) == 0.5
    assert mixture.interval(0.1)[0] == mixture.interval(0.1)[1]


def test_sets_in_which_a_difference_is_unlikely_count_less():
    narrow, wide = KnownSet("narrow", "a", 0.01, 0.9), KnownSet("wide", "b", 1.0, 0.1)
    mixture = SpreadMixture([narrow, wide], 10)
    assert float(mixture.probability(3.0)) == pytest.approx(float(SpreadMixture([wide], 10).probability(3.0)))
    low, high = mixture.interval(0.02)
    assert low < float(mixture.probability(0.02)) <= high
    assert TILT > 0


def test_predictions_from_equal_sets_are_calibrated():
    from leaderboard.own_data.calibration import calibration_error
    scores = {name: draw(2_000, 0.2, 0.5, seed) for seed, name in enumerate("abc")}
    sets = [describe_set(name, name, *values) for name, values in scores.items()]
    by_set = {name: compare_sets(*values, draw_sets(values[1], 50)) for name, values in scores.items()}
    assert calibration_error(by_set, lambda left_out: SpreadMixture([known for known in sets if known.name != left_out], 50)) < 0.02


def test_a_constant_metric_says_nothing():
    known = describe_set("a", "a", np.ones(50), np.arange(50.0))
    assert (known.spread, known.correlation) == (0, 0)
    assert SpreadMixture([known], 10).largest == 0


def test_the_tables_of_known_sets():
    known, errors = read_known_sets(), read_calibration()
    assert known.keys() == errors.keys()
    assert {len(sets) for sets in known.values()} == {20}
    assert all(-1 <= item.correlation <= 1 and item.spread >= 0 for sets in known.values() for item in sets)
    assert known_calibration("cosine", 90) == errors["cosine"][100]
    assert known_calibration("cosine", 1) == errors["cosine"][1]
