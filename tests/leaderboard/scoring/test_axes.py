"""Rankings by several axes, on a real run: constants scale, measures replace scores, and a track has one rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Axis, AxisPart
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.publishing.citations import cite
from leaderboard.publishing.release import release
from leaderboard.publishing.views import StoreView
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import Results

NAMES = ["jaccard", "levenshtein", "rouge1", "length_difference"]
USMB = tuple(AxisPart(task, measure="usmb") for task in ("alignment", "robustness", "sensitivity", "clustering", "retrieval"))
AXES = (Axis("meaning", "Meaning", "text", (AxisPart("human_ordering", 0.125), AxisPart("retrieval", 0.25))),
        Axis("edits", "Edits", "text", (AxisPart("sensitivity", measure="edits"),), "0 is the best constant."),
        Axis("usmb", "USMB", "text", USMB, "Mean of five scores."))
BEST_CONSTANT = 0.85    # similarity .9 against 1 - x for x in .05, .10, .25, .50: a mean error of (.05 + 0 + .15 + .40)/4


@pytest.fixture(scope="module")
def view(smoke, tmp_path_factory) -> StoreView:
    path = tmp_path_factory.mktemp("axes") / "store.sqlite"
    run_suite(select_entries(NAMES, SUBMISSIONS), smoke, path, jobs=2, progress=NoProgress())
    return StoreView(Results(replace(smoke, declared_axes=AXES), Store(path)))


def standing(view, name):
    return view.overview.standings("text")[name]


def test_the_headline_is_the_mean_of_scores_above_chance_over_their_constants(view):
    for name in NAMES:
        tasks = standing(view, name).tasks
        expected = (tasks["human_ordering"].above_chance / 0.125 + tasks["retrieval"].above_chance / 0.25) / 2
        assert standing(view, name).overall_above_chance == pytest.approx(expected)
        assert standing(view, name).overall.value == pytest.approx(expected)
    assert [task.name for task in view.suite.ranked_tasks("text")] == ["retrieval", "human_ordering"]


def test_other_axes_have_values_and_ranks_of_their_own(view):
    for name in NAMES:
        tasks, axes = standing(view, name).tasks, standing(view, name).axes
        constant_length = tasks["sensitivity"].measures["constant_length"].value
        assert axes["edits"].value.value == pytest.approx((constant_length - BEST_CONSTANT) / (1 - BEST_CONSTANT))
        five = [tasks[part.task].measures["usmb"].value for part in USMB]
        assert axes["usmb"].value.value == pytest.approx(sum(five) / 5) == pytest.approx(standing(view, name).usmb)
    ranks = {name: standing(view, name).axes["edits"].rank for name in NAMES[:3]}
    assert sorted(ranks, key=ranks.get) == sorted(ranks, key=lambda name: -standing(view, name).axes["edits"].value.value)
    assert standing(view, "length_difference").axes["edits"].rank is None
    assert {axes.of for axes in standing(view, "jaccard").axes.values()} == {3}


def test_a_view_by_another_axis_is_ranked_by_it(view):
    by_edits = view.on_axis("edits")
    entries = by_edits.overview.ranked("text")
    assert [entry.rank for entry in entries] == sorted(entry.rank for entry in entries)
    assert [entry.overall.value for entry in entries] == sorted((entry.overall.value for entry in entries), reverse=True)
    assert [task.name for task in by_edits.suite.ranked_tasks("text")] == ["sensitivity"]
    assert entries[0].score_on("sensitivity") == entries[0].measures_on("sensitivity")["edits"]
    corpus = view.overview.standings("corpus")
    assert by_edits.overview.standings("corpus") == corpus


def test_constants_scale_no_order(view, smoke):
    """Dividing every task by the same constant changes values, not ranks and significance."""
    equal = replace(smoke, declared_axes=(Axis("a", "A", "text", tuple(AxisPart(part.task) for part in AXES[0].parts)),))
    scaled = replace(smoke, declared_axes=(Axis("a", "A", "text", tuple(AxisPart(part.task, 0.1) for part in AXES[0].parts)),))
    first, second = (rank_suite(Results(suite, view.results.store), suite)["text"] for suite in (equal, scaled))
    assert [place.scored.name for place in first.places] == [place.scored.name for place in second.places]
    for a, b in zip(first.places, second.places, strict=True):
        assert b.scored.overall == pytest.approx(10 * a.scored.overall)


def test_an_entry_without_a_task_of_the_axis_is_not_ranked(view):
    entry = view.rankings["text"].places[0].scored
    part = replace(entry, tasks={name: score for name, score in entry.tasks.items() if name != "retrieval"})
    assert part.overall is None
    assert part.overall_estimate is None


def test_the_rank_on_another_task_is_predicted_by_those_on_single_tasks(view):
    ranking = view.rankings["text"]
    for place in ranking.ranked:
        ranks = [rank for rank, _ in ranking.task_ranks[place.scored.name].values()]
        assert ranking.unseen[place.scored.name] == (min(ranks), max(ranks))
    assert ranking.unseen_level == pytest.approx(1 / 3)         # two tasks


def test_an_axis_is_cited_with_its_own_value_rank_and_name(view, tmp_path):
    released = release("2031.1", view.results.suite, view.results, tmp_path)
    on_axis = released.entry("jaccard", "text").axes["usmb"]
    cited = cite(released, "jaccard", "usmb")
    assert f"score on the axis USMB of text metrics {on_axis.value.value:.3f}" in cited
    assert f"rank {on_axis.rank} of 3" in cited
    assert "|usmb|" in cited
    headline = released.entry("jaccard", "text")
    assert cite(released, "jaccard", "meaning") == cite(released, "jaccard")
    assert f"{headline.overall.value:.3f}" in cite(released, "jaccard")
    assert "|all|" in cite(released, "jaccard")
