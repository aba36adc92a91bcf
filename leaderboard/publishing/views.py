"""The results of a suite from a store or from a release; what takes long is computed when it is first used."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from harness.base.errors import TouchstoneError, did_you_mean
from harness.evaluation.suite import Axis
from harness.evaluation.task import Role
from leaderboard.publishing.release import Release
from leaderboard.report.build import (
    build_comparison,
    build_overview,
    build_report,
    describe_entry,
    describe_quality,
    describe_suite,
)
from leaderboard.report.schema import DescribedEntry, MetricPair, Overview, Report, SuiteInfo, TrackQuality
from leaderboard.scoring.comparison import Samples, load_samples, samples_of_release
from leaderboard.scoring.insights import Agreement, agreement, pareto_optimal
from leaderboard.scoring.ranking import rank_suite
from leaderboard.scoring.results import Results, RunValues


class ResultsView(ABC):
    """The results of a suite: the scores of all entries, and what is derived from them.

    Attributes:
        suite: The suite.
        source: Where the results are from, as the beginning of a sentence.
        release: The release, or None for a store.
        release_name: The name of the release that has the published entries, or None if there are none.
        own: The digests of the entries of the store, if there are published ones besides.
    """

    suite: SuiteInfo
    source: str
    release: Release | None = None
    release_name: str | None = None
    own: frozenset[str] = frozenset()

    @property
    @abstractmethod
    def overview(self) -> Overview:
        """The scores of all entries, once per track."""

    @property
    @abstractmethod
    def samples(self) -> Samples:
        """The samples of all entries on the ranked tasks, for comparisons."""

    @abstractmethod
    def describe(self, name: str) -> Sequence[DescribedEntry]:
        """Return an entry, once per track."""

    @abstractmethod
    def runs(self, entry: DescribedEntry) -> list[RunValues]:
        """Return the conditions of the runs of an entry, most recent first."""

    @abstractmethod
    def agreement(self, track: str) -> Agreement | None:
        """Return the rank correlations of the answers of a track's entries."""

    @abstractmethod
    def p(self, track: str, a: str, b: str) -> float | None:
        """Return the adjusted p-value of the difference of two entries' overall scores; None unless both are ranked."""

    @abstractmethod
    def quality(self, track: str) -> TrackQuality | None:
        """Return how well the tasks of a track measure; None for a release without these statistics."""

    def tracks(self, only: str | None = None) -> list[str]:
        """Return the tracks that have entries, or the named one."""
        if only is not None and only not in self.suite.tracks:
            raise TouchstoneError(f'The suite {self.suite.name} has no track "{only}".{did_you_mean(only, self.suite.tracks)} '
                                  f"It has {', '.join(self.suite.tracks)}.")
        return [track for track in self.suite.tracks if only in (None, track) and self.overview.standings(track)]

    def ranked_scores(self, track: str, above_chance: bool = False) -> dict[str, dict[str, float | None]]:
        """Return the scores of the ranked entries of a track on its ranked tasks, or these scores above chance."""
        tasks = [task.name for task in self.suite.ranked_tasks(track)]
        if above_chance:
            return {entry.name: {task: entry.tasks[task].above_chance for task in tasks} for entry in self.overview.ranked(track)}
        return {entry.name: {task: entry.value_on(task) for task in tasks} for entry in self.overview.ranked(track)}

    def pareto_optimal(self, track: str) -> list[str]:
        """Return the ranked entries of a track than which none scores higher at the same or a lower cost."""
        return pareto_optimal([(entry.name, cost.value, entry.overall_above_chance) for entry in self.overview.ranked(track)
                               if (cost := self.suite.measure_in_role(entry, Role.COST)) is not None
                               and entry.overall_above_chance is not None])

    def compare(self, track: str, a: str, b: str) -> MetricPair:
        """Return the paired comparison of two entries of a track."""
        tasks = [task.name for task in self.suite.ranked_tasks(track)]
        (pair,) = build_comparison(self.samples, (a, b), tasks).pairs
        return pair.model_copy(update={"p_of_overall": self.p(track, a, b)})


    def on_axis(self, name: str) -> ResultsView:
        """Return the results with a track ranked by another of its axes."""
        return AxisView(self, self.suite.axis(name))


