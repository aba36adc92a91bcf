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

from leaderboard.board.snapshot import Snapshot
from leaderboard.workflows.try_texts import PAIR_METRICS
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
    page.wait_for_selector("#ts-table td.name")


def parameter(page, name: str) -> str | None:
    """Return a parameter of the address."""
    value: str | None = page.evaluate("name => new URL(location).searchParams.get(name)", name)
    return value


def ranked(snapshot: Snapshot) -> list[str]:
    return [entry.name for entry in snapshot.ranked_entries("corpus")]


def test_table_has_the_order_of_the_ranking(page, address, board_snapshot):
    open_board(page, address)
    assert names(page) == ranked(board_snapshot)
    assert page.locator("#ts-table tr.line").count() == len(board_snapshot.report.lines["corpus"]) >= 1
    label = page.locator("#ts-table .bar").first.get_attribute("aria-label")
    best = board_snapshot.entry(ranked(board_snapshot)[0]).overall
    assert label == f"{best.value:.2f}, {best.low:.2f} to {best.high:.2f}"
    page.locator("#ts-rest summary").click()
    reasons = page.locator("#ts-rest td.reason").all_inner_texts()
    assert any("control" in reason for reason in reasons)
    assert any("units of known similarity failed" in reason for reason in reasons)


def test_search_filters_rows_and_is_kept_in_the_address(page, address):
    open_board(page, address)
    page.locator("#ts-search").fill("embeddings energy")
    page.wait_for_function("document.querySelectorAll('#ts-table td.name').length === 1")
    assert names(page) == ["energy"]
    assert parameter(page, "q") == "embeddings energy"
    assert page.locator("#ts-table tr.line").count() == 0           # lines apply to the whole order only
    open_board(page, address, "?q=lifted")
    assert names(page) == ["jaccard"]
    open_board(page, address, "?without=lifted")
    assert "jaccard" not in names(page)
    page.locator("[data-filter=symmetric]").check()
    assert parameter(page, "only") == "symmetric"
    page.locator("#ts-search").fill("no such words")
    page.wait_for_selector("text=No ranked metric matches.")


def test_sorting_columns_and_weights_are_kept_in_the_address(page, address, board_snapshot):
    open_board(page, address)
    page.get_by_role("button", name="Metric", exact=True).click()
    assert names(page) == sorted(ranked(board_snapshot))
    assert parameter(page, "sort") == "name"
    page.locator("summary", has_text="Columns").click()
    page.locator("[data-column='known_similarity.accuracy']").check()
    text = page.locator("#ts-table tr[data-name=energy] td[data-key='known_similarity.accuracy']").inner_text()
    assert text == f"{board_snapshot.entry('energy').tasks['known_similarity'].measures['accuracy'].value:.2f}"
    open_board(page, address, page.url.split("/")[-1])
    assert names(page) == sorted(ranked(board_snapshot))
    assert page.locator("th[data-key='known_similarity.accuracy']").count() == 1
    page.locator("#ts-order").select_option("weights")
    page.locator("[data-weight=known_similarity]").fill("-1")
    page.wait_for_selector("#ts-weights [role=alert]:visible")
    page.locator("[data-weight=known_similarity]").fill("3")
    page.wait_for_selector("#ts-weights [role=alert]", state="hidden")
    assert parameter(page, "w.known_similarity") == "3"
    with page.expect_download() as download:
        page.locator("summary", has_text="Download").click()
        page.locator("[data-download=csv]").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("rank,metric,title,above_chance_by_weights")
    assert [line.split(",")[1] for line in lines[1:]] == names(page)


def test_navigation_and_history(page, address, board_snapshot):
    open_board(page, address, "?q=energy")
    page.get_by_role("link", name="energy", exact=True).click()
    page.wait_for_selector(".ts h1")
    text = page.locator(".ts main").inner_text()
    for part in ("Energy distance", "Apache-2.0", "Rank", "layers"):
        assert part in text
    page.evaluate("document.querySelectorAll('.ts details').forEach(one => one.open = true)")
    signature = board_snapshot.entry("energy").tasks["known_similarity"].signature
    assert signature in page.locator(".ts main").inner_text()
    assert parameter(page, "metric") == "energy"
    page.locator("#ts-against").select_option("zipf")
    page.wait_for_selector(".legend >> text=zipf")
    assert parameter(page, "against") == "zipf"
    page.go_back()
    page.wait_for_function("!new URL(location).searchParams.has('against')")
    page.go_back()
    page.wait_for_selector("#ts-table td.name")
    assert page.locator("#ts-search").input_value() == "energy"
    assert names(page) == ["energy"]


