"""Weights of clusters in blocks of rows, which limit the memory of scoring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leaderboard.scoring import resampling
from leaderboard.scoring.resampling import Plan, resample, stratified_plan, weight_blocks
from tests.support.scores import BATCHES, DRAWN, Correlated, answered

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("block", [1, 7, 50, 10_000])
def test_blocks_are_all_clusters_then_each_left_out_then_the_draws(monkeypatch, block):
    counts = stratified_plan([0] * 4 + [1] * 3, 11, np.random.default_rng(5))
    monkeypatch.setattr(resampling, "BLOCK", block)
    blocks = list(weight_blocks(counts))
    assert np.array_equal(np.concatenate(blocks), np.concatenate([np.ones((1, 7)), 1 - np.eye(7), counts]))
    assert max(part.size for part in blocks) <= max(block, 7)
    assert (len(blocks) > 1) == (block < 19 * 7)


def test_a_score_does_not_depend_on_the_blocks(monkeypatch):
    outcomes = answered(0.8, 3)
    observations = [outcomes[unit.id].observation for unit in BATCHES]
    whole = resample(Correlated(), BATCHES, observations, DRAWN["correlated"])["score"]
    monkeypatch.setattr(resampling, "BLOCK", 5_000)
    parts = resample(Correlated(), BATCHES, observations, DRAWN["correlated"])["score"]
    assert parts.value == pytest.approx(whole.value, abs=1e-12)
    assert parts.left_out == pytest.approx(whole.left_out, abs=1e-12)
    assert parts.replicates == pytest.approx(whole.replicates, abs=1e-12)
    assert replace(whole, replicates=parts.replicates).estimate().low == pytest.approx(whole.estimate().low, abs=1e-9)


def test_the_same_clusters_need_no_other_plan():
    plan = DRAWN["correlated"]
    assert plan.restricted(list(plan.clusters)) is plan
    fewer = plan.restricted(plan.clusters[2:5])
    assert isinstance(fewer, Plan)
    assert np.array_equal(fewer.counts, plan.counts[:, 2:5])
