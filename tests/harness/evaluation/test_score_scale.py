"""Direction and range of answers: the conversion to similarities from 0 to 1."""

from __future__ import annotations

import numpy as np
import pytest

from harness.evaluation.score_scale import ScoreScale

SELF = np.array([4.0, 4.0, 4.0])


@pytest.mark.unit
@pytest.mark.parametrize(("scale", "answers", "expected"), [
    (ScoreScale("similarity", 0.0, 1.0), [0.5, 2.0, -1.0], [0.5, 1.0, 0.0]),          # answers outside are clipped
    (ScoreScale("similarity", 0.0, 100.0), [50.0, 100.0, 0.0], [0.5, 1.0, 0.0]),
    (ScoreScale("similarity", 1.0, 5.0), [3.0, 5.0, 1.0], [0.5, 1.0, 0.0]),           # a rating
    (ScoreScale("similarity", -1.0, 1.0), [0.0, 1.0, -1.0], [0.5, 1.0, 0.0]),         # a correlation
    (ScoreScale("similarity", 0.0, None), [0.5, 2.0, -1.0], [0.125, 0.5, 0.0]),       # s(q, d) / s(q, q)
    (ScoreScale("similarity", 2.0, None), [2.5, 3.0, 1.0], [0.25, 0.5, 0.0]),         # (s(q, d) - 2) / (s(q, q) - 2)
    (ScoreScale("similarity", None, 0.0), [-1.0, 0.0, -3.0], [0.5, 1.0, 0.25]),       # a mean log-probability
    (ScoreScale("similarity", None, None), [0.5, 2.0, -1.0], [0.125, 0.5, 0.0]),
    (ScoreScale("distance", 0.0, 4.0), [0.5, 2.0, -1.0], [0.875, 0.5, 1.0]),
    (ScoreScale("distance", 1.0, 3.0), [1.5, 2.0, 0.0], [0.75, 0.5, 1.0]),
    (ScoreScale("distance", 0.0, None), [0.0, 1.0, 3.0], [1.0, 0.5, 0.25]),           # 1 / (1 + d)
    (ScoreScale("distance", 2.0, None), [2.0, 3.0, 5.0], [1.0, 0.5, 0.25]),
    (ScoreScale("distance", None, 0.0), [-4.0, -2.0, 1.0], [1.0, 0.5, 0.0]),          # (0 - d(q, d)) / (0 - d(q, q)), d(q, q) = -4
    (ScoreScale("distance", None, None), [0.0, 1.0, 3.0], [1.0, 0.5, 0.25]),
], ids=str)
def test_answers_are_rescaled_by_the_declared_range(scale, answers, expected):
    self_answers = -SELF if scale == ScoreScale("distance", None, 0.0) else SELF
    assert scale.to_unit_interval(np.array(answers), self_answers).tolist() == pytest.approx(expected)


@pytest.mark.unit
@pytest.mark.parametrize(("low", "high"), [(0.0, 100.0), (-1.0, 1.0), (1.0, 5.0), (-3.0, -2.0)])
def test_a_linear_change_of_scale_changes_nothing(low, high):
    values, unit_scale = np.linspace(0, 1, 7), ScoreScale("similarity", 0.0, 1.0)
    expected = unit_scale.to_unit_interval(values, np.ones(7))
    for scale, answers in ((ScoreScale("similarity", low, high), low + values * (high - low)),
                           (ScoreScale("distance", low, high), high - values * (high - low))):
        assert scale.to_unit_interval(answers, np.full(7, np.nan)) == pytest.approx(expected)


@pytest.mark.unit
def test_a_text_without_similarity_to_itself_is_similar_to_nothing():
    assert ScoreScale("similarity", None, None).to_unit_interval(np.array([0.5, 2.0, -1.0]), np.zeros(3)).tolist() == [0, 0, 0]
    assert ScoreScale("similarity").as_similarity(SELF) is SELF
    assert ScoreScale("distance").as_similarity(SELF).tolist() == [-4, -4, -4]
