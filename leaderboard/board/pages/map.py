"""Accuracy against cost, and which metrics are redundant, as charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from leaderboard.board.columns import axis_value
from leaderboard.board.components.charts import draw_scatter, draw_tree, draw_two_axes
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import render
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.scoring.insights import pareto_optimal

FEWEST_POINTS = 2


class CostChart(NamedTuple):
    """The scores of a track against cost."""

    picture: Markup
    optimal: list[str]
    untimed: list[str]


class Redundancy(NamedTuple):
    """The correlations of the answers of a track's ranked metrics, ordered as in the tree."""

    picture: Markup
    names: list[str]
    rows: list[tuple[str, list[float | None]]]


class TrackMap(NamedTuple):
    """The charts of a track."""

    title: str
    axes: Markup | None                     # values on the first two axes
    cost: CostChart | None
    redundancy: Redundancy | None


def render_map(snapshot: Snapshot, links: Links, query: object = None) -> Markup:
    """Return the charts of all tracks."""
    tracks = [TrackMap(TRACKS[track], axes_chart(snapshot, links, track), cost_chart(snapshot, links, track), redundancy(snapshot, track))
              for track in snapshot.tracks]
    return render("map.html", links=links, tracks=[track for track in tracks if track.cost or track.redundancy])


def axes_points(snapshot: Snapshot, track: str) -> tuple[list[tuple[str, float, float]], str, str] | None:
    """Return the values of ranked metrics on the first two axes and the titles of these; None if the track has one."""
    suite, others = snapshot.report.suite, snapshot.report.suite.other_axes(track)
    points = [(entry.name, entry.overall_above_chance, value) for entry in snapshot.ranked_entries(track)
              if others and entry.overall_above_chance is not None and (value := axis_value(entry, others[0].name)) is not None]
    return (points, suite.headline(track).title, others[0].title) if len(points) >= FEWEST_POINTS else None


def axes_chart(snapshot: Snapshot, links: Links, track: str) -> Markup | None:
    """Return the ranked metrics by their values on the first two axes; None if the track has one."""
    chart = axes_points(snapshot, track)
    return draw_two_axes(*chart, links.to_metric) if chart is not None else None


def cost_chart(snapshot: Snapshot, links: Links, track: str) -> CostChart | None:
    """Return overall scores against cost with the Pareto-optimal metrics connected; None for fewer than two points."""
    ranked = snapshot.ranked_entries(track)
    points = [(entry.name, cost, entry.overall_above_chance) for entry in ranked
              if entry.overall_above_chance is not None and (cost := snapshot.cost(entry)) is not None and cost > 0]
    if len(points) < FEWEST_POINTS:
        return None
    optimal, timed = pareto_optimal(points), {name for name, _, _ in points}
    picture = draw_scatter(points, snapshot.cost_unit(track), snapshot.report.suite.headline(track).title,
                           links.to_metric, optimal)
    return CostChart(picture, optimal, [entry.name for entry in ranked if entry.name not in timed])


def redundancy(snapshot: Snapshot, track: str) -> Redundancy | None:
    """Return the similarity of the answers of the ranked metrics as a tree and a table of rank correlations."""
    table = snapshot.report.agreement.get(track)
    names = [entry.name for entry in snapshot.ranked_entries(track) if table is not None and entry.name in table.entries]
    if table is None or len(names) < FEWEST_POINTS:
        return None
    correlations = [[table.between(a, b) for b in names] for a in names]
    distances = 1 - np.nan_to_num(np.array(correlations, dtype=float), nan=0.0)
    joins = linkage(squareform(distances, checks=False), "average")
    order = leaves_list(joins).tolist()
    ordered = [names[index] for index in order]
    return Redundancy(draw_tree(ordered, order_joins(joins, order)), ordered,
                      [(names[a], [correlations[a][b] for b in order]) for a in order])


def order_joins(joins: np.ndarray, order: Sequence[int]) -> list[tuple[int, int, float]]:
    """Return joins as (group, group, correlation); leaves are numbered from the top, then the joins in their order."""
    row = {leaf: index for index, leaf in enumerate(order)}
    return [(row.get(int(a), int(a)), row.get(int(b), int(b)), 1 - float(height)) for a, b, height, _ in joins]
