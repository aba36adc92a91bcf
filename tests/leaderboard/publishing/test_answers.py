"""The answers of a release: rankings from its files alone, and a new entry among the published ones."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.publishing.answers import ANSWERS, ARRAYS, MEASURES, published_results
from leaderboard.publishing.release import FOLDER, Release, read_release, release
from leaderboard.scoring.insights import agreement
from leaderboard.scoring.ranking import Ranking, rank_suite
from leaderboard.scoring.results import Results

NAMES = ["jaccard", "containment", "dice_bigrams", "levenshtein", "rouge1", "length_difference"]


@pytest.fixture(scope="module")
def store(smoke, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("store") / "store.sqlite"
    run_suite(select_entries(NAMES, SUBMISSIONS), smoke, path, jobs=2, progress=NoProgress())
    return path


@pytest.fixture(scope="module")
def published(smoke, store, tmp_path_factory) -> Release:
    return release("2026.1", smoke, Store(store, read_only=True), tmp_path_factory.mktemp("releases"))


def described(rankings: dict[str, Ranking]) -> dict[str, object]:
    """Everything that a ranking says of its entries, exactly."""
    return {track: [(
        entry.scored.name, entry.rank, entry.interval, entry.reason, asdict(entry.scored.overall_estimate),
        {name: (score.score, dict(score.measures), score.by_unit, score.failures, score.planned, score.asked, score.marks)
         for name, score in entry.scored.tasks.items()}) for entry in ranking.places] for track, ranking in rankings.items()}


def test_release_alone_gives_the_ranking_of_its_store(published, store, smoke):
    expected = rank_suite(Store(store, read_only=True), smoke)
    alone = rank_suite(Results(smoke, None, published_results(published, smoke)), smoke)
    assert len(alone) == 2
    assert described(alone) == described(expected)
    for track, ranking in expected.items():
        if ranking.parted is not None:
            assert np.array_equal(alone[track].parted.p, ranking.parted.p)
        assert agreement([entry.scored for entry in alone[track].places]) == agreement([entry.scored for entry in ranking.places])


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_as_a_new_one_gets_its_published_place(name, published, store, smoke, tmp_path):
    """The release without the entry, and a store with nothing but the entry: the ranking of all."""
    reduced = tmp_path / "2026.1"
    shutil.copytree(published.folder, reduced)
    table = pq.read_table(reduced / "entries.parquet")
    pq.write_table(table.filter([other != name for other in table["name"].to_pylist()]), reduced / "entries.parquet")
    run_suite(select_entries([name], SUBMISSIONS), smoke, tmp_path / "own.sqlite", jobs=2, progress=NoProgress())
    without = published_results(Release("2026.1", reduced, published.report, published.errata), smoke)
    assert name not in {stored.entry.name for stored in without.entries()}
    both = Results(smoke, tmp_path / "own.sqlite", without)
    expected, merged = rank_suite(Store(store, read_only=True), smoke), rank_suite(both, smoke)
    for track, ranking in expected.items():
        places = [(entry.scored.name, entry.rank, entry.interval) for entry in merged[track].places]
        assert places == [(entry.scored.name, entry.rank, entry.interval) for entry in ranking.places]


def test_outcomes_of_the_store_complement_the_published_ones(published, smoke, tmp_path):
    path = tmp_path / "store.sqlite"
    run_suite(select_entries(["jaccard"], SUBMISSIONS), smoke, path, only=["axioms"], progress=NoProgress())
    (alone,) = (entry for entry in Results(smoke, path).scored if entry.name == "jaccard")
    assert not alone.tasks["alignment"].asked
    merged = next(entry for entry in Results(smoke, path, published_results(published, smoke)).scored if entry.name == "jaccard")
    assert all(score.complete for score in merged.tasks.values())
    assert merged.tasks["axioms"].measures == alone.tasks["axioms"].measures


def test_answers_are_those_of_the_store(published, store, smoke):
    results, opened = published_results(published, smoke), Store(store, read_only=True)
    for stored in opened.entries():
        expected = opened.outcomes(stored.digest, smoke.observation_types)
        if stored.entry.name in ("jaccard", "levenshtein"):          # members of the ensembles: with their arrays
            outcomes = results.outcomes(stored.digest, smoke.observation_types)
            assert list(outcomes) == [item.unit.id for item in smoke.task_units if item.unit.id in expected]
            for unit, outcome in outcomes.items():
                assert (outcome.status, outcome.failure) == (expected[unit].status, expected[unit].failure)
                for field, value in vars(expected[unit].observation or object.__new__(Plain)).items():
                    np.testing.assert_equal(getattr(outcome.observation, field), value)
        else:
            with pytest.raises(TouchstoneError, match=r"similarity matrices of cosine, .* only.*touchstone run"):
                results.outcomes(stored.digest, smoke.observation_types)


class Plain:
    """An object without attributes, for outcomes without an observation."""


def test_files_name_what_their_order_means(published, smoke):
    answers = pq.read_table(published.folder / ANSWERS).to_pandas()
    order = {item.unit.id: number for number, item in enumerate(smoke.task_units)}
    for _, rows in answers.groupby("entry", sort=False):
        assert rows["unit"].map(order).is_monotonic_increasing
    assert set(answers["track"]) == {"corpus", "text"}
    measures = pq.read_table(published.folder / MEASURES).to_pandas()
    assert {"distributionality", "convergence", "timing"} <= set(measures["task"])
    for row in published.replicates.itertuples():
        assert len(row.clusters) == len(row.left_out) == len(set(row.clusters))
    assert json.loads((published.folder / "derived.json").read_text()) == {"ensemble": {}}


def test_new_release_takes_over_published_answers(published, smoke, tmp_path):
    """A release from an empty store and the release before has the same ranking."""
    again = release("2026.2", smoke, Results(smoke, None, published_results(published, smoke)), tmp_path)
    first, second = (rank_suite(Results(smoke, None, published_results(one, smoke)), smoke) for one in (published, again))
    assert described(first) == described(second)
    assert sorted(path.name for path in again.folder.iterdir()) == sorted(path.name for path in published.folder.iterdir())


def test_damaged_answers_are_refused(published, tmp_path):
    shutil.copytree(published.folder, tmp_path / "2026.1")
    (tmp_path / "2026.1" / ARRAYS).unlink()
    with pytest.raises(TouchstoneError, match=r"2026\.1 was modified: the checksums of arrays\.parquet do not match"):
        read_release("2026.1", tmp_path)


def test_releases_without_answers_or_of_another_suite_say_why(published, smoke):
    with pytest.raises(TouchstoneError, match="has results of the suite core, not of smoke"):
        published_results(read_release("2026.2", FOLDER), smoke)
    changed = published.report.model_copy(update={"suite": published.report.suite.model_copy(update={"fingerprint": "f" * 64})})
    with pytest.raises(TouchstoneError, match="has results of smoke@ffffff; the tasks have changed since"):
        published_results(Release("2026.1", published.folder, changed, published.errata), smoke)
