"""Linear ensembles of five metrics, 1,000 splits, on tables as large as those of `core`: 300 documents of 7 forms, 160 of 39."""

from __future__ import annotations

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from harness.base.units import Unit
from harness.evaluation.score_scale import ScoreScale
from leaderboard.ensembles.learning import Split, TrainingTable, judge_split, learn, split_groups
from leaderboard.ensembles.training_tables import robustness_table, sensitivity_table
from tasks.text import robustness, sensitivity

pytestmark = [pytest.mark.benchmark, pytest.mark.usefixtures("one_processor")]
NAMES, SEEDS, MOST_SECONDS = ("a", "b", "c", "d", "e"), 1_000, 2.0
READING = ScoreScale("similarity", 0.0, 1.0)


def documents(count: int, datasets: int) -> list[tuple[Unit, range]]:
    """A unit a dataset, and its places."""
    return [(Unit("x", 1, (f"d{number}",), {"dataset": f"d{number}"}, (), None, 1), range(count)) for number in range(datasets)]


def rows(rng: np.random.Generator, *shape: int) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, rng.random(shape).tolist()))


def of_robustness_size():
    rng = np.random.default_rng(1)
    return robustness_table(NAMES, [(unit, [robustness.RobustnessAnswers(tuple(places), rows(rng, len(places), len(robustness.CONDITIONS)), (False,) * len(places), READING, ())
                                            for _ in NAMES]) for unit, places in documents(100, 3)])


def of_sensitivity_size():
    rng, count = np.random.default_rng(2), len(sensitivity.CONDITIONS)
    return sensitivity_table(NAMES, [(unit, [sensitivity.SensitivityAnswers(tuple(places), (1.0,) * len(places), rows(rng, len(places), count), ((False,) * count,) * len(places),
                                                                            READING, ()) for _ in NAMES]) for unit, places in documents(40, 4)])


@pytest.mark.parametrize(("make", "size"), [(of_robustness_size, 2_100), (of_sensitivity_size, 6_240)], ids=["robustness", "sensitivity"])
def test_a_thousand_splits(make, size, report):
    table = make()
    assert table.answers.shape == (size, 5)
    with threadpool_limits(1):
        learn(table, 5)
        started = time.perf_counter()
        found = learn(table, SEEDS)
        taken = time.perf_counter() - started
    report(f"a linear ensemble of {table.task}, {size:,} rows, {SEEDS:,} splits with the members on each: {taken:.2f} s (at most {MOST_SECONDS:g})")
    assert 0 < found.score < 1
    assert taken <= MOST_SECONDS


def test_a_split_by_rows_leaks(report):
    """USMB splits rows: forests know a text again, and answer for coins that were tossed for each text."""
    rng = np.random.default_rng(3)
    of_text = np.repeat(np.arange(150), 10)
    answers = rng.random((150, 3))[of_text] + 0.002 * rng.random((len(of_text), 3))        # of one text, nearly the same
    coins = (rng.random(150) < 0.5)[of_text].astype(float)
    names = np.full(len(of_text), "all")

    def score(predictions: np.ndarray, times: np.ndarray) -> float:
        return float(np.average((predictions[times > 0] > 0.5) == (coins[times > 0] > 0)))
    table = TrainingTable("coins", ("a", "b", "c"), answers, coins, of_text[:, None], names, names, "forest", score)
    honest = float(np.mean([judge_split(table, split_groups(table, seed), seed).score for seed in range(5)]))
    held = rng.random(len(of_text)) < 0.2
    leaking = judge_split(table, Split((~held).astype(float), held.astype(float))).score
    report(f"a forest answers for coins: {honest:.2f} where texts are held out, {leaking:.2f} where rows are")
    assert abs(honest - 0.5) < 0.12
    assert leaking > honest + 0.3
