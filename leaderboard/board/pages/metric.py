"""The page of one metric: scores, figures, axioms, cost, failures, source, and how to run and to cite it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from harness.evaluation.task import Role
from leaderboard.board.components.ensembles import render_added_value
from leaderboard.board.components.insights import (
    render_cost,
    render_curves,
    render_faults,
    render_history,
    render_radar,
    render_training,
)
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import UI, format_cell, format_decimal, format_estimate, render
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.publishing.citations import OVERALL, cite
from leaderboard.report.formats import format_authors
from leaderboard.report.schema import EntryReport, TaskInfo, TaskResult
from leaderboard.scoring.signature import signature_on_axis

REASONS = 5                                 # of a task's failures that are listed


class TrackScores(NamedTuple):
    """The table of scores in one track."""

    title: str
    entry: EntryReport
    headings: list[str]
    rows: list[list[str | Markup]]


class MeasureTable(NamedTuple):
    """All measures of one task."""

    task: TaskInfo
    result: TaskResult
    rows: list[list[str | Markup]]


class Section(NamedTuple):
    """A part of the page, which readers can fold."""

    id: str
    title: str
    content: Markup
    open: bool = False


class Axiom(NamedTuple):
    """How often a property holds, and its worst case."""

    description: str
    share: float
    worst: str | None


def render_metric(snapshot: Snapshot, links: Links, name: str, against: str | None = None) -> Markup | None:
    """Return the page of a metric compared with another; None if there is no such metric."""
    standings = sorted((entry for entry in snapshot.report.entries if entry.name == name), key=lambda entry: entry.track != entry.kind)
    if not standings:
        return None
    entry = standings[0]
    rival = (snapshot.entry(against) if against else None) or default_rival(snapshot, entry)
    rivals = [rival_in(snapshot, standing, rival) for standing in standings]
    sections = [
        Section("scores", "Scores", render_scores(snapshot, links, standings, rivals, rival), True),
        Section("profile", "Profile", render_radar(snapshot, [entry, *([rival] if rival is not None else [])], [entry]), True),
        Section("faults", "Fault detection", render_faults(snapshot, entry, rival), True),
        Section("axioms", "Axioms, tested", render_axioms(snapshot, entry), True),
        Section("cost", "Time and memory", render_cost(snapshot, entry, rival)),
        Section("curves", "Curves", render_curves(snapshot, standings, rivals)),
        Section("ensembles", "Contribution to an ensemble", Markup().join(render_added_value(snapshot, standing) for standing in standings)),
        Section("measures", "All measures, with signatures", render_measures(snapshot, standings)),
        Section("training", "Training data", render_training(snapshot, entry)),
        Section("failures", "Failures", render_failures(snapshot, standings)),
        Section("source", "Source and provenance", render_source(snapshot, entry)),
        Section("versions", "Versions", render_history(snapshot, links, entry)),
        Section("usage", "Commands", render_usage(snapshot, entry)),
    ]
    return render("metric.html", links=links, entry=entry, authors=format_authors(entry.authors, entry.year) or "Paper", facts=list_facts(snapshot, entry),
                  signature=overall_signature(snapshot, standings), sections=[section for section in sections if section.content.strip()])


def default_rival(snapshot: Snapshot, entry: EntryReport) -> EntryReport | None:
    """Return the best other metric of the entry's track."""
    return next((other for other in snapshot.ranked_entries(entry.track) if other.name != entry.name), None)


def rival_in(snapshot: Snapshot, entry: EntryReport, rival: EntryReport | None) -> EntryReport | None:
    """Return the rival in the entry's track; the best of the track if it is not in it."""
    return (snapshot.entry(rival.name, entry.track) if rival is not None else None) or default_rival(snapshot, entry)


def overall_signature(snapshot: Snapshot, standings: Sequence[EntryReport]) -> str | None:
    """Return the signature of the overall score in the first track."""
    return next((signature_on_axis(entry.tasks[task.name].signature, entry.lifted) for entry in standings
                 for task in snapshot.ranked_tasks(entry.track) if task.name in entry.tasks), None)


def list_facts(snapshot: Snapshot, entry: EntryReport) -> list[str]:
    """Return what a reader wants to know before the numbers, a few words each."""
    low, high = ("-∞" if entry.range[0] is None else f"{entry.range[0]:g}"), ("∞" if entry.range[1] is None else f"{entry.range[1]:g}")
    facts = [f"{entry.kind} metric" + (", lifted to corpora" if entry.lifted else ""),
             f"takes {entry.input.replace('_', ' ')}" + (f", uses {', '.join(entry.models)}" if entry.models else ""),
             f"{entry.returns}, {low} to {high}", entry.license]
    symmetric, repeatable = (snapshot.role_value(entry, role) for role in (Role.SYMMETRIC, Role.REPEATABLE))
    if symmetric is not None:
        facts.append("symmetric (tested)" if symmetric == 1 else "not symmetric")
    if repeatable is not None:
        facts.append("repeatable (tested)" if repeatable == 1 else "not repeatable")
    cost, growth, memory = snapshot.cost(entry), snapshot.role_value(entry, Role.GROWTH), snapshot.role_value(entry, Role.MEMORY)
    if cost is not None:
        facts.append(f"{format_cell(cost)} {snapshot.cost_unit(entry.track)}")
    if growth is not None:
        facts.append(f"time grows as n^{growth:.1f}")
    if memory is not None:
        facts.append(f"peak memory {memory:,.0f} {snapshot.role_unit(Role.MEMORY)}")
    if entry.trained_on:
        facts.append(f"trained on {', '.join(entry.trained_on)}")
    return facts + list(entry.marks)


