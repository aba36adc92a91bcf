"""The head of each page: title, description, canonical address, image and status."""

from __future__ import annotations

import pytest

from leaderboard.board.router import Library
from leaderboard.board.services.page_meta import PAGES, page_meta
from leaderboard.publishing.release import release
from tasks.suite_files import load_suite
from tests.support.serving import HOSTILE, report_values, with_values

BASE = "http://board/"


@pytest.fixture(scope="module")
def library(board_snapshot, board_folder, tmp_path_factory) -> Library:
    from harness.results.store import Store

    folder = tmp_path_factory.mktemp("releases")
    release("2031.1", load_suite(str(board_folder / "ten.toml")), Store(board_folder / "store.sqlite", read_only=True), folder)
    return Library(board_snapshot, folder=folder)


@pytest.fixture(autouse=True)
def no_public_site(monkeypatch) -> None:
    monkeypatch.delenv("TOUCHSTONE_SITE", raising=False)


def test_every_page_has_its_own_title_and_description(library):
    metas = [page_meta(library, path, {"name": "energy", "metrics": "energy,zipf"}, BASE) for path in PAGES]
    assert all(meta.status == 200 for meta in metas)
    assert all(meta.title.startswith("Touchstone") for meta in metas)
    assert len({meta.title for meta in metas}) == len({meta.description for meta in metas}) == len({meta.canonical for meta in metas}) == len(PAGES)
    assert all(40 <= len(meta.description) <= 300 for meta in metas)
    assert all(meta.canonical.startswith(BASE) and meta.image.startswith(f"{BASE}card.png") for meta in metas)


def test_descriptions_are_derived_from_the_data(library, board_snapshot):
    ranked = board_snapshot.ranked_entries("corpus")
    assert f"{ranked[0].name} leads {len(ranked)} corpus metrics" in page_meta(library, "/", {}, BASE).description
    energy = board_snapshot.entry("energy")
    assert f"{energy.title}: rank {energy.rank} of {len(ranked)} corpus metrics" in page_meta(library, "/metric", {"name": "energy"}, BASE).description
    assert "not ranked among" in page_meta(library, "/metric", {"name": "random"}, BASE).description


@pytest.mark.parametrize(("path", "query", "canonical", "image"), [
    ("/", {}, "", ""), ("/", {"track": "corpus", "axis": "overall", "q": "words", "sort": "name"}, "", ""),
    ("/metric", {"name": "energy", "against": "zipf"}, "metric?name=energy", "?metric=energy"), ("/metric/", {"name": "energy"}, "metric?name=energy", "?metric=energy"),
    ("/compare", {"metrics": "energy,zipf"}, "compare?metrics=energy%2Czipf", ""), ("/tasks", {"release": "2031.1"}, "tasks?release=2031.1", "?release=2031.1"),
    ("/metric", {"release": "2031.1", "name": "energy"}, "metric?name=energy&release=2031.1", "?metric=energy&release=2031.1"), ("/map", {"suite": "ten"}, "map", "")])
def test_canonical_addresses(path, query, canonical, image, library):
    meta = page_meta(library, path, query, BASE)
    assert (meta.status, meta.canonical, meta.image) == (200, f"{BASE}{canonical}", f"{BASE}card.png{image}")


@pytest.mark.parametrize(("path", "query", "status", "sentence"), [
    ("/metric", {"name": "enrgy"}, 404, 'Did you mean "energy"?'), ("/metric", {}, 404, "names no metric"), ("/nope", {}, 404, "no page"),
    ("/", {"release": "1999.1"}, 404, "no release"), ("/", {"suite": "nope"}, 404, "no results of a suite"), ("/", {"track": "text"}, 404, "there are corpus"),
    ("/", {"axis": "nope"}, 404, "no axis"), ("/compare", {"metrics": "energy,nope"}, 404, 'no metric "nope"'), ("/about", {"release": HOSTILE}, 404, "no release"),
    ("/", {"order": "weights", "w.known_similarity": "-1"}, 422, "Weights must be"), ("/", {"order": "weights", "w.known_similarity": "0"}, 422, "Weights must be"),
    ("/", {"order": "weights", "w.known_similarity": "2"}, 200, "leads"), ("/", {"name": "x" * 10_000_000}, 200, "leads"),
    ("/metric", {"name": "x" * 10_000_000}, 404, "no metric")])
def test_status(path, query, status, sentence, library):
    meta = page_meta(library, path, query, BASE)
    assert meta.status == status
    assert sentence in meta.description
    assert max(map(len, map(str, meta))) < 500


def test_a_board_without_results_is_missing_only_where_results_are_shown(board_snapshot):
    empty = Library(with_values(board_snapshot, report_values(board_snapshot) | {"entries": []}))
    assert {path: page_meta(empty, path, {"name": "energy"}, BASE).status for path in PAGES} == {
        path: 404 if path in ("/", "/metric", "/compare", "/choose", "/map", "/difference") else 200 for path in PAGES}
    assert "touchstone run" in page_meta(empty, "/", {}, BASE).description


def test_the_public_site_precedes_the_address_of_the_request(library, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_SITE", "https://public.example/board")
    meta = page_meta(library, "/tasks", {}, BASE)
    assert (meta.canonical, meta.image) == ("https://public.example/board/tasks", "https://public.example/board/card.png")


def test_hostile_titles_are_bounded_plain_text(board_snapshot):
    values = report_values(board_snapshot)
    for entry in values["entries"]:
        entry |= {"title": f"{HOSTILE}\x00\u202e\n" * 1_000, "summary": HOSTILE * 1_000}
    meta = page_meta(Library(with_values(board_snapshot, values)), "/metric", {"name": "energy"}, BASE)
    assert len(meta.description) <= 300
    assert meta.description.isprintable()
