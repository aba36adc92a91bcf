"""The table of a track as files: exactly what is shown, in the order and the columns that are shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import pandas as pd

from harness.errors import Refusal, did_you_mean, printable
from leaderboard.board.board_page import columns_of, default_columns, value_of
from leaderboard.board.snapshot import Snapshot
from leaderboard.citing import latex, markdown
from leaderboard.own_order import by_weights

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
    tasks = [task["name"] for task in snapshot.ranked_tasks(track)]
    scores = {name: {task: entry["tasks"][task]["above_chance"] for task in tasks} for name, entry in ranked.items()}
    own = by_weights(scores, tasks, weights) if weights is not None else None
    for name in ranked if names is None else names:
        entry, (low, high) = ranked[name], ranked[name]["rank_interval"] or (None, None)
        overall = entry["overall"] or {}
        standing = {"rank": entry["rank"], "rank_low": low, "rank_high": high} if own is None else {"rank": own[name][0]}
        score = {"above_chance": overall.get("value"), "low": overall.get("low"), "high": overall.get("high")} if own is None \
            else {"above_chance_by_weights": own[name][1]}
        rows.append({**standing, "metric": name, "title": entry["title"], **score,
                     **{known[key]: value_of(entry, key) for key in wanted if key in known}})
    return pd.DataFrame(rows)


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
