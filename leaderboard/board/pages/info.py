"""Pages of text: the tasks, how to submit, and what the benchmark is and how to cite it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from harness.evaluation.task import Paper
from leaderboard.board.components.layout import Links
from leaderboard.board.pages.ranking import LEADERS
from leaderboard.board.rendering import UI, format_estimate, render
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.papers.published_comparison import PublishedComparison, PublishedTable
from leaderboard.publishing.changelog import read_changelog
from leaderboard.publishing.changes import compare_releases
from leaderboard.publishing.citations import cite_release
from leaderboard.publishing.release import read_release, releases
from leaderboard.quality.admission import Admission
from leaderboard.report.schema import EntryReport, SuiteInfo, TaskInfo
from leaderboard.scoring.estimates import Estimate

EXAMPLE = (Path(__file__).parents[1] / "templates" / "example_metric.txt").read_text(encoding="utf-8")
STATES = {"submitted": "received as a pull request", "checked": "the header is valid and the metric behaves as it declares",
          "ranked": "run on all of core and listed in the table", "rejected": "not listed, with the reason"}


STATISTICS = {
    "weight": ("Effective weight", "share of the variance of the value that ranks the track, times the number of tasks; 1 means equal weights"),
    "rest_correlation": ("Agreement with the other tasks", "Spearman's correlation with their mean"),
    "signal_to_noise": ("Signal to noise", "standard deviation of the metrics over the median standard error of a score"),
    "decisions_of_halves": ("Two halves agree", "share of pairs of metrics that two random halves of the test units put in the same order"),
    "decisions_of_tenth": ("A tenth agrees", "share of pairs of metrics that a random tenth of the test units puts in the same order as all test units"),
    "detectable": ("Detectable difference", "difference of scores above chance that a paired comparison detects with a power of 80%"),
    "best": ("Best score", "highest score above chance"),
    "saturation": ("Saturation", "share of pairs of the ten best metrics that do not differ significantly; above 0.8 in two releases, a task becomes a property"),
    "clusters": ("Clusters", "independent groups of test units, which are resampled"),
}


class TaskSection(NamedTuple):
    """What the page shows of a task."""

    task: TaskInfo
    kind: str
    origin: str
    chance: str
    gameable: list[str]
    baselines: list[list[str]]
    comparison: PublishedComparison | None
    published: list[list[str | Markup]]
    leaders: list[EntryReport]              # the first ranked metrics on the task
    quality: list[list[str]]                # statistics of the task: name, value, meaning
    admission: Admission | None


def render_tasks(snapshot: Snapshot, links: Links, query: object = None) -> Markup:
    """Return what each task measures, on what data, the score of chance, and published numbers."""
    sections = [describe_task(snapshot, links, task) for task in snapshot.report.suite.tasks]
    rows = [[dataset.name, dataset.title, dataset.licence, dataset.citation, dataset.stands_for or "", "yes" if dataset.displayable else "no",
             UI.code(dataset.fingerprint[:12])] for dataset in snapshot.report.suite.datasets]
    return render("tasks.html", sections=sections, rows=rows, links=links)


def describe_task(snapshot: Snapshot, links: Links, task: TaskInfo) -> TaskSection:
    """Return the section of a task."""
    baselines = [[entry.name, format_estimate(entry.score_on(task.name))] for entry in snapshot.entries(task.track)
                 if entry.control and entry.score_on(task.name) is not None]
    comparison = snapshot.published.get(task.name)
    table = comparison.table if comparison is not None else None
    return TaskSection(
        task, describe_use(snapshot.report.suite, task),
        cite_paper(task.paper) if task.paper is not None else task.presentation.origin or "Original task of this benchmark.",
        describe_chance(snapshot, task), snapshot.report.gameable.get(task.track, {}).get(task.name, []), baselines, comparison,
        published_rows(snapshot, links, table) if table is not None else [], list_leaders(snapshot, task), *describe_quality(snapshot, task))


def list_leaders(snapshot: Snapshot, task: TaskInfo) -> list[EntryReport]:
    """Return the first ranked metrics on a task that counts in the ranking."""
    ranked = [entry for entry in snapshot.ranked_entries(task.track) if (on_task := entry.task_ranks.get(task.name)) and on_task.rank is not None]
    return sorted(ranked, key=lambda entry: entry.task_ranks[task.name].rank or 0)[:LEADERS] if task.ranked else []


def describe_quality(snapshot: Snapshot, task: TaskInfo) -> tuple[list[list[str]], Admission | None]:
    """Return the statistics of a task, and whether it may be ranked."""
    track = snapshot.report.quality.get(task.track)
    if track is None or task.descriptive:
        return [], None
    quality = track.task(task.name)
    return [] if quality is None else [[title, "-" if (value := getattr(quality, name)) is None else f"{value:.3g}", meaning]
                                       for name, (title, meaning) in STATISTICS.items()], track.verdict(task.name)


def describe_use(suite: SuiteInfo, task: TaskInfo) -> str:
    """Return whether a task is ranked, part of another axis only, or neither."""
    if task.ranked:
        return TRACKS[task.track]
    titles = [axis.title for axis in suite.axes_with(task.name)]
    return f"not ranked; part of {' and '.join(titles)}" if titles else "property, not part of any score"


def published_rows(snapshot: Snapshot, links: Links, table: PublishedTable) -> list[list[str | Markup]]:
    """Return the cells of a table of published numbers, with links to the metrics that the snapshot has."""
    def format_published(cell: str | Estimate | None) -> str | Markup:
        return cell if isinstance(cell, str) else UI.estimate(cell, table.digits)
    return [[UI.metric_link(links, str(name), snapshot.entry(str(name)) is not None), *map(format_published, cells)] for name, *cells in table.rows]


def describe_chance(snapshot: Snapshot, task: TaskInfo) -> str:
    """Return the score of chance; as computed from the test units, for tasks whose data determine it."""
    values = {f"{entry.tasks[task.name].chance:.2g}" for entry in snapshot.entries(task.track) if entry.score_on(task.name) is not None}
    return " to ".join(sorted(values, key=float)[::max(1, len(values) - 1)]) if values else f"{task.chance:.2g}"


def cite_paper(paper: Paper) -> str:
    """Return a short reference."""
    return f"{paper.authors[0].split(',')[0]} et al. {paper.year}: {paper.title}"


def render_submit(snapshot: Snapshot, links: Links, query: object = None) -> Markup:
    """Return how to submit a metric."""
    return render("submit.html", states=STATES)


def render_changes(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Markup:
    """Return what differs between the selected release and the one before it, or the one that `since` names."""
    if snapshot.release is None:
        return render("changes.html", links=links, changes=None, earlier=[])
    folder, name = snapshot.release.folder.parent, snapshot.release.name
    names = releases(folder)
    earlier = names[:names.index(name)][::-1] if name in names else []
    since = query.get("since", earlier[0] if earlier else "")
    changes = compare_releases(read_release(since, folder).report, snapshot.report) if since in earlier else None
    return render("changes.html", links=links, changes=changes, earlier=earlier, since=since)


def render_about(snapshot: Snapshot, links: Links, query: object = None) -> Markup:
    """Return what the benchmark is, how to cite it, and its API."""
    ranked = [(entry, task) for track in snapshot.tracks for entry in snapshot.ranked_entries(track)[:1] for task in snapshot.ranked_tasks(track)[:1]]
    notes = read_changelog(snapshot.release.folder.parent) if snapshot.release is not None else read_changelog()
    return render("about.html", links=links, notes=notes, harness=snapshot.report.harness, example=ranked[0] if ranked else None,
                  citation=cite_release(snapshot.release) if links.static and snapshot.release is not None else None)
