"""Size and imbalance robustness: the measures by hand, the samples, and what is asked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.score_scale import ScoreScale
from harness.results.outcomes import Status
from tasks.corpus.convergence import Convergence, ConvergenceCurves, Settings, sample_sizes

TASK = Convergence()
SETTINGS = Settings(pairs=(("made_weather", "made_trains"),), sizes=(5, 10, 40), total=45, reference=500, repetitions=3)


def unit_of(stratum: str = "a, b", seed: int = 1) -> Unit:
    return Unit("convergence", 1, (stratum,), {}, (), None, seed)


def curves(equal=(1.0, 2.0, 3.0), unequal=(2.0, 2.5), far=2.0, near=(0.5, 0.5), returns="distance") -> ConvergenceCurves:
    read = (lambda x: x) if returns == "distance" else (lambda x: 10 - x)
    return ConvergenceCurves((5, 10, 40), tuple(map(read, equal)), 45, (5, 10), tuple(map(read, unequal)), 300, read(far), (150, 150), tuple(map(read, near)),
                             ScoreScale(returns, None, None if returns == "distance" else 10.0))


def values(*observations: ConvergenceCurves) -> list[dict[str, float | None]]:
    return [dict(measures.values) for measures in TASK.measure_all([unit_of() for _ in observations], observations)]


@pytest.mark.parametrize("returns", ["distance", "similarity"])
def test_the_measures_by_hand(returns):
    # d* = 2 and d_self = 1/2, without spread; errors 1, 0, 1 of equal sizes and 0, 1/2 of unequal ones.
    first, second = values(curves(returns=returns), curves(returns=returns))
    assert first == second
    assert first["size_robustness"] == pytest.approx(1 - (2 / 3) / 2)
    assert first["imbalance_robustness"] == pytest.approx(1 - (1 / 4) / 2)
    assert first["imbalance_robustness_unnormalised"] == pytest.approx(1 - 1 / 4)
    assert first["size_contrast"] == pytest.approx(1 - (2 / 3) / 1.5)
    assert first["imbalance_contrast"] == pytest.approx(1 - (1 / 4) / 1.5)
    assert (first["reference_distance"], first["self_distance"]) == (2.0, 0.5)


def test_the_reference_distance_is_the_mean_over_repetitions_of_one_pair_alone():
    other = TASK.measure_all([unit_of(), unit_of(), unit_of("c, d")], [curves(far=1.0), curves(far=3.0), curves(far=9.0)])
    assert [measures.values["reference_distance"] for measures in other] == [2.0, 2.0, 9.0]


def test_a_constant_added_drives_the_published_form_to_1_and_leaves_the_contrast():
    def shifted(c: float) -> ConvergenceCurves:
        return curves(tuple(c + x for x in (1.0, 2.0, 3.0)), (c + 2.0, c + 2.5), c + 2.0, (c + 0.5, c + 0.5))
    plain, high = values(curves(), curves())[0], values(shifted(1000.0), shifted(1000.0))[0]
    assert high["size_robustness"] > 0.999
    assert high["size_contrast"] == pytest.approx(plain["size_contrast"])


def test_what_cannot_be_told_is_unknown():
    nothing_far = values(curves(far=0.0, near=(0.0, 0.0)), curves(far=0.0, near=(0.0, 0.0)))[0]
    assert nothing_far["size_robustness"] is None
    assert nothing_far["size_contrast"] is None
    # d* = 2, its standard deviation .71, so that 1.5 between it and the self-distance is less than three of them
    assert values(curves(far=1.5), curves(far=2.5))[0]["size_contrast"] is None
    assert values(curves(far=1.9), curves(far=2.1))[0]["size_contrast"] is not None
    assert values(curves())[0]["size_contrast"] is None             # one repetition says nothing of the spread


def test_sizes_are_cut_down_to_what_the_sources_hold():
    p = {"source_a": "a", "source_b": "b", "sizes": [50, 250, 2850], "total": 2900, "reference": 3000}
    sizes = sample_sizes(p, 300, 5000)
    assert (sizes.equal, sizes.total, sizes.first, sizes.reference, sizes.of_one) == ((50, 250), 300, (50, 250), 300, (150, 300))
    whole = sample_sizes(p, 6000, 9000)
    assert (whole.equal, whole.total, whole.first, whole.reference, whole.of_one) == ((50, 250, 2850), 2900, (50, 250, 2850), 3000, (3000, 3000))
    with pytest.raises(TouchstoneError, match=r'samples of at least 50 texts; "a" has 40 and "b" 5,000'):
        sample_sizes(p, 40, 5000)


def test_samples_are_what_the_design_says(context):
    unit = next(TASK.units(SETTINGS, context))
    pairs = TASK.samples(unit)
    assert [(len(p), len(q)) for p, q in pairs] == [(5, 5), (10, 10), (40, 40), (5, 40), (10, 35), (40, 5), (500, 500), (300, 300), (300, 300)]
    assert all(len(set(corpus)) == len(corpus) for pair in pairs for corpus in pair)         # without replacement
    assert all(not set(p) & set(q) for p, q in pairs[-2:])          # two samples of one source share nothing
    assert set(itertools.chain.from_iterable(pairs[6][:1])) != set(itertools.chain.from_iterable(pairs[7][:1]))
    assert TASK.samples(unit) == pairs
    assert {unit.id for unit in TASK.units(SETTINGS, context)} == {unit.id for unit in TASK.units(SETTINGS, context)}
    assert len({unit.id for unit in TASK.units(SETTINGS, context)}) == 3


def test_what_is_asked_is_what_is_kept(worker_slot: WorkerSlot, inputs, entry_of, context):
    entry = entry_of("sizes", "def distance(p, q): return float(len(p) + 1000 * len(q))\n")
    unit = next(TASK.units(SETTINGS, context))
    outcome = worker_slot.run_unit(entry, TaskUnit(TASK, unit), inputs)
    assert outcome.status is Status.ANSWERED
    observation = outcome.observation
    assert observation.equal == (5005.0, 10010.0, 40040.0)
    assert observation.unequal == (40005.0, 35010.0, 5040.0)
    assert (observation.far, observation.near) == (500500.0, (300300.0, 300300.0))
    assert np.isfinite(TASK.measure(unit, observation).values["size_robustness"])
