"""Local perturbation: what is moved, the area by hand, and what is asked; components beside prdc."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import prdc.prdc as prdc
import pytest
import sklearn.metrics

from harness.base.paths import SUBMISSIONS
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.results.outcomes import Status
from harness.submission.submission import load_submission
from leaderboard.figures.precision_recall import components, euclidean
from tasks.corpus.local_perturbation import (
    DELTAS,
    DIMENSIONS,
    SHARES,
    LocalPerturbation,
    Mixture,
    PerturbationCurves,
    Settings,
    area_under_curve,
    detection_ratio,
    generate_sweeps,
    measure_locality,
)
from tests.support.corpora import like_embeddings, on_a_grid

TASK = LocalPerturbation()


def test_the_nearest_neighbours_move_together_along_the_chosen_point_minus_its_centroid():
    """Ackerman et al. 2023, section 2: NN_k(y*) move in the same direction, z = y* - centroid(y*)."""
    mixture = Mixture.draw(4, np.random.default_rng(1))
    assert mixture.a.shape == (300, 4)
    moved = mixture.perturbed(3.0, 0.1, np.random.default_rng(2))
    changed = np.flatnonzero(~np.isclose(moved, mixture.b, atol=1e-5).all(axis=1))
    assert len(changed) == 30
    chosen = np.random.default_rng(2).integers(300)
    shifts = moved[changed] - mixture.b[changed]
    z = mixture.b[chosen] - mixture.centres[chosen]
    assert shifts == pytest.approx(np.tile(3.0 * z / np.linalg.norm(z), (30, 1)), abs=1e-4)
    # y* is one of the moved; the 30 are its nearest
    reach = np.linalg.norm(mixture.b - mixture.b[chosen], axis=1)
    assert reach[changed].max() <= np.delete(reach, changed).min()
    assert np.array_equal(mixture.perturbed(0.0, 0.1, np.random.default_rng(2)), mixture.b.astype(np.float32))
    assert np.array_equal(mixture.perturbed(3.0, 0.0, np.random.default_rng(2)), mixture.b.astype(np.float32))


def test_a_moved_group_keeps_its_shape():
    """By hand: points of a line around the centroid 0; y* = 2 moves its two nearest points by +3, also the point at -1."""
    points = np.array([[-1.0], [0.5], [2.0], [-30.0]])
    mixture = Mixture(points.astype(np.float32), points, np.zeros((4, 1)))
    seed = next(seed for seed in range(100) if np.random.default_rng(seed).integers(4) == 2)
    assert mixture.perturbed(3.0, 0.75, np.random.default_rng(seed)).ravel().tolist() == [2.0, 3.5, 5.0, -30.0]


def test_a_is_the_same_in_every_repetition_and_the_perturbed_points_are_not():
    first, second = (list(generate_sweeps(7, seed)) for seed in (1, 2))
    assert [len(perturbed) for _, perturbed in first] == [len(DELTAS), len(SHARES), 1, 1, 1, 1, 1]
    assert [a.shape[1] for a, _ in first] == [2, 2, *DIMENSIONS]
    assert all(np.array_equal(p[0], q[0]) for p, q in zip(first, second, strict=True))
    assert not any(np.array_equal(p[1][-1], q[1][-1]) for p, q in zip(first, second, strict=True))
    assert np.array_equal(first[0][1][0], second[0][1][0])   # delta = 0 is B


@pytest.mark.parametrize(("curve", "expected"), [
    (np.linspace(0, 1, 21), 0.5),
    (np.r_[0, np.ones(20)], 0.975),                     # half of the first of twenty steps is missing
    (np.r_[np.zeros(20), 1], 0.025),
    (np.r_[0, np.full(19, 2.0), 1], 0.975),             # clipped at 1
    (np.r_[0, np.full(19, -2.0), 1], 0.025),
])
def test_the_area_by_hand(curve, expected):
    assert area_under_curve(np.array([5 + 3 * curve])) == pytest.approx(expected)


def test_what_is_hardly_noticed_has_no_locality():
    # d(max)-d(0) = 1, 5: mean 3, standard error 2, 1.5 of them; 4, 6: mean 5, standard error 1
    weak, strong = (np.stack([np.linspace(0, top, 21) for top in tops]) for tops in ((1, 5), (4, 6)))
    assert detection_ratio(weak) == pytest.approx(1.5)
    assert measure_locality(weak) is None
    assert measure_locality(strong) == pytest.approx(0.5)
    assert area_under_curve(-strong) is None


def test_a_similarity_is_read_as_a_distance_and_the_pseudo_values_average_to_the_jackknife():
    rng = np.random.default_rng(4)
    curves = np.sort(rng.uniform(0, 1, (6, 21)), axis=1) + np.linspace(0, 5, 21)
    def observe(returns: str) -> list[PerturbationCurves]:
        read = (lambda x: x) if returns == "distance" else (lambda x: 10 - x)
        return [PerturbationCurves(tuple(map(read, curve)), tuple(map(read, range(11))), tuple(map(read, range(5))), ScoreScale(returns, None, None if returns == "distance" else 10.0)) for curve in curves]
    values, again = ([dict(measures.values) for measures in TASK.measure_all([None] * 6, observe(returns))] for returns in ("distance", "similarity"))
    assert [measures["locality"] for measures in values] == pytest.approx([measures["locality"] for measures in again])
    left_out = np.mean([area_under_curve(np.delete(curves, row, axis=0)) for row in range(6)])
    assert np.mean([measures["locality"] for measures in values]) == pytest.approx(6 * area_under_curve(curves) - 5 * left_out)
    assert values[0]["rise_with_share"] == pytest.approx(1)


def test_metrics_of_vectors_are_asked_and_no_others(worker_slot, inputs, context):
    unit = next(TASK.units(Settings(repetitions=1), context))
    def ask(name: str):
        return worker_slot.run_unit(load_submission(SUBMISSIONS / f"{name}.py").entries[0], TaskUnit(TASK, unit), inputs)
    outcome = ask("medoid")
    assert outcome.status is Status.ANSWERED
    assert (len(outcome.observation.by_delta), len(outcome.observation.by_share), len(outcome.observation.by_dimension)) == (21, 11, 5)
    # at p = 0.1 and delta = 3 the two sweeps ask the same
    assert outcome.observation.by_delta[6] == outcome.observation.by_share[2]
    for name in ("jaccard", "chi"):
        assert ask(name).status is Status.NOT_APPLICABLE


ROWS = {"some rows in both, exact distances": (on_a_grid(60, 6, 1), 60), "no row in both": (like_embeddings(60, 32, 1), 30)}


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("name", ROWS)
def test_components_are_those_of_prdc(name, k, monkeypatch):
    """Of rows in both, a distance equals a radius: only where nothing is rounded do strict comparisons say the same."""
    real = sklearn.metrics.pairwise_distances
    monkeypatch.setattr(sklearn.metrics, "pairwise_distances", lambda *a, n_jobs, **named: real(*a, **named))
    vectors, first = ROWS[name]
    rng = np.random.default_rng(1)
    p, q = rng.choice(first, 30, replace=False), 60 - 1 - rng.choice(first, 25, replace=False)
    assert bool(set(p) & set(q)) == (first == 60)
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = prdc.compute_prdc(vectors[p].astype(float), vectors[q].astype(float), k)
    assert components(euclidean(vectors), p, q, k)._asdict() == pytest.approx(theirs)
