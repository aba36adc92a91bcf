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


def open_board(page, address: str, query: str = "") -> None:
    page.goto(f"{address}/{query}")
    page.wait_for_selector(".ranking td.name:visible")


def wait_for_names(page, expected: list[str]) -> None:
    """Wait until the ranked metrics of the table are these."""
    page.wait_for_function("""expected => JSON.stringify([...document.querySelectorAll('.ranking > table tr:not(.baseline) td.name a')]
        .map(link => link.innerText)) === JSON.stringify(expected)""", arg=expected)


def heads(page) -> list[str]:
    return [head.partition("\n")[0].removesuffix(" ●") for head in page.locator(".ranking > table th").all_inner_texts()]


def cells(page, name: str) -> dict[str, str]:
    """Return the cells of a row by the headings of the columns."""
    return dict(zip(heads(page), page.locator(f".ranking tr[data-name={name}] td").all_inner_texts(), strict=True))


def choose(page, label: str, option: str) -> None:
    """Select an option of one of Gradio's lists."""
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


@pytest.mark.parametrize(("query", "expected"), [
    ("?kind=text", {"jaccard"}), ("?kind=corpus", {"energy", "zipf"}), ("?input=embeddings", {"energy"}), ("?cost=1", {"zipf"}),
    ("?cost=10", {"zipf", "energy"}), ("?only=no-model", {"jaccard"}), ("?q=szekely", {"energy"}), ("?q=Sz%C3%A9kely+rizzo", {"energy"}),
    ("?q=embeddings;distance", {"energy"}), ("?hide=lifted", {"energy", "zipf"}), ("?without=lifted", {"energy", "zipf"}),
    ("?kind=nonsense&cost=x", {"energy", "zipf", "jaccard"})])
def test_filters_are_read_from_the_address(query, expected, page, address, two_tasks):
    open_board(page, address, query)
    wait_for_names(page, [entry.name for entry in two_tasks.ranked_entries("corpus") if entry.name in expected])


def test_filters_are_kept_in_the_history(page, address):
    open_board(page, address)
    page.get_by_text("Filters and columns").click()
    choose(page, "Kind", "corpus metrics")
    page.get_by_label(re.compile("At most")).fill("1")
    wait_for_names(page, ["zipf"])
    assert "kind=corpus" in page.url
    assert "cost=1" in page.url
    page.locator(".ranking").get_by_role("link", name="zipf", exact=True).click()
    page.wait_for_selector("h1:has-text('zipf')")
    page.go_back()
    page.wait_for_selector(".ranking td.name:visible")
    wait_for_names(page, ["zipf"])
    page.get_by_text("Filters and columns").click()
    assert page.get_by_label("Kind", exact=True).input_value() == "corpus metrics"


def test_metrics_without_a_time_are_counted(two_tasks, browser):
    values = report_values(two_tasks)
    for entry in values["entries"]:
        if entry["name"] == "jaccard":
            del entry["tasks"]["timing"]
    with served(Library(with_values(two_tasks, values))) as where, watched(browser, where) as page:
        open_board(page, where, "?cost=10")
        page.wait_for_selector("text=2 of 3 ranked metrics. 1 were not timed and are hidden.")


def test_scores_above_chance_and_marks_of_tasks(page, address):
    """By hand: .6 where chance is .5 is .2 above it."""
    open_board(page, address)
    row = cells(page, "energy")
    assert row["Alignment"].split() == ["0.60", "0.20"]
    assert len(row["Known similarity"].split()) == 1                # chance is 0
    assert page.locator(".ranking th:has(.mark)").all_inner_texts() == ["Alignment ●"]
    assert page.locator(".ranking tr[data-name=energy] td.property").all_inner_texts()[0] == "3.00"


