"""The calibration error of predicted probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard.own_data.calibration import calibration_error, judge_order

pytestmark = pytest.mark.unit


class Always:
    def __init__(self, value: float) -> None:
        self.value = value

    def probability(self, difference):
        return np.full(len(difference), self.value)


def test_order_of_differences():
    differences, order = judge_order(np.array([-2.0, 3.0, 0.0, 1.0]), np.array([-1.0, -1.0, 1.0, 5.0]))
    assert differences.tolist() == [2, 3, 0, 1]
    assert order.tolist() == [1, 0, 0.5, 1]


def test_the_error_is_the_distance_of_predicted_and_observed_shares():
    """Predicted .9 and .6; 70% and 60% are right: (.2 + 0) / 2."""
    source = np.zeros(1_000)
    observed = {"a": (source, np.repeat([1.0, 0.0], [700, 300])[np.random.default_rng(1).permutation(1_000)]),
                "b": (source, np.repeat([1.0, 0.0], [600, 400])[np.random.default_rng(2).permutation(1_000)])}
    error = calibration_error(observed, lambda left_out: Always(0.9 if left_out == "a" else 0.6))
    assert error == pytest.approx(0.1, abs=0.02)
