"""The ranked table of a track.  Its script (ranked_table.js) searches, sorts, filters and weighs the rows."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence
from typing import NamedTuple

from markupsafe import Markup

from harness.evaluation.task import Role
from leaderboard.board.columns import Column, above_chance, corrected_tasks
from leaderboard.board.components.ensembles import render_baselines
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import LONGEST, format_cell, render
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.report.schema import EntryReport

COSTS = (1, 10, 100)                        # bounds of the filter by cost
KINDS = {"corpus": "corpus metrics", "text": "text metrics"}
INPUTS = {"texts": "takes texts", "tokens": "takes tokens", "embeddings": "takes embeddings", "token_embeddings": "takes token embeddings"}
DOWNLOADS = {"csv": "CSV", "parquet": "Parquet", "tex": "LaTeX", "md": "Markdown"}


class Cell(NamedTuple):
    """A cell of the ranked table; the score above chance is added where chance is not 0."""

    key: str
    style: str
    text: str
    above: str | None


class Row(NamedTuple):
    """A row of the ranked table."""

    entry: EntryReport
    search: str
    tags: str
    cells: list[Cell]
    line: bool                              # whether a dividing line follows


class Filter(NamedTuple):
    """A list of choices that narrows the table."""

    name: str
    default: str
    options: dict[str, str]


def render_board(snapshot: Snapshot, links: Links, track: str) -> Markup:
    """Return the ranked table, and below it the baselines and metrics that are not ranked."""
    entries, ranked = snapshot.entries(track), snapshot.ranked_entries(track)
    tasks, columns = snapshot.ranked_tasks(track), snapshot.columns(track)
    corrected = corrected_tasks(entries, tasks)
    lines = snapshot.report.lines.get(track, [])
    gameable = snapshot.report.gameable.get(track, {})
    cost, suite = snapshot.role(Role.COST), snapshot.report.suite
    highest = max([1.0, *(entry.overall.high or entry.overall.value for entry in entries if entry.overall is not None)])
    values = {"track": track, "tasks": [[task.name, task.title] for task in tasks], "marked": list(gameable), "beside": sorted(corrected),
              "columns": [[column.key, column.title, column.description, column.default] for column in columns],
              "cost": ".".join(cost) if cost is not None else None,
              "rows": {entry.name: {"overall": entry.overall_above_chance,
                                    "above": [round_number(above_chance(entry, task.name)) for task in tasks],
                                    "values": [round_number(column.value(entry)) for column in columns]} for entry in ranked}}
    defaults = [column for column in columns if column.default]
    rows = [Row(entry, search_text(entry), " ".join(entry_tags(entry)), [table_cell(entry, column, corrected) for column in defaults], number in lines)
            for number, entry in enumerate(ranked, start=1)]
    return render(
        "ranking.html", links=links, track=track, tracks={name: TRACKS[name] for name in snapshot.tracks}, tasks=tasks, columns=defaults, rows=rows,
        unranked=[(entry, search_text(entry)) for entry in entries if entry.rank is None], gameable=gameable, values=values, lines=lines,
        baselines=sorted({name for names in gameable.values() for name in names}), filters=list_filters(snapshot, entries),
        downloads=DOWNLOADS, ensembles=render_baselines(snapshot, track), tied=tied_count(ranked),
        axis=suite.headline(track), axes=[axis for axis in suite.axes if axis.track == track], highest=highest)


def tied_count(ranked: Sequence[EntryReport]) -> int:
    """Return how many metrics may be the best, given their rank ranges; 0 where ranges are unknown."""
    return sum(entry.rank_interval is not None and entry.rank_interval[0] == 1 for entry in ranked)


def table_cell(entry: EntryReport, column: Column, corrected: Collection[str]) -> Cell:
    """Return the cell of an entry in a column; scores are tinted by how far they are above chance."""
    text = format_cell(column.value(entry))
    if not column.score:
        return Cell(column.key, "property", text, None)
    above = above_chance(entry, column.key)
    tint = 0 if above is None else math.ceil(5 * min(1.0, max(0.0, above)))
    return Cell(column.key, f"h{tint}", text, format_cell(above) if column.key in corrected else None)


def list_filters(snapshot: Snapshot, entries: Sequence[EntryReport]) -> list[Filter]:
    """Return the filters that separate some entries from others."""
    kinds, inputs = {entry.kind for entry in entries}, {entry.input for entry in entries}
    timed = any(snapshot.role_value(entry, Role.COST) is not None for entry in entries)
    unit = snapshot.role_unit(Role.COST)
    filters = [(Filter("kind", "Any kind", {key: title for key, title in KINDS.items() if key in kinds}), len(kinds) > 1),
               (Filter("input", "Any input", {key: title for key, title in INPUTS.items() if key in inputs}), len(inputs) > 1),
               (Filter("cost", "Any speed", {str(bound): f"cost up to {bound} {unit}" for bound in COSTS}), timed)]
    return [choices for choices, useful in filters if useful]


def entry_tags(entry: EntryReport) -> list[str]:
    """Return the tags by which the table is filtered."""
    tags = {"no-model": entry.input == "texts" and not entry.models, "symmetric": entry.symmetric, "lifted": entry.lifted,
            f"kind-{entry.kind}": True, f"input-{entry.input}": True}
    return [name for name, applies in tags.items() if applies]


def search_text(entry: EntryReport) -> str:
    """Return the text in which words are searched."""
    parts = [entry.name, entry.title, entry.summary, f"{entry.kind} metric", entry.input, entry.paper or "", *entry.authors,
             str(entry.year or ""), entry.license, *entry.models, "lifted" if entry.lifted else "", "control" if entry.control else ""]
    return fold(" ".join(part[:LONGEST] for part in parts))


def fold(text: str) -> str:
    """Return the text in lower case, without accents."""
    return "".join(character for character in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(character))


def round_number(value: float | None) -> float | None:
    """Return the value with six significant digits: a page holds thousands."""
    return None if value is None else float(f"{value:.6g}")
