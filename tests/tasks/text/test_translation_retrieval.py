"""Retrieval of translations: scores by hand, and ties."""

from __future__ import annotations

import numpy as np
import pytest

from harness.evaluation.score_scale import ScoreScale
from tasks.text.translation_retrieval import TranslationRetrieval, TranslationScores, rank_shares

pytestmark = pytest.mark.unit
TASK = TranslationRetrieval()


def scores(answers: list[list[float]], returns: str = "similarity") -> TranslationScores:
    return TranslationScores(np.array(answers), ScoreScale(returns), ())


def test_shares_and_reciprocal_ranks_by_hand():
    # ranks 1, 2 and 3 of the translations of three texts
    similarity = np.array([[0.9, 0.1, 0.2], [0.8, 0.5, 0.1], [0.7, 0.6, 0.5]])
    assert rank_shares(similarity) == (pytest.approx(1 / 3), pytest.approx((1 + 1 / 2 + 1 / 3) / 3))


def test_ties_are_in_a_random_order():
    first, reciprocal = rank_shares(np.ones((4, 4)))
    assert first == 1 / 4
    assert reciprocal == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


def test_both_directions_and_distances():
    answers = [[0.9, 0.1], [0.8, 0.5]]
    measures = TASK.measure(None, scores(answers))
    assert measures.values["translation_first"] == 0.5
    assert measures.values["original_first"] == 1.0
    assert measures.score == 0.75
    assert TASK.measure(None, scores(answers, "distance")).score == 0.25
    assert TASK.chance([], [scores(answers)]) == 0.5
