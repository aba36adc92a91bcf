"""The table of a track as files: exactly what is shown, in the order and the columns that are shown."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from harness.base.errors import TouchstoneError, did_you_mean, printable
from leaderboard.board.pages.ranking import above_chance, columns_of, corrected, default_columns, value_of
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.citations import latex, markdown
from leaderboard.scoring import custom_order as own_order
from leaderboard.scoring.custom_order import sort_by_score, weighted_score

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute
FORMS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex", "md": "text/markdown"}


class Order(NamedTuple):
    """By what it is ranked, where not overall: one's own weights, or a column's key as the page has it (task.NAME, borda)."""

    weights: Mapping[str, float] | None = None
    by: str | None = None


def table(snapshot: Snapshot, track: str, names: Sequence[str] | None = None, columns: Sequence[str] | None = None,
          order: Order | None = None) -> pd.DataFrame:
    """A row a ranked metric: rank, name, title, score above chance with interval, and columns; in another order if it is given."""
    if track not in snapshot.tracks:
        raise TouchstoneError(f'There is no track "{printable(track, 40)}"; there are {", ".join(snapshot.tracks)}.')
    ranked = {entry["name"]: entry for entry in snapshot.entries(track) if entry["rank"] is not None}
    for name in names or ():
        if name not in ranked:
            raise TouchstoneError(f'There is no ranked metric "{printable(name, 80)}".{did_you_mean(name, ranked)}')
    known = {key: title for key, title, _ in columns_of(snapshot, track)}
    wanted = default_columns(snapshot, track) if columns is None else list(columns)
    for key in wanted:
        if key not in known and columns is not None:
            raise TouchstoneError(f'There is no column "{printable(key, 80)}".{did_you_mean(key, known)}')
    order = order or Order()
    own, beside = in_order(snapshot, track, ranked, order), corrected(snapshot, track)
    rows = []
    for name in (own or ranked) if names is None else names:
        entry, (low, high) = ranked[name], ranked[name]["rank_interval"] or (None, None)
        overall = entry["overall"] or {}
        standing = {"rank": entry["rank"], "rank_low": low, "rank_high": high} if own is None else {"rank": own[name][0]}
        score = {"above_chance": overall.get("value"), "low": overall.get("low"), "high": overall.get("high")} if order.weights is None \
            else {"above_chance_by_weights": own[name][1] if own else None}
        cells: dict[str, float | None] = {}
        for key in wanted:
            if key in known:
                cells[known[key]] = value_of(entry, key)
                if key in beside:
                    cells[f"{known[key]}, above chance"] = above_chance(entry, key)
        rows.append({**standing, "metric": name, "title": entry["title"], **score, **cells})
    return pd.DataFrame(rows)


def in_order(snapshot: Snapshot, track: str, ranked: Mapping[str, Mapping[str, Any]], order: Order) -> own_order.Order | None:
    """Ranks by what is not the overall score; None by that."""
    tasks = [task["name"] for task in snapshot.ranked_tasks(track)]
    if order.weights is not None:
        return weighted_score({name: {task: above_chance(entry, task) for task in tasks} for name, entry in ranked.items()}, tasks, order.weights)
    if order.by in (None, "overall"):
        return None
    if order.by == "borda":
        return sort_by_score({name: -math.inf if entry["borda"] is None else entry["borda"] for name, entry in ranked.items()})
    task = str(order.by).removeprefix("task.")
    if task not in tasks:
        raise TouchstoneError(f'There is no order by "{printable(str(order.by), 80)}"; there are overall, borda, '
                              f"{', '.join(f'task.{one}' for one in tasks)}.")
    scores = {name: above_chance(entry, task) for name, entry in ranked.items()}
    return sort_by_score({name: -math.inf if score is None else score for name, score in scores.items()})


def written(shown: pd.DataFrame, form: str) -> bytes:
    """A table in one of the forms."""
    if form == "parquet":
        content = io.BytesIO()
        shown.to_parquet(content, index=False)
        return content.getvalue()
    rows = [["" if pd.isna(value) else f"{value:.4f}" if isinstance(value, float) and value != int(value) else
             f"{value:.0f}" if isinstance(value, float) else str(value) for value in row] for row in shown.itertuples(index=False)]
    heads = list(map(str, shown.columns))
    if form == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([heads, *([harmless(cell) for cell in row] for row in rows)])
        return text.getvalue().encode()
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]        # a line a row
    if form == "md":
        lines = [heads, ["---"] * len(heads), *([markdown(cell) for cell in row] for row in rows)]
        return ("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n").encode()
    body = [" & ".join(map(latex, row)) + r" \\" for row in (heads, *rows)]
    return "\n".join([rf"\begin{{tabular}}{{{'l' * len(heads)}}}", r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule",
                      r"\end{tabular}", ""]).encode()


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell.startswith(FORMULA) else cell
    return cell