def test_weights_change_ranks_values_and_downloads(page, address, two_tasks):
    """By hand: with all weight on alignment, zipf (.8 above chance) is first, jaccard (.5) second, energy (.2) third."""
    open_board(page, address)
    choose(page, "Rank by", "My weights")
    page.get_by_label("number input for Weight of known similarity").fill("0")
    page.keyboard.press("Tab")
    wait_for_names(page, ["zipf", "jaccard", "energy"])
    assert page.locator(".ranking tr:not(.baseline) .rank b").all_inner_texts() == ["1", "2", "3"]
    assert page.locator(".ranking tr:not(.baseline) td.number").all_inner_texts() == ["0.80", "0.50", "0.20"]
    assert heads(page)[2] == "My weights"
    content = downloaded(page, "csv")
    assert pd.read_csv(io.BytesIO(content))[["rank", "metric", "above_chance_by_weights"]].to_numpy().tolist() == [
        [1, "zipf", 0.8], [2, "jaccard", 0.5], [3, "energy", 0.2]]
    query = page.url.partition("?")[2]
    open_board(page, address, f"?{query}")
    wait_for_names(page, ["zipf", "jaccard", "energy"])
    page.get_by_label("number input for Weight of alignment").fill("0")          # all weights 0: a message, and the same order
    page.keyboard.press("Tab")
    page.wait_for_selector("text=Weights must be 0 or more")
    wait_for_names(page, [entry.name for entry in two_tasks.ranked_entries("corpus")])


def downloaded(page, form: str) -> bytes:
    with page.expect_download() as download:
        page.get_by_role("link", name={"csv": "CSV", "parquet": "Parquet", "md": "Markdown", "tex": "LaTeX"}[form], exact=True).click()
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("form", ["csv", "parquet", "md", "tex"])
def test_downloads_contain_the_table_as_shown(form, page, address):
    """With sorting, filters, other columns and another order, names and ranks are those of the page."""
    open_board(page, address, "?order=task.alignment&without=lifted&sort=1&columns=alignment")
    wait_for_names(page, ["energy", "zipf"])
    page.wait_for_function("document.querySelectorAll('.ranking > table th').length === 5")
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
    assert "Alignment" in heads(page)
    picker = page.get_by_label("Suite and release")
    picker.click()
    assert page.get_by_role("option").count() == 4
    page.get_by_role("option", name="other, not released").click()
    page.wait_for_function("document.querySelector('.ranking') && !document.querySelector('.ranking').innerText.includes('Alignment')")
    assert "suite=other" in page.url
    page.locator(".ranking").get_by_role("link", name="energy", exact=True).click()
    page.wait_for_selector("h1:has-text('energy')")
    assert "suite=other" in page.url                                # kept from page to page
    page.get_by_role("link", name="Tasks", exact=True).first.click()
    page.wait_for_selector("h1:has-text('Tasks')")
    assert "suite=other" in page.url
    page.goto(f"{address}/metric?name=energy&release=2031.1")
    page.wait_for_selector("text=touchstone-2031.1-")               # a release can be cited
    assert page.goto(f"{address}/?release=2031.2").status == 404
    page.wait_for_selector("text=was modified")


@pytest.mark.parametrize(("query", "status", "message"), [
    ("metric?name=nope", 404, "no metric"), ("?release=1999.1", 404, "no release"), ("?suite=nope", 404, "other"),
    ("?release=2031.2", 404, "was modified"), ("?track=nope", 404, "no track"), ("?axis=nope", 404, "no axis"),
    ("compare?metrics=energy,nope", 404, "no metric"), ("?order=weights&w.alignment=-1", 422, "Weights must be 0 or more"),
    ("?order=weights&w.alignment=0&w.known_similarity=0", 422, "Weights must be 0 or more"),
    ("?order=weights&w.alignment=x", 422, "Weights must be 0 or more"), ("?order=weights&w.alignment=0", 200, "My weights")])
def test_invalid_address_has_a_status_and_a_message(query, status, message, page, address):
    assert page.goto(f"{address}/{query}").status == status
    page.wait_for_selector(f"text={message} >> visible=true")
    assert page.locator("nav").first.get_by_role("link").count() == len(PAGES)
    assert page.request.head(f"{address}/{query}").status == status


@pytest.mark.parametrize(("old", "new"), [
    ("?metric=energy", "/metric?name=energy"), ("?view=compare&metrics=energy,zipf", "/compare?metrics=energy%2Czipf"), ("?view=map", "/map"),
    ("?page=about", "/about"), ("?metric=energy&release=2031.1", "/metric?name=energy&release=2031.1"), ("?view=board&q=x", "/?q=x"),
    ("?view=/board.example", "/%2Fboard.example"), ("?page=%5Cboard.example", "/%5Cboard.example")])
