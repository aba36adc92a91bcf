"""The board in a browser: filters, weights and columns of the table; downloads; every page; invalid addresses."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from harness.results.store import Store
from leaderboard.board.components.layout import PAGES
from leaderboard.board.router import Library
from leaderboard.board.snapshot import Snapshot, of_store
from leaderboard.publishing.release import release
from tasks.registry import TASKS
from tasks.suite_files import load_suite
from tests.support.serving import names, report_values, served, synthetic, watched, with_values

WIDTHS = {"desktop": (1280, 900), "phone": (390, 800)}


@pytest.fixture(scope="module")
def two_tasks(board_snapshot) -> Snapshot:
    """Return the snapshot with costs and a second ranked task, whose chance is 0.5 and on which a baseline scores high."""
    facts = report_values(board_snapshot)
    first_task = facts["suite"]["tasks"][0]
    facts["suite"]["tasks"] += [{**first_task, "name": "alignment", "title": "Alignment", "chance": 0.5},
                                {**first_task, "name": "timing", "title": "Time", "ranked": False, "measures": {"cost_in_chi": "times chi"},
                                 "presentation": TASKS["timing"].info.presentation}]
    facts["gameable"] = {"corpus": {"alignment": ["random"]}}
    raw = {"energy": 0.6, "zipf": 0.9, "jaccard": 0.75}
    for entry in facts["entries"]:
        first, score = entry["tasks"]["known_similarity"], raw.get(entry["name"], 0.5)
        entry["tasks"]["alignment"] = {**first, "chance": 0.5, "above_chance": 2 * score - 1,
                                       "score": {"value": score, "low": None, "high": None, "units": 10}}
        entry["tasks"]["timing"] = {**first, "score": None, "above_chance": None, "failures": [], "measures": {
            "cost_in_chi": {"value": {"energy": 3.0, "zipf": 0.5}.get(entry["name"], 30.0), "low": None, "high": None, "units": 2}}}
    return with_values(board_snapshot, facts)


@pytest.fixture(scope="module")
def library(two_tasks, board_snapshot, board_folder, tmp_path_factory) -> Library:
    """Return the snapshot with another suite and two releases, one of them modified."""
    folder = tmp_path_factory.mktemp("releases")
    suite, store = load_suite(str(board_folder / "ten.toml")), Store(board_folder / "store.sqlite", read_only=True)
    for name in ("2031.1", "2031.2"):
        release(name, suite, store, folder)
    (folder / "2031.2" / "scores.csv").write_text("changed")
    return Library(two_tasks, {"other": lambda: board_snapshot}, folder)


@pytest.fixture(scope="module")
def address(library) -> Iterator[str]:
    with served(library) as where:
        yield where


@pytest.fixture
def page(browser, address) -> Iterator[object]:
    with watched(browser, address, expected="status of 4") as opened:
        yield opened


def open_board(page, address: str, query: str = "") -> list[str]:
    page.goto(f"{address}/{query}")
    page.wait_for_selector("#ts-table td.name")
    return names(page)


@pytest.mark.parametrize(("query", "expected"), [
    ("?kind=text", {"jaccard"}), ("?kind=corpus", {"energy", "zipf"}), ("?input=embeddings", {"energy"}), ("?cost=1", {"zipf"}),
    ("?cost=10", {"zipf", "energy"}), ("?only=no-model", {"jaccard"}), ("?q=szekely", {"energy"}), ("?q=Sz%C3%A9kely+rizzo", {"energy"}),
    ("?q=embeddings;distance", {"energy"}), ("?kind=nonsense&cost=x", {"energy", "zipf", "jaccard"})])
def test_filters_are_read_from_the_address(query, expected, page, address):
    assert set(open_board(page, address, query)) == expected


def test_filters_are_kept_in_the_history(page, address):
    open_board(page, address)
    page.get_by_label("Kind", exact=True).select_option("corpus")
    page.get_by_label("Cost", exact=True).select_option("1")
    assert names(page) == ["zipf"]
    assert "kind=corpus" in page.url
    assert "cost=1" in page.url
    page.get_by_role("link", name="zipf", exact=True).click()
    page.wait_for_selector(".ts h1")
    page.go_back()
    page.wait_for_selector("#ts-table td.name")
    assert names(page) == ["zipf"]
    assert page.get_by_label("Kind", exact=True).input_value() == "corpus"


def test_scores_above_chance_and_marks_of_tasks(page, address):
    """By hand: .6 where chance is .5 is .2 above it."""
    open_board(page, address)
    cell = page.locator("#ts-table tr[data-name=energy] td[data-key=alignment]")
    assert cell.inner_text().split() == ["0.60", "0.20"]
    assert len(page.locator("#ts-table tr[data-name=energy] td[data-key=known_similarity]").inner_text().split()) == 1     # chance is 0
    assert page.locator("th[data-key=alignment] .mark").count() == 1
    assert page.locator("th[data-key=known_similarity] .mark").count() == 0
    assert page.locator("td[data-key='timing.cost_in_chi']").first.get_attribute("class") == "property"
    before = cell.evaluate("cell => cell.outerHTML")
    page.locator("summary", has_text="Columns").click()
    page.locator("[data-column=alignment]").uncheck()
    page.locator("[data-column=alignment]").check()                 # now the cell is from the script, not from the server
    assert cell.inner_text().split() == ["0.60", "0.20"]
    assert re.search(r'class="?(h\d)', before)[1] == cell.get_attribute("class")
    assert page.locator("th[data-key=alignment] .mark").count() == 1


def test_weights_change_ranks_bars_and_downloads(page, address, two_tasks):
    """By hand: with all weight on alignment, zipf (.8 above chance) is first, jaccard (.5) second, energy (.2) third."""
    open_board(page, address)
    page.locator("#ts-order").select_option("weights")
    page.locator("[data-weight=known_similarity]").fill("0")
    assert names(page) == ["zipf", "jaccard", "energy"]
    assert page.locator("#ts-table .rank b").all_inner_texts() == ["1", "2", "3"]
    assert page.locator("#ts-table .value").all_inner_texts() == ["0.80", "0.50", "0.20"]
    assert page.locator("th[data-key=overall]").inner_text() == "By my weights"
    content = downloaded(page, "csv")
    assert pd.read_csv(io.BytesIO(content))[["rank", "metric", "above_chance_by_weights"]].to_numpy().tolist() == [
        [1, "zipf", 0.8], [2, "jaccard", 0.5], [3, "energy", 0.2]]
    page.locator("[data-weight=alignment]").fill("0")               # all weights 0: a message, and the original order
    page.wait_for_selector("#ts-weights [role=alert]:visible")
    assert names(page) == [entry.name for entry in two_tasks.ranked_entries("corpus")]
    assert page.locator("th[data-key=overall]").inner_text() == "Overall score, 95% CI"
    assert page.reload().status == 422
    page.wait_for_selector("#ts-weights [role=alert]:visible")


def downloaded(page, form: str) -> bytes:
    if not page.locator(f"[data-download={form}]").is_visible():
        page.locator("summary", has_text="Download").click()
    with page.expect_download() as download:
        page.locator(f"[data-download={form}]").click()
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("form", ["csv", "parquet", "md", "tex"])
def test_downloads_contain_the_table_as_shown(form, page, address):
    """With sorting, filters, other columns and another order, names and ranks are those of the page."""
    open_board(page, address, "?order=task.alignment&without=lifted&sort=name&columns=alignment")
    assert names(page) == ["energy", "zipf"]
    assert page.locator("#ts-table .rank b").all_inner_texts() == ["3", "1"]
    content = downloaded(page, form)
    if form == "parquet":
        frame = pd.read_parquet(io.BytesIO(content))
        assert frame.metric.tolist() == ["energy", "zipf"]
        assert frame["rank"].tolist() == [3, 1]
        assert frame["Alignment"].tolist() == [0.6, 0.9]
        assert frame["Alignment, above chance"].tolist() == pytest.approx([0.2, 0.8])
    else:
        text = content.decode()
        assert text.index("energy") < text.index("zipf")
        assert "jaccard" not in text
        assert "Known similarity" not in text
        assert "0.2000" in text


def test_suite_and_release_are_selected(page, address):
    open_board(page, address)
    assert page.locator("th[data-key=alignment]").count() == 1
    picker = page.get_by_label("Suite and release")
    assert picker.locator("option").count() == 4
    picker.select_option("suite=other")
    page.wait_for_function("!document.querySelector('th[data-key=alignment]') && document.querySelector('#ts-table')")
    assert "suite=other" in page.url
    page.get_by_role("link", name="energy", exact=True).click()
    page.wait_for_selector(".ts h1")
    assert "suite=other" in page.url                                # kept from page to page
    page.get_by_label("Suite and release").select_option("release=2031.1")
    page.wait_for_selector("text=touchstone-2031.1-")                 # a release can be cited
    assert "suite=" not in page.url
    page.get_by_label("Suite and release").select_option("release=2031.2")
    page.wait_for_selector("text=was modified")
    page.go_back()
    page.wait_for_selector("text=touchstone-2031.1-")


@pytest.mark.parametrize(("query", "status", "message"), [
    ("?metric=nope", 404, "no metric"), ("?release=1999.1", 404, "no release"), ("?suite=nope", 404, "other"),
    ("?release=2031.2", 404, "was modified"), ("?track=nope", 404, "no track"), ("?view=nope", 404, "there are board"),
    ("?view=compare&metrics=energy,nope", 200, "no metric"), ("?order=weights&w.alignment=-1", 422, "Weights must be 0 or more"),
    ("?order=weights&w.alignment=0&w.known_similarity=0", 422, "Weights must be 0 or more"),
    ("?order=weights&w.alignment=x", 422, "Weights must be 0 or more"), ("?order=weights&w.alignment=0", 200, "By my weights")])
def test_invalid_address_has_a_status_and_a_message(query, status, message, page, address):
    assert page.goto(f"{address}/{query}").status == status
    page.wait_for_selector(f".ts main >> text={message} >> visible=true")
    assert page.get_by_role("navigation", name="Pages").get_by_role("link").count() == len(PAGES)


def test_unknown_parameters_are_ignored(page, address):
    plain = open_board(page, address)
    heads = page.locator("#ts-table th").all_inner_texts()
    assert open_board(page, address, "?sort=nope&columns=nope,nothing&order=nope") == plain
    assert page.locator("#ts-table th").all_inner_texts() == heads


def test_name_column_is_sticky_on_a_phone(browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800})
    opened = context.new_page()
    open_board(opened, address)
    opened.locator(".scroll").evaluate("one => { one.scrollLeft = one.scrollWidth }")
    last, name = opened.locator("th[data-key]").last, opened.locator("td.name").first
    assert last.bounding_box()["x"] < 390                           # the last column is in sight
    assert name.bounding_box()["x"] < 60                            # and says whose it is
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def test_table_head_is_sticky(page, address):
    open_board(page, address)
    page.locator(".scroll").evaluate("one => { one.style.maxHeight = '140px'; one.scrollTop = 90 }")
    head, box = page.locator("th[data-key=name]").bounding_box(), page.locator(".scroll").bounding_box()
    assert abs(head["y"] - box["y"]) < 3


QUERIES = {"board": "", "metric": "?metric=energy&against=zipf", **{view: f"?view={view}" for view in PAGES if view != "board"},
           "compared": "?view=compare&metrics=energy,zipf,jaccard", "corpora": "?view=try&kind=corpora", "missing": "?metric=nope"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(width, scheme, browser, address, tmp_path):
    context = browser.new_context(viewport=dict(zip(("width", "height"), WIDTHS[width], strict=True)), color_scheme=scheme)
    opened, wrong = context.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    for name, query in QUERIES.items():
        opened.goto(f"{address}/{query}")
        opened.wait_for_selector(".ts main > *")
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        picture = tmp_path / f"{name}.png"
        opened.screenshot(path=picture)
        assert picture.stat().st_size > 5_000, name                 # an empty page is smaller
    assert wrong == []
    context.close()


def test_empty_store(empty_page):
    page, address = empty_page
    for query in ("", "?view=map", "?metric=energy"):
        assert page.goto(f"{address}/{query}").status == 404
        page.wait_for_selector("text=touchstone run --suite")
    assert page.goto(f"{address}/?view=submit").status == 200
    answer = page.request.get(f"{address}/api/board")
    assert answer.status == 200
    assert answer.json()["entries"] == []
    assert page.request.get(f"{address}/api/board.csv").status == 422


@pytest.fixture
def empty_page(browser, board_folder, tmp_path) -> Iterator[tuple[object, str]]:
    Store(tmp_path / "empty.sqlite").close()
    empty = of_store(load_suite(str(board_folder / "ten.toml")), Store(tmp_path / "empty.sqlite", read_only=True))
    with served(Library(empty)) as where:
        context = browser.new_context()
        yield context.new_page(), where
        context.close()


def test_long_table_is_complete_after_several_sorts_in_one_frame(browser, board_snapshot):
    """The first screen is shown at once, the rest of the last order follows, each row once."""
    click = "document.querySelector('[data-sort=name]').click()"
    with served(Library(synthetic(board_snapshot, metrics=250))) as where, watched(browser, where) as page:
        page.goto(where)
        page.wait_for_function("document.querySelectorAll('#ts-table td.name').length === 250")
        first = page.evaluate(f"() => {{ {click}; return document.querySelectorAll('#ts-table td.name').length }}")
        assert first == 100
        page.wait_for_function("document.querySelectorAll('#ts-table td.name').length === 250")
        assert names(page) == sorted(names(page))
        page.evaluate(f"() => {{ {click}; {click}; {click} }}")             # down, up, down
        page.wait_for_function("document.querySelectorAll('#ts-table td.name').length === 250")
        assert names(page) == sorted(names(page), reverse=True)
        page.locator(".ts .scroll").evaluate("one => { one.scrollTop = 3000 }")
        page.wait_for_timeout(100)
        assert page.evaluate(f"() => {{ {click}; return document.querySelectorAll('#ts-table td.name').length }}") == 250
