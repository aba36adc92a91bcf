"""Response times of the board: first row, search, sorting, navigation; for a release and for 1,000 metrics; many readers at once."""

from __future__ import annotations

import asyncio
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from leaderboard.publishing.release import releases
from tests.support.serving import free_port, synthetic

pytestmark = pytest.mark.benchmark
READERS, TIMES = 200, 5
# Required bounds in seconds, for a release and for 1,000 metrics with 40 tasks, and in megabytes.
FIRST_ROW, FOUND, SORTED = {"public": 0.9, "many": 1.0}, {"public": 0.1, "many": 0.3}, {"public": 0.1, "many": 0.3}
NEXT_PAGE, UP, MEMORY, READ = 0.45, 8.0, 450, 0.3
ROWS = "document.querySelectorAll('.ranking > table td.name').length"
WATCH = """new MutationObserver((_, watch) => { if (document.querySelector(%r)) { window.firstSeen = performance.now(); watch.disconnect(); } })
    .observe(document, {childList: true, subtree: true})"""
SEARCH = """const box = document.querySelector('#search-corpus textarea');
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(box, %r); box.dispatchEvent(new Event('input', {bubbles: true}))"""
SORT = """window.before = document.querySelector('th[aria-sort]')?.getAttribute('aria-sort'); document.querySelector('[data-sort="1"]').click()"""
RESORTED = "document.querySelector('th[aria-sort]')?.getAttribute('aria-sort') !== window.before"


class Served:
    """A server in a separate process, as for a reader's browser."""

    def __init__(self, *command: str) -> None:
        port = free_port()
        started = time.monotonic()
        self.process = subprocess.Popen([sys.executable, *(part.replace("PORT", str(port)) for part in command)], stderr=subprocess.DEVNULL)
        self.address = f"http://127.0.0.1:{port}"
        while True:
            try:
                httpx.get(f"{self.address}/api/releases", timeout=5)
                break
            except httpx.TransportError:
                assert self.process.poll() is None
                assert time.monotonic() - started < 120
                time.sleep(0.02)
        self.seconds = time.monotonic() - started

    @property
    def megabytes(self) -> float:
        """The peak memory of the server."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1e3

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


@pytest.fixture(scope="module")
def public(request) -> Iterator[Served]:
    """Serve the latest release as on a fresh clone; the store of the tests if there is none."""
    if releases():
        server = Served("-m", "leaderboard", "serve", "--release", releases()[-1], "--port", "PORT")
    else:
        folder = request.getfixturevalue("board_folder")
        server = Served("-m", "leaderboard", "serve", "--suite", str(folder / "ten.toml"), "--store", str(folder / "store.sqlite"), "--port", "PORT")
    yield server
    server.close()


@pytest.fixture(scope="module")
def many(board_snapshot, tmp_path_factory) -> Iterator[Served]:
    file = tmp_path_factory.mktemp("many") / "snapshot.pickle"
    file.write_bytes(pickle.dumps(synthetic(board_snapshot)))
    server = Served("-c", "import pickle; from leaderboard.board import app; from leaderboard.board.router import Library; "
                    f"app.serve(Library(pickle.load(open({str(file)!r}, 'rb'))), '127.0.0.1', PORT)")
    yield server
    server.close()


def shown_after(browser, address: str, selector: str) -> float:
    """Return the median seconds from the start of the navigation until an element is in the document, with an empty cache.

    The page is requested once before, so that the server is warm.
    """
    seconds = []
    for _ in range(1 + TIMES):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.add_init_script(WATCH % selector)
        page.goto(address, wait_until="commit")
        page.wait_for_function("window.firstSeen !== undefined")
        seconds.append(float(page.evaluate("window.firstSeen")) / 1000)
        context.close()
    return statistics.median(seconds[1:])


def taken(page, act: str, done: str, undo: str, settled: str) -> float:
    """Return the median seconds from an action until the frame with its result is drawn."""
    seconds = []
    for _ in range(TIMES):
        seconds.append(float(page.evaluate(f"""() => new Promise(resolve => {{ const started = performance.now(); {act};
            const look = () => {{ if ({done}) requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - started) / 1000)));
                                  else setTimeout(look, 2) }}; look() }})""")))
        page.evaluate(undo)
        page.wait_for_function(settled)
    return statistics.median(seconds)


def names_of(address: str) -> list[str]:
    entries = httpx.get(f"{address}/api/board", timeout=30).json()["entries"]
    return [entry["name"] for entry in entries if entry["rank"] is not None and entry["track"] == "corpus"]


@pytest.mark.parametrize("which", ["public", "many"])
def test_response_times(which, request, browser, report):
    served: Served = request.getfixturevalue(which)
    names = names_of(served.address)
    first = shown_after(browser, served.address, ".ranking td.name")
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(served.address)
    page.wait_for_selector(".ranking td.name")
    page.wait_for_load_state("networkidle")
    rows = page.evaluate(ROWS)
    search = taken(page, SEARCH % names[-1], f"{ROWS} < {rows}", f"() => {{ {SEARCH % ''} }}", f"{ROWS} === {rows}")
    sort = taken(page, SORT, RESORTED, "() => {}", "true")
    pages = []
    for heading in ("Tasks", "Ranking") * TIMES:
        started = time.perf_counter()
        page.locator("nav").get_by_role("link", name=heading, exact=True).click()
        page.wait_for_selector("h1:has-text('Tasks')" if heading == "Tasks" else ".ranking td.name")
        pages.append(time.perf_counter() - started)
    page.context.close()
    report(f"{which}, {len(names)} ranked: first row {first:.2f} s (at most {FIRST_ROW[which]}), search {search:.3f} s and sort {sort:.3f} s (at most "
           f"{FOUND[which]}), next page {statistics.median(pages):.2f} s (at most {NEXT_PAGE}); up in {served.seconds:.1f} s (at most {UP:.0f}), at most "
           f"{served.megabytes:.0f} MB (under {MEMORY})")
    assert first <= FIRST_ROW[which]
    assert search <= FOUND[which]
    assert sort <= SORTED[which]
    assert which == "many" or statistics.median(pages) <= NEXT_PAGE
    assert served.seconds <= UP
    assert served.megabytes < MEMORY


def test_many_readers_at_once(public, report):
    """Every reader uses a separate connection and accepts compressed content."""
    async def read() -> tuple[int, float, int]:
        started = time.perf_counter()
        host, _, port = public.address.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET /api/board HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        content = await reader.read(-1)
        writer.close()
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        assert len(content) == length                               # whole
        return int(head.split()[1]), time.perf_counter() - started, length

    async def all_of_them() -> list[tuple[int, float, int]]:
        return list(await asyncio.gather(*(read() for _ in range(READERS))))

    with ThreadPoolExecutor(1) as executor:       # the browser's driver runs an event loop in this thread
        executor.submit(lambda: asyncio.run(all_of_them())).result()
        answers = executor.submit(lambda: asyncio.run(all_of_them())).result()
    p95 = float(np.quantile([seconds for _, seconds, _ in answers], 0.95))
    report(f"{READERS} readers at once of {answers[0][2] / 1e3:.0f} kB: 95% have the board in {p95:.2f} s (at most {READ}); "
           f"the server takes {public.megabytes:.0f} MB (under {MEMORY})")
    assert {status for status, _, _ in answers} == {200}
    assert p95 <= READ
    assert public.megabytes < MEMORY
