"""The recommendation from few pairs."""

from __future__ import annotations

import numpy as np
import pytest

from leaderboard.own_data.pairs.agreement import Judgements, agreements
from leaderboard.own_data.pairs.recommend import (
    COMBINED,
    SIMPLER,
    evaluate_choice,
    make_candidates,
    posterior_mean,
    prior,
    read_known,
    resampled_p,
    select_best,
)

pytestmark = pytest.mark.unit


def draw(count: int, seed: int, noise: dict[str, float]) -> tuple[list[str], np.ndarray, Judgements]:
    rng = np.random.default_rng(seed)
    human = rng.normal(size=count)
    return list(noise), np.array([human + rng.normal(0, spread, count) for spread in noise.values()]), Judgements(
        human, False, np.arange(count))


def test_candidates_are_metrics_and_means_of_standardized_scores():
    names, rows, _ = draw(30, 1, {"cosine": 1, "mine": 1, "chrf": 1})
    candidates = make_candidates(names, rows)
    assert candidates.names == ("cosine", "mine", "chrf", "cosine + chrf")
    z = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    assert candidates.similarities[3] == pytest.approx((z[0] + z[2]) / 2)
    assert make_candidates(names, rows, combine=False).names == ("cosine", "mine", "chrf")


def test_the_table_knows_all_candidates_that_are_combined():
    names, families, table = read_known()
    assert set(COMBINED) <= set(names)
    assert table.shape == (len(families), len(names))
    assert np.abs(table).max() <= 1
    assert set(make_candidates(COMBINED, np.eye(len(COMBINED))).names) <= set(names)


def test_a_family_of_sets_can_be_left_out_of_the_prior():
    names, families, table = read_known()
    mean, covariance = prior(names, {"blanc", "summeval"})
    assert mean == pytest.approx(table[[family not in ("blanc", "summeval") for family in families]].mean(axis=0))
    assert np.linalg.eigvalsh(covariance).min() > -1e-9


def test_many_pairs_overrule_the_prior():
    names, rows, judgements = draw(4_000, 2, {"cosine": 3, "cosine[wordllama]": 3, "unknown": 0.5, "levenshtein": 3})
    candidates = make_candidates(names, rows)
    best, single = select_best(candidates, posterior_mean(candidates, judgements))
    assert candidates.names[best] == candidates.names[single] == "unknown"


def test_few_pairs_do_not():
    """With 20 pairs, a metric that known sets say is bad needs more than luck."""
    wins = 0
    for seed in range(20):
        names, rows, judgements = draw(20, seed, {"cosine": 1, "pos_distance": 1.3})
        candidates = make_candidates(names, rows, combine=False)
        wins += select_best(candidates, posterior_mean(candidates, judgements))[0] == 0
    assert wins >= 18


def test_a_combination_must_be_better_by_a_margin():
    names, rows, _ = draw(30, 1, {"cosine": 1, "chrf": 1})
    candidates = make_candidates(names, rows)
    assert select_best(candidates, np.array([0.5, 0.4, 0.5 + SIMPLER / 2])) == (0, 0)
    assert select_best(candidates, np.array([0.5, 0.4, 0.5 + 2 * SIMPLER])) == (2, 0)


def test_held_out_agreement_is_not_that_of_the_best_by_luck():
    """All metrics are noise: the best of 30 agrees by luck, and the recommendation does not on held-out pairs."""
    names, rows, judgements = draw(60, 3, {f"metric {n}": 1e6 for n in range(30)})
    candidates = make_candidates(names, rows)
    held_out = evaluate_choice(candidates, judgements, 1)
    assert agreements(rows, judgements).max() > 0.2
    assert abs(held_out.agreement) < 0.1


def test_too_few_clusters_cannot_be_split():
    names, rows, judgements = draw(30, 1, {"cosine": 1, "chrf": 1})
    assert evaluate_choice(make_candidates(names, rows), Judgements(judgements.human, False, np.arange(30) // 10), 1) is None


def test_the_corrected_t_test():
    """Nadeau and Bengio 2003: the variance of k differences counts (1/k + test/training) times."""
    gains = np.array([0.1, 0.2, 0.3, 0.2])
    t = 0.2 / np.sqrt(gains.var(ddof=1) * (1 / 4 + 1))
    from scipy import stats
    assert resampled_p(gains) == pytest.approx(stats.t.sf(t, 3))
    assert resampled_p(np.zeros(4)) is None
