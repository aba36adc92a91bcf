"""Two metrics beside each other: signs, certainty, partial conjunction; the mean of independent estimates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.scoring.comparison import ByUnit, compare_metrics, count_better, paired_difference
from leaderboard.scoring.estimates import Estimate, mean_of_estimates
from tests.support.scores import scored

pytestmark = pytest.mark.unit


def by_unit(scores: list[float]) -> ByUnit:
    return ByUnit({f"u{n}": score for n, score in enumerate(scores)}, {f"u{n}": "s" for n in range(len(scores))})


def test_a_difference_turns_with_its_metrics():
    rng = np.random.default_rng(0)
    a, b = (by_unit(rng.normal(mean, 1, 20).tolist()) for mean in (0.0, 1.0))
    one, other = paired_difference(a, b), paired_difference(b, a)
    assert one.estimate.value == pytest.approx(-other.estimate.value)
    assert one.estimate.low == pytest.approx(-other.estimate.high)
    assert one.p == pytest.approx(1 - other.p)
    assert one.p > 0.9


def test_only_shared_units_are_paired():
    a, b = by_unit([1.0, 2.0, 3.0]), ByUnit({"u1": 1.0, "u2": 1.0, "other": 9.0}, {"u1": "s", "u2": "s", "other": "s"})
    assert paired_difference(a, b).estimate.value == pytest.approx(1.5)    # (2 - 1 + 3 - 1)/2
    assert paired_difference(a, ByUnit({"x": 1.0}, {"x": "s"})) is None


def test_a_mean_and_replicates_are_not_compared():
    assert paired_difference(by_unit([1.0, 2.0]), scored("a", 0.5, 1).tasks["correlated"].resampled) is None


@pytest.mark.parametrize(("p", "expected"), [([], 0), ([0.5], 0), ([0.01], 1), ([0.01, 0.6], 1), ([0.03, 0.6], 0), ([0.01, 0.04], 2),
                                             ([0.001, 0.02, 0.9], 2)])
def test_on_how_many_tasks_one_is_better(p, expected):
    """By hand: "at least u of n" has (n - u + 1) p_(u); [.001, .02, .9]: 3(.001), 2(.02) are at most .05, .9 is not."""
    assert count_better(p) == expected


def test_every_pair_is_compared():
    samples = {(name, "t"): by_unit(np.random.default_rng(seed).normal(mean, 0.1, 12).tolist())
               for seed, (name, mean) in enumerate((("a", 1.0), ("b", 0.0), ("c", -1.0)))}
    found = compare_metrics(samples, ["a", "b", "c"], ["t", "unknown"])
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert all(pair["a_better_on"] == pair["of"] == 1 and pair["b_better_on"] == 0 for pair in found["pairs"])


def test_the_mean_of_independent_estimates():
    """By hand: values 1 and 3 with half widths 0.3 and 0.4 give 2 with sqrt(0.09 + 0.16)/2 = 0.25."""
    found = mean_of_estimates([Estimate(1.0, 0.7, 1.3, 20), Estimate(3.0, 2.6, 3.4, 30)])
    assert (found.value, found.low, found.high, found.units) == (2.0, pytest.approx(1.75), pytest.approx(2.25), 20)
    assert mean_of_estimates([Estimate(1.0, None, None, 1), Estimate(3.0, 2.6, 3.4, 30)]).low is None


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6))
def test_the_mean_lies_in_its_interval_which_is_no_wider_than_the_widest(parts):
    estimates = [Estimate(value, value - below, value + above, 10) for value, below, above in parts]
    found = mean_of_estimates(estimates)
    assert found.low <= found.value <= found.high
    assert found.high - found.low <= max(below for _, below, _ in parts) + max(above for *_, above in parts) + 1e-9
