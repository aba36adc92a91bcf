"""What each address shows; pages are kept once rendered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock

from markupsafe import Markup

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.components.layout import PAGES, Choice, Links
from leaderboard.board.pages.choose import render_choose
from leaderboard.board.pages.compare import render_compare
from leaderboard.board.pages.difference import render_difference
from leaderboard.board.pages.info import render_about, render_changes, render_submit, render_tasks
from leaderboard.board.pages.map import render_map
from leaderboard.board.pages.metric import render_metric
from leaderboard.board.pages.ranking import TableView, complete_weights, render_overview, render_table
from leaderboard.board.pages.submission import load_submission_page
from leaderboard.board.pages.try_it import render_form
from leaderboard.board.rendering import render
from leaderboard.board.snapshot import Snapshot, of_release
from leaderboard.publishing.release import FOLDER, read_release, releases
from leaderboard.scoring.custom_order import check_weights
from leaderboard.service.access import Service
from leaderboard.service.database import DatabaseAway
from leaderboard.service.submissions import UnknownSubmission

# Parameters on which the HTML of a page depends; the script evaluates the others.
PARAMETERS = frozenset({"name", "against", "metrics", "track", "release", "suite", "task", "cost", "model", "symmetric", "axis", "order",
                        "columns", "since", "difference", "size"})
NEED_ENTRIES = frozenset({"board", "metric", "compare", "choose", "map", "difference"})
PAGES_KEPT = 256
NO_OWN_DATA = "This server cannot read your files. Run `touchstone serve --own-data` on your machine."


@dataclass(frozen=True)
class Page:
    """The content of a page, its title and its HTTP status."""

    content: Markup
    title: str
    status: int = 200


@dataclass
class Library:
    """The default snapshot, the other suites of its store, and the releases; each is read when it is first requested."""

    first: Snapshot
    suites: Mapping[str, Callable[[], Snapshot]] = field(default_factory=dict)
    folder: Path = FOLDER                   # of the releases
    service: Service | None = None          # if the server accepts submissions
    own_data: bool = False                  # whether the server reads files of this machine, for its user alone
    _snapshots: dict[tuple[str, str], Snapshot] = field(default_factory=dict)
    _pages: dict[tuple[str, tuple[tuple[str, str], ...]], Page] = field(default_factory=dict)       # the oldest first
    _reading: Lock = field(default_factory=Lock)

    def page(self, name: str, query: Mapping[str, str]) -> Page:
        """Return the page of a name of `PAGES`, or `metric`, for the parameters of an address."""
        if name == "submission":            # it changes, so it is not kept
            return render_submission_page(self, query.get("id", ""))
        if name == "own":
            return Page(render("own.html"), "Your data · Touchstone") if self.own_data else render_missing(Links(), NO_OWN_DATA)
        parameters = tuple(sorted((key, value) for key, value in query.items() if key in PARAMETERS or key.startswith("w.")))
        key = (name, parameters)
        page = self._pages.get(key)
        if page is None:
            page = render_page(self, name, dict(parameters))
            if page.status == 200:
                self._pages[key] = page
                if len(self._pages) > PAGES_KEPT:
                    self._pages.pop(next(iter(self._pages)), None)
        return page

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

    def selected(self, query: Mapping[str, str]) -> tuple[Snapshot, Links]:
        """Return the snapshot that the parameters of an address select, and links that keep the selection."""
        release, suite = query.get("release", "")[:40] or None, query.get("suite", "")[:80] or None
        return self.snapshot(release, suite), self.links(release, suite)

    def _read(self, kind: str, name: str, read: Callable[[], Snapshot]) -> Snapshot:
        with self._reading:                 # concurrent requests wait for the one that reads
            if (kind, name) not in self._snapshots:
                self._snapshots[kind, name] = read()
            return self._snapshots[kind, name]

    @cached_property
    def names(self) -> list[str]:
        """The names of all releases, the oldest first."""
        return releases(self.folder)

    def selection(self, query: Mapping[str, str]) -> str:
        """Return the choice that the parameters of an address select."""
        snapshot, _ = self.selected(query)
        if snapshot is self.first:
            return ""
        return f"release={query['release']}" if query.get("release") else f"suite={query['suite']}"

    def choices(self) -> list[Choice]:
        """Return what can be selected: the default snapshot, the other suites, the releases, the latest first."""
        suites = [Choice(f"suite={name}", f"{name}, not released") for name in self.suites]
        past = [Choice(f"release={name}", f"release {name}") for name in reversed(self.names) if name != self.first.report.release]
        return [Choice("", self.first.title), *suites, *past]

    def links(self, release: str | None, suite: str | None) -> Links:
        """Return links that keep a release or suite that is not the default."""
        if self.snapshot(release, suite) is self.first:
            return Links()
        return Links(release=release, suite=None if release else suite)


def render_page(library: Library, name: str, query: Mapping[str, str]) -> Page:
    """Return a page, or one with an error status that says what is wrong."""
    try:
        snapshot, links = library.selected(query)
    except TouchstoneError as error:
        return render_missing(Links(), str(error))
    return render_snapshot(snapshot, links, name, query)


def render_snapshot(snapshot: Snapshot, links: Links, name: str, query: Mapping[str, str]) -> Page:
    """Return a page of one snapshot."""
    if snapshot.empty_message and name in NEED_ENTRIES:
        return render_missing(links, snapshot.empty_message, "No results yet")
    if name == "metric":
        return render_metric_page(snapshot, links, query)
    if name != "board":
        return Page(with_errata(snapshot, RENDERERS[name](snapshot, links, query)), f"{PAGES.get(name, name.capitalize())} · Touchstone")
    track, view = query.get("track"), read_view(query)
    if track is not None and track not in snapshot.tracks:
        return render_missing(links, f"There is no track “{printable(track, 80)}”; there are {', '.join(snapshot.tracks)}.")
    tasks = [task.name for task in snapshot.ranked_tasks(track or snapshot.tracks[0])]
    if view.weights and not check_weights(complete_weights(tasks, view.weights).values()):
        return render_missing(links, WRONG_WEIGHTS, "Invalid weights", 422)
    axes = [axis.name for axis in snapshot.report.suite.axes if axis.track == (track or snapshot.tracks[0])]
    if query.get("axis") and query["axis"] not in axes:
        return render_missing(links, f"There is no axis “{printable(query['axis'], 80)}”; there are {', '.join(axes)}.")
    tables = [render_table(snapshot, links, each, view if each == (track or snapshot.tracks[0]) else None)
              for each in snapshot.tracks if track in (None, each)]
    return Page(with_errata(snapshot, render_overview(snapshot, links) + Markup().join(tables)), "Touchstone: benchmark of text-similarity metrics")


WRONG_WEIGHTS = "Weights must be 0 or more, and at least one must be positive."


def read_view(query: Mapping[str, str]) -> TableView:
    """Return the order, weights and columns that the parameters of an address name."""
    columns, axis = query.get("columns"), query.get("axis")
    order = query.get("order") or (f"axis.{axis}" if axis else "overall")
    weights = {key[2:]: parse_weight(value) for key, value in query.items() if key.startswith("w.")} if order == "weights" else {}
    return TableView(order, weights, None if columns is None else [key for key in columns.split(",") if key != "none"])


def parse_weight(text: str) -> float:
    """Return a weight; nan, which no order accepts, for what is no number."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def render_metric_page(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Page:
    """Return the page of a metric."""
    name = query.get("name", "")
    content = render_metric(snapshot, links, name, query.get("against"))
    if content is None:
        suggestion = did_you_mean(name, {entry.name for entry in snapshot.report.entries})
        return render_missing(links, f"There is no metric “{printable(name, 80)}”.{suggestion}")
    return Page(with_errata(snapshot, content), f"{name} · Touchstone")


def render_submission_page(library: Library, identifier: str) -> Page:
    """Return the page of a submission."""
    if library.service is None:
        return render_missing(Links(), "This server accepts no submissions.")
    try:
        return Page(load_submission_page(library.service, identifier), "Submission · Touchstone")
    except UnknownSubmission as error:
        return render_missing(Links(), str(error))
    except DatabaseAway as error:
        return render_missing(Links(), str(error), "Unavailable", 503)


def with_errata(snapshot: Snapshot, content: Markup) -> Markup:
    """Return content below what became known about the release later."""
    return render("errata.html", errata=snapshot.errata, content=content)


RENDERERS: Mapping[str, Callable[[Snapshot, Links, Mapping[str, str]], Markup]] = {
    "compare": render_compare, "choose": render_choose, "difference": render_difference, "map": render_map, "try": render_form,
    "tasks": render_tasks, "submit": render_submit, "about": render_about, "changes": render_changes}


def render_missing(links: Links, message: str, heading: str = "Not found", status: int = 404) -> Page:
    """Return the page for an address that names nothing."""
    return Page(render("missing.html", heading=heading, message=message, links=links), f"{heading} · Touchstone", status)
