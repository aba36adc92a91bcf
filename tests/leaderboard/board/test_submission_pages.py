"""The form and the page of a submission in a browser; the test acts as the runner."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from leaderboard.board.router import Library
from leaderboard.report.position import TaskPosition
from leaderboard.scoring.estimates import Estimate
from leaderboard.service.access import Auth, Service
from leaderboard.service.database import ServiceDatabase
from leaderboard.service.settings import Settings
from leaderboard.service.states import CheckDetails, RunDetails, RunProgress, State
from tests.support.service import make_check, make_file, make_position
from tests.support.serving import HOSTILE, served, watched

POSITION = make_position(better_than=("zipf",), tasks=(
    TaskPosition("known_similarity", "Known similarity", Estimate(0.75, None, None, 4), 2, (1, 4)),))


@pytest.fixture
def service(tmp_path) -> Service:
    return Service(ServiceDatabase(tmp_path / "store.sqlite"), Settings(), Auth.NONE)


@pytest.fixture
def address(service, board_snapshot) -> Iterator[str]:
    with served(Library(board_snapshot, service=service)) as where:
        yield where


def test_from_upload_to_results(browser, service, address, tmp_path):
    (tmp_path / "mine.py").write_bytes(make_file("mine"))
    submissions = service.submissions
    with watched(browser, address) as page:
        page.goto(f"{address}/submit")
        page.locator("#submission-file input[type=file]").set_input_files(tmp_path / "mine.py")
        page.get_by_text("mine.py").wait_for()
        page.locator("#submission-run input").uncheck()
        page.locator("#submission-send").click()
        page.wait_for_url("**/submission?id=*")
        page.get_by_role("heading", name="mine").wait_for()
        identifier = page.url.partition("id=")[2]
        submissions.finish(submissions.claim("runner"), State.CHECKED, "The check in the sandbox succeeded.",
                           CheckDetails(reports=[make_check(advice=[HOSTILE])]))
        page.get_by_role("button", name="Run it").click()
        page.get_by_text("Place 1 in the queue").wait_for()
        assert page.get_by_text(HOSTILE).is_visible()                   # as text
        record = submissions.claim("runner")
        submissions.beat(record, RunProgress(stage="Running", done=30, total=120, unit="units", left=90.0))
        page.get_by_text("Running: 30 of 120 units, about 2 min left").wait_for()
        assert not page.get_by_role("button", name="Withdraw").is_visible()
        submissions.finish(record, State.SCORED, "All test units have an outcome.", RunDetails(seconds=1.0, positions=[POSITION], release="2031.1"))
        page.get_by_role("heading", name="mine: rank 2 (1\N{EN DASH}3) of 7 corpus metrics").wait_for()
        assert page.get_by_text("Significantly better than zipf.").is_visible()
        assert page.title() != "owned"
        page.goto(f"{address}/submit")
        page.get_by_text("Published submissions").wait_for()
        assert identifier not in page.content()


def test_refusals_are_shown_as_sentences(browser, address):
    with watched(browser, address) as page:
        page.goto(f"{address}/submit")
        page.locator("#submission-send").click()
        page.get_by_text("Either upload a file or paste its content.").wait_for()
        page.get_by_role("tab", name="Paste the code").click()
        page.locator("#submission-code .cm-content").fill("print(1)")
        page.locator("#submission-send").click()
        page.wait_for_url("**/submission?id=*")
        page.get_by_text("refused", exact=True).first.wait_for()
        assert page.get_by_text("/// script").first.is_visible()


def test_withdrawing(browser, service, address):
    record, _ = service.submissions.receive("ada", "ada", "mine.py", make_file("mine"))
    with watched(browser, address) as page:
        page.goto(f"{address}/submission?id={record.id}")
        page.get_by_role("button", name="Withdraw").click()
        page.get_by_text("Its owner withdrew it.").first.wait_for()
    assert service.submissions.get(record.id).state is State.WITHDRAWN


def test_without_javascript_and_unknown(service, address):
    record, _ = service.submissions.receive("ada", "ada", "mine.py", make_file("mine"))
    shown = httpx.get(f"{address}/submission?id={record.id}")
    assert shown.status_code == 200
    assert "The header is valid." in shown.text
    unknown = httpx.get(f"{address}/submission?id=unknown")
    assert unknown.status_code == 404
    assert "There is no such submission" in unknown.text
