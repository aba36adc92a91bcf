"""Tracks, and scores that are resampled whole: what is asked whom, one plan for all, intervals, what parts two metrics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.base.paths import SUBMISSIONS
from harness.base.units import Cluster, Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.loop import plan_run
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.scoring.comparison import paired_difference
from leaderboard.scoring.estimates import stratified_mean
from leaderboard.scoring.ranking import compare_means, rank_entries
from leaderboard.scoring.resampling import make_plans, resample, stratified_plan
from tasks.corpus.known_similarity import KnownSimilarity
from tasks.text.robustness import Robustness
from tests.support.scores import BATCHES, DRAWN, MODEL, SUITE, Correlated, Plain, answered, scored, truth

pytestmark = pytest.mark.unit


def test_corpus_metrics_are_never_asked_text_tasks_and_text_metrics_both(tmp_path, smoke):
    from harness.base.paths import SUBMISSIONS

    store = Store(tmp_path / "store.sqlite")
    asking = plan_run(select_entries(["energy", "jaccard"], SUBMISSIONS), [*SUITE.task_units, *smoke.task_units], store)
    by_kind = {kind: {question.task.info.track for entry, question in asking if entry.header.kind == kind} for kind in ("corpus", "text")}
    assert by_kind == {"corpus": {"corpus"}, "text": {"corpus", "text"}}


def test_of_a_family_of_text_metrics_the_default_alone_is_lifted():
    corpora, texts = KnownSimilarity(), Robustness()
    default, *variants = select_entries(["jaccard"], SUBMISSIONS)
    assert variants
    assert [corpora.accepts(default), texts.accepts(default)] == [True, True]
    assert {(corpora.accepts(one), texts.accepts(one)) for one in variants} == {(False, True)}
    assert {(corpora.accepts(one), texts.accepts(one)) for one in select_entries(["pr"], SUBMISSIONS)} == {(True, False)}
    assert not any(corpora.accepts(one) for one in select_entries(["wmd"], SUBMISSIONS))       # lift = false


def test_the_score_is_that_of_all_documents_and_its_interval_is_drawn_over_them():
    found = scored("m", 0.8, 1).tasks["correlated"]
    expected = []
    for stratum in ("one", "two"):
        pairs = [(truth(item), value) for unit in BATCHES if unit.stratum == (stratum,)
                 for item, value in zip(unit.parameters["items"], found.observed[unit.id].values, strict=True)]
        expected.append((1 + np.corrcoef(np.array(pairs).T)[0, 1]) / 2)
    assert found.score.value == pytest.approx(np.mean(expected))
    assert found.score.units == 80 + 40                 # documents, not batches
    assert found.score.low < found.score.value < found.score.high
    assert found.above_chance == pytest.approx((found.score.value - 0.5) / 0.5)


def test_a_failed_unit_counts_as_the_worst_in_a_score_that_is_resampled():
    whole, broken = (scored("m", 0.8, 1, failed).tasks["correlated"] for failed in (frozenset(), frozenset({0, 1})))
    assert len(broken.failures) == 2
    assert broken.score.value < whole.score.value - 0.5 * 16 / 80 * 0.5     # a fifth of one of two strata gets nothing


def test_one_plan_for_all_that_draws_within_strata():
    again = make_plans(SUITE)["correlated"]
    drawn = DRAWN["correlated"]
    assert np.array_equal(drawn.counts, again.counts)
    for stratum, size in ((0, 80), (1, 40)):
        assert (drawn.counts[:, drawn.strata == stratum].sum(axis=1) == size - 1).all()
    assert not np.array_equal(drawn.counts[:, :12], make_plans(SUITE)["plain"].counts)       # plans of two tasks are independent


def test_replicates_of_a_mean_vary_as_the_mean_does_however_few_there_are():
    rng = np.random.default_rng(2)
    values, strata = rng.normal(size=9), np.repeat([0, 1, 2], 3)
    counts = stratified_plan(strata.tolist(), 40_000, rng)
    replicates = np.mean([counts[:, strata == s] @ values[strata == s] / 2 for s in range(3)], axis=0)
    expected = sum(values[strata == s].var(ddof=1) / 3 for s in range(3)) / 9           # as in `stratified_mean`
    assert replicates.var() == pytest.approx(expected, rel=0.03)


def test_the_interval_of_a_mean_is_near_students():
    class Mean(Correlated):
        def replicates(self, units, seen, counts):
            values = np.concatenate([one.values for one in seen])
            strata = np.array([unit.stratum[0] for unit in units for _ in unit.parameters["items"]])
            parts = [counts[:, strata == s] @ values[strata == s] / counts[:, strata == s].sum(axis=1) for s in ("one", "two")]
            return {"score": np.mean(parts, axis=0)}
    outcomes = answered(0.8, 3)
    seen = [outcomes[unit.id].observation for unit in BATCHES]
    found = resample(Mean(), BATCHES, seen, DRAWN["correlated"])["score"].estimate()
    cells = [[v for unit, one in zip(BATCHES, seen, strict=True) if unit.stratum == (s,) for v in one.values] for s in ("one", "two")]
    theirs = stratified_mean(cells)
    assert found.value == pytest.approx(theirs.value)
    assert found.high - found.low == pytest.approx(theirs.high - theirs.low, rel=0.08)


def test_who_differs_for_sure_is_parted_and_who_does_not_is_not():
    ranking = rank_entries([scored("good", 0.3, 1), scored("alike", 0.3, 2), scored("bad", 3.0, 3)])
    assert [place.scored.name for place in ranking.ranked][2] == "bad"
    assert ranking.lines == (2,)
    assert ranking.p("good", "alike") > 0.05


@given(st.integers(0, 10 ** 6))
@settings(max_examples=8, deadline=None)
def test_adding_a_metric_changes_nobodys_score_and_the_order_of_rows_nothing(seed):
    rng = np.random.default_rng(seed)
    rows = [scored(name, float(rng.uniform(0.2, 2)), int(rng.integers(1 << 30))) for name in "abc"]
    ranking = rank_entries(rows)
    turned = rank_entries(rows[::-1])
    more = rank_entries([*rows, scored("d", 1.0, seed)])
    for a in "abc":
        for b in "abc":
            if a != b:
                assert ranking.p(a, b) == turned.p(a, b)
    assert [p.scored.name for p in ranking.ranked] == [p.scored.name for p in more.ranked if p.scored.name != "d"]
    assert compare_means(rows[:1]) is None


def test_paired_differences_are_drawn_under_the_one_plan():
    a, b = scored("a", 0.5, 1), scored("b", 0.6, 2)
    same = paired_difference(a.tasks["correlated"].resampled, a.tasks["correlated"].resampled).estimate
    assert (same.value, same.low, same.high) == (0, 0, 0)
    found = paired_difference(a.tasks["correlated"].resampled, b.tasks["correlated"].resampled).estimate
    assert found.value == pytest.approx(a.tasks["correlated"].score.value - b.tasks["correlated"].score.value)
    assert found.low < found.value < found.high


def test_too_few_documents_or_one_alone_in_its_stratum_part_nobody():
    few = Suite("few", "Few", MODEL, tuple(TaskUnit(Correlated(), unit) for unit in BATCHES[:1]))
    assert not make_plans(few)["correlated"].tells            # eight documents
    lonely = [*BATCHES[:2], Unit("correlated", 1, ("three",), {"items": [7]}, (), MODEL, 0)]
    assert not make_plans(Suite("l", "L", MODEL, tuple(TaskUnit(Correlated(), unit) for unit in lonely)))["correlated"].tells


def test_calibration_of_students_quantile_is_not_forgotten():
    # of 9 in three strata of equal spread Welch and Satterthwaite's degrees of freedom are at most 6: wider than the normal's
    values = np.random.default_rng(5).normal(size=9)
    three = [Unit("plain", 1, (name,), {"item": i}, (), MODEL, i) for name in "xyz" for i in range(3)]

    class Few(Plain):
        def clusters(self, units):
            return [Cluster(unit.stratum, str(unit.parameters["item"])) for unit in units]

        def replicates(self, units, seen, counts):
            place = np.array([unit.stratum[0] for unit in units])
            return {"score": np.mean([counts[:, place == s] @ values[place == s] / counts[:, place == s].sum(axis=1) for s in "xyz"], axis=0)}
    suite = Suite("s", "S", MODEL, tuple(TaskUnit(Few(), unit) for unit in three))
    found = resample(Few(), three, [None] * 9, make_plans(suite)["plain"])["score"]
    interval = found.estimate()
    assert interval.high - interval.low > 2 * stats.norm.ppf(0.975) * found.replicates.std()
