"""Response times of the board: first row, search, sorting, weights, metric page; for a release and 1,000 metrics; many readers."""

from __future__ import annotations

import asyncio
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from leaderboard.publishing.release import releases
from tests.support.serving import free_port, synthetic

pytestmark = pytest.mark.benchmark
READERS, TIMES = 200, 5
# Required bounds, in seconds and megabytes.
FIRST_ROW, FIRST_ROW_OF_MANY, FOUND, SORTED, WEIGHED, METRIC_PAGE, UP, MEMORY, READ = 0.8, 1.0, 0.3, 0.3, 0.5, 1.0, 8.0, 600, 0.5
WATCH = """new MutationObserver((_, watch) => { if (document.querySelector(%r)) { window.firstSeen = performance.now(); watch.disconnect(); } })
    .observe(document, {childList: true, subtree: true})"""
WEIGH = """const order = document.querySelector('#ts-order'); order.value = 'weights'; order.dispatchEvent(new Event('change'));
    const input = document.querySelectorAll('[data-weight]')[%d]; input.value = 50; input.dispatchEvent(new Event('input'))"""
OVERALL = "() => { const order = document.querySelector('#ts-order'); order.value = 'overall'; order.dispatchEvent(new Event('change')) }"
SEARCH = "const box = document.querySelector('#ts-search'); box.value = %r; box.dispatchEvent(new Event('input'))"


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
                    f"app.serve(Library(pickle.loads(open({str(file)!r}, 'rb').read())), '127.0.0.1', PORT)")
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


def taken(page, act: Callable[[int], str], done: str, undo: str, settled: str) -> float:
    """Return the median seconds from an action until the frame with its result is drawn."""
    seconds = []
    for time_ in range(TIMES):
        seconds.append(float(page.evaluate(f"""() => new Promise(resolve => {{ const started = performance.now(); {act(time_)};
            const look = () => {{ if ({done}) requestAnimationFrame(() => setTimeout(() => resolve((performance.now() - started) / 1000)));
                                  else setTimeout(look, 5) }}; look() }})""")))
        page.evaluate(undo)
        page.wait_for_function(settled)
    return statistics.median(seconds)


def names_of(address: str) -> list[str]:
    entries = httpx.get(f"{address}/api/board", timeout=30).json()["entries"]
    return [entry["name"] for entry in entries if entry["rank"] is not None]


@pytest.mark.parametrize(("which", "bound"), [("public", FIRST_ROW), ("many", FIRST_ROW_OF_MANY)])
def test_response_times(which, bound, request, browser, report):
    served: Served = request.getfixturevalue(which)
    names = names_of(served.address)
    first = shown_after(browser, served.address, "#ts-table td.name")
    metric = shown_after(browser, f"{served.address}/?metric={names[0]}", ".ts h1")
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(served.address)
    page.wait_for_selector("#ts-table td.name")
    whole, name = page.locator("#ts-table td.name").count(), names[0]
    all_there = f"document.querySelectorAll('#ts-table td.name').length === {whole}"
    search = taken(page, lambda _: SEARCH % name, f"document.querySelectorAll('#ts-table td.name').length < {whole}",
                   f"() => {{ {SEARCH % ''} }}", all_there)
    sort = taken(page, lambda _: "document.querySelector('[data-sort=name]').click()", "document.querySelector('th[aria-sort]')", OVERALL,
                 all_there)
    weigh = taken(page, lambda time_: WEIGH % (time_ % page.locator("[data-weight]").count()),
                  "document.querySelector('th[data-key=overall]').textContent === 'By my weights'", OVERALL, all_there)
    page.evaluate("document.querySelector('[data-sort=name]').click()")
    whole_again = taken(page, lambda _: "document.querySelector('[data-sort=name]').click()", all_there, "() => {}", all_there)
    page.context.close()
    report(f"{which}, {whole} ranked: first row {first:.2f} s (at most {bound}), a metric's page {metric:.2f} s (at most {METRIC_PAGE}), "
           f"search {search:.3f} s, sort {sort:.3f} s (at most {SORTED}; till the last row {whole_again:.3f}), own weights {weigh:.3f} s (at most {WEIGHED}); "
           f"up in {served.seconds:.1f} s (at most {UP:.0f}), at most {served.megabytes:.0f} MB (under {MEMORY})")
    assert first <= bound
    assert metric <= METRIC_PAGE
    assert search <= FOUND
    assert sort <= SORTED
    assert whole_again <= 2 * SORTED                # what is out of sight comes after what is in it
    assert weigh <= WEIGHED
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
