"""Synthetic checks: the points have the stated distributions, and verdicts follow from curves of known shape."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Source
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context
from harness.results.outcomes import Status
from harness.submission.submission import load_submission
from tasks.corpus.synthetic_checks import CHECKS, Settings, SyntheticAnswers, SyntheticChecks, Verdict, draw_points, judge
from tasks.corpus.synthetic_points import BALL, EXPERIMENTS, FAR, LAST_MODE, PLANE, TUBE
from tests.support.corpora import Direct

TASK = SyntheticChecks()
CONTEXT = Context(3, Source("minilm", "0"), {})
N = 4_000


def draw(name: str, x: float, dimensions: int, variant: str = "", n: int = N) -> tuple[np.ndarray, np.ndarray]:
    return next(EXPERIMENTS[name][variant].pairs([x], n, dimensions, np.random.default_rng(1)))


def nearest_mode(points: np.ndarray) -> np.ndarray:
    return np.round(points.mean(axis=1) * 9 / LAST_MODE).astype(int)


def test_normal_distributions_have_the_stated_moments():
    error = 5 / np.sqrt(N)
    for name, x, mean, deviation in (("mean_difference", 2.0, 2.0, 1.0), ("spread_difference", 3.0, 0.0, 3.0)):
        reference, generated = draw(name, x, 8)
        assert reference.mean(axis=0) == pytest.approx(np.zeros(8), abs=error)
        assert reference.std(axis=0) == pytest.approx(np.ones(8), abs=error)
        assert generated.mean(axis=0) == pytest.approx(np.full(8, mean), abs=error * deviation)
        assert generated.std(axis=0) == pytest.approx(np.full(8, deviation), abs=error * deviation)
    reference, generated = draw("scaled_dimension", 100.0, 2)
    assert generated.mean(axis=0) - reference.mean(axis=0) == pytest.approx([6, 0], abs=100 * 2 * error)
    assert generated.std(axis=0) == pytest.approx([1, 100], rel=error)
    reference, generated = draw("disjoint_dimension", 20, 0)
    assert reference.shape == generated.shape == (N, 21)
    assert (generated - reference).mean(axis=0) == pytest.approx([6] + [0] * 20, abs=2 * error)


@pytest.mark.parametrize("dimensions", [1, 8, 64])
def test_one_outlier_is_added_to_one_of_the_two(dimensions):
    for variant, side in (("in the reference", 0), ("in the generated points", 1)):
        plain, changed = draw("mean_difference", 1.0, dimensions), draw("outlier", 1.0, dimensions, variant)
        assert np.array_equal(changed[side], np.vstack([plain[side], np.full(dimensions, FAR[dimensions])]))
        assert np.array_equal(changed[1 - side], plain[1 - side])


def test_the_heavy_tail_is_a_pareto_distribution():
    """P(X > t) = t^-1.01 for t >= 1."""
    reference, generated = draw("pareto", 3.0, 2)
    assert generated[:, 0].mean() == pytest.approx(3, abs=5 / np.sqrt(N))
    for tail in (reference[:, 1], generated[:, 1]):
        assert tail.min() >= 1
        assert (tail > 10).mean() == pytest.approx(10 ** -1.01, abs=5 * np.sqrt(0.1 * 0.9 / N))


def test_modes_disappear_and_appear():
    noise = 5 * np.sqrt(0.1 * 0.9 / N)
    for name in ("simultaneous_mode_dropping", "sequential_mode_dropping"):
        reference, _ = draw(name, 0, 8)
        assert np.bincount(nearest_mode(reference)) / N == pytest.approx(np.full(10, 0.1), abs=noise)
    faded, gone = (draw("simultaneous_mode_dropping", x, 8)[1] for x in (0.5, 1))
    assert np.bincount(nearest_mode(faded))[0] / N == pytest.approx(1 / 5.5, abs=noise * 2)
    assert set(nearest_mode(gone)) == {0}
    assert set(nearest_mode(draw("sequential_mode_dropping", 7, 8)[1])) == {0, 1, 2}
    for x in (2, 10):
        reference, generated = draw("mode_invention", x, 2)
        for points, modes in ((reference, 5), (generated, x)):
            assert set(np.linalg.norm(points[:, None] - PLANE, axis=2).argmin(axis=1)) == set(range(modes))


def test_two_modes_and_a_wide_one():
    """The variance of two modes 4 apart is 1 + 2^2; the wide mode's is 1 + 4^2."""
    reference, generated = draw("mode_collapse", 4.0, 1)
    assert reference.var() == pytest.approx(5, rel=0.1)
    assert generated.var() == pytest.approx(17, rel=0.1)
    assert (np.abs(np.abs(reference) - 2) < 1).mean() == pytest.approx(0.683, abs=0.04)


