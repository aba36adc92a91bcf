"""The board in a browser: ranked table, search, metric page; no code of a submission runs, no request goes elsewhere."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import axe_core_python
import pytest

from leaderboard.board.components.layout import PAGES
from leaderboard.board.snapshot import Snapshot
from tests.support.command import touchstone
from tests.support.serving import HOSTILE, free_port, names, watched


@pytest.fixture(scope="module")
def address(board_folder) -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "leaderboard", "serve", "--suite", board_folder / "ten.toml", "--store", board_folder / "store.sqlite",
                                "--port", str(port)], stderr=subprocess.PIPE, text=True, env={**os.environ})
    until = time.monotonic() + 120
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.communicate(timeout=30)


@pytest.fixture
def page(browser, address) -> Iterator[object]:
    with watched(browser, address) as opened:
        yield opened


def open_board(page, address: str, query: str = "") -> None:
    page.goto(f"{address}/{query}")
    page.wait_for_selector(".ranking td.name:visible")


def wait_for_names(page, expected: list[str]) -> None:
    """Wait until the ranked metrics of the visible table are these."""
    page.wait_for_function("""expected => JSON.stringify([...document.querySelectorAll('.ranking > table tr:not(.baseline) td.name a')]
        .filter(link => link.checkVisibility()).map(link => link.innerText)) === JSON.stringify(expected)""", arg=expected)


def parameter(page, name: str) -> str | None:
    """Return a parameter of the address."""
    value: str | None = page.evaluate("name => new URL(location).searchParams.get(name)", name)
    return value


def ranked(snapshot: Snapshot) -> list[str]:
    return [entry.name for entry in snapshot.ranked_entries("corpus")]


def test_table_has_the_order_of_the_ranking(page, address, board_snapshot):
    open_board(page, address)
    assert names(page) == ranked(board_snapshot)
    assert page.locator(".ranking tr.line").count() == len(board_snapshot.report.lines["corpus"]) >= 1
    best = board_snapshot.entry(ranked(board_snapshot)[0])
    label = page.locator(".ranking .whisker").first.get_attribute("aria-label")
    assert label == f"{best.overall.value:.2f}, {best.overall.low:.2f} to {best.overall.high:.2f}"
    tied = [entry.name for entry in board_snapshot.ranked_entries("corpus") if entry.rank_interval[0] == 1]
    assert page.locator(".ranking tr.best td.name a").all_inner_texts() == tied
    page.locator(".unranked summary").click()
    reasons = page.locator(".unranked td.reason").all_inner_texts()
    assert any("units of known similarity failed" in reason for reason in reasons)


def test_trivial_baselines_stand_in_place(page, address, board_snapshot):
    open_board(page, address)
    everything = page.locator(".ranking td.name a").all_inner_texts()
    assert page.locator(".ranking tr.baseline td.name a").all_inner_texts() == ["random"]
    value = board_snapshot.entry("random").overall.value
    assert everything.index("random") == sum(board_snapshot.entry(name).overall.value >= value for name in ranked(board_snapshot))
    page.get_by_text("Filters and columns").click()
    page.get_by_label("Trivial baselines").uncheck()
    page.wait_for_selector(".ranking tr.baseline", state="detached")
    assert parameter(page, "hide") == "baselines"


def test_first_screen_names_the_leaders(page, address, board_snapshot):
    open_board(page, address)
    first = page.locator(".leaders section").first.inner_text()
    assert ranked(board_snapshot)[0] in first
    tied = sum(entry.rank_interval[0] == 1 for entry in board_snapshot.ranked_entries("corpus"))
    assert (f"{tied} metrics are not significantly different" if tied > 1 else "a significantly higher value on this axis than all others") in first


def test_search_filters_rows_and_is_kept_in_the_address(page, address):
    open_board(page, address)
    page.get_by_label("Search").fill("embeddings energy")
    wait_for_names(page, ["energy"])
    assert parameter(page, "q") == "embeddings energy"
    assert page.locator(".ranking.reordered").count() == 1          # lines apply to the whole order only
    open_board(page, address, "?q=lifted")
    wait_for_names(page, ["jaccard"])
    open_board(page, address, "?without=lifted")
    assert "jaccard" not in names(page)
    page.get_by_text("Filters and columns").click()
    page.get_by_label("Symmetric").check()
    page.wait_for_function("new URL(location).searchParams.get('only') === 'symmetric'")
    page.get_by_label("Search").fill("no such words")
    page.wait_for_selector("text=No ranked metric matches.")


def test_sorting_and_columns_are_kept_in_the_address(page, address, board_snapshot):
    open_board(page, address)
    page.get_by_role("button", name="Metric", exact=True).click()
    wait_for_names(page, sorted(ranked(board_snapshot)))
    assert parameter(page, "sort") == "1"
    page.get_by_text("Filters and columns").click()
    page.get_by_label("Columns").fill("accuracy")
    page.get_by_role("option").filter(has_text="accuracy").first.click()
    page.wait_for_function("(new URL(location).searchParams.get('columns') || '').includes('known_similarity.accuracy')")
    page.wait_for_function("[...document.querySelectorAll('.ranking th')].some(head => head.innerText.includes('accuracy'))")
    heads = page.locator(".ranking th").all_inner_texts()
    text = page.locator(".ranking tr[data-name=energy] td").nth(next(i for i, head in enumerate(heads) if "accuracy" in head)).inner_text()
    assert text == f"{board_snapshot.entry('energy').tasks['known_similarity'].measures['accuracy'].value:.2f}"
    open_board(page, address, page.url.split("/")[-1])
    wait_for_names(page, sorted(ranked(board_snapshot)))
    page.wait_for_function("[...document.querySelectorAll('.ranking th')].some(head => head.innerText.includes('accuracy'))")


def test_navigation_and_history(page, address, board_snapshot):
    open_board(page, address, "?q=energy")
    page.locator(".ranking").get_by_role("link", name="energy", exact=True).click()
    page.wait_for_selector("h1:has-text('energy')")
    text = page.locator("main").inner_text()
    for part in ("Energy distance", "Apache-2.0", "Rank"):
        assert part in text
    page.evaluate("document.querySelectorAll('.ts details').forEach(part => part.open = true)")
    text = page.locator("main").inner_text()
    assert board_snapshot.entry("energy").tasks["known_similarity"].signature in text
    assert "layers" in text
    assert page.title() == "Touchstone: energy"
    page.get_by_label("Compare with").fill("zipf")
    page.get_by_role("option", name="zipf", exact=True).click()
    page.wait_for_selector(".legend >> text=zipf")
    assert parameter(page, "against") == "zipf"
    page.go_back()
    page.wait_for_selector(".ranking td.name:visible")
    wait_for_names(page, ["energy"])


def test_comparison_of_two_metrics(page, address):
    page.goto(f"{address}/compare")
    for name in ("energy", "zipf"):
        page.get_by_label("Metrics (2 to 4)").fill(name)
        page.get_by_role("option", name=name, exact=True).click()
    page.wait_for_selector("text=energy - zipf")
    assert parameter(page, "metrics") == "energy,zipf"
    assert "p = " in page.locator("main").inner_text()


def test_short_list_follows_the_answers(page, address):
    page.goto(f"{address}/choose?track=corpus")
    page.wait_for_selector("text=best of these")
    page.get_by_label("May it use an embedding model?").click()
    page.get_by_role("option", name="no", exact=True).click()
    page.wait_for_function("!document.querySelector('main').innerText.includes('needs embeddings')")
    assert parameter(page, "model") == "no"


def test_without_javascript_the_ranking_is_readable(browser, address, board_snapshot):
    plain = browser.new_context(java_script_enabled=False)
    opened = plain.new_page()
    opened.goto(address)
    assert [name for name in opened.locator(".ranking td.name a").all_inner_texts() if name in ranked(board_snapshot)] == ranked(board_snapshot)
    opened.goto(f"{address}/metric?name=energy")
    assert "Energy distance" in opened.locator("body").inner_text()
    plain.close()


def test_theme_survives_navigation(page, address):
    open_board(page, address)
    before = page.evaluate("document.body.classList.contains('dark')")
    page.get_by_role("button", name="Light / dark").click()
    page.wait_for_function("before => document.body.classList.contains('dark') !== before", arg=before)
    page.get_by_role("link", name="Tasks", exact=True).first.click()
    page.wait_for_selector("h1:has-text('Tasks')")
    assert page.evaluate("document.body.classList.contains('dark')") != before


QUERIES = ["", "?track=text", "metric?name=energy", "compare?metrics=energy,zipf", "choose", "difference", "map", "tasks", "submit", "about", "try",
           "docs", "changes"]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_fault(query, width, scheme, browser, address):
    """Check all rules of axe-core on the whole page, with all parts unfolded."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(f"{address}/{query}")
    opened.wait_for_selector("h1")
    opened.wait_for_load_state("networkidle")
    opened.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    opened.evaluate((Path(axe_core_python.__file__).parent / "axe.min.js").read_text())
    result = opened.evaluate("axe.run(document, {resultTypes: ['violations']})")
    faults = [f"{violation['id']}: {violation['nodes'][0]['html'][:160]}" for violation in result["violations"]]
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert faults == []
    assert len(result["passes"]) > 5         # it did look


