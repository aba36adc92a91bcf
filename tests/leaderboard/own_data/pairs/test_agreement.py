"""Agreement with judgements, its intervals and tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from leaderboard.own_data.pairs.agreement import (
    Judgements,
    agreements,
    compare_agreements,
    estimate_agreements,
    influences,
    noise_covariance,
)

pytestmark = pytest.mark.unit


def rated(human: np.ndarray, labelled: bool = False) -> Judgements:
    return Judgements(human, labelled, np.arange(len(human)))


def test_agreement_with_ratings_is_scipys_spearman():
    rng = np.random.default_rng(1)
    human, rows = rng.integers(0, 6, 70).astype(float), rng.integers(0, 9, (4, 70)).astype(float)
    assert agreements(rows, rated(human)) == pytest.approx([stats.spearmanr(row, human).statistic for row in rows])


def test_agreement_with_labels_is_scikit_learns_area():
    rng = np.random.default_rng(1)
    human, rows = rng.integers(0, 2, 70).astype(float), rng.integers(0, 9, (4, 70)).astype(float)
    judgements = rated(human, labelled=True)
    assert [judgements.shown(value) for value in agreements(rows, judgements)] == pytest.approx(
        [roc_auc_score(human, row) for row in rows])


def test_a_constant_metric_agrees_with_nothing():
    human = np.arange(20.0)
    for labelled in (False, True):
        assert agreements(np.ones((1, 20)), rated(human > 9 if labelled else human, labelled)) == [0]


def test_the_variance_of_an_area_is_that_of_delong():
    """DeLong et al. 1988: S10/m + S01/n of the placements of both kinds."""
    rng = np.random.default_rng(3)
    human, row = np.repeat([0.0, 1.0], [30, 20]), np.concatenate([rng.normal(0, 1, 30), rng.normal(1, 1, 20)])
    placements = np.array([[float(x > y) for y in row[:30]] for x in row[30:]])
    expected = placements.mean(axis=1).var() / 20 + placements.mean(axis=0).var() / 30
    judgements = rated(human, labelled=True)
    _, influence = influences(row[None], judgements)
    found = noise_covariance(influence, judgements.clusters)[0, 0] / 4      # of 2 AUC - 1
    assert found == pytest.approx(expected * 50 / 49)


@pytest.mark.parametrize("labelled", [False, True])
def test_intervals_cover_the_agreement_of_the_population(labelled):
    rng, hits = np.random.default_rng(5), 0
    everybody = rng.normal(size=(2, 200_000)) + rng.normal(size=200_000)
    human = (everybody[0] > 0).astype(float) if labelled else everybody[0]
    truth = agreements(everybody[1:], rated(human, labelled))[0]
    truth = rated(human, labelled).shown(truth) * 2 - 1 if labelled else truth
    for _ in range(400):
        rows = rng.integers(0, 200_000, 80)
        (estimate,) = estimate_agreements(everybody[1:, rows], rated(human[rows], labelled))
        hits += estimate.low <= truth <= estimate.high
    assert 0.92 <= hits / 400 <= 0.98        # 95% +- 2.8 standard errors of a share of 400


def test_pairs_of_one_cluster_count_as_one_draw():
    rng = np.random.default_rng(6)
    human, row = np.repeat(rng.normal(size=40), 5), np.repeat(rng.normal(size=40), 5)
    clustered = Judgements(human, False, np.repeat(np.arange(40), 5))
    (alone,), (together,) = (estimate_agreements(row[None], judgements) for judgements in (rated(human), clustered))
    assert together.high - together.low > 2 * (alone.high - alone.low)      # sqrt(5) times as wide


def test_equal_metrics_are_rarely_told_apart_and_different_ones_are():
    rng, wrong, human = np.random.default_rng(7), 0, np.arange(80.0)
    for run in range(60):
        rows = stats.zscore(human) + rng.normal(0, 1, (8, 80))
        wrong += compare_agreements(rows, rated(human), run).p.min() <= 0.05
    assert wrong <= 8                        # 5% of 60 are 3; 9 or more have a probability of .2%
    good, bad = stats.zscore(human) + rng.normal(0, 0.3, 80), rng.normal(0, 1, 80)
    assert compare_agreements(np.array([good, bad]), rated(human), 1).p[0, 1] < 0.01
