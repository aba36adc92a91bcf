"""Which page an address names; pages are kept once rendered."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock

from markupsafe import Markup

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.components.layout import PAGES, Choice, Links, render_frame
from leaderboard.board.pages.choose import render_choose
from leaderboard.board.pages.compare import render_compare
from leaderboard.board.pages.info import render_about, render_submit, render_tasks
from leaderboard.board.pages.map import render_map
from leaderboard.board.pages.metric import render_metric
from leaderboard.board.pages.ranking import render_board
from leaderboard.board.pages.try_it import render_form
from leaderboard.board.rendering import render
from leaderboard.board.snapshot import Snapshot, of_release
from leaderboard.publishing.release import FOLDER, read_release, releases
from leaderboard.scoring.custom_order import check_weights

# Parameters on which the HTML of a page depends; the script evaluates the others.
PARAMETERS = frozenset({"view", "metric", "against", "metrics", "track", "release", "suite", "task", "cost", "model", "symmetric", "kind",
                        "axis"})
NEED_ENTRIES = frozenset({"board", "compare", "choose", "map"})
PAGES_KEPT = 256
COMPRESSION = 6


@dataclass(frozen=True)
class Page:
    """A page, its title and its HTTP status."""

    html: str
    title: str
    status: int = 200

    @cached_property
    def content(self) -> bytes:
        """The page as JSON for the script."""
        return json.dumps({"html": self.html, "title": self.title}, ensure_ascii=False).encode("utf-8", "replace")

    @cached_property
    def zipped(self) -> bytes:
        """The same compressed."""
        return gzip.compress(self.content, COMPRESSION, mtime=0)

    @cached_property
    def tag(self) -> str:
        """The ETag."""
        return hashlib.sha256(self.content).hexdigest()[:32]


@dataclass
class Library:
    """The default snapshot, the other suites of its store, and the releases; each is read when it is first requested."""

    first: Snapshot
    suites: Mapping[str, Callable[[], Snapshot]] = field(default_factory=dict)
    folder: Path = FOLDER                   # of the releases
    _snapshots: dict[tuple[str, str], Snapshot] = field(default_factory=dict)
    _pages: dict[tuple[tuple[str, str], ...], Page] = field(default_factory=dict)       # the oldest first
    _reading: Lock = field(default_factory=Lock)

    def page(self, query: Mapping[str, str]) -> Page:
        """Return the page that a query names."""
        key = tuple(sorted((name, value) for name, value in query.items() if name in PARAMETERS))
        page = self._pages.get(key)
        if page is None:
            page = render_page(self, dict(key))
            if page.status == 200:
                self._pages[key] = page
                if len(self._pages) > PAGES_KEPT:
                    self._pages.pop(next(iter(self._pages)), None)
        return page

    def status(self, query: Mapping[str, str]) -> int:
        """Return the HTTP status of the page that a query names, custom weights included."""
        page = self.page(query)
        if page.status == 200 and query.get("order") == "weights":
            snapshot = self.snapshot(query.get("release"), query.get("suite"))
            track = query.get("track", snapshot.tracks[0])
            if not check_weights(query.get(f"w.{task.name}", "1") for task in snapshot.ranked_tasks(track)):
                return 422
        return page.status

    def snapshot(self, release: str | None = None, suite: str | None = None) -> Snapshot:
        """Return a snapshot by release or suite; refuse unknown ones, and releases that were modified."""
        if release and release != self.first.report.release:
            return self._read("release", release, lambda: of_release(read_release(release, self.folder)))
        if suite and not release and suite != self.first.report.suite.name:
            if suite not in self.suites:
                available = ", ".join([self.first.report.suite.name, *self.suites])
                raise TouchstoneError(f'There are no results of a suite "{printable(suite, 40)}". Available: {available}.')
            return self._read("suite", suite, self.suites[suite])
        return self.first

    def _read(self, kind: str, name: str, read: Callable[[], Snapshot]) -> Snapshot:
        with self._reading:                 # concurrent requests wait for the one that reads
            if (kind, name) not in self._snapshots:
                self._snapshots[kind, name] = read()
            return self._snapshots[kind, name]

    @cached_property
    def names(self) -> list[str]:
        """The names of all releases, the oldest first."""
        return releases(self.folder)

    def choices(self, current: Snapshot | None) -> list[Choice]:
        """Return what can be selected: the default snapshot, the other suites, the releases, the latest first."""
        suites = [(f"suite={name}", f"{name}, not released", self._snapshots.get(("suite", name))) for name in self.suites]
        past = [(f"release={name}", f"release {name}", self._snapshots.get(("release", name))) for name in reversed(self.names)
                if name != self.first.report.release]
        return [Choice(query, title, snapshot is not None and snapshot is current)
                for query, title, snapshot in [("", self.first.title, self.first), *suites, *past]]

    def links(self, release: str | None, suite: str | None) -> Links:
        """Return links that keep a release or suite that is not the default."""
        if self.snapshot(release, suite) is self.first:
            return Links()
        return Links(release=release, suite=None if release else suite)


def render_page(library: Library, query: Mapping[str, str]) -> Page:
    """Return the page that a query names, or one with status 404 that says what is missing."""
    release, suite = query.get("release", "")[:40] or None, query.get("suite", "")[:80] or None
    try:
        snapshot, links = library.snapshot(release, suite), library.links(release, suite)
    except TouchstoneError as error:
        return render_missing(library.first, Links(), str(error), library.choices(None))
    return render_snapshot(snapshot, links, query, library.choices(snapshot))


def render_snapshot(snapshot: Snapshot, links: Links, query: Mapping[str, str], choices: Sequence[Choice] = ()) -> Page:
    """Return a page of one snapshot."""
    name, page = query.get("metric"), query.get("view", "board")
    if snapshot.empty_message and (name is not None or page in NEED_ENTRIES):
        return render_missing(snapshot, links, snapshot.empty_message, choices, "No results yet")
    if name is not None:
        content = render_metric(snapshot, links, name, query.get("against"))
        if content is None:
            suggestion = did_you_mean(name, {entry.name for entry in snapshot.report.entries})
            return render_missing(snapshot, links, f"There is no metric “{printable(name, 80)}”.{suggestion}", choices)
        return frame_page("metric", content, f"Touchstone: {name}", snapshot, links, choices)
    if page not in PAGES:
        return render_missing(snapshot, links, f"There is no page “{printable(page, 80)}”; there are {', '.join(PAGES)}.", choices)
    if page != "board":
        content = RENDERERS[page](snapshot, links, query)
        return frame_page(page, content, f"Touchstone: {PAGES[page].lower()}", snapshot, links, choices)
    tracks = snapshot.tracks or ["corpus"]
    track = query.get("track", tracks[0])
    if track not in tracks:
        return render_missing(snapshot, links, f"There is no track “{printable(track, 80)}”; there are {', '.join(tracks)}.", choices)
    axes, axis = [axis.name for axis in snapshot.report.suite.axes if axis.track == track], query.get("axis")
    if axis is not None and axis not in axes:
        return render_missing(snapshot, links, f"There is no axis “{printable(axis, 80)}”; there are {', '.join(axes)}.", choices)
    if axis is not None and axis != axes[0]:
        snapshot = snapshot.on_axis(axis)
    content = render_board(snapshot, links, track)
    return frame_page(page, content, "Touchstone", snapshot, links, choices)


def frame_page(page: str, content: Markup, title: str, snapshot: Snapshot, links: Links, choices: Sequence[Choice]) -> Page:
    """Return content with header and navigation as a page."""
    return Page(str(render_frame(page, content, snapshot.title, links, snapshot.errata, choices)), title)


RENDERERS: Mapping[str, Callable[[Snapshot, Links, Mapping[str, str]], Markup]] = {
    "compare": render_compare, "choose": render_choose, "map": render_map, "try": render_form, "tasks": render_tasks,
    "submit": render_submit, "about": render_about}


def render_missing(snapshot: Snapshot, links: Links, message: str, choices: Sequence[Choice] = (), heading: str = "Not found") -> Page:
    """Return the page for an address that names nothing."""
    content = render("missing.html", heading=heading, message=message, links=links)
    return Page(str(render_frame("", content, snapshot.title, links, choices=choices)), f"Touchstone: {heading.lower()}", 404)