@pytest.mark.parametrize("where", ["", "metric?name=hostile", "?q=hostile"])
def test_no_code_of_a_submission_runs(where, page, address):
    page.goto(f"{address}/{where}")
    page.wait_for_selector(".ts h1")
    page.wait_for_load_state("networkidle")
    page.evaluate("document.querySelectorAll('.ts details').forEach(part => part.open = true)")
    time.sleep(0.5)
    assert "owned" not in page.title()
    assert page.locator(".ts img, .ts script").count() == 0
    assert ("onerror=document.title" in page.locator("body").inner_text()) == ("metric" in where)        # as text


def test_the_same_header_runs_unescaped(browser):
    """The control of the test above: unescaped, the header changes the title."""
    opened = browser.new_page()
    opened.set_content(f"<title>mine</title><p>{HOSTILE}</p>")
    opened.wait_for_function("document.title === 'owned'", timeout=10_000)
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rows_are_cards_on_a_phone(scheme, browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(address)
    opened.wait_for_selector(".ranking td.name:visible")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    heights = opened.evaluate("[...document.querySelectorAll('.ranking > table tbody tr')].map(row => row.getBoundingClientRect().height)")
    assert max(heights) <= 100                                      # eight of them fit
    assert all(opened.locator(f".ranking td.{name}").first.is_visible() for name in ("rank", "name", "number", "ci"))
    ink, paper = (opened.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}") for where, what in (
        (".ranking td.name a", "color"), ("body", "backgroundColor")))
    brightness = [sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(", "))) for colour in (ink, paper)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")
    assert abs(brightness[0] - brightness[1]) > 400
    context.close()