def test_shapes_in_space():
    reference, generated = draw("sphere_surface", 0.4, 16)
    assert np.linalg.norm(reference, axis=1) == pytest.approx(np.ones(N))
    assert np.linalg.norm(generated, axis=1) == pytest.approx(np.full(N, 0.4))
    ball, torus = draw("sphere_torus", 0.5, 3, "ball as the reference")
    assert (len(ball), len(torus)) == (N, N // 2)
    radii = np.linalg.norm(ball, axis=1)
    assert radii.max() <= BALL
    assert (radii < BALL / 2).mean() == pytest.approx(1 / 8, abs=0.03)
    assert np.hypot(np.hypot(torus[:, 0], torus[:, 1]) - 1, torus[:, 2]).max() <= TUBE
    swapped = draw("sphere_torus", 0.5, 3, "torus as the reference")
    assert [len(points) for points in swapped] == [N, N // 2]
    assert np.linalg.norm(swapped[1], axis=1).max() <= BALL


@pytest.mark.parametrize(("name", "sizes"), [("sample_size", (2 * N, 2 * N)), ("generated_size", (N, 2 * N))])
def test_hypercubes_share_a_fifth_of_their_volume(name, sizes):
    reference, generated = draw(name, 2, 8)
    assert (len(reference), len(generated)) == sizes
    assert (reference.min(), reference.max()) == pytest.approx((0, 1), abs=0.01)
    for points in (reference, generated - generated.min() + reference.min()):
        assert points.mean(axis=0) == pytest.approx(np.full(8, 0.5), abs=0.05)
    assert (generated <= 1).all(axis=1).mean() == pytest.approx(0.2, abs=0.03)


def test_one_of_the_two_is_discrete():
    for variant, side in (("in the reference", 0), ("in the generated points", 1)):
        pair = draw("discrete_values", 0.5, 8, variant)
        assert np.array_equal(pair[side] * 2, np.round(pair[side] * 2))
        assert (pair[1 - side] * 2 != np.round(pair[1 - side] * 2)).all()


def test_points_are_drawn_for_every_value_and_repeatable():
    for name, check in CHECKS.items():
        for experiment in check.experiments(name).values():
            drawn, again = (list(draw_points(experiment, check, 30, 7)) for _ in range(2))
            assert len(drawn) == len(check.x)
            assert all(np.array_equal(a, b) for one, two in zip(drawn, again, strict=True) for a, b in zip(one, two, strict=True))
            assert all(points.dtype == np.float32 for one in drawn for points in one)
            assert all(np.array_equal(one[0], drawn[0][0]) for one in drawn) == experiment.fixed
    narrow, *_, wide = draw_points(EXPERIMENTS["scaled_dimension"][""], CHECKS["scaled_dimension"], 30, 7)
    assert narrow[1] * [1, 1e6] == pytest.approx(wide[1], rel=1e-5)


def answers(*curves, same=0.1, noise=0.001, repetitions=5):
    """Repetitions of the curves of a check with a little noise."""
    rng = np.random.default_rng(1)

    def with_noise(rows) -> tuple[tuple[float, ...], ...]:
        return tuple(map(tuple, (np.array(rows) + noise * rng.normal(size=np.shape(rows))).tolist()))

    scale = ScoreScale("distance", 0.0, None)
    return [SyntheticAnswers(with_noise(curves), with_noise(np.full(np.shape(curves), same)), scale) for _ in range(repetitions)]


BOWL = (0.9, 0.5, 0.3, 0.1, 0.3, 0.5, 0.9)
LOPSIDED = (0.5, 0.4, 0.3, 0.1, 0.3, 0.5, 0.9)


@pytest.mark.parametrize(("name", "curves", "verdict"), [
    ("mean_difference", [BOWL], 1), ("mean_difference", [LOPSIDED], 0),
    ("mean_difference", [(0.1,) * 7], 0),                                       # blind
    ("mean_difference", [(0.9, 0.2, 0.5, 0.1, 0.5, 0.2, 0.9)], 0),              # does not grow to both sides
    ("spread_difference", [LOPSIDED], 1), ("spread_difference", [LOPSIDED[:3] + (0.1,) * 4], 0),
    ("outlier", [BOWL, BOWL, BOWL], 1), ("outlier", [BOWL, (0.9, 0.9, 0.8, 0.7, 0.8, 0.9, 0.9), BOWL], 0),
    ("outlier", [(0.1,) * 7] * 3, None),                                        # nothing is noticed without it either
    ("mode_invention", [(0.5, 0.4, 0.3, 0.2, 0.1, 0.3, 0.2, 0.4, 0.3, 0.5)], 1),
    ("mode_invention", [(0.5, 0.4, 0.3, 0.05, 0.1, 0.3, 0.2, 0.4, 0.3, 0.5)], 0),
    ("sequential_mode_dropping", [(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)], 1), ("sequential_mode_dropping", [(0.6, 0.5, 0.4, 0.3, 0.2, 0.1)], 0),
    ("sample_size", [(0.5, 0.48, 0.5, 0.51)], 1), ("sample_size", [(0.8, 0.6, 0.5, 0.4)], 0), ("sample_size", [(0.1,) * 4], None),
    ("scaled_dimension", [(0.5,) * 5], 1), ("scaled_dimension", [(0.5, 0.5, 0.5, 0.6, 0.9)], 0),
    ("disjoint_dimension", [(0.9, 0.5, 0.3, 0.2)], 1), ("disjoint_dimension", [(0.9, 0.5, 0.3, 0.1)], 0),
    ("sphere_torus", [(0.5,) * 3, (0.5,) * 3], 1), ("sphere_torus", [(0.5,) * 3, (0.1,) * 3], 0),       # in both directions
    ("discrete_values", [(0.1, 0.2, 0.3, 0.4, 0.5)] * 2, 1), ("discrete_values", [(0.1, 0.2, 0.3, 0.4, 0.5), (0.1,) * 5], 0),
])
def test_verdicts_on_curves_of_known_shape(name, curves, verdict):
    assert judge(name, answers(*curves)) == verdict


def test_noise_prevents_verdicts_that_something_stays():
    assert judge("sample_size", answers((0.5, 0.5, 0.5, 0.5), noise=0.15)) is None
    assert judge("mean_difference", answers(BOWL, noise=0.001, repetitions=2)) == 1.0


def test_similarities_are_read_as_distances():
    scale = ScoreScale("similarity", None, 1.0)

    def negate(rows):
        return tuple(tuple(1 - value for value in row) for row in rows)

    for curve, verdict in ((BOWL, 1.0), (LOPSIDED, 0.0)):
        assert judge("mean_difference", [SyntheticAnswers(negate(one.curve), negate(one.same), scale) for one in answers(curve)]) == verdict


class InProcess:
    """A metric that is asked in this process."""

    def __init__(self, distance) -> None:
        self.distance, self.scale = distance, ScoreScale("distance", 0.0, None)

    def corpus_distances(self, corpora, pairs) -> list[float]:
        return [float(self.distance(corpora[a], corpora[b])) for a, b in pairs]


def verdicts_of(distance, *checks: str, n: int = 60) -> dict[str, float | None]:
    units = list(TASK.units(Settings(n=n, repetitions=4, checks=checks), CONTEXT))
    observations = [TASK.observe(unit, InProcess(distance)) for unit in units]
    measures = TASK.measure_all(units, observations)
    return {unit.parameters["check"]: one.values["passed"] for unit, one in zip(units, measures, strict=True)}


def test_a_metric_that_sees_only_the_largest_value_is_found_out():
    """Its answer is decided by a single point, so an outlier changes it; and it grows with the scale of the points."""
    found = verdicts_of(lambda p, q: abs(p.max() - q.max()), "mean_difference", "outlier", "scaled_dimension", "disjoint_dimension")
    assert found["outlier"] == 0
    assert found["scaled_dimension"] == 0


def test_energy_sees_directions_but_no_radius():
    """Its ground distance is an angle: another mean is noticed, another radius about the origin is not."""
    names = ("mean_difference", "outlier", "sequential_mode_dropping", "disjoint_dimension", "sphere_surface", "spread_difference")
    assert verdicts_of(Direct("energy"), *names, n=200) == dict(zip(names, (1, 1, 1, 1, 0, 0), strict=True))


def test_metrics_of_vectors_are_asked_and_no_others(worker_slot, inputs, context):
    unit = next(unit for unit in TASK.units(Settings(n=30, repetitions=2), context) if unit.parameters["check"] == "sphere_torus")

    def ask(name: str):
        return worker_slot.run_unit(load_submission(SUBMISSIONS / f"{name}.py").entries[0], TaskUnit(TASK, unit), inputs)

    outcome = ask("fid")
    assert outcome.status is Status.ANSWERED
    assert np.shape(outcome.observation.curve) == np.shape(outcome.observation.same) == (2, 3)
    curves = TASK.curves("sphere_torus", [outcome.observation])
    assert [curve.title for curve in curves] == ["sphere torus, ball as the reference", "sphere torus, torus as the reference"]
    assert [point[1] for point in curves[0].points] == pytest.approx(outcome.observation.curve[0], rel=1e-4)
    for name in ("jaccard", "chi"):
        assert ask(name).status is Status.NOT_APPLICABLE


def test_every_check_states_its_expectation_and_unknown_ones_are_refused():
    assert set(CHECKS) == set(EXPERIMENTS)
    assert {check.verdict for check in CHECKS.values()} == set(Verdict)
    assert all(check.verdict in TASK.info.measures[name] for name, check in CHECKS.items())
    with pytest.raises(TouchstoneError, match='no check "torus". The checks are mean_difference'):
        list(TASK.units(Settings(n=30, repetitions=2, checks=("torus",)), CONTEXT))
