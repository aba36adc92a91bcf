"""What is disclosed of private scores: pure functions, with values that were computed by hand or by a textbook."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.scoring.estimates import Estimate
from leaderboard.service.epochs.disclosure import (
    Gap,
    PrivateScore,
    climb_ladder,
    correct_for_tries,
    find_gap,
    is_suspicious,
    rank_range,
    round_score,
    round_step,
)

pytestmark = pytest.mark.unit


def score(value: float, step: float = 0.1) -> PrivateScore:
    return PrivateScore("t", "T", value, value - step, value + step, step)


@pytest.mark.parametrize(("width", "step"), [(0.1, 0.1), (0.11, 0.2), (0.3, 0.5), (0.6, 1.0), (0.002, 0.002), (3.0, 5.0)])
def test_a_step_is_1_2_or_5(width, step):
    assert round_step(width) == pytest.approx(step)


def test_rounding():
    """Half the width is 0.04, so the step is 0.05: 0.634 becomes 0.65, and 0.594 and 0.674 become 0.55 and 0.7."""
    assert round_score("t", "T", Estimate(0.634, 0.594, 0.674, 50)) == PrivateScore("t", "T", 0.65, 0.55, 0.7, 0.05)
    assert round_score("t", "T", Estimate(0.634, None, None, 4)) is None
    assert round_score("t", "T", Estimate(1.0, 1.0, 1.0, 50)) is None


@given(st.floats(-1, 1), st.floats(1e-4, 1), st.floats(1e-4, 1))
def test_a_rounded_interval_contains_the_exact_one_in_few_steps(value, below, above):
    rounded = round_score("t", "T", Estimate(value, value - below, value + above, 50))
    assert rounded.step >= (below + above) / 2 * (1 - 1e-6)
    assert abs(rounded.value - value) <= rounded.step / 2 + 1e-9
    assert rounded.low <= value - below + 1e-6
    assert rounded.high >= value + above - 1e-6
    for number in (rounded.value, rounded.low, rounded.high):
        assert number / rounded.step == pytest.approx(round(number / rounded.step), abs=1e-6)


def test_the_correction_for_two_tries():
    """Two-sided normal quantiles: 1.95996 at 95%, 2.23648 at sqrt(95%) = 97.468%."""
    corrected = correct_for_tries(Estimate(0.5, 0.5 - 0.195996, 0.5 + 0.0195996, 50), 2)
    assert (corrected.low, corrected.high) == (pytest.approx(0.5 - 0.223648, abs=1e-5), pytest.approx(0.5 + 0.0223648, abs=1e-5))
    assert correct_for_tries(Estimate(0.5, 0.4, 0.6, 50), 1) == Estimate(0.5, 0.4, 0.6, 50)


def test_intervals_of_all_tries_together_have_95_percent():
    """Five independent normal means with known error, 20,000 times; the standard error of the share is 0.0015."""
    errors = np.random.default_rng(1).normal(size=(20_000, 5))
    edge = correct_for_tries(Estimate(0.0, -1.959964, 1.959964, 50), 5).high
    assert np.mean((np.abs(errors) <= edge).all(axis=1)) == pytest.approx(0.95, abs=0.006)


def test_the_ladder_discloses_only_improvements_by_a_step():
    shown = climb_ladder([score(0.5), score(0.5), score(0.4), score(0.6), score(0.55), score(0.7)])
    assert [(step.score.value, step.improved) for step in shown] == [
        (0.5, True), (0.5, False), (0.5, False), (0.6, True), (0.6, False), (0.7, True)]


def test_boosting_by_feedback_gains_less_with_the_ladder():
    """The attack of Blum and Hardt (2015): random guesses are combined by majority if their score was reported as above chance."""
    rng = np.random.default_rng(2)
    labels, count = rng.integers(0, 2, 400), 300
    guesses = rng.integers(0, 2, (count, 400))
    exact = (guesses == labels).mean(axis=1)
    reported = [PrivateScore("t", "T", round(value / 0.05) * 0.05, 0.0, 1.0, 0.05) for value in exact]
    learned = np.array([shown.improved for shown in climb_ladder(reported)])

    def majority(chosen: np.ndarray) -> float:
        return float(((guesses[chosen].mean(axis=0) > 0.5) == labels).mean())
    assert majority(exact > 0.5) > 0.65
    assert majority(learned) < 0.58


def test_a_gap_beyond_three_standard_errors():
    """Errors of 0.03 and 0.04 give 0.05 for the difference."""
    public, private = Estimate(0.80, 0.80 - 1.96 * 0.03, 0.80 + 1.96 * 0.03, 50), Estimate(0.66, 0.66 - 1.96 * 0.04, 0.66 + 1.96 * 0.04, 50)
    gap = find_gap(public, private)
    assert gap.value == pytest.approx(0.14)
    assert gap.variance == pytest.approx(0.05 ** 2, rel=1e-3)
    assert not is_suspicious(gap, [])
    assert is_suspicious(Gap(0.16, gap.variance), [])
    assert not is_suspicious(Gap(-0.5, gap.variance), [])
    assert find_gap(public, Estimate(0.5, None, None, 3)) is None


def test_a_draw_that_is_harder_for_everybody_makes_nobody_suspicious():
    usual = [Gap(value, 0.01 ** 2) for value in (0.19, 0.20, 0.21, 0.20)]
    assert not is_suspicious(Gap(0.2, 0.01 ** 2), usual)
    assert is_suspicious(Gap(0.3, 0.01 ** 2), usual)
    assert is_suspicious(Gap(0.2, 0.01 ** 2), usual[:2])            # too few to know what is usual


def test_entries_that_differ_in_their_gaps_widen_the_bound():
    """The median is 0, the median absolute deviation 0.1, so the standard deviation is 0.148 and the bound 0.444."""
    wide = [Gap(value, 1e-6) for value in (-0.2, -0.1, 0.0, 0.1, 0.2)]
    assert not is_suspicious(Gap(0.43, 1e-6), wide)
    assert is_suspicious(Gap(0.46, 1e-6), wide)


def test_rank_range():
    assert rank_range(score(0.5), [score(0.9), score(0.6), score(0.1)]) == (2, 3)
    assert rank_range(score(0.5), []) == (1, 1)
