"""Ensembles: nothing is on both sides, what is learned is right, and what a metric adds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.ensembles import training_tables as ensemble_tables
from leaderboard.ensembles.learning import (
    Reference,
    Split,
    SplitScores,
    TrainingTable,
    fit_linear,
    general,
    judge_split,
    learn,
    mean_of_strata,
    split_groups,
    value_added,
    widened,
    without,
)
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.results import score_suite
from tests.support.command import touchstone

DOCUMENTS, EACH = 40, 6


def table(noise: float = 0.1, learner="linear", seed: int = 1) -> TrainingTable:
    """Rows of documents, each with a peculiarity of its own that says nothing of the others; three metrics, one of them noise."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(DOCUMENTS), EACH)
    x = rng.random((len(group), 3))
    x[:, 2] = rng.random(DOCUMENTS)[group] + 1e-6 * rng.random(len(group))          # tells documents apart
    target = 0.7 * x[:, 0] + 0.3 * x[:, 1] + noise * rng.normal(size=len(group))
    if learner == "forest":
        target = (rng.random(DOCUMENTS) < 0.5)[group].astype(float)                 # a coin for each document

    def score(predictions, times):
        rows = times > 0
        if learner == "forest":
            return float(np.average((predictions[rows] > 0.5) == (target[rows] > 0), weights=times[rows]))
        return 1 - float(np.average(np.abs(predictions[rows] - target[rows]), weights=times[rows]))
    names = np.array(["even" if one % 2 == 0 else "odd" for one in group])
    return TrainingTable("made", ("a", "b", "c"), x, target, group[:, None], np.tile([f"c{i}" for i in range(EACH)], DOCUMENTS), names, learner, score)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("two", [False, True])
def test_no_group_is_on_both_sides_and_none_that_was_learned_from_is_answered_for(drawn, two):
    made = table()
    if two:                                 # rows of two texts each, as in clustering
        pairs = np.random.default_rng(2).integers(0, DOCUMENTS, (len(made.target), 2))
        made = TrainingTable("pairs", made.metrics, made.answers, made.target, pairs, made.condition, made.dataset, "linear", made.score)
    for seed in range(20):
        parted = split_groups(made, seed, drawn)
        learned, judged = (set(made.groups[times > 0].ravel().tolist()) for times in (parted.learned, parted.judged))
        assert learned
        assert judged
        assert not learned & judged
        found = judge_split(made, parted)
        assert np.isfinite(found.predictions[parted.judged > 0]).all()
        assert np.isnan(found.predictions[parted.learned > 0]).all()


def test_a_split_by_rows_leaks_and_one_by_groups_does_not():
    """A forest knows a document again by its peculiarity: with rows split it answers for coins that nobody can foresee."""
    made = table(learner="forest")
    rng = np.random.default_rng(3)
    held = rng.random(len(made.target)) < 0.2
    leaking = judge_split(made, Split((~held).astype(float), held.astype(float))).score
    honest = np.mean([judge_split(made, split_groups(made, seed), seed).score for seed in range(8)])
    assert honest < 0.65                    # a coin, with 40 documents
    assert leaking > honest + 0.2


def test_least_squares_are_those_of_scikit_learn():
    made = table()
    times = np.random.default_rng(4).integers(0, 3, len(made.target)).astype(float)
    rows = np.arange(len(made.target))
    for intercept in (False, True):
        theirs = LinearRegression(fit_intercept=intercept).fit(made.answers, made.target, sample_weight=times)
        predicted, weights = fit_linear(made, times, rows, intercept)
        assert predicted == pytest.approx(theirs.predict(made.answers))
        assert weights == pytest.approx(np.abs(theirs.coef_) / np.abs(theirs.coef_).sum())


def test_an_ensemble_is_better_than_its_members_and_its_weights_are_those_of_the_truth():
    found = learn(table(0.0), 10, 60)
    assert found.score == pytest.approx(1)
    # of uniform a and b: 1 - mean |a - (.7a + .3b)| = 1 - .3 mean |a - b| = 1 - .3/3, and of b 1 - .7/3
    assert [found.members[name] for name in "ab"] == pytest.approx([0.9, 1 - 0.7 / 3], abs=0.04)
    assert [found.weights[name] for name in "abc"] == pytest.approx([0.7, 0.3, 0.0], abs=1e-6)
    assert found.low <= found.score + 1e-9


def test_a_constant_adds_nothing_and_what_is_needed_adds():
    made = table()
    made = TrainingTable(made.task, made.metrics, np.column_stack([made.answers[:, :2], np.full(len(made.target), 0.9)]), made.target, made.groups,
                         made.condition, made.dataset, "linear", made.score)
    assert value_added(made, Reference(made.leaving_out("c"), 10)).value == pytest.approx(0, abs=1e-9)         # both sides have an intercept
    needed = value_added(made, Reference(made.leaving_out("a"), 10, 60))
    assert needed.low > 0


