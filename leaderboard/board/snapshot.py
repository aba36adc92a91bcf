"""What the board shows, prepared once from a store or a release and never per request.  Pages are functions of a snapshot."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import TypeAdapter

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.evaluation.suite import Suite
from harness.evaluation.task import Role
from harness.results.store import Store
from harness.submission.selection import load_available
from harness.submission.submission import current_digest
from leaderboard.board.columns import Column, list_columns, measure_value
from leaderboard.papers.published_comparison import PublishedComparison, compare_published
from leaderboard.publishing.release import Release, releases
from leaderboard.publishing.versions import Version, versions
from leaderboard.publishing.views import ReleaseView, StoreView
from leaderboard.report.schema import EntryReport, Report, TaskInfo
from leaderboard.scoring.comparison import Samples
from leaderboard.scoring.results import PublishedResults, Results
from tasks.suite_files import load_suite

TRACKS = {"corpus": "Corpus metrics", "text": "Text metrics"}


@dataclass(frozen=True)
class Snapshot:
    """A report with what pages need besides: samples for comparisons, source files, history, published results."""

    report: Report
    samples: Samples
    sources: Mapping[str, str]              # text of the submission files that are available, by entry
    release: Release | None = None          # where it was read from one
    versions: Mapping[str, Sequence[Version]] = field(default_factory=dict)     # of each metric, the oldest first
    releases: Sequence[str] = ()            # names, the oldest first
    published: Mapping[str, PublishedComparison] = field(default_factory=dict)  # by task
    beside: str | None = None               # the release among whose metrics those of a store are shown
    results: Callable[[], Results] | None = None                                # reads the answers

    @property
    def errata(self) -> str | None:
        """What became known about the release later."""
        return self.release.errata.status if self.release is not None else None

    @property
    def tracks(self) -> list[str]:
        """The tracks that have entries."""
        return [track for track in TRACKS if any(entry.track == track for entry in self.report.entries)]

    def entries(self, track: str) -> list[EntryReport]:
        """Return the entries of a track, the ranked ones first and in their order."""
        return [entry for entry in self.report.entries if entry.track == track]

    def ranked_entries(self, track: str) -> list[EntryReport]:
        """Return the ranked entries of a track in their order."""
        return [entry for entry in self.entries(track) if entry.rank is not None]

    def entry(self, name: str, track: str | None = None) -> EntryReport | None:
        """Return an entry in a track, or in the first track that has it."""
        return next((entry for entry in self.report.entries if entry.name == name and track in (None, entry.track)), None)

    def ranked_tasks(self, track: str) -> list[TaskInfo]:
        """Return the ranked tasks of a track."""
        return self.report.suite.ranked_tasks(track)

    def task(self, name: str) -> TaskInfo:
        """Return a task by name."""
        return self.report.suite.task(name)

    def columns(self, track: str) -> list[Column]:
        """Return all columns of a track's table."""
        return list_columns(self.report.suite, track)

    def on_axis(self, name: str) -> Snapshot:
        """Return the snapshot with a track ranked by another of its axes."""
        return replace(self, report=self.report.on_axis(self.report.suite.axis(name)))

    def role(self, role: Role) -> tuple[str, str] | None:
        """Return the task and the measure that play a role in this suite, or None."""
        return self.report.suite.role(role)

    def cost(self, entry: EntryReport) -> float | None:
        """Return what a comparison by an entry costs, in `cost_unit`."""
        names = self.report.suite.cost(entry.track)
        return measure_value(entry, *names) if names is not None else None

    def cost_unit(self, track: str) -> str:
        """Return the unit of the costs of a track."""
        names = self.report.suite.cost(track)
        return self.task(names[0]).presentation.units.get(names[1], "") if names is not None else ""

    def role_unit(self, role: Role) -> str:
        """Return the unit of the measure that plays a role."""
        names = self.role(role)
        return self.task(names[0]).presentation.units.get(names[1], "") if names is not None else ""

    def role_value(self, entry: EntryReport, role: Role) -> float | None:
        """Return the entry's value of the measure that plays a role."""
        estimate = self.report.suite.measure_in_role(entry, role)
        return estimate.value if estimate is not None else None

    def p(self, track: str, a: str, b: str) -> float | None:
        """Return the adjusted p-value of the difference of two ranked entries' overall scores."""
        table = self.report.p.get(track)
        return table.between(a, b) if table is not None else None

    @property
    def empty_message(self) -> str | None:
        """What to do if there are no results yet; None if there are some."""
        name = self.report.suite.name
        return None if self.report.entries else f"The suite {name} has no results yet. Run `touchstone run --suite {name}` first."

    @property
    def title(self) -> str:
        """A few words for the head of every page."""
        suite, release = self.report.suite, self.report.release
        if self.beside is not None:
            return f"your results and release {self.beside} · {suite.label}"
        return f"{f'release {release}' if release else 'not released'} · {suite.label}"

    @cached_property
    def answers(self) -> Results:
        """The answers of the entries, read when they are first used; raise if there are none."""
        if self.results is None:
            raise TouchstoneError("The answers of these results are not available here.")
        return self.results()

    @cached_property
    def zipped(self) -> bytes:
        """The report as compressed JSON, once for all readers."""
        return gzip.compress(TypeAdapter(Report).dump_json(self.report), 6, mtime=0)

    @property
    def content(self) -> bytes:
        """The report as JSON, for the few readers that accept no compression."""
        return gzip.decompress(self.zipped)

    @cached_property
    def tag(self) -> str:
        """The ETag: it changes with the content."""
        return hashlib.sha256(self.zipped).hexdigest()[:32]


def of_store(suite: Suite, store: Store, published: PublishedResults | None = None,
             only: Container[str] | None = None) -> Snapshot:
    """Return the snapshot of a store, among published results if there are any; one without entries if there are no results.

    `only` limits the entries of the store, by digest.
    """
    results = StoreView(Results(suite, store, published, only))
    sources = {placed.scored.name: placed.scored.entry.submission.source.decode("utf-8", "replace")
               for ranking in results.rankings.values() for placed in ranking.places}
    return Snapshot(results.report, results.samples, sources, versions=versions(store), releases=releases(),
                    published=compare_published(results.report), beside=results.release_name, results=lambda: results.results)


def of_release(release: Release) -> Snapshot:
    """Return the snapshot of a release, with the source files of the entries that are still here unchanged."""
    files = {entry.digest: entry.submission.source.decode("utf-8", "replace")
             for submission in load_available(SUBMISSIONS) for entry in submission.entries}
    sources = {entry.name: files[digest] for entry in release.report.entries if (digest := current_digest(entry.digest)) in files}
    folder = release.folder.parent
    return Snapshot(release.report, ReleaseView(release).samples, sources, release, versions(None, folder),
                    releases(folder), compare_published(release.report), results=lambda: read_results(release))


def read_results(release: Release) -> Results:
    """Return the answers of a release."""
    suite = load_suite(release.report.suite.name)
    return Results(suite, None, release.results(suite))
