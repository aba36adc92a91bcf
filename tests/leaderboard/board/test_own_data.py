"""The pages on data of the user and on differences."""

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
from starlette.datastructures import Headers

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from leaderboard.board.components.layout import Links
from leaderboard.board.middleware import is_local
from leaderboard.board.pages.difference import render_difference
from leaderboard.board.pages.own_data import render_report, report_corpora, report_pairs
from leaderboard.board.router import Library
from leaderboard.board.services.page_meta import page_meta
from leaderboard.board.snapshot import of_release
from leaderboard.own_data.report import Report, Section
from leaderboard.publishing.release import read_release
from tasks.data.loading import load_dataset
from tests.support.command import touchstone
from tests.support.serving import free_port, watched

MARKUP = "<img src=x onerror=\"document.title='owned'\"> \x1b[2J a b c"


@pytest.fixture(scope="module")
def snapshot():
    return of_release(read_release("2026.4"))


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("own"), free_port()
    rows = load_dataset("made_likeness").rows[["text_a", "text_b", "score"]].head(30)
    rows.loc[rows.index[0], "text_a"] = MARKUP
    rows.to_csv(folder / "rated.csv", index=False)
    process = subprocess.Popen([sys.executable, "-m", "leaderboard", "serve", "--release", "2026.4", "--own-data", "--port", str(port)],
                               stderr=subprocess.DEVNULL, env={**os.environ}, cwd=folder)
    until = time.monotonic() + 120
    while socket.socket().connect_ex(("127.0.0.1", port)):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.2)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=30)


@pytest.mark.parametrize(("headers", "local"), [
    ({"host": "127.0.0.1:7860"}, True), ({"host": "localhost"}, True), ({"host": "[::1]:7860"}, True),
    ({"host": "localhost:7860", "origin": "http://localhost:7860"}, True), ({"host": "evil.org"}, False), ({}, False),
    ({"host": "127.0.0.1.evil.org"}, False), ({"host": "127.0.0.1", "origin": "http://evil.org"}, False),
    ({"host": "127.0.0.1", "x-forwarded-for": "203.0.113.7"}, False), ({"host": "127.0.0.1", "origin": "null"}, False)])
def test_requests_from_elsewhere_are_recognized(headers, local):
    assert is_local(Headers(headers)) is local


def test_the_page_exists_only_where_it_was_asked_for(snapshot):
    assert Library(snapshot).page("own", {}).status == 404
    assert Library(snapshot, own_data=True).page("own", {}).status == 200


@pytest.mark.parametrize("words", [("--host", "0.0.0.0"), ("--submissions",)])
def test_a_public_server_does_not_read_files(words):
    done = touchstone("serve", "--own-data", *words)
    assert done.returncode == 2
    assert "--own-data reads files of this machine" in done.stderr


@pytest.mark.parametrize("make", [lambda: report_pairs(NoProgress(), " "), lambda: report_corpora(NoProgress(), "a.txt", "")])
def test_a_source_is_required(make):
    with pytest.raises(TouchstoneError, match="Name a file, a folder or a dataset"):
        make()


def test_texts_are_escaped_in_a_report():
    page = str(render_report(Report(MARKUP, [MARKUP], [Section("Pairs", [MARKUP], ["first", "second"], [[MARKUP, MARKUP]])])))
    assert "<img" not in page
    assert "\x1b" not in page
    assert page.count("&lt;img") == 5


def test_what_a_difference_means(snapshot):
    page = str(render_difference(snapshot, Links(), {"name": "chrf", "difference": "0.03", "size": "50"}))
    assert "If the means of chrf of two sets of 50 pairs differ by 0.03" in page
    assert "Thresholds of chrf by dataset" in page
    assert "energy distances" in str(render_difference(snapshot, Links(), {}))


@pytest.mark.parametrize(("query", "message"), [
    ({"difference": "much"}, "name a finite number"), ({"size": "1e3"}, "The sample size is 0"), ({"name": "<b>"}, "no results of"),
    ({"difference": "inf"}, "name a finite number")])
def test_wrong_questions_are_answered_in_a_sentence(snapshot, query, message):
    page = str(render_difference(snapshot, Links(), query))
    assert message in page
    assert "<b>" not in page


def test_a_release_of_an_earlier_version_of_the_suite_has_no_answers_to_explain():
    assert "release 2026.1" in str(render_difference(of_release(read_release("2026.1")), Links(), {}))


def test_head_of_the_page_on_differences(snapshot):
    meta = page_meta(Library(snapshot), "/difference", {"name": "chrf", "difference": "0.03"}, "http://x")
    assert meta.canonical == "http://x/difference?name=chrf&difference=0.03"


@pytest.mark.browser
def test_a_report_on_a_file_of_this_machine(browser, address):
    with watched(browser, address) as page:
        page.goto(f"{address}/own")
        box = page.get_by_label("File or dataset with rated or labelled pairs")
        box.fill("nope.csv")
        page.get_by_role("button", name="Choose a metric").first.click()
        page.wait_for_selector("text=There is no file")
        box.fill("rated.csv")
        page.get_by_role("button", name="Choose a metric").first.click()
        page.wait_for_selector("text=Recommended:", timeout=240_000)
        assert "Where the recommendation and people disagree most" in page.locator("body").inner_text()
        assert page.locator("#own-pairs-report img").count() == 0
        assert "owned" not in page.title()
        assert faults_of(page) == []


@pytest.mark.browser
@pytest.mark.parametrize("query", ["own", "difference?name=chrf&difference=0.03"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_no_accessibility_fault(query, width, scheme, browser, address):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/{query}")
    page.wait_for_selector("h1")
    page.wait_for_load_state("networkidle")
    if "difference" in query:
        page.wait_for_selector("text=If the means of chrf")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert faults_of(page) == []
    context.close()


@pytest.mark.browser
def test_a_difference_is_explained_as_it_is_entered(browser, address):
    with watched(browser, address) as page:
        page.goto(f"{address}/difference")
        page.wait_for_selector("text=energy distances")
        box = page.get_by_label("Difference of two values")
        box.fill("0.001")
        box.press("Enter")
        page.wait_for_selector("text=differ by 0.001")
        assert "difference=0.001" in page.url


def faults_of(page) -> list[str]:
    """The violations of the rules of axe-core on the whole page, once no part of it is faded because it is being replaced."""
    page.wait_for_function("!document.querySelector('.pending') && document.getAnimations().every(one => one.playState !== 'running')")
    page.evaluate((Path(axe_core_python.__file__).parent / "axe.min.js").read_text())
    result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:160]}" for violation in result["violations"]]