def test_app_launched_alone_is_complete(browser, board_folder, tmp_path):
    """As a Space starts it: `launch` of `app.py`, without `touchstone serve`."""
    port, script = free_port(), tmp_path / "app.py"
    script.write_text(f"""
from harness.results.store import Store
from leaderboard.board.app import launch
from leaderboard.board.router import Library
from leaderboard.board.snapshot import of_store
from tasks.suite_files import load_suite

store = Store(r"{board_folder / 'store.sqlite'}", read_only=True)
launch(Library(of_store(load_suite(r"{board_folder / 'ten.toml'}"), store)), server_name="127.0.0.1", server_port={port})
""")
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ})
    try:
        until = time.monotonic() + 120
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < until
            time.sleep(0.2)
        where = f"http://127.0.0.1:{port}"
        with watched(browser, where) as opened:
            open_board(opened, where)
            assert "energy" in names(opened)
            assert opened.locator("nav").get_by_role("link").count() >= len(PAGES)
            assert opened.request.get(f"{where}/api/board").status == 200
            assert opened.goto(f"{where}/metric?name=energy").status == 200
            opened.wait_for_selector("h1:has-text('energy')")
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_port_in_use(board_folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = touchstone("serve", "--suite", board_folder / "ten.toml", "--store", board_folder / "store.sqlite", "--port", port)
    assert done.returncode == 2
    assert f"127.0.0.1:{port} is not available" in done.stderr
