"""Hostile text in submissions: every page shows it as text, and no page, file or citation is affected by it.

Such headers are refused when they are read, but pages must not rely on that.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from html import escape

import pybtex.database
import pytest

from harness.base.errors import TouchstoneError
from harness.results.store import Store
from harness.submission.submission import load_submission
from leaderboard.board.router import Library
from leaderboard.board.services.downloads import make_table, write_table
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.citations import cite
from leaderboard.publishing.release import Erratum, release
from tasks.suite_files import load_suite
from tests.support.serving import HOSTILE, report_values, served, with_values
from tests.support.submissions import HEADER

OVERRIDE = "\u202etxt.exe"
TEXTS = {"script": "<script>document.title='owned'</script>", "markup": HOSTILE, "attribute": "\" onmouseover=\"document.title='owned'\" x=\"",
         "override": OVERRIDE, "markdown": "| x | [y](javascript:document.title='owned') ![z](x) `\n# h", "formula": "=HYPERLINK(\"http://x\",1)",
         "bibtex": "}, note = {owned}} @misc{owned, title = {x", "template": "{{7*7}}${7*7}<%= 7*7 %>", "large": "W" * 1_000_000}
HOVER = "document.querySelectorAll('*').forEach(one => one.dispatchEvent(new MouseEvent('mouseover')))"


def with_hostile_text(snapshot: Snapshot, text: str) -> Snapshot:
    """Return the snapshot with every text of a submission replaced."""
    values = report_values(snapshot)
    for entry in values["entries"]:
        entry |= {"title": text, "summary": text, "license": text, "paper": f"javascript:{text}", "trained_on": [text], "filename": text,
                  "authors": [text],
                  "models": [text], "not_ranked": entry["not_ranked"] and text, "worst_cases": dict.fromkeys(entry["worst_cases"], text)}
        for result in entry["tasks"].values():
            result["failures"] = [text]
    return replace(with_values(snapshot, values), sources=dict.fromkeys(snapshot.sources, text))


@pytest.mark.parametrize("text", [" ".join(text for name, text in TEXTS.items() if name != "large"), TEXTS["large"]], ids=["all", "large"])
def test_every_page_shows_it_as_text(text, board_snapshot, browser):
    with served(Library(with_hostile_text(board_snapshot, text))) as address:
        visit_pages(browser, address, text)


def visit_pages(browser, address: str, text: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page, wrong, dialogs = context.new_page(), [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    content = ""
    for query in ("", "metric?name=energy", "metric?name=hostile", "compare?metrics=energy,zipf", "choose", "map", "tasks"):
        page.goto(f"{address}/{query}")
        page.wait_for_selector("h1:visible")
        page.wait_for_load_state("networkidle")
        page.evaluate("document.querySelectorAll('.ts details').forEach(one => one.open = true)")
        page.evaluate(HOVER)
        assert page.title().startswith("Touchstone"), query
        assert page.locator(".ts :is(img, iframe, object, script, [onmouseover], [onerror])").count() == 0, query
        assert page.locator(".ts a[href^='javascript']").count() == 0, query
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), query
        content += page.locator("main").first.inner_text()
    assert " ".join(text[:200].split()) in " ".join(content.split())
    assert wrong == dialogs == []
    context.close()


@pytest.mark.parametrize("kind", ["script", "markup", "attribute"])
def test_it_runs_where_it_is_not_escaped(kind, browser):
    """The control of the test above."""
    page = browser.new_page()
    page.set_content(f'<title>mine</title><p title="{TEXTS[kind]}">{TEXTS[kind]}</p>')
    page.evaluate(HOVER)
    page.wait_for_function("document.title === 'owned'", timeout=10_000)
    page.close()


def test_direction_override_does_not_affect_other_text(board_snapshot, browser):
    """The link after the summary reads from left to right; without isolation it would not."""
    values = report_values(board_snapshot)
    for entry in values["entries"]:
        entry |= {"summary": OVERRIDE, "paper": "https://doi.org/10.1016/j.jspi.2013.03.018"}
    left_of = """() => { const text = document.querySelector('.lede a').firstChild, at = (place) => {
        const range = document.createRange(); range.setStart(text, place); range.setEnd(text, place + 1);
        return range.getBoundingClientRect().left }; return at(0) < at(3) }"""
    page = browser.new_page()
    with served(Library(with_values(board_snapshot, values))) as where:
        page.goto(f"{where}/metric?name=energy")
        page.wait_for_selector(".lede a")
        assert page.evaluate(left_of)
    page.set_content(f"<p class=lede>{escape(OVERRIDE)} <a href=x>Székely and Rizzo 2013</a></p>")
    assert not page.evaluate(left_of)
    page.close()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_downloads_contain_it_as_text(text, board_snapshot):
    csv.field_size_limit(2_000_000)
    frame = make_table(with_hostile_text(board_snapshot, text), "corpus")
    rows = list(csv.reader(io.StringIO(write_table(frame, "csv").decode())))
    assert len(rows) == 1 + len(frame)
    assert {row[rows[0].index("title")].removeprefix("'") for row in rows[1:]} == {text}
    assert not any(cell.startswith(("=", "@", "+", "-")) and not re.fullmatch(r"-?[\d.]+", cell) for row in rows for cell in row)
    for line in write_table(frame, "md").decode().splitlines():
        assert len(re.findall(r"(?<!\\)\|", line)) == 1 + len(frame.columns)
        assert not re.search(r"(?<!\\)\]\(", line)
    body = write_table(frame, "tex").decode().splitlines()
    assert len(body) == 6 + len(frame)
    assert all(len(re.findall(r"(?<!\\)&", line)) == len(frame.columns) - 1 for line in body if line.endswith(r"\\"))


def test_citations_contain_it_as_text(board_snapshot, board_folder, tmp_path):
    suite = load_suite(str(board_folder / "ten.toml"))
    made = release("2031.1", suite, Store(board_folder / "store.sqlite", read_only=True), tmp_path)
    for text in TEXTS.values():
        entry = with_hostile_text(board_snapshot, text).entry("energy").model_copy(update={"paper": text})
        hostile = replace(made, report=made.report.model_copy(update={"entries": [entry]}), errata=Erratum(withdrawn=True, reason=text))
        quoted = cite(hostile, "energy", "known_similarity", "bibtex")
        assert [line.partition("{")[0] for line in quoted.splitlines() if line.startswith("@")] == ["@misc"]
        assert len(pybtex.database.parse_string(quoted, "bibtex").entries) == 1
        assert all(line.startswith("%") or line.endswith(r"\\") for line in cite(hostile, "energy", form="latex").splitlines())
        depth = 0
        for character in quoted.replace("\\{", "").replace("\\}", ""):
            depth += (character == "{") - (character == "}")
            assert depth >= 0                                       # nothing closes what it did not open
        assert depth == 0


@pytest.mark.parametrize("kind", ["override", "large"])
def test_headers_are_refused_when_they_are_read(kind, tmp_path):
    path = tmp_path / "bad.py"
    text = HEADER.format(name="bad", kind="corpus", input="texts", returns="distance", range="[0.0, inf]")
    path.write_text(text.replace("A metric of the tests", TEXTS[kind]) + "def distance(p, q): return 0.0\n")
    with pytest.raises(TouchstoneError):
        load_submission(path)
