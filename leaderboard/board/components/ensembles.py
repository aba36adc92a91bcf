"""The ensembles on the board: baselines below the ranked table, and on a metric's page what it adds to them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from leaderboard.board.components.insights import card
from leaderboard.board.components.layout import interval, number, table
from leaderboard.board.snapshot import Snapshot

MEANING = ("Above chance is the mean over the tasks of (score - chance)/(1 - chance), as in the table above. Each ensemble learns on four "
           "fifths of the documents, queries or texts and is judged on the others; beside it its members on the same held-out parts. "
           "Intervals of linear ensembles are of documents drawn again, learned again; of forests, of what was judged as it was learned.")


def baselines(snapshot: Snapshot, track: str) -> str:
    """The rows below a track's ranked table; where they were not computed, what computes them."""
    known = snapshot.facts.get("ensembles")
    if not known or known["track"] != track:
        return ""
    titles = {task["name"]: task["title"] for task in snapshot.ranked_tasks(track)}
    tasks = [name for name in titles if any(name in row["tasks"] for row in known["rows"])]
    rows = [[f'{escape(row["name"])}<span class="tag">{escape(known["standing"])}</span> <small>{escape(row["title"])}</small>',
             f"{number(row['overall'])} {interval(row['overall'])}", *(scored(row["tasks"].get(name)) for name in tasks)]
            for row in known["rows"]]
    shown = table(["Together", "Above chance", *(escape(titles[name]) for name in tasks)], rows, "Ensembles") if rows else ""
    return (f'<details id="ts-ensembles"{" open" if rows else ""}><summary>Ensembles of {escape(", ".join(known["members"]))}: baselines'
            f'</summary>{shown}{f"""<p class="foot">{MEANING}</p>""" if rows else ""}{said_of_missing(known)}</details>')


def scored(asked: Mapping[str, Any] | None) -> str:
    return "–" if asked is None else f'<span title="{escape(asked["learner"])}">{number(asked["score"])}</span> {interval(asked["score"])}'


def said_of_missing(known: Mapping[str, Any]) -> str:
    """What is not there, and what would bring it."""
    if known["reason"]:
        return f'<p class="foot">There is no ensemble here: {escape(known["reason"])}.</p>'
    if known["missing"]:
        return (f'<p class="foot">{known["missing"]} of the ensembles are not computed; <code>{escape(known["command"])}</code> does, and '
                "the store keeps them.</p>")
    return ""


def added(snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
    """What a text metric adds on each task: the ensemble with it less the ensemble without it."""
    known = snapshot.facts.get("ensembles")
    if not known or entry["track"] != known["track"]:
        return ""
    rows = [[escape(name.replace("_", " ")), f"{worth['value']:+.3f}", between(worth), escape(f"{worth['learner']}, {worth['splits']} splits")]
            for name, worth in (entry.get("adds") or {}).items()]
    others = [name for name in known["members"] if name != entry["name"]]
    words = (f'<p class="cap">The score of an ensemble of {escape(", ".join(others))} with {escape(entry["name"])}, less without it, with an '
             "intercept on both sides; learned on some documents, judged on others. 0: it says nothing that these do not say together.</p>")
    lacking = "" if rows else f'<p>Not computed: <code>{escape(known["command"])}</code> does.</p>'
    return card("What it adds to others", (table(["Task", "Adds", "95%", "By"], rows, "What it adds") if rows else "") + lacking + words)


def between(worth: Mapping[str, Any]) -> str:
    return "" if worth["low"] is None else f"<small>{worth['low']:+.3f} to {worth['high']:+.3f}</small>"
