"""The table of a track as files: exactly what is shown, in the order and the columns that are shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from harness.errors import Refusal, did_you_mean, printable
from leaderboard.board.board_page import columns_of, default_columns, value_of
from leaderboard.board.snapshot import Snapshot
from leaderboard.citing import latex, markdown

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute
FORMS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "tex": "application/x-tex", "md": "text/markdown"}


def table(snapshot: Snapshot, track: str, names: Sequence[str] | None = None, columns: Sequence[str] | None = None,
          weights: Mapping[str, float] | None = None) -> pd.DataFrame:
    """A row a ranked metric: rank, name, title, score above chance with interval, and columns; by one's own weights if given."""
    if track not in snapshot.tracks:
        raise Refusal(f'There is no track "{printable(track, 40)}"; there are {", ".join(snapshot.tracks)}.')
    ranked = {entry["name"]: entry for entry in snapshot.entries(track) if entry["rank"] is not None}
    for name in names or ():
        if name not in ranked:
            raise Refusal(f'There is no ranked metric "{printable(name, 80)}".{did_you_mean(name, ranked)}')
    known = {key: title for key, title, _ in columns_of(snapshot, track)}
    wanted = default_columns(snapshot, track) if columns is None else list(columns)
    for key in wanted:
        if key not in known and columns is not None:
            raise Refusal(f'There is no column "{printable(key, 80)}".{did_you_mean(key, known)}')
    rows = []
    own = weighted(snapshot, track, ranked, weights) if weights is not None else None
    for name in ranked if names is None else names:
        entry, (low, high) = ranked[name], ranked[name]["rank_interval"] or (None, None)
        overall = entry["overall"] or {}
        standing = {"rank": entry["rank"], "rank_low": low, "rank_high": high} if own is None else {"rank": own[name][0]}
        score = {"above_chance": overall.get("value"), "low": overall.get("low"), "high": overall.get("high")} if own is None \
            else {"above_chance_by_weights": own[name][1]}
        rows.append({**standing, "metric": name, "title": entry["title"], **score,
                     **{known[key]: value_of(entry, key) for key in wanted if key in known}})
    return pd.DataFrame(rows)


def weighted(snapshot: Snapshot, track: str, ranked: Mapping[str, Mapping[str, Any]],
             weights: Mapping[str, float]) -> dict[str, tuple[int, float]]:
    """Each entry's rank and score when the tasks count as somebody wishes."""
    tasks = [task["name"] for task in snapshot.ranked_tasks(track)]
    for name in weights:
        if name not in tasks:
            raise Refusal(f'There is no ranked task "{printable(name, 80)}" in this track.{did_you_mean(name, tasks)}')
    counted = {task: weights.get(task, 0.0) for task in tasks}
    whole = sum(counted.values())
    if not all(0 <= weight < float("inf") for weight in counted.values()) or whole <= 0:
        raise Refusal("Weights are 0 or more, and one of them is more.")
    scores = {name: sum(weight * (entry["tasks"][task]["above_chance"] or 0.0) for task, weight in counted.items()) / whole
              for name, entry in ranked.items()}
    return {name: (1 + sum(other > score for other in scores.values()), score) for name, score in scores.items()}


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
