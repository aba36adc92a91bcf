"""Statistics of tasks, against their definitions and against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from leaderboard.quality.statistics import (
    cronbach_alpha,
    decision_accuracy,
    effective_weights,
    measure_quality,
    pair_order,
    resampled_above_chance,
)
from leaderboard.scoring.ranking import rank_entries
from leaderboard.scoring.resampling import make_plans, resampled_mean
from tests.support.scores import SINGLES, SUITE, scored

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def ranking():
    return rank_entries(scored(f"noise {noise}", noise, seed) for seed, noise in enumerate((0.1, 0.5, 1.0, 2.0, 4.0, 8.0)))


def test_alpha_is_that_of_the_definition():
    """k/(k-1) (1 - sum of the variances over the variance of the sum); with standardised columns, k r/(1 + (k-1) r)."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(200, 1)) + rng.normal(size=(200, 3))
    parts = (parts - parts.mean(axis=0)) / parts.std(axis=0, ddof=1)
    r = np.mean([np.corrcoef(parts.T)[i, j] for i, j in combinations(range(3), 2)])
    assert cronbach_alpha(parts) == pytest.approx(3 * r / (1 + 2 * r))
    assert cronbach_alpha(parts[:, :1]) is None


def test_effective_weights_are_equal_for_exchangeable_tasks_and_show_one_that_dominates():
    rng = np.random.default_rng(1)
    common = rng.normal(size=(2_000, 1))
    assert effective_weights(common + rng.normal(size=(2_000, 4))) == pytest.approx([1] * 4, abs=0.1)
    wide = common + rng.normal(size=(2_000, 4)) * [1, 1, 1, 20]
    weights = effective_weights(wide)
    assert sum(weights) == pytest.approx(4)             # covariances with the mean sum to its variance
    assert weights[3] > 3.5


def test_decisions_on_parts_are_exact_for_means_over_strata():
    """The linear formula gives the means over the drawn clusters of each stratum, as brute force does."""
    plan = make_plans(SUITE)["plain"]
    rng = np.random.default_rng(2)
    values = {name: {unit.id: rng.normal() for unit in SINGLES} for name in "abcd"}
    samples = [resampled_mean(SINGLES, of_entry, plan) for of_entry in values.values()]
    halves, tenth = decision_accuracy(samples, seed=3)
    draws, expected = np.random.default_rng(3), []
    table = np.array([[of_entry[unit.id] for unit in SINGLES] for of_entry in values.values()])
    tenths = []
    for _ in range(200):
        order = draws.permutation(len(SINGLES))
        first, second = (pair_order(table[:, rows].mean(axis=1)) for rows in (order[:6], order[6:]))
        expected.append(np.mean(first == second))
        tenths.append(np.mean(pair_order(table[:, order[:1]].mean(axis=1)) == pair_order(table.mean(axis=1))))
    assert halves == pytest.approx(np.mean(expected))
    assert tenth == pytest.approx(np.mean(tenths))


def test_quality_of_a_ranking(ranking):
    quality = measure_quality(ranking)
    assert [task.task for task in quality.tasks] == ["correlated", "plain"]
    assert quality.entries == [place.scored.name for place in ranking.ranked]
    assert sum(task.weight for task in quality.tasks) == pytest.approx(2)
    correlated, plain = quality.tasks
    assert correlated.clusters == sum(len(task_unit.unit.parameters["items"]) for task_unit in SUITE.task_units
                                      if task_unit.task.name == "correlated")
    assert plain.clusters == len(SINGLES)
    assert plain.signal_to_noise > 5                    # SD about .15 between entries; SE about .01/sqrt(12)
    assert plain.rest_correlation > 0.8                 # less noise is better on both
    assert plain.best == max(place.scored.tasks["plain"].score.value for place in ranking.ranked)
    # 2.80 standard errors of a difference of means of 12 values with an SD of .01 each
    assert plain.detectable == pytest.approx(2.80 * 0.01 * np.sqrt(2 / 12), rel=0.35)
    assert 0 <= plain.saturation < correlated.saturation + 1e-9 <= 1 + 1e-9


def test_scores_above_chance_are_resampled(ranking):
    entry = ranking.ranked[0].scored
    sample = resampled_above_chance(entry.tasks["correlated"], entry, make_plans(SUITE)["correlated"])
    assert sample.value == pytest.approx(entry.tasks["correlated"].above_chance)


def test_two_entries_are_too_few(ranking):
    assert measure_quality(rank_entries(place.scored for place in ranking.ranked[:2])) is None
