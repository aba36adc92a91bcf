"""USMB: the published tables, and our number for each of theirs."""

from __future__ import annotations

import csv
import io

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.figures.registry import draw_figure
from leaderboard.papers import usmb
from leaderboard.papers.published_tables import usmb_tables
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import score_suite

PUBLISHED = {("axis", "cosine", "overall"): 0.64, ("comparisons", "jaccard", "accuracy"): 0.63,        # the paper's tables
             ("robustness", "levenshtein", "superficial_over_summary"): 1.0, ("robustness", "bm25plus", "summary_over_semantic"): 0.63,
             ("usmb", "jaccard", "sensitivity"): 0.96, ("usmb", "ensemble", "overall"): 0.73, ("weights_axis", "ensemble", "cosine"): 0.34}


@pytest.fixture(scope="module")
def store(smoke, tmp_path_factory):
    path = tmp_path_factory.mktemp("usmb") / "store.sqlite"
    run_suite(select_entries(["jaccard", "levenshtein", "length_difference", "constant"], SUBMISSIONS), smoke, path, only=[*usmb.TASKS, "human_ordering"], jobs=2,
              progress=NoProgress())
    return Store(path, read_only=True)


@pytest.fixture(scope="module")
def scored(store, smoke):
    return {entry.name: entry.in_track("text") for entry in score_suite(store, smoke)}


def test_the_published_figures():
    values = {(figure.table, figure.metric, figure.measure): figure.value for figure in usmb_tables()}
    assert len(values) == len(usmb_tables()) == 128
    assert {key: values[key] for key in PUBLISHED} == PUBLISHED
    # its own overall column is the mean of the five before it
    for metric in ("cosine", "levenshtein", "rouge", "jaccard", "bm25plus"):
        five = [values["usmb", metric, task] for task in usmb.TASKS]
        assert sum(five) / 5 == pytest.approx(values["usmb", metric, "overall"], abs=0.0151)


def test_our_number_for_each_published_one(scored, smoke):
    rows = {(row.figure.table, row.entry, row.figure.measure): row for row in usmb.compare_figures(scored, smoke)}
    measures = scored["jaccard"].tasks["alignment"].measures
    axis = rows["axis", "jaccard", "overall"]
    assert axis.ours.value == pytest.approx((1 + measures["pearson_overall"].value) / 2)
    assert axis.ours.low == pytest.approx((1 + measures["pearson_overall"].low) / 2)
    assert rows["comparisons", "jaccard", "f1"].ours.value == measures["f1"].value
    assert rows["robustness", "levenshtein", "overall"].ours.value == scored["levenshtein"].tasks["robustness"].score.value
    five = [scored["jaccard"].tasks[task].measures["usmb"].value for task in usmb.TASKS]
    assert rows["usmb", "jaccard", "overall"].ours.value == pytest.approx(sum(five) / 5) == pytest.approx(scored["jaccard"].usmb)
    assert rows["usmb", "bm25_plus[published]", "overall"].ours is None            # not run here
    assert rows["axis", "jaccard", "overall"].data == "made_ratings"
    assert rows["comparisons", "jaccard", "f1"].data == "made_choices"
    assert "word" in rows["comparisons", "jaccard", "f1"].note


def test_markdown_and_csv(scored, smoke):
    rows = usmb.compare_figures(scored, smoke)
    assert usmb.build_table(rows).to_markdown().count("\n") == 2 + len(rows)
    records = list(csv.DictReader(io.StringIO(usmb.build_records(rows).to_csv())))
    assert [float(row["published"]) for row in records] == [row.figure.value for row in rows]
    assert float(next(row for row in records if row["metric"] == "jaccard" and row["measure"] == "sensitivity")["ours"]) == (
        scored["jaccard"].tasks["sensitivity"].measures["usmb"].value)


def test_tasks_on_which_a_trivial_baseline_does_well_are_marked(store, smoke):
    ranking = rank_suite(store, smoke)["text"]
    assert {entry.scored.name for entry in ranking.ranked} == {"jaccard", "levenshtein"}
    for task, controls in ranking.gameable.items():
        scores = sorted(entry.scored.tasks[task].score.value for entry in ranking.ranked)
        for entry in ranking.places:
            assert (entry.scored.name in controls) == (entry.reason == "control" and entry.scored.tasks[task].score.value >= sum(scores) / 2)
    assert "length_difference" in ranking.gameable["robustness"]        # characters alone suffice for the published order
    assert "retrieval" not in ranking.gameable


def test_constants_score_the_declared_chance(scored):
    constant = scored["constant"].tasks
    assert constant["alignment"].above_chance == pytest.approx(0)
    assert constant["clustering"].above_chance == pytest.approx(0)
    assert constant["retrieval"].above_chance == pytest.approx(0)
    assert scored["constant[0.875]"].tasks["sensitivity"].measures["changed_length"].value == pytest.approx(1 - 1.275 / 9)
    assert constant["robustness"].score.value == 0              # an order must be strict


def test_figures_show_the_measures_and_the_scores(scored):
    two = [scored["jaccard"], scored["length_difference"]]
    curves = draw_figure("sensitivity", two)
    traces = [trace for trace in curves.data if trace.name == "jaccard"]
    assert len(traces) == 9
    measures = two[0].tasks["sensitivity"].measures
    assert list(traces[0].y) == [measures[f"insertion {size} begin"].value for size in ("5%", "10%", "25%", "50%", "100%")]
    bars = draw_figure("tasks", two).data[1]
    assert bars.name == "length_difference"
    assert list(bars.y) == [two[1].tasks[task].score.value for task in [*usmb.TASKS, "human_ordering"]]
