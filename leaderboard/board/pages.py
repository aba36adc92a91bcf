"""Which page an address asks for, and what is on it; pure functions of prepared snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from harness.errors import Refusal, printable
from leaderboard.board import board_page, comparing_pages, metric_page, try_page, word_pages
from leaderboard.board.frame import PAGES, Links, framed
from leaderboard.board.snapshot import Snapshot, of_release
from leaderboard.releases import read_release, releases

TELLING = frozenset({"view", "metric", "against", "metrics", "track", "release", "task", "cost", "model", "symmetric", "kind"})
PAGES_KEPT = 256


@dataclass(frozen=True)
class Page:
    html: str
    title: str
    status: int = 200


@dataclass
class Shelf:
    """The snapshot that is shown first, and releases, each read when it is first asked for."""

    first: Snapshot
    _kept: dict[str, Snapshot] = field(default_factory=dict)
    _pages: dict[tuple[tuple[str, str], ...], Page] = field(default_factory=dict)       # as they were made, the oldest first

    def page(self, asked: Mapping[str, str]) -> Page:
        """The page that a query names; made once, until many others were."""
        named = tuple(sorted((key, value) for key, value in asked.items() if key in TELLING))
        page = self._pages.get(named)
        if page is None:
            page = page_of(self, dict(named))
            if page.status == 200:
                self._pages[named] = page
                if len(self._pages) > PAGES_KEPT:
                    self._pages.pop(next(iter(self._pages)), None)
        return page

    def snapshot(self, release: str | None) -> Snapshot:
        """Refuses a release that there is not, or that is not as it was made."""
        if not release or release == self.first.facts["release"]:
            return self.first
        if release not in self._kept:
            self._kept[release] = of_release(read_release(release))
        return self._kept[release]

    @cached_property
    def names(self) -> list[str]:
        return releases()


def page_of(shelf: Shelf, asked: Mapping[str, str]) -> Page:
    """The page that a query names; one that is not there is said, with the status to match."""
    release = asked.get("release", "")[:40]
    try:
        snapshot = shelf.snapshot(release)
    except Refusal as wrong:
        return missing(shelf.first, Links(), str(wrong))
    return drawn(snapshot, Links(release=None if snapshot is shelf.first else release), asked)


def drawn(snapshot: Snapshot, links: Links, asked: Mapping[str, str]) -> Page:
    """A page of one snapshot."""
    name = asked.get("metric")
    if name is not None:
        content = metric_page.metric(snapshot, links, name, asked.get("against"))
        if content is None:
            return missing(snapshot, links, f"There is no metric “{printable(name, 80)}” here.")
        return Page(framed("metric", content, snapshot.title, links, snapshot.errata), f"Touchstone: {name}")
    page = asked.get("view", "board")
    if page not in PAGES:
        return missing(snapshot, links, f"There is no page “{printable(page, 80)}”.")
    if page == "board":
        tracks = snapshot.tracks or ["corpus"]
        track = asked.get("track", tracks[0])
        if track not in tracks:
            return missing(snapshot, links, f"There is no track “{printable(track, 80)}”; there are {', '.join(tracks)}.")
        content = board_page.board(snapshot, links, track)
    else:
        content = CONTENT[page](snapshot, links, asked)
    title = "Touchstone" if page == "board" else f"Touchstone: {PAGES[page].lower()}"
    return Page(framed(page, content, snapshot.title, links, snapshot.errata), title)


CONTENT: Mapping[str, Callable[[Snapshot, Links, Mapping[str, str]], str]] = {
    "compare": lambda snapshot, links, asked: comparing_pages.compare(snapshot, links, asked.get("metrics")),
    "choose": comparing_pages.choose,
    "map": lambda snapshot, links, asked: comparing_pages.overview(snapshot, links),
    "try": lambda snapshot, links, asked: try_page.page(links, asked),
    "tasks": lambda snapshot, links, asked: word_pages.tasks(snapshot, links),
    "submit": lambda snapshot, links, asked: word_pages.submit(links),
    "about": lambda snapshot, links, asked: word_pages.about(snapshot, links),
}


def missing(snapshot: Snapshot, links: Links, what: str) -> Page:
    return Page(framed("", word_pages.missing(what, links), snapshot.title, links), "Touchstone: not here", 404)
