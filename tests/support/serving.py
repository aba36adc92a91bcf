"""A small board for the tests: its suite, a submission that is meant ill, a server in a thread, a browser."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from leaderboard.board.app import application
from leaderboard.board.router import Shelf

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
def served(shelf: Shelf) -> Iterator[str]:
    """The address at which a thread of this process serves."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(application(shelf), host="127.0.0.1", port=port, log_level="warning"))
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
    """A page of which it is asserted at the end that it asked nobody else and that nothing went wrong in it, but for what is expected."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened, asked, wrong = context.new_page(), [], []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("console", lambda said: wrong.append(said.text) if said.type == "error" and not (expected and expected in said.text) else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    context.close()
    assert [url for url in asked if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))] == []
    assert wrong == []


def names(page) -> list[str]:
    """Of the metrics in the ranked table, in the order shown."""
    return page.locator("#ts-table td.name a").all_inner_texts()
