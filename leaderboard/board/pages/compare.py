"""Compare: two to four metrics with paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from leaderboard.board.components.insights import render_radar
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import UI, format_decimal, render
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.report.build import build_comparison
from leaderboard.report.example_pairs import closer_pairs
from leaderboard.report.schema import MetricPair, PairedDifference
from leaderboard.scoring.estimates import CONFIDENCE, FEW_UNITS
from leaderboard.scoring.strengths import TaskPart, largest_differences, task_parts

MOST_METRICS = 4
MOST_PARTS = 5                              # in each direction
MOST_TEXTS = 3                              # in each direction


class PairTable(NamedTuple):
    """The paired differences of two metrics."""

    pair: MetricPair
    rows: list[list[str | Markup]]
    verdict: str
    strengths: Markup


class Advantage(NamedTuple):
    """The parts of tasks on which a metric is furthest ahead of another."""

    name: str
    other: str
    rows: list[list[str]]


def render_compare(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Markup:
    """Return paired differences on each task with intervals and verdicts, a radar chart, and the correlation of answers."""
    names = list(dict.fromkeys(name.strip() for name in query.get("metrics", "").split(",") if name.strip()))[:MOST_METRICS]
    entries = [entry for entry in map(snapshot.entry, names) if entry is not None]
    shared = [track for track in snapshot.tracks if all(snapshot.entry(entry.name, track) for entry in entries)]
    sections = [render_track(snapshot, links, track, [entry.name for entry in entries]) for track in shared] if len(entries) > 1 else []
    return render("compare.html", entries=entries, sections=sections,
                  unknown=[name[:80] for name in names if snapshot.entry(name) is None])


def render_track(snapshot: Snapshot, links: Links, track: str, names: Sequence[str]) -> Markup:
    """Return the comparison in one track."""
    entries = [entry for entry in (snapshot.entry(name, track) for name in names) if entry is not None]
    tasks = snapshot.ranked_tasks(track)
    comparison = build_comparison(snapshot.samples, names, [task.name for task in tasks])
    rows: list[list[str | Markup]] = [[UI.strong("Overall score"), *(UI.estimate(entry.overall) for entry in entries)]]
    rows += [[task.title, *(UI.estimate(entry.score_on(task.name)) for entry in entries)] for task in tasks]
    pairs = [PairTable(pair, [[task.title, *describe_difference(pair.tasks.get(task.name), pair)] for task in tasks],
                       describe_verdict(pair, snapshot.p(track, pair.a, pair.b)), render_strengths(snapshot, track, pair.a, pair.b))
             for pair in comparison.pairs]
    return render("comparison.html", title=TRACKS[track], headings=["Task", *(UI.metric_link(links, name) for name in names)], rows=rows, pairs=pairs,
                  radar=render_radar(snapshot, entries, entries), names=names, correlations=list_correlations(snapshot, track, names))


def describe_difference(difference: PairedDifference | None, pair: MetricPair) -> list[str | Markup]:
    """Return a difference, its interval and its verdict."""
    if difference is None:
        return ["–", "", "no common test units"]
    significant = difference.low is not None and difference.high is not None and (difference.low > 0 or difference.high < 0)
    better = pair.a if difference.value > 0 else pair.b
    return [f"{difference.value:+.3f}", UI.interval(difference, 3), f"{better} is significantly better" if significant else "no significant difference"]


def describe_verdict(pair: MetricPair, p: float | None) -> str:
    """Return what the overall scores and the tasks together say."""
    enough = all(difference.units >= FEW_UNITS for difference in pair.tasks.values())
    better = [f"{name} is better on at least {count} of {pair.of} tasks" for name, count in
              ((pair.a, pair.a_better_on), (pair.b, pair.b_better_on)) if count]
    tasks = f" {'; '.join(better)} (5%, Benjamini and Heller 2008)." if better and enough else ""
    if p is None:
        return f"The overall scores are not tested: one of the metrics is not ranked, or there are too few test units.{tasks}"
    verdict = "The overall scores differ significantly" if p <= 1 - CONFIDENCE else "No significant overall difference"
    return f"{verdict}: p = {p:.4f}, adjusted for all pairs.{tasks}"


def render_strengths(snapshot: Snapshot, track: str, a: str, b: str) -> Markup:
    """Return the parts of tasks on which two metrics differ most, and pairs of texts that may be displayed."""
    first, second = snapshot.entry(a, track), snapshot.entry(b, track)
    assert first is not None
    assert second is not None
    tasks = {task.name: task.title for task in snapshot.ranked_tasks(track)}
    differences = [part for task in tasks for part in task_parts(snapshot.samples, task, (a, first.measures_on(task)), (b, second.measures_on(task)))]
    advantages = [Advantage(name, other, [describe_part(part, tasks) for part in side])
                  for name, other, side in zip((a, b), (b, a), largest_differences(differences, MOST_PARTS), strict=True) if side]
    texts = list_texts(snapshot, track, a, b)
    if not advantages and not texts:
        return Markup()
    return render("strengths.html", a=a, b=b, advantages=advantages, count=len(differences), texts=texts)


def describe_part(part: TaskPart, tasks: Mapping[str, str]) -> list[str]:
    """Return the row of a part of a task."""
    return [tasks[part.task], part.where.replace("_", " ").replace(" | ", ", "), f"{part.a:.2f}", f"{part.b:.2f}", f"{part.difference:+.2f}"]


def list_texts(snapshot: Snapshot, track: str, a: str, b: str) -> list[list[str | Markup]]:
    """Return pairs of texts that one metric places closer to people than the other does."""
    pairs = snapshot.report.shown_pairs.get(track)
    if pairs is None or not {a, b} <= pairs.metrics.keys():
        return []
    rows: list[list[str | Markup]] = []
    for closer, other in ((a, b), (b, a)):
        for pair in closer_pairs(pairs, closer, other, MOST_TEXTS):
            ranks = (pair.a, pair.b) if closer == a else (pair.b, pair.a)
            rows.append([UI.lines(list(pair.texts)), closer, f"{pair.people:.2f}", *(f"{rank:.2f}" for rank in ranks)])
    return rows


def list_correlations(snapshot: Snapshot, track: str, names: Sequence[str]) -> list[list[str]]:
    """Return the rank correlations of the metrics' answers, a row per metric."""
    table = snapshot.report.agreement.get(track)
    if table is None or not all(name in table.entries for name in names):
        return []
    return [[name, *(format_decimal(table.between(name, other)) for other in names)] for name in names]
