"""A small board for the tests: its suite, a hostile submission, a server in a thread, changed and synthetic snapshots."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import uvicorn

from leaderboard.board.app import application
from leaderboard.board.router import Library
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.schema import Report

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


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def served(library: Library) -> Iterator[str]:
    """Serve a board in a thread of this process; yield the address."""
    with served_app(application(library)) as address:
        yield address


@contextmanager
def served_app(app: Any) -> Iterator[str]:
    """Serve an ASGI application in a thread of this process; yield the address."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 120
    while not server.started:
        assert thread.is_alive()
        assert time.monotonic() < until
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


@contextmanager
def watched(browser, address: str, expected: str | None = None) -> Iterator[object]:
    """Yield a page; assert at the end that it made no request elsewhere and logged no error but the expected one."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, requests, errors = context.new_page(), [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text)
            if message.type == "error" and not (expected and expected in message.text) else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert [url for url in requests if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))] == []
    assert errors == []


def names(page) -> list[str]:
    """Return the ranked metrics of the visible table in their order."""
    return page.locator(".ranking > table tr:not(.baseline) td.name a:visible").all_inner_texts()


def report_values(snapshot: Snapshot) -> dict[str, Any]:
    """Return the report as plain values that a test may change."""
    return snapshot.report.model_dump(mode="json")


def with_values(snapshot: Snapshot, values: dict[str, Any]) -> Snapshot:
    """Return the snapshot with a changed report, as if it had no release."""
    return Snapshot(Report.model_validate(values), snapshot.samples, snapshot.sources)


def synthetic(snapshot: Snapshot, metrics: int = 1_000, tasks: int = 40) -> Snapshot:
    """Return metrics like the first of a snapshot, with ranked tasks of random scores."""
    values, rng = report_values(snapshot), np.random.default_rng(0)
    first, task = values["entries"][0], values["suite"]["tasks"][0]
    names = [f"task_{number}" for number in range(tasks)]
    values["suite"]["tasks"] = [{**task, "name": name, "title": name.replace("_", " "), "measures": {}} for name in names]
    entries = []
    for index, row in enumerate(sorted(rng.random((metrics, tasks)).tolist(), key=lambda scores: -sum(scores))):
        results = {name: {**first["tasks"][task["name"]], "above_chance": score, "measures": {},
                          "score": {"value": score, "low": score - 0.1, "high": score + 0.1, "units": 20}} for name, score in zip(names, row, strict=True)}
        mean = float(np.mean(row))
        entries.append({**first, "name": f"metric_{index}", "rank": index + 1, "rank_interval": [max(1, index - 9), index + 10], "tasks": results, "task_ranks": {},
                        "overall": {"value": mean, "low": mean - 0.02, "high": mean + 0.02, "units": 20}, "overall_above_chance": mean})
    values |= {"entries": entries, "lines": {"corpus": [10, 100]}, "p": {}, "agreement": {}, "gameable": {}}
    return Snapshot(Report.model_validate(values), {}, {})
