"""Scores are kept in a store until the outcomes, the versions or the code change."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.publishing.views import StoreView
from leaderboard.scoring import kept_scores, results
from leaderboard.scoring import ranking as ranking_module
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import Results

NAMES = ["containment", "length_difference"]


@pytest.fixture
def store(smoke, tmp_path) -> Store:
    """A store whose scores are kept."""
    run_suite(select_entries(NAMES, SUBMISSIONS), smoke, tmp_path / "store.sqlite", jobs=2, progress=NoProgress())
    opened = Store(tmp_path / "store.sqlite")
    assert {entry.name for entry in Results(smoke, opened).scored} == set(NAMES)
    return opened


@pytest.fixture
def computed(monkeypatch) -> list[str]:
    """The tasks whose scores are computed, not read."""
    tasks: list[str] = []

    def record(task, units, outcomes, plan=None):
        tasks.append(task.name)
        return score_task(task, units, outcomes, plan)

    score_task = results.score_task
    monkeypatch.setattr(results, "score_task", record)
    return tasks


def values(scored):
    return {entry.name: {name: (score.score, dict(score.measures), score.by_unit, score.marks, score.failures, score.asked)
                         for name, score in entry.tasks.items()} for entry in scored}


def test_kept_scores_are_the_computed_ones(store, smoke, computed):
    kept = values(Results(smoke, store).scored)
    assert computed == []
    with closing(sqlite3.connect(store.name)) as database:
        database.execute("DELETE FROM derived")
        database.commit()
    assert values(Results(smoke, store).scored) == kept
    assert sorted(set(computed)) == sorted(task.name for task in smoke.tasks)


def test_observations_of_kept_scores_are_read_from_the_store(store, smoke, computed):
    (containment,) = (entry for entry in Results(smoke, store).scored if entry.name == "containment")
    task = containment.tasks["human_ordering"]
    assert task.observed == {name: outcome.observation for name, outcome in
                             Results(smoke, store).outcomes(containment.stored.digest, task.task).items()}
    assert len(task.observed) == task.answered > 0
    assert list(task.observed) == [unit.id for unit in smoke.units(task.task)]
    assert computed == []


def test_new_outcomes_are_scored_again(store, smoke, computed):
    entries = select_entries(["containment"], SUBMISSIONS)
    run_suite(entries, smoke, store.name, only=["alignment"], rerun=True, progress=NoProgress())
    before = values(Results(smoke, Store(store.name, read_only=True)).scored)
    assert computed == ["alignment"]
    assert before == values(Results(smoke, store).scored)


def test_other_code_scores_everything_again(store, smoke, computed, monkeypatch):
    monkeypatch.setattr(kept_scores, "code_digest", lambda *_: "another version")
    assert Results(smoke, store).scored
    assert len(computed) == sum(question.accepts(stored.entry) for question in smoke.tasks for stored in store.entries())


def test_stores_opened_for_reading_keep_nothing(store, smoke, computed):
    with closing(sqlite3.connect(store.name)) as database:
        database.execute("DELETE FROM derived")
        database.commit()
    assert Results(smoke, Store(store.name, read_only=True)).scored
    once = len(computed)
    assert Results(smoke, Store(store.name, read_only=True)).scored
    assert len(computed) == 2 * once > 0


def test_scores_computed_before_an_interruption_are_kept(store, smoke, computed, monkeypatch):
    """The scores of each entry are kept when they are complete, so that memory is needed for those of one entry only."""
    with closing(sqlite3.connect(store.name)) as database:
        database.execute("DELETE FROM derived")
        database.commit()
    compute, first = results.score_task, store.entries()[0]
    of_first = sum(task.accepts(first.entry) for task in smoke.tasks)

    def stop_at_the_second_entry(*arguments):
        if len(computed) == of_first:
            raise KeyboardInterrupt
        return compute(*arguments)
    monkeypatch.setattr(results, "score_task", stop_at_the_second_entry)
    with pytest.raises(KeyboardInterrupt):
        _ = Results(smoke, store).scored
    monkeypatch.setattr(results, "score_task", compute)
    assert len(computed) == of_first
    assert len(Results(smoke, store).scored) == len(NAMES)
    assert len(computed) == 2 * of_first


@pytest.fixture
def compared(store, smoke) -> Store:
    """A store with two ranked entries."""
    run_suite(select_entries(["jaccard"], SUBMISSIONS), smoke, store.name, jobs=2, progress=NoProgress())
    return store


def all_tests(rankings):
    return [tests for ranking in rankings.values() for tests in (ranking.parted, *ranking.task_tests.values())]


def test_kept_tests_are_the_computed_ones(compared, smoke, monkeypatch):
    computed = all_tests(rank_suite(Results(smoke, compared), smoke))
    StoreView(Results(smoke, compared)).keep()
    for name in ("pairwise_tests_of_means", "pairwise_tests_of_replicates", "resampled_mean"):
        monkeypatch.setattr(ranking_module, name, None)
    kept = all_tests(rank_suite(Store(compared.name, read_only=True), smoke))
    assert [one is None for one in kept] == [one is None for one in computed]
    assert any(one is not None for one in kept)
    assert all(np.array_equal(one.p, other.p) and np.array_equal(one.difference, other.difference)
               for one, other in zip(kept, computed, strict=True) if one is not None)


def test_tests_of_other_scores_are_computed_again(compared, smoke):
    StoreView(Results(smoke, compared)).keep()
    with closing(sqlite3.connect(compared.name)) as database:
        stamped = database.execute("SELECT key, value FROM derived WHERE kind LIKE 'tests %'").fetchall()
    assert stamped
    run_suite(select_entries(["dice_bigrams"], SUBMISSIONS), smoke, compared.name, jobs=2, progress=NoProgress())
    StoreView(Results(smoke, compared)).keep()
    with closing(sqlite3.connect(compared.name)) as database:
        again = dict(database.execute("SELECT key, value FROM derived WHERE kind LIKE 'tests %'").fetchall())
    assert all(json.loads(again[key])["stamp"] != json.loads(value)["stamp"] for key, value in stamped)
