"""Lifting by hand: rows are texts of the first corpus, columns of the second."""

from __future__ import annotations

import numpy as np
import pytest

from harness.evaluation.lifting import LiftingRule, lift_scores

pytestmark = pytest.mark.unit

CROSS = np.array([[1.0, 0.2], [0.4, 0.6], [0.0, 0.5]])
# nearest of each row: 1, .6, .5, mean .7; of each column: 1, .6, mean .8


def test_similarities_in_the_unit_range_give_one_less_f1():
    assert lift_scores(CROSS, LiftingRule(True, (0.0, 1.0))) == pytest.approx(1 - 2 * 0.7 * 0.8 / 1.5)


def test_other_similarities_give_the_mean_of_the_directed_distances_from_the_highest():
    assert lift_scores(CROSS, LiftingRule(True, (-1.0, 1.0))) == pytest.approx(((1 - 0.7) + (1 - 0.8)) / 2)


def test_unbounded_similarities_are_negated():
    assert lift_scores(CROSS, LiftingRule(True, (0.0, float("inf")))) == pytest.approx(-(0.7 + 0.8) / 2)


def test_distances_give_the_mean_of_the_directed_nearest_distances():
    # nearest of each row: .2, .4, 0, mean .2; of each column: 0, .2, mean .1
    assert lift_scores(CROSS, LiftingRule(False, (0.0, 1.0))) == pytest.approx((0.2 + 0.1) / 2)


def test_nothing_alike_is_as_far_as_can_be():
    assert lift_scores(np.zeros((2, 3)), LiftingRule(True, (0.0, 1.0))) == 1.0
