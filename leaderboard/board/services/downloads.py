"""The table of a track as files, in the order and with the columns of the page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.columns import above_chance, corrected_tasks
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.citations import latex, markdown
from leaderboard.report.schema import EntryReport
from leaderboard.scoring.custom_order import Order, sort_by_score, weighted_score

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet evaluates
FORMS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex", "md": "text/markdown"}


class Ordering(NamedTuple):
    """What the table is ranked by, if not the overall score: weights, or the key of an order (task.NAME, borda)."""

    weights: Mapping[str, float] | None = None
    key: str | None = None


def make_table(snapshot: Snapshot, track: str, names: Sequence[str] | None = None, columns: Sequence[str] | None = None,
               ordering: Ordering | None = None) -> pd.DataFrame:
    """Return a row per ranked metric: rank, name, title, overall score with interval, and columns."""
    if track not in snapshot.tracks:
        raise TouchstoneError(f'There is no track "{printable(track, 40)}"; available are {", ".join(snapshot.tracks)}.')
    ranked = {entry.name: entry for entry in snapshot.ranked_entries(track)}
    for name in names or ():
        if name not in ranked:
            raise TouchstoneError(f'There is no ranked metric "{printable(name, 80)}".{did_you_mean(name, ranked)}')
    available = {column.key: column for column in snapshot.columns(track)}
    keys = [key for key, column in available.items() if column.default] if columns is None else columns
    for key in keys:
        if key not in available:
            raise TouchstoneError(f'There is no column "{printable(key, 80)}".{did_you_mean(key, available)}')
    ordering = ordering or Ordering()
    order, corrected = rank_by(snapshot, track, ranked, ordering), corrected_tasks(snapshot.entries(track), snapshot.ranked_tasks(track))
    rows = []
    for name in (order or ranked) if names is None else names:
        entry = ranked[name]
        low, high = entry.rank_interval or (None, None)
        row: dict[str, str | float | None] = {"rank": entry.rank, "rank_low": low, "rank_high": high} if order is None else {"rank": order[name][0]}
        row |= {"metric": name, "title": entry.title}
        if ordering.weights is not None:
            row["above_chance_by_weights"] = order[name][1] if order else None
        else:
            overall = entry.overall.to_dict() if entry.overall is not None else {}
            row |= {"above_chance": overall.get("value"), "low": overall.get("low"), "high": overall.get("high")}
        for key in keys:
            column = available[key]
            row[column.title] = column.value(entry)
            if column.score and key in corrected:
                row[f"{column.title}, above chance"] = above_chance(entry, key)
        rows.append(row)
    return pd.DataFrame(rows)


def rank_by(snapshot: Snapshot, track: str, ranked: Mapping[str, EntryReport], ordering: Ordering) -> Order | None:
    """Return ranks by weights, a task or Borda points; None for the overall score."""
    tasks = [task.name for task in snapshot.ranked_tasks(track)]
    if ordering.weights is not None:
        return weighted_score({name: {task: above_chance(entry, task) for task in tasks} for name, entry in ranked.items()}, tasks, ordering.weights)
    if ordering.key in (None, "overall"):
        return None
    if ordering.key == "borda":
        return sort_by_score({name: -math.inf if entry.borda is None else entry.borda for name, entry in ranked.items()})
    task = str(ordering.key).removeprefix("task.")
    if task not in tasks:
        raise TouchstoneError(f'The table cannot be ordered by "{printable(str(ordering.key), 80)}"; available are overall, borda, '
                              f"{', '.join(f'task.{name}' for name in tasks)}.")
    scores = {name: above_chance(entry, task) for name, entry in ranked.items()}
    return sort_by_score({name: -math.inf if score is None else score for name, score in scores.items()})


def write_table(table: pd.DataFrame, form: str) -> bytes:
    """Return the table in a file format."""
    if form == "parquet":
        content = io.BytesIO()
        table.to_parquet(content, index=False)
        return content.getvalue()
    rows = [[format_value(value) for value in row] for row in table.itertuples(index=False)]
    headings = list(map(str, table.columns))
    if form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([headings, *([escape_formula(cell) for cell in row] for row in rows)])
        return text.getvalue().encode()
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]        # one line per row
    if form == "md":
        lines = [headings, ["---"] * len(headings), *([markdown(cell) for cell in row] for row in rows)]
        return ("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n").encode()
    body = [" & ".join(map(latex, row)) + r" \\" for row in (headings, *rows)]
    return "\n".join([rf"\begin{{tabular}}{{{'l' * len(headings)}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule",
                      r"\end{tabular}", ""]).encode()


def format_value(value: str | float | None) -> str:
    """Return a value as text: floats with four digits, unknown ones empty."""
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if value == int(value) else f"{value:.4f}"
    return str(value)


def escape_formula(cell: str) -> str:
    """Return a cell that no spreadsheet evaluates; numbers stay numbers."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell.startswith(FORMULA) else cell
    return cell
