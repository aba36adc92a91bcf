"""The first page: who leads, how certain that is, and the ranked table of each track.

`static/board.js` searches, filters and sorts the rows; another order or other columns are rendered here.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from markupsafe import Markup

from harness.evaluation.suite import Axis
from leaderboard.board.axis_rankings import count_tied, list_rankings
from leaderboard.board.columns import Column, above_chance, corrected_tasks
from leaderboard.board.components.charts import draw_two_axes
from leaderboard.board.components.ensembles import render_baselines
from leaderboard.board.components.layout import Links
from leaderboard.board.pages.map import axes_points
from leaderboard.board.rendering import LONGEST, format_cell, render
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.report.schema import EntryReport
from leaderboard.scoring.custom_order import Order, sort_by_score, weighted_score
from leaderboard.scoring.estimates import Estimate

OVERALL, BORDA, WEIGHTS = "overall", "borda", "weights"
TASK, AXIS = "task.", "axis."               # prefixes of orders
KINDS = {"corpus": "corpus metrics", "text": "text metrics"}
INPUTS = {"texts": "takes texts", "tokens": "takes tokens", "embeddings": "takes embeddings", "token_embeddings": "takes token embeddings"}
DOWNLOADS = {"csv": "CSV", "parquet": "Parquet", "tex": "LaTeX", "md": "Markdown"}
FIRST_ROWS = 100                            # that are part of the HTML; the browser gets the others as data
LEADERS = 3


@dataclass(frozen=True)
class TableView:
    """What the server renders differently: the order, weights of tasks for the order `weights`, and columns (None: the default)."""

    order: str = OVERALL
    weights: Mapping[str, float] = field(default_factory=dict)
    columns: Sequence[str] | None = None


class Position(NamedTuple):
    """A row's place in an order: rank and its range, and the value that decides."""

    rank: int | None
    interval: tuple[int, int] | None
    value: Estimate | None


class Cell(NamedTuple):
    """A cell of the ranked table; the score above chance is added where chance is not 0."""

    style: str
    text: str
    above: str | None


class Row(NamedTuple):
    """A row of the ranked table."""

    entry: EntryReport
    position: Position
    style: str                              # classes: best, line, baseline
    cells: list[Cell]


