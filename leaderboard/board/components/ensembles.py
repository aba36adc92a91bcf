"""Ensembles on the board: baselines below the ranked table, and on a metric's page what it adds to them."""

from __future__ import annotations

from markupsafe import Markup

from leaderboard.board.rendering import UI, render
from leaderboard.board.snapshot import Snapshot
from leaderboard.ensembles.summary import AddedValue
from leaderboard.report.schema import EntryReport


def render_baselines(snapshot: Snapshot, track: str) -> Markup:
    """Return the ensembles of a track as a table; where they are not computed, the command that computes them."""
    ensembles = snapshot.report.ensembles
    if ensembles is None or ensembles.track != track:
        return Markup()
    titles = {task.name: task.title for task in snapshot.report.suite.tasks if task.track == track and not task.descriptive}
    tasks = [name for name in titles if any(name in row.tasks for row in ensembles.rows)]
    return render("baselines.html", ensembles=ensembles, tasks=tasks, titles=titles)


def render_added_value(snapshot: Snapshot, entry: EntryReport) -> Markup:
    """Return the card of what a metric adds to the ensemble of the others on each task."""
    ensembles = snapshot.report.ensembles
    if ensembles is None or entry.track != ensembles.track:
        return Markup()
    rows = [(table.replace("_", " "), f"{added.value:+.3f}", signed_interval(added), f"{added.learner}, {added.splits} splits")
            for table, added in (entry.adds or {}).items()]
    others = [name for name in ensembles.members if name != entry.name]
    return render("added_value.html", entry=entry, rows=rows, others=others, command=ensembles.command)


def signed_interval(added: AddedValue) -> Markup:
    """Return the interval with signs."""
    return Markup() if added.low is None or added.high is None else UI.small(f"{added.low:+.3f} to {added.high:+.3f}")
