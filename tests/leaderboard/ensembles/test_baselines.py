"""Ensembles as baselines: computed once, kept under what they follow from, shown on board, page and release."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.board.components.layout import Links
from leaderboard.board.pages.metric import render_metric
from leaderboard.board.pages.ranking import render_table
from leaderboard.board.snapshot import of_release, of_store
from leaderboard.cli import analyse
from leaderboard.ensembles import baselines
from leaderboard.ensembles.baselines import KIND, MEMBERS, Baselines, compute_baselines
from leaderboard.ensembles.summary import added_values, summarise_ensembles
from leaderboard.ensembles.training_tables import met, training_tables
from leaderboard.publishing import release as releases
from leaderboard.publishing.release import release
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import score_suite

OTHERS = ("length_difference", "constant")
TABLES = {"axis", "comparisons", "robustness", "sensitivity", "clustering", "retrieval", "human_ordering"}


@pytest.fixture(scope="module", autouse=True)
def few() -> Iterator[None]:
    """Few splits: what is tested is what is done with them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LINEAR_SPLITS", 6), ("LINEAR_DRAWS", 45), ("FOREST_SPLITS", 2), ("ADDED_SPLITS", 4),
                            ("ADDED_FOREST_SPLITS", 2), ("ADDED_PAIRS", 400)):
            patch.setattr(baselines, name, value)
        yield


@pytest.fixture(scope="module")
def path(smoke, tmp_path_factory):
    """A store of the members and two controls, without ensembles."""
    found = tmp_path_factory.mktemp("baselines") / "store.sqlite"
    chosen = [entry for entry in select_entries([*MEMBERS, *OTHERS], SUBMISSIONS) if entry.variant is None]
    run_suite(chosen, smoke, found, only=[task.name for task in smoke.tasks if task.info.track == "text"], jobs=2, progress=NoProgress())
    return found


@pytest.fixture(scope="module")
def before(path, smoke):
    """The board's snapshot of that store, before anything is computed."""
    return of_store(smoke, Store(path, read_only=True))


@pytest.fixture(scope="module")
def store(path, before, smoke):
    """The same store with all ensembles."""
    opened = Store(path)
    assert compute_baselines(smoke, score_suite(opened, smoke), opened, NoProgress()) == 7 + 1 + 7 * 7       # tables, the general one, entries
    opened.close()
    return Store(path, read_only=True)


@pytest.fixture(scope="module")
def scored(store, smoke):
    return [one.in_track("text") for one in score_suite(store, smoke)]


@pytest.fixture(scope="module")
def known(store, scored, smoke):
    return Baselines(smoke, scored, store.cache_get(KIND))


def test_a_store_without_ensembles_says_what_computes_them(before):
    summary = before.report.ensembles
    assert (summary.rows, summary.missing, summary.reason) == ([], 57, None)
    assert "57 ensembles are not computed yet: <code>touchstone baselines --suite smoke</code>" in render_table(before, Links(), "text")
    assert "Not computed yet: <code>touchstone baselines --suite smoke</code>" in render_metric(before, Links(), "jaccard")


def test_what_is_kept_is_not_computed_again(path, store, smoke):
    opened = Store(path)
    assert compute_baselines(smoke, score_suite(opened, smoke), opened, NoProgress()) == 0
    opened.close()


def test_where_another_task_changes_nothing_is_learned_anew(known, scored, smoke, store):
    kept = tuple(question for question in smoke.task_units if question.task.name != "timing")
    other = replace(smoke, task_units=kept)
    assert other.fingerprint != smoke.fingerprint
    keys = [job.key for job in known.jobs()]
    assert [job.key for job in Baselines(other, scored, {}).jobs()] == keys
    fewer = (*(one for one in kept if one.task.name != "robustness"), *smoke.select(["robustness"])[1:])
    assert not set(keys) & {job.key for job in Baselines(replace(smoke, task_units=fewer), scored, {}).jobs()}


def test_a_row_is_the_mean_of_its_tables_and_its_overall_score_that_of_its_tasks(known, scored):
    summary, learned = summarise_ensembles(known), {(one.table, one.learner): one for one in known.learned()}
    assert {table for table, _ in learned} == TABLES
    rows = {row.name: row for row in summary.rows}
    assert list(rows)[:3] == ["ensemble", "ensemble, large leaves", "ensemble, general"]
    assert set(list(rows)[3:]) == {f"{name}, held out" for name in MEMBERS}
    own = rows["ensemble"]
    alignment = own.tasks["alignment"].score.value
    assert alignment == pytest.approx((learned["axis", "linear regression without intercept"].score
                                       + learned["comparisons", "random forest"].score) / 2)
    chance = scored[0].tasks["sensitivity"].chance
    sensitivity = own.tasks["sensitivity"]
    assert sensitivity.above_chance == pytest.approx((sensitivity.score.value - chance) / (1 - chance))
    assert own.overall.value == pytest.approx(np.mean([task.above_chance for task in own.tasks.values()]))
    assert rows["ensemble, large leaves"].tasks["sensitivity"] == sensitivity           # no forest there
    assert rows["ensemble, large leaves"].tasks["clustering"].learner == "leaves"
    assert sensitivity.score.value > max(rows[f"{name}, held out"].tasks["sensitivity"].score.value for name in MEMBERS)