class Scale(NamedTuple):
    """The range of the intervals in a table, for drawing them."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return where a value is between the ends, from 0 to 1."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


# ---- overview ----------------------------------------------------------------------------------------------------------

def render_overview(snapshot: Snapshot, links: Links) -> Markup:
    """Return what the benchmark is, the leaders of each axis, and the entries of the first track with two axes as a chart."""
    charts = [(track, chart) for track in snapshot.tracks if (chart := axes_points(snapshot, track)) is not None]
    picture = draw_two_axes(*charts[0][1], links.to_metric) if charts else None
    return render("overview.html", links=links, rankings=[ranking for ranking in list_rankings(snapshot) if ranking.ranked], most=LEADERS, tracks=TRACKS, picture=picture,
                  chart=charts[0] if charts else None, snapshot=snapshot, count=len({entry.name for entry in snapshot.report.entries}))


# ---- table -------------------------------------------------------------------------------------------------------------

def render_table(snapshot: Snapshot, links: Links, track: str, view: TableView | None = None) -> Markup:
    """Return the ranked table of a track, with trivial baselines in place, ensembles, what is not ranked, and data for the script."""
    view = view or TableView()
    if view.order not in list_orders(snapshot, track):      # of the default axis, or of another suite
        view = replace(view, order=OVERALL)
    tasks, columns = snapshot.ranked_tasks(track), select_columns(snapshot.columns(track), view.columns)
    corrected = corrected_tasks(snapshot.entries(track), tasks)
    positions = list_positions(snapshot, track, view)
    lines = snapshot.report.lines.get(track, []) if view.order == OVERALL else []
    gameable, axis = snapshot.report.gameable.get(track, {}), order_axis(snapshot, track, view.order)
    rows = [Row(entry, position, row_style(position, position.rank is not None and number in lines),
                [make_cell(entry, column, corrected) for column in columns])
            for number, (entry, position) in number_ranked(positions)]
    scale = make_scale([position.value for _, position in positions if position.rank is not None and position.value is not None])
    rendered = [str(render("row.html", row=row, links=links, scale=scale, columns=columns)).strip() for row in rows]
    in_table = {row.entry.name for row in rows}
    ranked = [position for _, position in positions if position.rank is not None]
    data = [[row.entry.name, search_text(row.entry), entry_tags(row.entry), round_number(snapshot.cost(row.entry)),
             [row.position.rank, row.entry.name, row.position.value and row.position.value.value,
              *(round_number(column.value(row.entry)) for column in columns)], *([html] if number >= FIRST_ROWS else [])]
            for number, (row, html) in enumerate(zip(rows, rendered, strict=True))]
    return render(
        "table.html", links=links, track=track, columns=columns, rows=[Markup(row) for row in rendered[:FIRST_ROWS]], data=data, count=len(ranked),
        width=4 + len(columns), gameable=gameable, lines=lines, tied=count_tied(position.interval for position in ranked), scale=scale,
        unranked=[entry for entry in snapshot.entries(track) if entry.name not in in_table], title=order_title(snapshot, track, view.order),
        axis=axis, constants={snapshot.task(part.task).title: part.scale for part in (axis.parts if axis is not None else ()) if part.scale != 1}, tested=view.order == OVERALL or view.order.startswith(TASK),
        baselines=sorted({name for names in gameable.values() for name in names}), downloads=DOWNLOADS,
        ensembles=render_baselines(snapshot, track))


def number_ranked(positions: Sequence[tuple[EntryReport, Position]]) -> Iterator[tuple[int, tuple[EntryReport, Position]]]:
    """Yield rows with the number of ranked entries up to and including each."""
    number = 0
    for row in positions:
        number += row[1].rank is not None
        yield number, row


def row_style(position: Position, line: bool) -> str:
    """Return the classes of a row: baseline, possibly the best, followed by a dividing line."""
    best = position.interval is not None and position.interval[0] == 1
    classes = {"baseline": position.rank is None, "best": best, "line": line}
    return " ".join(name for name, applies in classes.items() if applies)


def select_columns(columns: Sequence[Column], keys: Sequence[str] | None) -> list[Column]:
    """Return the columns with these keys in this order, or the default ones; unknown keys are ignored."""
    if keys is None:
        return [column for column in columns if column.default]
    by_key = {column.key: column for column in columns}
    return [by_key[key] for key in dict.fromkeys(keys) if key in by_key]


def list_orders(snapshot: Snapshot, track: str) -> dict[str, str]:
    """Return the orders of a track with their titles, the default first."""
    suite = snapshot.report.suite
    return {OVERALL: suite.headline(track).title, **{f"{AXIS}{axis.name}": axis.title for axis in suite.other_axes(track)},
            **{f"{TASK}{task.name}": task.title for task in suite.ranked_tasks(track)}, BORDA: "Borda points", WEIGHTS: "My weights"}


def order_title(snapshot: Snapshot, track: str, order: str) -> str:
    """Return the title of an order."""
    return list_orders(snapshot, track)[order]


def order_axis(snapshot: Snapshot, track: str, order: str) -> Axis | None:
    """Return the axis that an order is of, or None for other orders."""
    suite = snapshot.report.suite
    if order == OVERALL:
        return suite.headline(track)
    return suite.axis(order.removeprefix(AXIS)) if order.startswith(AXIS) else None


def list_positions(snapshot: Snapshot, track: str, view: TableView) -> list[tuple[EntryReport, Position]]:
    """Return the ranked entries in the order of a view, with the trivial baselines between them by their values."""
    if view.order.startswith(AXIS):
        return list_positions(snapshot.on_axis(view.order.removeprefix(AXIS)), track, TableView())
    ranked = [entry for entry in snapshot.entries(track) if entry.rank is not None]
    order = compute_order(snapshot, track, view, ranked)
    rows = [(entry, find_position(entry, view, order)) for entry in ranked]
    rows = sorted((row for row in rows if row[1].rank is not None), key=lambda row: row[1].rank or 0)
    baselines = [(entry, find_position(entry, view, order)) for entry in snapshot.entries(track) if entry.rank is None and entry.control]
    for row in sorted((row for row in baselines if row[1].value is not None), key=value_of_row):
        below = (index for index, other in enumerate(rows) if value_of_row(other) < value_of_row(row))
        rows.insert(next(below, len(rows)), row)
    return rows


def value_of_row(row: tuple[EntryReport, Position]) -> float:
    """Return the value by which a row has its place."""
    return -math.inf if row[1].value is None else row[1].value.value


def compute_order(snapshot: Snapshot, track: str, view: TableView, ranked: Sequence[EntryReport]) -> Order:
    """Return the order by weights, by Borda points, or by a task of which the report has no ranks; empty for other orders."""
    tasks, task = [each.name for each in snapshot.ranked_tasks(track)], view.order.removeprefix(TASK)
    if view.order == WEIGHTS:
        return weighted_score({entry.name: {name: above_chance(entry, name) for name in tasks} for entry in ranked}, tasks,
                              complete_weights(tasks, view.weights))
    if view.order == BORDA:
        values = {entry.name: entry.borda for entry in ranked}
    elif task in tasks and not any(task in entry.task_ranks for entry in ranked):
        values = {entry.name: above_chance(entry, task) for entry in ranked}
    else:
        return {}
    return sort_by_score({name: -math.inf if value is None else value for name, value in values.items()})


def find_position(entry: EntryReport, view: TableView, order: Order) -> Position:
    """Return the place of an entry; the value in a computed order has no interval."""
    if order:
        rank, value = order.get(entry.name, (None, None))
        return Position(rank, None, None if value is None or math.isinf(value) else Estimate(value, None, None, 0))
    if not view.order.startswith(TASK):
        return Position(entry.rank, entry.rank_interval, entry.overall)
    task = view.order.removeprefix(TASK)
    on_task = entry.task_ranks.get(task) if entry.rank is not None else None
    return Position(None, None, entry.score_on(task)) if on_task is None else Position(on_task.rank, on_task.rank_interval, entry.score_on(task))


def complete_weights(tasks: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    """Return a weight for each task: 1 for those that have none."""
    return {task: weights.get(task, 1.0) for task in tasks}


def make_scale(estimates: Sequence[Estimate]) -> Scale:
    """Return the range of the intervals of estimates."""
    ends = [end for estimate in estimates for end in (estimate.low, estimate.high, estimate.value) if end is not None]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    return Scale(low, high) if high - low > 1e-9 else Scale(low - 0.5, high + 0.5)


def make_cell(entry: EntryReport, column: Column, corrected: Collection[str]) -> Cell:
    """Return the cell of an entry in a column; scores are tinted by how far they are above chance."""
    text = format_cell(column.value(entry))
    if not column.score:
        return Cell("property", text, None)
    above = above_chance(entry, column.key)
    tint = 0 if above is None else math.ceil(5 * min(1.0, max(0.0, above)))
    return Cell(f"h{tint}", text, format_cell(above) if column.key in corrected else None)


def entry_tags(entry: EntryReport) -> str:
    """Return the tags by which the table is filtered."""
    tags = {"no-model": entry.input == "texts" and not entry.models, "symmetric": entry.symmetric, "lifted": entry.lifted,
            "baseline": entry.rank is None, f"kind-{entry.kind}": True, f"input-{entry.input}": True}
    return " ".join(name for name, applies in tags.items() if applies)


def search_text(entry: EntryReport) -> str:
    """Return the text in which words are searched."""
    parts = [entry.name, entry.title, entry.summary, f"{entry.kind} metric", entry.input, entry.paper or "", *entry.authors,
             str(entry.year or ""), entry.license, *entry.models, "lifted" if entry.lifted else "", "baseline" if entry.control else ""]
    return fold(" ".join(part[:LONGEST] for part in parts))


def fold(text: str) -> str:
    """Return the text in lower case, without accents."""
    return "".join(character for character in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(character))


def round_number(value: float | None) -> float | None:
    """Return the value with six significant digits: a page holds thousands."""
    return None if value is None else float(f"{value:.6g}")