def test_comparison_of_two_metrics(page, address):
    page.goto(f"{address}/?view=compare")
    page.get_by_label("Metric 1").fill("energy")
    page.get_by_label("Metric 2").fill("zipf")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=energy - zipf")
    assert parameter(page, "metrics") == "energy,zipf"
    assert "p = " in page.locator(".ts main").inner_text()


def test_trying_texts_and_corpora(page, address):
    page.goto(f"{address}/?view=try")
    page.wait_for_selector("form[data-try]")
    page.locator("[name=a]").fill("a b c")
    page.locator("[name=b]").fill(f"b c d {HOSTILE}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")            # the button is next
    page.wait_for_selector("#ts-tried table", timeout=60_000)
    assert page.locator("#ts-tried tbody tr").count() == len(PAIR_METRICS)
    page.get_by_role("link", name="Two corpora").click()
    page.wait_for_selector("text=First corpus")
    assert parameter(page, "kind") == "corpora"
    for field, word in (("a", "rain"), ("b", "late")):
        page.locator(f"[name={field}]").fill("\n".join(f"{word} in town {i}" for i in range(8)))
    page.get_by_role("button", name="Run metrics").click()
    page.wait_for_selector("#ts-tried table", timeout=60_000)
    assert "different" in page.locator("#ts-tried tr", has_text="vocabulary_jsd").inner_text()
    assert "owned" not in page.title()


def test_messages_without_a_response_or_javascript(browser, address):
    context = browser.new_context()
    opened = context.new_page()
    opened.goto(f"{address}/?view=try&kind=corpora")
    opened.locator("[name=a]").fill("one")
    opened.locator("[name=b]").fill("two")
    opened.get_by_role("button", name="Run metrics").click()
    opened.wait_for_selector("#ts-tried >> text=the first corpus has 1")
    opened.route("**/try*", lambda route: route.abort())
    opened.get_by_role("button", name="Run metrics").click()
    opened.wait_for_selector("#ts-tried >> text=The server did not respond")
    context.close()
    plain = browser.new_context(java_script_enabled=False)
    empty = plain.new_page()
    empty.goto(address)
    assert "needs JavaScript" in empty.locator("body").inner_text()
    plain.close()


@pytest.mark.parametrize("query", ["", "?metric=energy", "?view=compare&metrics=energy,zipf", "?view=choose", "?view=map", "?view=tasks",
                                   "?view=submit", "?view=about", "?view=try", "?view=try&kind=corpora"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(query, scheme, browser, address):
    """Check all rules of axe-core that are serious or critical."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(f"{address}/{query}")
    opened.wait_for_selector(".ts main")
    opened.evaluate((Path(axe_core_python.__file__).parent / "axe.min.js").read_text())
    result = opened.evaluate("axe.run('.ts', {resultTypes: ['violations']})")
    faults = [f"{violation['id']}: {violation['nodes'][0]['html'][:120]}" for violation in result["violations"] if violation["impact"] in ("serious", "critical")]
    context.close()
    assert faults == []
    assert len(result["passes"]) > 5         # it did look


@pytest.mark.parametrize("where", ["", "?metric=hostile", "?q=hostile"])
def test_no_code_of_a_submission_runs(where, page, address):
    page.goto(f"{address}/{where}")
    page.wait_for_selector(".ts main")
    page.evaluate("document.querySelectorAll('.ts details').forEach(one => one.open = true)")
    time.sleep(0.5)
    assert "owned" not in page.title()
    assert page.locator(".ts img, .ts script:not([type='application/json'])").count() == 0
    assert "onerror=document.title" in page.locator("body").inner_text()         # it is there, as text
    assert "49" not in page.locator(".ts td.name small", has_text="onerror").all_inner_texts()


def test_the_same_header_runs_unescaped(browser):
    """The control of the test above: unescaped, the header changes the title."""
    opened = browser.new_page()
    opened.set_content(f"<title>mine</title><p>{HOSTILE}</p>")
    opened.wait_for_function("document.title === 'owned'", timeout=10_000)
    opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_width_on_a_phone(scheme, browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(address)
    opened.wait_for_selector("#ts-table td.name")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ink, paper = (opened.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}") for where, what in (
        (".ts td.name a", "color"), (".ts .scroll", "backgroundColor")))
    brightness = [sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(", "))) for colour in (ink, paper)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")
    assert abs(brightness[0] - brightness[1]) > 400
    context.close()


def test_port_in_use(board_folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = touchstone("serve", "--suite", board_folder / "ten.toml", "--store", board_folder / "store.sqlite", "--port", port)
    assert done.returncode == 2
    assert f"127.0.0.1:{port} is not available" in done.stderr
