"""Which page an address asks for, and what is on it; pure functions of prepared snapshots."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.components.layout import PAGES, Choice, Links, framed
from leaderboard.board.pages import (
    choose as choose_page,
)
from leaderboard.board.pages import (
    compare as compare_page,
)
from leaderboard.board.pages import (
    info as word_pages,
)
from leaderboard.board.pages import (
    map as map_page,
)
from leaderboard.board.pages import (
    metric as metric_page,
)
from leaderboard.board.pages import (
    ranking as board_page,
)
from leaderboard.board.pages import (
    try_it as try_page,
)
from leaderboard.board.snapshot import Snapshot, of_release
from leaderboard.publishing.release import read_release, releases
from leaderboard.scoring.custom_order import check_weights

TELLING = frozenset({"view", "metric", "against", "metrics", "track", "release", "suite", "task", "cost", "model", "symmetric", "kind"})
OF_ENTRIES = frozenset({"board", "compare", "choose", "map"})
PAGES_KEPT = 256
ZIPPED = 6                                  # how hard


@dataclass(frozen=True)
class Page:
    html: str
    title: str
    status: int = 200

    @cached_property
    def content(self) -> bytes:
        """As the page's script is told it."""
        return json.dumps({"html": self.html, "title": self.title}, ensure_ascii=False).encode("utf-8", "replace")

    @cached_property
    def zipped(self) -> bytes:
        return gzip.compress(self.content, ZIPPED, mtime=0)

    @cached_property
    def tag(self) -> str:
        return hashlib.sha256(self.content).hexdigest()[:32]


@dataclass
class Shelf:
    """The snapshot that is shown first; other suites of its store, and releases, each read when it is first asked for."""

    first: Snapshot
    suites: Mapping[str, Callable[[], Snapshot]] = field(default_factory=dict)
    _kept: dict[tuple[str, str], Snapshot] = field(default_factory=dict)
    _pages: dict[tuple[tuple[str, str], ...], Page] = field(default_factory=dict)       # as they were made, the oldest first
    _reading: Lock = field(default_factory=Lock)

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

    def status(self, asked: Mapping[str, str]) -> int:
        """Of the page that a query names, with the weights in it."""
        page = self.page(asked)
        if page.status == 200 and asked.get("order") == "weights":
            snapshot = self.snapshot(asked.get("release"), asked.get("suite"))
            track = asked.get("track", snapshot.tracks[0])
            if not check_weights(asked.get(f"w.{task['name']}", "1") for task in snapshot.ranked_tasks(track)):
                return 422
        return page.status

    def snapshot(self, release: str | None = None, suite: str | None = None) -> Snapshot:
        """Refuses a release or a suite that there is not, and a release that is not as it was made."""
        if release and release != self.first.facts["release"]:
            return self._read("release", release, lambda: of_release(read_release(release)))
        if suite and not release and suite != self.first.facts["suite"]["name"]:
            if suite not in self.suites:
                known = ", ".join([self.first.facts["suite"]["name"], *self.suites])
                raise TouchstoneError(f'There are no answers to a suite "{printable(suite, 40)}" here; there are some to {known}.')
            return self._read("suite", suite, self.suites[suite])
        return self.first

    def _read(self, kind: str, name: str, read: Callable[[], Snapshot]) -> Snapshot:
        with self._reading:                 # many ask at once; one reads
            if (kind, name) not in self._kept:
                self._kept[kind, name] = read()
            return self._kept[kind, name]

    @cached_property
    def names(self) -> list[str]:
        return releases()

    def choices(self, shown: Snapshot | None) -> list[Choice]:
        """What can be shown instead: the first snapshot, the other suites, the releases, the latest first."""
        others = [(f"suite={name}", f"{name}, not released", self._kept.get(("suite", name))) for name in self.suites]
        past = [(f"release={name}", f"release {name}", self._kept.get(("release", name))) for name in reversed(self.names)
                if name != self.first.facts["release"]]
        return [Choice(query, title, snapshot is not None and snapshot is shown)
                for query, title, snapshot in [("", self.first.title, self.first), *others, *past]]


def page_of(shelf: Shelf, asked: Mapping[str, str]) -> Page:
    """The page that a query names; one that is not there is said, with the status to match."""
    release, suite = asked.get("release", "")[:40] or None, asked.get("suite", "")[:80] or None
    try:
        snapshot = shelf.snapshot(release, suite)
    except TouchstoneError as wrong:
        return missing(shelf.first, Links(), str(wrong), shelf.choices(None))
    links = Links() if snapshot is shelf.first else Links(release=release, suite=None if release else suite)
    return drawn(snapshot, links, asked, shelf.choices(snapshot))


def drawn(snapshot: Snapshot, links: Links, asked: Mapping[str, str], choices: Sequence[Choice] = ()) -> Page:
    """A page of one snapshot."""
    name = asked.get("metric")
    if snapshot.nobody and (name is not None or asked.get("view", "board") in OF_ENTRIES):
        return missing(snapshot, links, snapshot.nobody, choices, "Nobody yet")
    if name is not None:
        content = metric_page.metric(snapshot, links, name, asked.get("against"))
        if content is None:
            meant = did_you_mean(name, {entry["name"] for entry in snapshot.facts["entries"]})
            return missing(snapshot, links, f"There is no metric “{printable(name, 80)}” here.{meant}", choices)
        return Page(framed("metric", content, snapshot.title, links, snapshot.errata, choices), f"Touchstone: {name}")
    page = asked.get("view", "board")
    if page not in PAGES:
        return missing(snapshot, links, f"There is no page “{printable(page, 80)}”; there are {', '.join(PAGES)}.", choices)
    if page == "board":
        tracks = snapshot.tracks or ["corpus"]
        track = asked.get("track", tracks[0])
        if track not in tracks:
            return missing(snapshot, links, f"There is no track “{printable(track, 80)}”; there are {', '.join(tracks)}.", choices)
        content = board_page.board(snapshot, links, track)
    else:
        content = CONTENT[page](snapshot, links, asked)
    title = "Touchstone" if page == "board" else f"Touchstone: {PAGES[page].lower()}"
    return Page(framed(page, content, snapshot.title, links, snapshot.errata, choices), title)


CONTENT: Mapping[str, Callable[[Snapshot, Links, Mapping[str, str]], str]] = {
    "compare": lambda snapshot, links, asked: compare_page.compare(snapshot, links, asked.get("metrics")),
    "choose": choose_page.choose,
    "map": lambda snapshot, links, asked: map_page.overview(snapshot, links),
    "try": lambda snapshot, links, asked: try_page.page(links, asked),
    "tasks": lambda snapshot, links, asked: word_pages.tasks(snapshot, links),
    "submit": lambda snapshot, links, asked: word_pages.submit(links),
    "about": lambda snapshot, links, asked: word_pages.about(snapshot, links),
}


def missing(snapshot: Snapshot, links: Links, what: str, choices: Sequence[Choice] = (), heading: str = "Not here") -> Page:
    content = word_pages.missing(what, links, heading)
    return Page(framed("", content, snapshot.title, links, choices=choices), f"Touchstone: {heading.lower()}", 404)