def test_what_chance_makes_of_forests_is_in_the_interval_of_what_is_added():
    """With noise for a third metric the forests with it and without it differ by chance; 40 such tables seldom say it adds something."""
    missed = 0
    for seed in range(40):
        rng = np.random.default_rng([7, seed])
        x, group = rng.random((DOCUMENTS * 3, 3)), np.repeat(np.arange(DOCUMENTS), 3)
        signs = (x[:, 0] + 0.3 * rng.normal(size=len(x)) > 0.5) - 0.5

        def each(predictions, times, signs=signs, group=group):
            rows = np.flatnonzero(times)
            return SplitScores(((predictions[rows] > 0) == (signs[rows] > 0)).astype(float), times[rows], group[rows], np.zeros(len(rows), dtype=int))
        names = np.full(len(x), "all")
        made = TrainingTable("made", ("a", "b", "c"), x, signs, group[:, None], names, names, "leaves",
                             lambda predictions, times, each=each: mean_of_strata(each(predictions, times)), 0.5, each)
        noise = value_added(made, Reference(made.leaving_out("c"), 2))
        assert noise.low <= noise.value <= noise.high
        missed += not noise.low <= 0 <= noise.high
    assert missed <= 6                      # of 40 at 5%: 2 are to be expected, more than 6 in 1 of 200 cases


def test_an_interval_is_widened_by_chance_alone():
    # t of 2 degrees of freedom 4.303, sd .1: reach 4.303 * .1/sqrt(2) = .3043; with .4 together .5026
    found = widened(Estimate(0.5, 0.1, 0.9, 20), np.array([0.1, -0.1]))
    assert (found.low, found.high) == pytest.approx((0.5 - 0.5026, 0.5 + 0.5026), abs=1e-4)
    assert widened(Estimate(0.5, None, None, 1), np.array([0.1])).low is None


def test_leaving_out_learns_without_the_rows():
    made = table()
    parted = split_groups(made, 5)
    by_hand = judge_split(made, Split(parted.learned * (made.condition != "c0"), parted.judged))
    assert without(made, "condition", "c0", 5).score == by_hand.score
    found = without(made, "dataset", "odd", 5)
    assert set(made.dataset[np.isfinite(found.predictions)]) == {"odd"}


def test_the_general_ensemble_of_one_task_is_that_tasks_own():
    made = table()
    assert general([made], 5)["made"] == pytest.approx(learn(made, 5).score)


@pytest.fixture(scope="module")
def answered(smoke, tmp_path_factory):
    path = tmp_path_factory.mktemp("ensembles") / "store.sqlite"
    run_suite(select_entries(["cosine", "jaccard", "length_difference"], SUBMISSIONS), smoke, path,
              only=["alignment", "robustness", "sensitivity", "clustering", "retrieval"], jobs=2, progress=NoProgress())
    return path


def test_members_score_on_everything_what_the_task_says(answered, smoke):
    """With all rows judged a table's score of one metric is the task's own, for the tasks whose score is of rows."""
    scored = score_suite(Store(answered, read_only=True), smoke)
    made = {one.task: one for one in ensemble_tables.training_tables(scored, None)}
    assert set(made) == set(ensemble_tables.MADE) - {"human_ordering"}       # which was not asked
    ones = {name: np.ones(len(one.target)) for name, one in made.items()}
    for column, one in enumerate(scored):
        for task in ("robustness", "sensitivity"):
            assert made[task].score(made[task].answers[:, column], ones[task]) == pytest.approx(one.tasks[task].score.value)
        measures = one.tasks["alignment"].measures
        assert made["axis"].score(made["axis"].answers[:, column], ones["axis"]) == pytest.approx(measures["axis"].value, abs=1e-6)
        assert made["comparisons"].score(made["comparisons"].answers[:, column], ones["comparisons"]) == pytest.approx(measures["accuracy"].value)


def test_the_command(answered):
    done = touchstone("ensemble", "cosine", "jaccard", "--task", "sensitivity", "--suite", "smoke", "--store", answered, "--seeds", 5)
    assert done.returncode == 0, done.stderr
    assert "linear regression without intercept, 5 splits" in done.stdout
    alone = touchstone("ensemble", "cosine", "--suite", "smoke", "--store", answered)
    assert (alone.returncode, alone.stderr.count("\n")) == (2, 1)
    assert "two or more metrics" in alone.stderr


def test_what_cannot_be_joined_is_refused(answered, smoke, tmp_path):
    scored = score_suite(Store(answered, read_only=True), smoke)
    with pytest.raises(TouchstoneError, match='Did you mean "sensitivity"'):
        ensemble_tables.training_tables(scored, "sensitivty")
    path = tmp_path / "other.sqlite"
    run_suite(select_entries(["jaccard"], SUBMISSIONS), smoke, path, only=["alignment"], progress=NoProgress())
    with pytest.raises(TouchstoneError, match="has results for 0 of 2 test units of robustness"):
        ensemble_tables.training_tables(score_suite(Store(path, read_only=True), smoke), "robustness")