def test_what_is_added(known):
    adds = added_values(known)
    assert set(adds) == {*MEMBERS, *OTHERS}
    assert all(set(one) == TABLES for one in adds.values())
    for table in ("axis", "robustness", "sensitivity", "human_ordering"):
        assert adds["constant"][table].value == pytest.approx(0, abs=1e-6)           # both sides have an intercept
    assert adds["cosine"]["human_ordering"].low is not None
    assert adds["jaccard"]["clustering"].splits == 2
    assert (adds["jaccard"]["comparisons"].learner, adds["jaccard"]["comparisons"].splits) == ("random forest, leaves of at least 10", 4)     # a small table


def test_a_key_names_what_it_follows_from(known, scored, smoke):
    def keys(changed: str | None) -> dict[tuple[str, str], str]:
        these = [replace(one, stored=replace(one.stored, digest="other")) if one.name == changed else one for one in scored]
        return {(job.title, job.table): job.key for job in Baselines(smoke, these, {}).jobs()}
    own = keys(None)
    assert len(set(own.values())) == len(own) == 57
    assert {job for job, key in keys("constant").items() if own[job] != key} == {("constant", table) for table in TABLES}
    assert all(own[job] != key for job, key in keys("rouge").items())


def test_without_a_member_there_is_none_and_it_is_said(known, scored, smoke, path):
    four = [one for one in scored if one.name != "rouge"]
    reason = Baselines(smoke, four, known.kept).reason()
    assert reason == "some test units of rouge have not been run; run `touchstone run rouge --suite smoke`"
    assert Baselines(smoke, four, known.kept).learned() == []
    opened = Store(path)
    with pytest.raises(TouchstoneError, match="some test units of rouge have not been run"):
        compute_baselines(smoke, four, opened, NoProgress())
    opened.close()


def test_the_board_and_the_metrics_pages_show_them_and_they_are_not_ranked(store, smoke):
    snapshot = of_store(smoke, store)
    page = render_table(snapshot, Links(), "text")
    assert page.count("ensemble, baseline, not ranked") == 8
    assert "ensemble" not in [entry.name for entry in snapshot.entries("text")]
    metric = render_metric(snapshot, Links(), "length_difference")
    assert "Contribution to an ensemble" in metric
    worth = snapshot.entry("length_difference", "text").adds["sensitivity"]
    assert f"{worth.value:+.3f}" in metric


def test_a_release_holds_them(store, smoke, tmp_path):
    made = release("2026.1", smoke, store, tmp_path)
    rows = list(csv.DictReader(io.StringIO((made.folder / releases.ENSEMBLES).read_text())))
    snapshot = of_release(made)
    first = snapshot.report.ensembles.rows[0]
    written = {(row["row"], row["task"]): row for row in rows}
    assert float(written["ensemble", "all"]["score"]) == first.overall.value
    assert float(written["added by jaccard", "axis"]["score"]) == snapshot.entry("jaccard", "text").adds["axis"].value
    assert releases.ENSEMBLES in (made.folder / releases.SUMS).read_text()


def test_the_command_prints_what_is_kept(store, path, capsys):
    analyse.baselines(suite="smoke", store=str(path), as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["ensembles"]["missing"] == 0
    assert set(found["adds"]) == {*MEMBERS, *OTHERS}
    analyse.baselines(suite="smoke", store=str(path), as_json=False)
    assert "ensemble, general" in capsys.readouterr().out


def test_pairs_that_share_a_text_are_one_group_unless_that_is_half_of_a_dataset():
    chained = np.array([[0, 1], [1, 2], [3, 4], [5, 6], [7, 8], [9, 10]])
    groups = met(chained, np.array(["a"] * 6))
    assert (groups[:, 0] == groups[:, 1]).all()
    assert [len(set(groups[rows, 0])) for rows in ([0, 1], [2, 3, 4, 5])] == [1, 4]
    every = np.array([(11 + i, 11 + j) for i in range(5) for j in range(i)])
    both = met(np.concatenate([chained, every]), np.array(["a"] * 6 + ["b"] * len(every)))
    assert (both[6:] == every).all()                        # all tied together: a text is a group
    assert not set(both[:6].ravel().tolist()) & set(both[6:].ravel().tolist())


def test_the_table_of_human_ordering_scores_what_the_task_says(scored):
    table, = training_tables(scored, "human_ordering")
    ones = np.ones(len(table.target))
    for column, one in enumerate(scored):
        assert table.score(table.answers[:, column], ones) == pytest.approx(one.tasks["human_ordering"].score.value, abs=1e-6), one.name


def test_a_ranking_is_the_same_with_and_without_them(store, before, smoke):
    ranking = rank_suite(store, smoke)["text"]
    assert [place.scored.name for place in ranking.places] == [entry.name for entry in before.entries("text")]
