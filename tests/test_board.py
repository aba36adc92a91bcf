"""The board in a real browser: the ranked table, search, a metric's page; nothing from a submission runs, nothing is fetched elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.places import SUBMISSIONS
from harness.progress import Silent
from harness.store import Store
from harness.submission import choose_entries, read_submission
from leaderboard.board import pages
from leaderboard.board.snapshot import Snapshot, take
from leaderboard.running import run_suite
from tasks.suite import read_suite
from tests.conftest import HEADER, touchstone

SUITE = """
title = "Ten draws <b>of made texts</b>"
seed = 7
model = "minilm"
[tasks.known_similarity]
pairs = [["made_weather", "made_trains"]]
levels = [{ k = 4, n = 10 }]
repetitions = 10
"""
HOSTILE = "<img src=x onerror=document.title='owned'>${document.title='owned'}{{7*7}}"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-sync"]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a suite, and a store of some metrics' answers; one has a header that is meant ill."""
    folder = tmp_path_factory.mktemp("board")
    (folder / "ten.toml").write_text(SUITE)
    path = folder / "hostile.py"
    text = HEADER.format(name="hostile", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
    text = text.replace('title = "A metric of the tests"', f'title = "{HOSTILE}"').replace('summary = "', f'summary = "{HOSTILE} ')
    path.write_text(text + f"# </script>{HOSTILE}\ndef distance(p, q): raise ValueError(\"{HOSTILE}\") if len(p[0]) % 2 else ZeroDivisionError\n")
    entries = [*choose_entries(["energy", "zipf", "jaccard", "random"], SUBMISSIONS), *read_submission(path).entries]
    run_suite(entries, read_suite(str(folder / "ten.toml")), folder / "store.sqlite", progress=Silent(), jobs=2)
    return folder


@pytest.fixture(scope="module")
def snapshot(place) -> Snapshot:
    return take(read_suite(str(place / "ten.toml")), Store(place / "store.sqlite", read_only=True))


@pytest.fixture(scope="module")
def address(place) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "leaderboard", "serve", "--suite", place / "ten.toml", "--store", place / "store.sqlite",
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


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed here: `apt-get install chromium`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def page(browser, address) -> Iterator[object]:
    """A page that notes what it asks for and what goes wrong in it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    asked, wrong = [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    context.close()
    assert [url for url in asked if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))] == []
    assert wrong == []


def names(page) -> list[str]:
    return page.locator(".ts .scroll td.name a").all_inner_texts()


def test_the_table_is_the_ranking(page, address, snapshot):
    page.goto(address)
    page.wait_for_selector(".ts .scroll td.name")
    assert names(page) == [place.scored.name for place in snapshot.rankings["corpus"].ranked]
    assert page.locator(".ts tr.line").count() == len(snapshot.rankings["corpus"].lines) >= 1
    label = page.locator(".ts td.score svg").first.get_attribute("aria-label")
    best = snapshot.rankings["corpus"].ranked[0].scored
    score = best.tasks["known_similarity"].score
    assert label == f"{best.overall:.2f}, {score.low:.2f} to {score.high:.2f}"
    page.locator(".ts summary").click()
    reasons = page.locator(".ts details td.reason").all_inner_texts()
    assert any("control" in one for one in reasons)
    assert any("units of known similarity failed" in one for one in reasons)


def test_searching_filters_and_stands_in_the_address(page, address):
    page.goto(address)
    page.wait_for_selector(".ts .scroll td.name")
    page.locator("#search textarea, #search input").first.fill("embeddings energy")
    page.wait_for_function("document.querySelectorAll('.ts .scroll td.name').length === 1")
    assert names(page) == ["energy"]
    assert page.evaluate("new URL(location).searchParams.get('q')") == "embeddings energy"
    assert page.locator(".ts tr.line").count() == 0         # a line parts the whole order, not what is left of it
    page.goto(f"{address}/?q=lifted")
    page.wait_for_selector(".ts .scroll td.name")
    assert names(page) == ["jaccard"]


def test_a_metrics_page_says_what_the_store_knows(page, address, snapshot):
    page.goto(address)
    page.wait_for_selector(".ts .scroll td.name")
    page.get_by_role("link", name="energy", exact=True).click()
    page.wait_for_selector(".ts dl.facts")
    text = page.locator(".ts").last.inner_text()
    scored = snapshot.standing("energy")["corpus"].scored
    for part in ("Energy distance", "Apache-2.0", str(scored.signature(scored.tasks["known_similarity"])), "10 of 10 units", "layers"):
        assert part in text
    assert page.evaluate("new URL(location).searchParams.get('metric')") == "energy"
    page.go_back()
    page.wait_for_selector(".ts .scroll td.name")
    page.goto(f"{address}/?metric=%3Cimg%20src=x%20onerror=document.title='owned'%3E")
    page.wait_for_selector(".ts [role=alert]")
    assert page.title() == "Touchstone"
    assert page.locator(".ts img").count() == 0


@pytest.mark.parametrize("where", ["", "?metric=hostile", "?q=hostile"])
def test_nothing_of_a_submission_runs(where, page, address):
    page.goto(f"{address}/{where}")
    page.wait_for_selector(".ts td.name, .ts dl.facts")
    page.evaluate("document.querySelectorAll('.ts details').forEach(one => one.open = true)")
    time.sleep(0.5)
    assert "owned" not in page.title()
    assert page.locator(".ts img, .ts script").count() == 0
    assert "onerror=document.title" in page.locator("body").inner_text()         # it is there, as text
    assert "49" not in page.locator(".ts td.name small", has_text="onerror").all_inner_texts()


def test_the_same_header_unescaped_does_run(browser):
    """The control: what is escaped above would change the title."""
    opened = browser.new_page()
    opened.set_content(f"<title>mine</title><p>{HOSTILE}</p>")
    opened.wait_for_function("document.title === 'owned'", timeout=10_000)
    opened.close()


def test_the_board_for_machines_is_the_same(address, place, snapshot):
    with urllib.request.urlopen(f"{address}/api/board.json") as answer:
        board = json.load(answer)
    shown = json.loads(touchstone("show", "--suite", place / "ten.toml", "--store", place / "store.sqlite", "--json").stdout)
    assert board["entries"] == shown["entries"]
    assert board["lines"] == shown["lines"] == {"corpus": list(snapshot.rankings["corpus"].lines)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_on_a_phone_and_in_the_dark(scheme, browser, address):
    context = browser.new_context(viewport={"width": 390, "height": 800}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(address)
    opened.wait_for_selector(".ts .scroll td.name")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ink, paper = (opened.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}") for where, what in (
        (".ts td.name a", "color"), (".ts .scroll", "backgroundColor")))
    brightness = [sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(", "))) for colour in (ink, paper)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")
    assert abs(brightness[0] - brightness[1]) > 400
    context.close()


def test_pages_escape_everything(snapshot):
    shown = pages.board(snapshot, "<script>") + pages.metric(snapshot, "hostile") + pages.metric(snapshot, "<script>alert(1)</script>")
    assert "<img" not in shown
    assert "<script" not in shown
    assert "<b>of made" not in shown                        # the suite's title too


def test_serving_what_cannot_be_served_is_said(place, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = touchstone("serve", "--suite", place / "ten.toml", "--store", place / "store.sqlite", "--port", port)
    assert done.returncode == 2
    assert f"127.0.0.1:{port} cannot be served" in done.stderr
    Store(tmp_path / "empty.sqlite").close()
    empty = touchstone("serve", "--suite", place / "ten.toml", "--store", tmp_path / "empty.sqlite", "--port", port)
    assert empty.returncode == 2
    assert "touchstone run" in empty.stderr