def test_addresses_of_earlier_versions_redirect(old, new, page, address):
    response = page.request.get(f"{address}/{old}", max_redirects=0)
    assert (response.status, response.headers["location"]) == (308, new)


def test_head_describes_the_page(page, address):
    text = page.request.get(f"{address}/metric?name=energy").text()
    assert text.count("<title>Touchstone") == 1
    assert "<title>Touchstone: energy</title>" in text
    assert text.count('property="og:title"') == text.count('name="description"') == text.count('rel="canonical"') == 1
    assert "Click to try out" not in text
    assert "gradio.app" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_unknown_parameters_are_ignored(page, address):
    open_board(page, address)
    plain, columns = names(page), heads(page)
    open_board(page, address, "?sort=nope&columns=nope,nothing&order=nope")
    page.wait_for_function("document.querySelectorAll('.ranking > table th').length === 4")      # no known column
    assert names(page) == plain
    assert heads(page) == columns[:4]


def test_table_head_is_sticky(page, address):
    open_board(page, address)
    page.set_viewport_size({"width": 1280, "height": 150})
    page.wait_for_function("""() => {           // again, as long as what is above the table changes its height
        const row = document.querySelector('.ranking tbody tr');
        scrollTo(0, scrollY + row.getBoundingClientRect().bottom - 60);
        return row.getBoundingClientRect().top < 40 && Math.abs(document.querySelector('.ranking th.name').getBoundingClientRect().y) < 3;
    }""")


QUERIES = {"board": "", "metric": "metric?name=energy&against=zipf", **{view: view for view in PAGES if view != "board"},
           "compared": "compare?metrics=energy,zipf,jaccard", "missing": "metric?name=nope"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_its_window(width, scheme, browser, address, tmp_path):
    context = browser.new_context(viewport=dict(zip(("width", "height"), WIDTHS[width], strict=True)), color_scheme=scheme)
    opened, wrong = context.new_page(), []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    for name, query in QUERIES.items():
        opened.goto(f"{address}/{query}")
        opened.wait_for_selector("h1")
        opened.wait_for_load_state("networkidle")
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        if name == "metric" and width == "desktop":
            assert opened.evaluate("document.documentElement.scrollHeight") <= 3_500
        picture = tmp_path / f"{name}.png"
        opened.screenshot(path=picture)
        assert picture.stat().st_size > 5_000, name                 # an empty page is smaller
    assert wrong == []
    context.close()


def test_empty_store(empty_page):
    page, address = empty_page
    for query in ("", "map", "metric?name=energy"):
        assert page.goto(f"{address}/{query}").status == 404
        page.wait_for_load_state("networkidle")
        page.wait_for_selector("text=touchstone run --suite")
    assert page.goto(f"{address}/submit").status == 200
    answer = page.request.get(f"{address}/api/board")
    assert answer.status == 200
    assert answer.json()["entries"] == []
    assert page.request.get(f"{address}/api/board.csv").status >= 400


@pytest.fixture
def empty_page(browser, board_folder, tmp_path) -> Iterator[tuple[object, str]]:
    Store(tmp_path / "empty.sqlite").close()
    empty = of_store(load_suite(str(board_folder / "ten.toml")), Store(tmp_path / "empty.sqlite", read_only=True))
    with served(Library(empty)) as where:
        context = browser.new_context()
        yield context.new_page(), where
        context.close()


def test_long_table_grows_while_it_is_scrolled(browser, board_snapshot):
    """The first rows are part of the page, the others follow in any order, each once."""
    count = "document.querySelectorAll('.ranking > table td.name').length"
    with served(Library(synthetic(board_snapshot, metrics=250))) as where, watched(browser, where) as page:
        open_board(page, where)
        assert page.evaluate(count) == 100
        for expected in (200, 250):
            page.locator(".ranking tbody tr").last.scroll_into_view_if_needed()
            page.wait_for_function(f"{count} === {expected}")
        assert names(page) == [f"metric_{number}" for number in range(250)]
        page.evaluate("scrollTo(0, 0)")                             # otherwise the last row is in sight
        page.get_by_role("button", name="Metric", exact=True).click()
        page.wait_for_function(f"{count} === 100")
        assert names(page) == sorted(f"metric_{number}" for number in range(250))[:100]
        page.get_by_label("Search").fill("no such")
        page.wait_for_function(f"{count} === 0")
