"""Commands that rank metrics among the published ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import PROJECT, SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.cli.serving.serve import load_snapshot
from leaderboard.figures.registry import draw_figure
from leaderboard.publishing.release import Release, read_release, release
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import Results
from tests.support.command import touchstone

pytestmark = pytest.mark.cli

PUBLISHED = ["word_overlap", "containment", "vocabulary_jsd", "random"]
EXAMPLE = PROJECT / "examples" / "shared_words.py"


@pytest.fixture(scope="module")
def published_store(smoke, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("published") / "store.sqlite"
    run_suite(select_entries(PUBLISHED, SUBMISSIONS), smoke, path, jobs=2, progress=NoProgress())
    return path


@pytest.fixture(scope="module")
def latest(smoke, published_store, tmp_path_factory) -> Release:
    return release("2026.1", smoke, Store(published_store, read_only=True), tmp_path_factory.mktemp("releases"))


@pytest.fixture(autouse=True)
def published(latest, monkeypatch) -> Release:
    monkeypatch.setattr("leaderboard.publishing.release.FOLDER", latest.folder.parent)
    return latest


@pytest.fixture(scope="module")
def own(latest, tmp_path_factory) -> Path:
    """A store in which only the example was run."""
    path = tmp_path_factory.mktemp("own") / "store.sqlite"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leaderboard.publishing.release.FOLDER", latest.folder.parent)
        done = touchstone("run", EXAMPLE, "--suite", "smoke", "--store", path)
    assert done.returncode == 0, done.stderr
    assert "shared_words: rank " in done.stdout
    assert "of 4 corpus metrics (release 2026.1)" in done.stdout
    assert "touchstone serve" in done.stdout
    return path


def test_new_metric_gets_the_rank_that_it_has_in_a_run_of_all(own, published_store, smoke, tmp_path):
    together = tmp_path / "all.sqlite"
    run_suite([*PUBLISHED, EXAMPLE], smoke, together, jobs=2, progress=NoProgress())
    expected = {(track, entry.scored.name): (entry.rank, entry.interval and list(entry.interval))
                for track, ranking in rank_suite(together, smoke).items() for entry in ranking.places}
    printed = json.loads(touchstone("run", EXAMPLE, "--suite", "smoke", "--store", own, "--json").stdout)
    assert printed["release"] == "2026.1"
    (position,) = printed["positions"]
    assert (position["rank"], position["rank_interval"]) == expected["corpus", "shared_words"]
    assert position["of"] == sum(rank is not None for (track, _), (rank, _) in expected.items() if track == "corpus")
    assert [task["task"] for task in position["tasks"]] == [
        score.task.name for score in rank_suite(together, smoke)["corpus"].ranked[0].scored.ranked_tasks]


def test_run_asks_only_what_is_new_and_a_named_metric_anew(own, smoke, tmp_path):
    assert [stored.entry.name for stored in Store(own, read_only=True).entries()] == ["shared_words"]
    done = touchstone("run", "vocabulary_jsd", "--suite", "smoke", "--store", tmp_path / "s.sqlite")
    assert "vocabulary_jsd: rank " in done.stdout
    (stored,) = Store(tmp_path / "s.sqlite", read_only=True).entries()
    assert len(Store(tmp_path / "s.sqlite", read_only=True).outcomes(stored.digest, smoke.observation_types)) == sum(
        question.task.accepts(stored.entry) for question in smoke.task_units)


def test_name_of_a_published_metric_is_refused(write, tmp_path):
    done = touchstone("run", write("jaccard", "def distance(p, q):\n    return 0.0\n"), "--suite", "smoke",
                      "--store", tmp_path / "s.sqlite")
    assert done.returncode == 2
    assert 'the name "jaccard" is taken by submissions/jaccard.py; choose another name.' in " ".join(done.stderr.split())
    assert not (tmp_path / "s.sqlite").exists()


def test_another_version_of_the_suite_is_ranked_alone_with_the_reason(tmp_path):
    content = (PROJECT / "tasks" / "suites" / "smoke.toml").read_text()
    changed = tmp_path / "smoke.toml"
    changed.write_text(content.replace("seed = ", "seed = 1", 1))
    done = touchstone("run", "random", "--suite", changed, "--only", "axioms", "--store", tmp_path / "s.sqlite")
    assert "Not ranked among the published metrics: The release 2026.1 has results of smoke@" in " ".join(done.stderr.split())
    assert "release 2026.1" not in done.stdout


def test_names_and_all_exclude_each_other(tmp_path):
    done = touchstone("run", "random", "--all", "--store", tmp_path / "s.sqlite")
    assert (done.returncode, "Name metrics or use --all, not both." in done.stderr) == (2, True)


def test_bundle_says_where_the_metric_stands(own, tmp_path):
    done = touchstone("submit", EXAMPLE, "--suite", "smoke", "--store", own, "--to", tmp_path)
    assert done.returncode == 0, done.stderr
    bundle = json.loads((tmp_path / "shared_words" / "bundle.json").read_text())
    printed = json.loads(touchstone("run", EXAMPLE, "--suite", "smoke", "--store", own, "--json").stdout)
    assert bundle["release"] == "2026.1"
    assert bundle["positions"] == printed["positions"]
    again = touchstone("rerun", tmp_path / "shared_words", "--store", tmp_path / "again.sqlite")
    assert f"rank {printed['positions'][0]['rank']} of {printed['positions'][0]['of']}" in again.stdout


def test_reading_commands_show_the_store_among_the_published_metrics(own):
    named = ["--suite", "smoke", "--store", own]
    shown = touchstone("show", *named)
    assert all(name in shown.stdout for name in [*PUBLISHED, "shared_words"])
    assert "  shared_words (yours)  " in shown.stdout
    assert shown.stdout.count("yours") == 1
    printed = json.loads(touchstone("show", *named, "--json").stdout)
    assert printed["release"] == "2026.1"
    assert {entry["name"] for entry in printed["entries"]} == {*PUBLISHED, "shared_words", "random"}
    assert "Corpus metrics  rank" in touchstone("card", "shared_words", *named).stdout
    assert "difference" in touchstone("compare", "shared_words", "vocabulary_jsd", *named).stdout
    assert "shared_words" in touchstone("export", *named).stdout


def test_commands_that_need_answers_use_those_of_the_latest_release(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.base.paths.default_store", lambda: str(tmp_path / "none.sqlite"))
    explained = touchstone("explain", "word_overlap", "the sky", "the sky over it", "--suite", "smoke")
    assert explained.returncode == 0, explained.stderr
    assert explained.stderr.startswith("There is no results store yet; using the release 2026.1.")
    drawn = touchstone("figure", "separation", "word_overlap", "containment", "--suite", "smoke", "--to", tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert list(tmp_path.glob("separation*.html"))


def test_figures_of_a_release_have_the_values_of_its_store(published_store, published, smoke):
    entries = {}
    for source in ("store", "release"):
        results = Results(smoke, published_store) if source == "store" else Results(smoke, None, published.results(smoke))
        scored = [entry for entry in results.scored if entry.name in ("word_overlap", "containment")]
        entries[source] = sorted((str(trace.name), list(trace.x), list(trace.y)) for trace in draw_figure("separation", scored).data
                                 if trace.y is not None)
    assert entries["store"] == entries["release"]
    assert entries["store"]


def test_old_releases_say_that_they_have_no_answers(monkeypatch):
    monkeypatch.setattr("leaderboard.publishing.release.FOLDER", PROJECT / "leaderboard" / "releases")
    done = touchstone("figure", "separation", "energy", "--release", PROJECT / "leaderboard" / "releases" / "2026.2")
    assert done.returncode == 2
    assert "The release 2026.2 has" in done.stderr


def test_a_release_combines_the_store_and_the_published_metrics(own, tmp_path):
    named = ["--suite", "smoke", "--store", own]
    assert touchstone("release", "2026.2", *named, "--to", tmp_path).returncode == 0
    combined = read_release("2026.2", tmp_path)
    assert {entry.name for entry in combined.report.entries} == {*PUBLISHED, "shared_words"}
    assert touchstone("release", "2026.3", *named, "--only-store", "--to", tmp_path).returncode == 0
    assert {entry.name for entry in read_release("2026.3", tmp_path).report.entries} == {"shared_words"}


def test_board_shows_one_metric_beside_the_published_ones(own, smoke):
    snapshot, _ = load_snapshot("smoke", str(own), None, [str(EXAMPLE)])
    assert {entry.name for entry in snapshot.report.entries} == {*PUBLISHED, "shared_words"}
    assert snapshot.title == f"your results and release 2026.1 · {snapshot.report.suite.label}"
    with pytest.raises(TouchstoneError, match='has no results of "zipf" on the suite smoke. Run `touchstone run zipf --suite smoke`'):
        load_snapshot("smoke", str(own), None, ["zipf"])
