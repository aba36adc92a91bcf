"""Scores are kept in a store until the outcomes, the versions or the code change."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.scoring import kept_scores, results
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
    monkeypatch.setattr(kept_scores, "code_digest", lambda: "another version")
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
