"""Results of a store and of a release: the same scores, cards and comparisons; old releases show what they contain."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.results.store import Store
from leaderboard.board.snapshot import of_store
from leaderboard.cli.console import card_view, ranking_tables
from leaderboard.publishing import release as releases
from leaderboard.publishing import views
from leaderboard.publishing.citations import export
from leaderboard.publishing.release import read_release, release
from leaderboard.publishing.views import ReleaseView, StoreView
from leaderboard.report.schema import DescribedEntry, Standing
from leaderboard.scoring.custom_order import order_by_borda, order_by_weights
from leaderboard.scoring.results import Results
from tasks.suite_files import load_suite

DESCRIBED = set(DescribedEntry.model_fields)


@pytest.fixture(scope="module")
def both(board_folder, tmp_path_factory) -> tuple[StoreView, ReleaseView]:
    """Return the results of a store and of the release that is written from it."""
    suite, store = load_suite(str(board_folder / "ten.toml")), Store(board_folder / "store.sqlite", read_only=True)
    return StoreView(Results(suite, store)), ReleaseView(release("2026.1", suite, store, tmp_path_factory.mktemp("releases")))


def test_a_release_has_the_scores_of_its_store(both):
    stored, released = both
    assert released.suite == stored.suite
    assert released.tracks() == stored.tracks() == ["corpus"]
    assert released.overview.model_dump() == stored.overview.model_dump()
    assert released.ranked_scores("corpus") == stored.ranked_scores("corpus")
    assert released.pareto_optimal("corpus") == stored.pareto_optimal("corpus")
    assert released.agreement("corpus") == stored.agreement("corpus")


def test_a_release_describes_the_entries_of_its_store(both):
    stored, released = both
    for name in stored.overview.standings("corpus"):
        (of_store,), (of_release,) = stored.describe(name), released.describe(name)
        assert of_release.model_dump(include=DESCRIBED) == of_store.model_dump()
        assert released.runs(of_release) == [{**run, "layers": list(run["layers"])} for run in stored.runs(of_store)]
    assert released.describe("hostile")[0].tasks["known_similarity"].units.failed > 0
    assert stored.describe("nothing") == released.describe("nothing") == []


def test_a_release_compares_as_its_store_does(both):
    pairs = [("energy", "zipf"), ("zipf", "energy"), ("energy", "random"), ("hostile", "jaccard")]
    for a, b in pairs:
        of_store, of_release = (found.compare("corpus", a, b).model_dump() for found in both)
        assert of_release.pop("p_of_overall") == pytest.approx(of_store.pop("p_of_overall"), abs=1e-5)     # rounded in releases
        assert of_release == of_store
    assert both[0].compare("corpus", "energy", "zipf").p_of_overall is not None


def test_only_entries_with_all_test_units_are_compared(both):
    released = both[1]
    changed = released.report.model_copy(update={"entries": [
        entry.model_copy(update={"tasks": {task: result.model_copy(update={"units": result.units.model_copy(update={"asked": 9})})
                                           for task, result in entry.tasks.items()}}) if entry.name == "zipf" else entry
        for entry in released.report.entries]})
    partial = ReleaseView(releases.Release("2026.1", released.release.folder, changed, released.release.errata))
    assert set(released.samples) - set(partial.samples) == {("zipf", "known_similarity")}


def test_a_store_builds_no_report_for_scores_cards_and_comparisons(both, monkeypatch):
    stored = StoreView(both[0].results)
    monkeypatch.setattr(views, "build_report", lambda *_: pytest.fail("the report is built"))
    assert stored.overview.ranked("corpus")
    assert stored.describe("energy")
    assert stored.compare("corpus", "energy", "zipf")
    assert stored.pareto_optimal("corpus") == []


@pytest.mark.parametrize("name", releases.releases())
def test_an_old_release_exports_the_rows_that_it_contains(name):
    found = ReleaseView(read_release(name))
    exported = export(found, found.tracks(), "csv", None)
    contained = (found.release.folder / releases.SCORES).read_text()
    assert sorted(exported.splitlines()) == sorted(contained.splitlines())


@pytest.mark.parametrize("name", releases.releases())
def test_an_old_release_has_tables_and_cards(name):
    found = ReleaseView(read_release(name))
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(ranking_tables(found, found.tracks()))
    for entry in (entry for entry in found.overview.entries if entry.rank is not None):
        console.print(card_view(found.describe(entry.name), found.suite))
    text = console.file.getvalue()
    assert all(f"{entry.name}  {entry.title}" in text for entry in found.overview.entries if entry.rank is not None)
    assert "Székely and Rizzo 2013" in text
    for track in found.tracks():
        weights = {part.task: 1 / part.scale for part in found.suite.headline(track).parts}      # an axis divides by its constants
        mean_weight = sum(weights.values()) / len(weights)
        orders = [order_by_borda(found.ranked_scores(track)),
                  *order_by_weights({track: found.ranked_scores(track, above_chance=True)}, weights).values()]
        entries = {entry.name: entry for entry in found.report.entries if entry.track == track and entry.rank is not None}
        assert all(entries.keys() == order.keys() for order in orders)
        for entry in entries.values():
            assert orders[0][entry.name][1] == pytest.approx(entry.borda)
            assert orders[1][entry.name][1] * mean_weight == pytest.approx(entry.overall_above_chance)


def test_the_overview_of_some_entries_keeps_their_scores(both):
    overview = both[1].overview
    part = overview.of_tracks(["corpus"], {"zipf"})
    assert [entry.name for entry in part.entries] == ["zipf"]
    assert overview.of_tracks([]).entries == []
    assert set(part.model_dump()["entries"][0]) == set(Standing.model_fields)


def test_a_store_is_shown_among_the_metrics_of_the_latest_release(tmp_path):
    """The release lacks the similarity matrices of most metrics, so the report must not need them."""
    suite = load_suite("core")
    published, reason = releases.find_published(suite)
    assert reason is None
    Store(tmp_path / "store.sqlite").close()
    snapshot = of_store(suite, Store(tmp_path / "store.sqlite", read_only=True), published)
    latest = read_release().report
    assert [(entry.name, entry.rank) for entry in snapshot.report.entries] == [(entry.name, entry.rank) for entry in latest.entries]
    assert snapshot.report.quality["text"].verdict("clustering").admitted