def render_scores(snapshot: Snapshot, links: Links, standings: Sequence[EntryReport], rivals: Sequence[EntryReport | None],
                  rival: EntryReport | None) -> Markup:
    """Return the score on each ranked task, with rank and interval, compared with the rival's."""
    tables = []
    for entry, other in zip(standings, rivals, strict=True):
        suite = snapshot.report.suite
        rows: list[list[str | Markup]] = [[
            UI.strong(suite.headline(entry.track).title), "", UI.interval(entry.overall), UI.strong(format_estimate(entry.overall)),
            UI.rank(entry), *([UI.above_chance(other.overall)] if other is not None else [])]]
        for axis in suite.other_axes(entry.track):
            on_axis = [None if shown is None else shown.axes.get(axis.name) for shown in (entry, other)]
            values = [None if standing is None else standing.value for standing in on_axis]
            rows.append([axis.title, "", UI.interval(values[0]), format_estimate(values[0]), UI.rank(on_axis[0]),
                         *([format_estimate(values[1])] if other is not None else [])])
        for task in snapshot.ranked_tasks(entry.track):
            result = entry.tasks.get(task.name)
            if result is not None:
                rows.append([task.title, format_estimate(result.score), UI.interval(result.score), format_decimal(result.above_chance),
                             UI.rank(entry.task_ranks.get(task.name)),
                             *([format_estimate(other.score_on(task.name))] if other is not None else [])])
        headings = ["Task", "Score", "95% CI", "Above chance", "Rank", *([other.name] if other is not None else [])]
        tables.append(TrackScores(TRACKS[entry.track], entry, headings, rows))
    return render("scores.html", links=links, tables=tables, name=standings[0].name, rival=rival)


def render_axioms(snapshot: Snapshot, entry: EntryReport) -> Markup:
    """Return which axioms hold, and the worst case of those that do not."""
    cards = []
    for task in snapshot.report.suite.tasks:
        measures = entry.measures_on(task.name)
        if task.presentation.axioms and measures:
            axioms = [Axiom(description, measures[measure].value, entry.worst_cases.get(measure))
                      for measure, description in task.measures.items() if measure in measures]
            cards.append(render("axioms.html", task=task, axioms=axioms))
    return Markup().join(cards)


def render_failures(snapshot: Snapshot, standings: Sequence[EntryReport]) -> Markup:
    """Return how many test units failed, and why; each task once, whichever track it belongs to."""
    results: Mapping[str, TaskResult] = {name: result for entry in standings for name, result in entry.tasks.items()}
    rows: list[list[str | Markup]] = []
    for name, result in results.items():
        if result.units.failed:
            reasons: list[str | Markup] = [UI.reason(reason) for reason in result.failures[:REASONS]]
            if len(result.failures) > REASONS:
                reasons.append(f"… {len(result.failures) - REASONS:,} more reasons")
            rows.append([snapshot.task(name).title, f"{result.units.failed:,} of {result.units.asked:,}", UI.lines(reasons)])
    rows += [[snapshot.task(name).title, "not applicable", UI.reason(result.not_applicable)]
             for name, result in results.items() if result.not_applicable]
    return render("failures.html", rows=rows, failed=sum(result.units.failed for result in results.values()),
                  run=sum(result.units.asked for result in results.values()))


def render_usage(snapshot: Snapshot, entry: EntryReport) -> Markup:
    """Return the commands that run the metric, and its citation."""
    tasks = [task for task in snapshot.ranked_tasks(entry.track) if entry.score_on(task.name) is not None]
    citation = None
    if snapshot.release is not None and tasks:
        about = OVERALL if entry.overall is not None else tasks[0].name
        citation = cite(snapshot.release, entry.name, about, "latex", entry.track)
    return render("usage.html", entry=entry, suite=snapshot.report.suite.name, citation=citation, scored=bool(tasks))


def render_source(snapshot: Snapshot, entry: EntryReport) -> Markup:
    """Return the file, and the conditions of its last run."""
    return render("source.html", entry=entry, source=snapshot.sources.get(entry.name))


def render_measures(snapshot: Snapshot, standings: Sequence[EntryReport]) -> Markup:
    """Return all measures of each task with its signature."""
    tables: dict[str, MeasureTable] = {}
    for entry in standings:
        for name, result in entry.tasks.items():
            task = snapshot.task(name)
            if not task.presentation.axioms and name not in tables:
                rows = [[measure.replace("_", " "), "unknown" if estimate is None else f"{estimate.value:.3f}", UI.interval(estimate, 3),
                         UI.reason(task.measures.get(measure, ""))] for measure, estimate in result.measures.items()
                        if measure not in task.presentation.listed]
                tables[name] = MeasureTable(task, result, rows)
    return render("measures.html", tables=tables.values())
