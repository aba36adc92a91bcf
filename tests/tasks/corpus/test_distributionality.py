"""Distributionality: prototypes beside the submissions and scipy, the lottery, the densities by hand, and what is asked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Source, Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context
from harness.results.outcomes import Status
from harness.submission.submission import load_submission
from tasks.corpus.distributionality import (
    GRID,
    Distributionality,
    ParaphraseDistances,
    Paraphrases,
    Settings,
    angular_distances,
    average_hausdorff,
    draw_sample,
    energy_distance,
    kernel_density,
    list_separations,
    measure_deviations,
    paraphrase_pairs,
    standardize,
)
from tasks.data.loading import dataset_fingerprint
from tasks.data.sources import synthetic as made
from tests.support.corpora import Direct, like_embeddings, on_a_grid

TASK = Distributionality()
SETTINGS = Settings(sources=(Paraphrases(name="made_paraphrases"),), n=10, K=4, R=2, redraws=2)     # as smoke has it
PAIRS = tuple((f"a{i}", f"b{i}") for i in range(60))


@pytest.fixture
def pairs_unit(smoke) -> Unit:
    return next(iter(smoke.units(next(task for task in smoke.tasks if task.name == TASK.name))))


def sweep(answers, energies, hausdorffs, k=3, returns="distance") -> ParaphraseDistances:
    shape = len(answers) // (k * (k + 1) // 2), k * (k + 1) // 2
    return ParaphraseDistances(k, tuple(answers), np.reshape(energies, shape), np.reshape(hausdorffs, shape), ScoreScale(returns, None, None))


@pytest.mark.parametrize("vectors", [like_embeddings(30, 384, 1), on_a_grid(30, 2, 1)], ids=["as in the paper", "zero vectors, equal vectors"])
def test_the_prototypes_are_the_submissions(vectors):
    angles, rng = angular_distances(vectors), np.random.default_rng(3)
    p, q = rng.choice(30, 20, replace=False), rng.choice(30, 20, replace=False)
    assert energy_distance(angles, p, q) == pytest.approx(Direct("energy")(vectors[p], vectors[q]), abs=5e-6)     # float32: as in test_corpus_metrics.py
    assert average_hausdorff(angles, p, q) == pytest.approx(Direct("ahd")(vectors[p], vectors[q]), abs=5e-6)


def test_corpora_hold_as_many_texts_of_b_as_the_paper_says_and_each_is_drawn_afresh():
    lottery = draw_sample("made", PAIRS, 50, 15, 5, np.random.default_rng(1))
    assert len(lottery.texts) == 100
    assert {text[1:] for text in lottery.texts[:50]} == {text[1:] for text in lottery.texts[50:]}        # of the same pairs
    assert len(lottery.corpora) == 5 * 16
    # round(50 i/15), i = 0..15, by hand
    assert [int((rows >= 50).sum()) for rows in lottery.corpora[:16]] == [0, 3, 7, 10, 13, 17, 20, 23, 27, 30, 33, 37, 40, 43, 47, 50]
    assert all(len(set(rows.tolist())) == 50 for rows in lottery.corpora)
    middle = [frozenset(lottery.corpora[16 * r + 7].tolist()) for r in range(5)]
    assert len(set(middle)) == 5
    assert len(lottery.pairs(15)) == 5 * 120
    assert all(i // 16 == j // 16 and i < j for i, j in lottery.pairs(15))


def test_too_few_pairs_are_refused_with_numbers():
    with pytest.raises(TouchstoneError, match=r'n=100 need 100 pairs of "made", which has 60'):
        draw_sample("made", PAIRS, 100, 15, 1, np.random.default_rng(1))


@pytest.mark.parametrize("values", [np.array([-1.0, -0.2, 0.1, 0.4, 2.0, 0.3]), np.linspace(-2, 2, 75)])
def test_the_density_is_scipys_with_the_same_bandwidth(values):
    theirs = stats.gaussian_kde(values, bw_method=len(values) ** -0.2)      # scipy multiplies by the sd, ddof 1
    assert kernel_density(values) == pytest.approx(theirs(GRID), abs=1e-12)
    assert kernel_density(values).sum() * (GRID[1] - GRID[0]) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("values", [np.array([0.5, 0.5, 0.5]), np.array([0.5])], ids=["no spread", "one value"])
def test_equal_distances_have_the_narrowest_density(values):
    assert kernel_density(values) == pytest.approx(stats.norm.pdf(GRID, 0.5, 0.05), abs=1e-12)


def test_the_deviation_of_two_narrow_densities_by_hand():
    """Normal densities of sd h, apart by D: the integral of the squared difference is (1 - exp(-(D/2h)^2))/(h sqrt(pi))."""
    mine, other = np.zeros(3), np.full(3, 0.1)
    separation = np.array([1, 1, 2])                                        # both levels alike, so the weights do not matter
    expected = (1 - np.exp(-1)) / (0.05 * np.sqrt(np.pi))
    assert measure_deviations(mine, other, separation) == pytest.approx([expected, expected], rel=1e-9)
    other[2] = 0.0                                                          # l = 2 agrees
    assert measure_deviations(mine, other, separation) == pytest.approx([expected, 0], rel=1e-9)


def test_the_deviation_is_the_mean_over_distances_with_and_without_the_last():
    """Two levels of two distances and one: the whole is the mean with weights 2 and 1, without l = K the first alone."""
    once = np.array([0.0, 1.0, 3.0])
    observation = ParaphraseDistances(2, tuple(once), once[None, [0, 2, 1]], once[None, [1, 0, 2]], ScoreScale("distance", None, None))
    values = Distributionality().measure(Unit("distributionality", 1, ("x",), {}, (), None, 1), observation).values
    mine, energy = standardize(once), standardize(once[[0, 2, 1]])
    first, last = measure_deviations(mine, energy, list_separations(observation))
    assert list_separations(observation).tolist() == [1, 2, 1]
    assert values["deviation_energy"] == pytest.approx((2 * first + last) / 3)
    assert values["deviation_energy_without_last"] == pytest.approx(first)


def test_a_prototype_is_its_own_class_whatever_its_scale_and_direction():
    rng = np.random.default_rng(5)
    energies, hausdorffs = rng.normal(size=12), rng.normal(size=12)
    for answers, returns, expected in ((energies, "distance", 1.0), (1e200 * energies, "distance", 1.0), (3 - 2 * energies, "similarity", 1.0),
                                       (hausdorffs, "distance", 0.0)):
        values = TASK.measure(None, sweep(answers, energies, hausdorffs, returns=returns)).values
        assert values["distributionality"] == pytest.approx(expected, abs=1e-9)
        assert values["nearer_energy"] == expected
        assert values["distributionality_without_last"] == pytest.approx(expected, abs=1e-9)


def test_a_constant_is_unknown_and_not_one_half():
    measured = TASK.measure(None, sweep([0.3] * 6, range(6), range(6)))
    assert set(measured.values.values()) == {None}


def test_the_trend_by_hand():
    """K = 3, one repetition: pairs (0,1) (0,2) (0,3) (1,2) (1,3) (2,3) have l = 1 2 3 1 2 1."""
    observation = sweep([1, 2, 9, 1, 2, 1], [1, 2, 9, 1, 2, 1], [0, 1, 2, 0, 1, 1])
    assert list_separations(observation).tolist() == [1, 2, 3, 1, 2, 1]
    values = TASK.measure(None, observation).values
    # mean 16/6, variance 92/6 - (16/6)^2 = 8.222; (9 - 2.667)/2.867
    assert values["last"] == pytest.approx(2.2087, abs=1e-4)
    assert values["rise"] == pytest.approx(np.corrcoef([1, 2, 3], [1, 2, 9])[0, 1])
    assert values["last_is_lowest"] == 0.0


def test_paraphrases_leave_out_equal_texts_and_low_scores(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    rows = made.make_pairs(20).assign(score=[4.5, 3.0] * 10)
    rows.loc[0, "text_b"] = rows.loc[0, "text_a"]
    (tmp_path / "mirror" / "quora_paraphrases").mkdir(parents=True)
    rows.to_parquet(tmp_path / "mirror" / "quora_paraphrases" / "data.parquet")
    paraphrase_pairs.cache_clear()
    assert len(paraphrase_pairs("quora_paraphrases", None)) == 19
    assert len(paraphrase_pairs("quora_paraphrases", 4.0)) == 9
    paraphrase_pairs.cache_clear()
    with pytest.raises(TouchstoneError, match="have no scores"):
        paraphrase_pairs("made_paraphrases", 4.0)
    with pytest.raises(TouchstoneError, match="has the kind corpus; the task requires pairs of paraphrases"):
        paraphrase_pairs("made_weather", None)


@pytest.mark.parametrize("name", ["energy", "jaccard", "vocabulary_jsd"])      # of vectors, a lifted text metric, of tokens
def test_real_metrics_are_asked_and_the_energy_distance_is_its_own_class(name, worker_slot, inputs, pairs_unit):
    outcome = worker_slot.run_unit(load_submission(SUBMISSIONS / f"{name}.py").entries[0], TaskUnit(TASK, pairs_unit), inputs)
    assert outcome.status is Status.ANSWERED
    observation = outcome.observation
    assert len(observation.answers) == 2 * 10
    assert observation.energy.shape == observation.ahd.shape == (2, 10)
    if name == "energy":
        assert observation.answers == pytest.approx(observation.energy.ravel(), abs=5e-6)
    assert 0 <= TASK.measure(pairs_unit, observation).values["distributionality"] <= 1


def test_units_are_redraws():
    context = Context(5, Source("minilm", "m"), {"made_paraphrases": dataset_fingerprint("made_paraphrases")})
    units = list(TASK.units(SETTINGS, context))
    assert len({unit.id for unit in units}) == 2
    assert TASK.draw_sample(units[0]).texts != TASK.draw_sample(units[1]).texts
    assert TASK.draw_sample(units[0]).texts == TASK.draw_sample(units[0]).texts
