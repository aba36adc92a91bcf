"""A board that is open shows the results of a run that ends; requests meanwhile, and pages from before, are answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from harness.base.errors import TouchstoneError
from harness.results.provenance import current_provenance
from harness.results.store import Store
from harness.sandbox.limits import Limits
from leaderboard.board import reloading
from leaderboard.board.reloading import ReloadingApp
from leaderboard.cli.serving.serve import last_end
from tests.support.command import touchstone
from tests.support.service import start_service, wait_until
from tests.support.serving import free_port, names, watched


@pytest.fixture
def folder(board_folder, tmp_path) -> Path:
    return Path(shutil.copytree(board_folder, tmp_path / "board"))


@pytest.mark.browser
@pytest.mark.cli
def test_a_run_that_ends_is_shown_without_a_restart(folder, browser):
    options, port = ["--suite", str(folder / "ten.toml"), "--store", str(folder / "store.sqlite")], free_port()
    address = f"http://127.0.0.1:{port}"
    server = start_service("serve", *options, "--port", str(port))
    try:
        wait_until(lambda: answers(address), 120)
        with watched(browser, address) as page:
            page.goto(address)
            page.wait_for_selector(".ranking td.name:visible")
            before = names(page)
            assert "chi" not in before
            statuses: list[int] = []
            stop = threading.Event()
            asking = threading.Thread(target=ask_until, args=(address, stop, statuses))
            asking.start()
            done = touchstone("run", "chi", *options)
            assert done.returncode == 0, done.stderr
            assert "restart" not in done.stdout
            wait_until(lambda: "chi" in ranked(address), 60)
            stop.set()
            asking.join()
            assert len(statuses) > 10
            assert set(statuses) == {200}
            page.get_by_label("Search").fill("energy")                      # the page that was open works on
            page.wait_for_function("document.querySelectorAll('.ranking > table td.name a').length < 4")
            page.goto(address)
            page.wait_for_selector(".ranking td.name:visible")
            assert set(names(page)) == {*before, "chi"}
            page.goto(f"{address}/metric?name=chi")
            page.wait_for_selector("h1:has-text('chi')")
    finally:
        server.terminate()
        output, _ = server.communicate(timeout=30)
    assert "Traceback" not in output


def test_the_end_of_a_run_is_seen_from_the_first_one_on(folder, tmp_path):
    assert last_end(str(tmp_path / "none.sqlite")) is None
    address = str(folder / "store.sqlite")
    first = last_end(address)
    assert first is not None
    store = Store(address)
    begun = store.begin_run(current_provenance((), Limits(), {}, "ten", "fingerprint"))
    assert last_end(address) == first
    store.end_runs([begun])
    assert last_end(address) > first


def answers(address: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(address, timeout=30).status_code == 200
    return False


def ranked(address: str) -> list[str]:
    return [entry["name"] for entry in httpx.get(f"{address}/api/board", timeout=30).json()["entries"]]


def ask_until(address: str, stop: threading.Event, statuses: list[int]) -> None:
    while not stop.is_set():
        statuses.append(httpx.get(f"{address}/metric?name=energy", timeout=30).status_code)
        time.sleep(0.1)


class App:
    """An application that answers with its name and writes down when it starts and stops."""

    def __init__(self, name: str, events: list[str]) -> None:
        self.name, self.events, self.router = name, events, self

    @contextlib.asynccontextmanager
    async def lifespan_context(self, app):
        self.events.append(f"{self.name} starts")
        yield
        self.events.append(f"{self.name} stops")

    async def __call__(self, scope, receive, send) -> None:
        await send(self.name)


@pytest.mark.unit
def test_each_application_starts_before_it_answers_and_stops_after_its_successor_started(monkeypatch, caplog):
    monkeypatch.setattr(reloading, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(reloading, "SECONDS_FOR_OPEN_REQUESTS", 0.05)
    events: list[str] = []
    renewals = [None, TouchstoneError("The store is damaged."), ZeroDivisionError("a defect"), App("second", events), None]

    def make_if_changed():
        renewal = renewals.pop(0) if renewals else None
        if isinstance(renewal, Exception):
            raise renewal
        return renewal

    async def live() -> None:
        app = ReloadingApp(App("first", events), make_if_changed)
        received: asyncio.Queue[dict] = asyncio.Queue()
        sent: asyncio.Queue[dict] = asyncio.Queue()
        lifespan = asyncio.create_task(app({"type": "lifespan", "state": {}}, received.get, sent.put))
        await received.put({"type": "lifespan.startup"})
        assert (await sent.get())["type"] == "lifespan.startup.complete"
        assert events == ["first starts"]
        await app({"type": "http"}, None, sent.put)
        assert await sent.get() == "first"
        while events[-1] != "first stops":
            await asyncio.sleep(0.01)
        assert events == ["first starts", "second starts", "first stops"]
        await app({"type": "http"}, None, sent.put)
        assert await sent.get() == "second"
        await received.put({"type": "lifespan.shutdown"})
        assert (await sent.get())["type"] == "lifespan.shutdown.complete"
        await lifespan
        assert events[-1] == "second stops"
        assert len(events) == 4

    with caplog.at_level(logging.WARNING, "touchstone.board"):
        with ThreadPoolExecutor(1) as other:            # the thread of the browser has a loop already
            other.submit(asyncio.run, live()).result(20)
    assert [(record.getMessage(), bool(record.exc_info)) for record in caplog.records] == [
        ("The board still shows the earlier results. The store is damaged.", False),
        ("The board still shows the earlier results. a defect", True)]