class AxisView(ResultsView):
    """Results of which one track is ranked by another axis; without tests of significance."""

    def __init__(self, view: ResultsView, axis: Axis) -> None:
        self._view, self._axis = view, axis
        self.suite, self.source, self.release = view.suite.on_axis(axis), view.source, view.release
        self.release_name, self.own = view.release_name, view.own

    @cached_property
    def overview(self) -> Overview:
        return self._view.overview.on_axis(self._axis)

    @property
    def samples(self) -> Samples:
        return self._view.samples

    def describe(self, name: str) -> Sequence[DescribedEntry]:
        return [entry.on_axis(self._axis) for entry in self._view.describe(name)]

    def runs(self, entry: DescribedEntry) -> list[RunValues]:
        return self._view.runs(entry)

    def agreement(self, track: str) -> Agreement | None:
        return self._view.agreement(track)

    def p(self, track: str, a: str, b: str) -> float | None:
        return None if track == self._axis.track else self._view.p(track, a, b)

    def quality(self, track: str) -> TrackQuality | None:
        return self._view.quality(track)


class StoreView(ResultsView):
    """The results in a store, among those of a release if there are any."""

    def __init__(self, results: Results) -> None:
        self.results, self.rankings = results, rank_suite(results, results.suite)
        self.suite = describe_suite(results.suite)
        self.source = f"The store {results.store.name}" if results.store is not None else "The store"
        if results.published is not None:
            self.release_name, self.own = results.published.name, results.own

    @cached_property
    def overview(self) -> Overview:
        return build_overview(self.rankings)

    @cached_property
    def samples(self) -> Samples:
        return load_samples(self.rankings.values())

    @cached_property
    def report(self) -> Report:
        """Everything that pages show."""
        return build_report(self.results.suite, self.rankings, self.results)

    def keep(self) -> None:
        """Keep in the store what cards show, so that it is computed once."""
        for ranking in self.rankings.values():
            _ = ranking.task_tests, ranking.other_axes
        self.results.keep()

    def describe(self, name: str) -> Sequence[DescribedEntry]:
        return [describe_entry(placed, ranking, self.results) for ranking in self.rankings.values() for placed in ranking.places
                if placed.scored.name == name]

    def runs(self, entry: DescribedEntry) -> list[RunValues]:
        return self.results.provenance(entry.digest)

    def agreement(self, track: str) -> Agreement | None:
        return agreement([placed.scored for placed in self.rankings[track].places])

    def p(self, track: str, a: str, b: str) -> float | None:
        return self.rankings[track].p(a, b)

    def quality(self, track: str) -> TrackQuality | None:
        return describe_quality(self.results.suite, self.rankings[track])


class ReleaseView(ResultsView):
    """The results in a release."""

    release: Release

    def __init__(self, release: Release) -> None:
        self.release, self.release_name, self.report = release, release.name, release.report
        self.suite, self.source = release.report.suite, f"The release {release.name}"

    @cached_property
    def overview(self) -> Overview:
        return Overview(lines=self.report.lines, gameable=self.report.gameable, entries=list(self.report.entries))

    @cached_property
    def samples(self) -> Samples:
        complete = {(entry.name, task) for entry in self.report.entries for task, result in entry.tasks.items()
                    if result.units.asked == result.units.planned}
        samples = samples_of_release(self.release.units, self.release.replicates)
        return {key: sample for key, sample in samples.items() if key in complete}

    def describe(self, name: str) -> Sequence[DescribedEntry]:
        return [entry for entry in self.report.entries if entry.name == name]

    def runs(self, entry: DescribedEntry) -> list[RunValues]:
        return [entry.environment.model_dump(mode="json")] if entry.environment is not None else []

    def agreement(self, track: str) -> Agreement | None:
        return self.report.agreement.get(track)

    def p(self, track: str, a: str, b: str) -> float | None:
        table = self.report.p.get(track)
        return table.between(a, b) if table is not None else None

    def quality(self, track: str) -> TrackQuality | None:
        return self.report.quality.get(track)
