"""Compare: two to four metrics beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from leaderboard.board.components.charts import legend, radar
from leaderboard.board.components.insights import card
from leaderboard.board.components.layout import Estimate, Links, correlation, interval, number, table
from leaderboard.board.pages.metric import RADAR
from leaderboard.board.pages.ranking import value_of
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.report.example_pairs import nearer
from leaderboard.scoring.comparison import compare_metrics as compared
from leaderboard.scoring.estimates import FEW_UNITS
from leaderboard.scoring.strengths import largest_differences, task_parts

MOST = 4
MOST_PARTS = 5                              # either way
MOST_TEXTS = 3                              # either way


def compare(snapshot: Snapshot, links: Links, metrics: str | None) -> str:
    """Paired differences on each task with intervals and verdicts, a radar, and how alike the answers are."""
    names = list(dict.fromkeys(name.strip() for name in (metrics or "").split(",") if name.strip()))[:MOST]
    entries = [entry for entry in map(snapshot.entry, names) if entry is not None]
    unknown = [name for name in names if snapshot.entry(name) is None]
    said = "".join(f'<p class="failed" role="alert">There is no metric “{escape(name[:80])}” here.</p>' for name in unknown)
    form = chooser(snapshot, names)
    if len(entries) < 2:
        return f'<h1>Compare</h1><p class="lede">Two to four metrics beside each other, on the questions that all were asked.</p>{form}{said}'
    shared = [track for track in snapshot.tracks if all(snapshot.entry(entry["name"], track) for entry in entries)]
    parts = [section(snapshot, links, track, [entry["name"] for entry in entries]) for track in shared]
    if not shared:
        parts = ["<p>They were asked nothing in common: one is a corpus metric, the other a text metric that was not lifted.</p>"]
    return f"<h1>Compare</h1>{form}{said}{''.join(parts)}"


def chooser(snapshot: Snapshot, names: Sequence[str]) -> str:
    """Four fields with suggestions: lists of everybody would be long."""
    known = "".join(f'<option value="{escape(name)}">' for name in dict.fromkeys(entry["name"] for entry in snapshot.facts["entries"]))
    filled = [*names, *[""] * (MOST - len(names))]
    fields = "".join(f'<input name="metrics" list="ts-known" value="{escape(name)}" autocomplete="off" aria-label="Metric {place}"'
                     f' placeholder="{"a metric" if place <= 2 else "one more"}">' for place, name in enumerate(filled, start=1))
    return f'<form class="tools compared" data-go="compare">{fields}<datalist id="ts-known">{known}</datalist><button>Compare</button></form>'


def section(snapshot: Snapshot, links: Links, track: str, names: Sequence[str]) -> str:
    """All of it in one track."""
    entries = [entry for entry in (snapshot.entry(name, track) for name in names) if entry is not None]
    tasks = snapshot.ranked_tasks(track)
    found = compared(snapshot.samples, names, [task["name"] for task in tasks])
    heads = ["Task", *(f'<a href="{escape(links.to("metric", metric=name))}">{escape(name)}</a>' for name in names)]
    rows = [["<b>Overall, above chance</b>", *(f"{number(one['overall'])} {interval(one['overall'])}" for one in entries)]]
    rows += [[escape(task["title"]), *(f"{number(score_of(one, task))} {interval(score_of(one, task))}" for one in entries)] for task in tasks]
    differences = []
    for pair in found["pairs"]:
        p = snapshot.p(track, pair["a"], pair["b"])
        between = [[escape(task["title"]), *told(pair["tasks"].get(task["name"]), pair["a"], pair["b"])] for task in tasks]
        differences.append((f"{escape(pair['a'])} less {escape(pair['b'])}", table(["Task", "Difference", "95%", "Verdict, on this task alone"], between, "Paired differences", words=True)
                           + f"<p>{overall_verdict(pair, p)}</p>{where_ahead(snapshot, track, pair['a'], pair['b'])}"))
    axes = {label: f"{task}.{measure}" for task, of_task in RADAR.items() for measure, label in of_task.items()
            if all(value_of(one, f"{task}.{measure}") is not None for one in entries)}
    picture = ""
    if len(axes) >= 3:
        picture = f'<figure class="narrow">{radar(list(axes), {one["name"]: [value_of(one, key) for key in axes.values()] for one in entries})}' \
                  f"</figure>{legend(names)}"
    cards = (card("Scores", table(heads, rows, "Scores", stacked=True), 7), card("Measures side by side", picture, 5) if picture else "",
             *(card(title, content, 6) for title, content in differences), correlations(snapshot, track, names))
    return f"<h2>{TRACKS[track]}</h2><div class=grid>{''.join(cards)}</div>"


def score_of(entry: Mapping[str, Any], task: Mapping[str, Any]) -> Estimate:
    asked = entry["tasks"].get(task["name"])
    return asked["score"] if asked else None


def told(one: Mapping[str, Any] | None, a: str, b: str) -> list[str]:
    """A difference, its interval and what it says."""
    if one is None:
        return ["–", "", "not asked in common"]
    sure = one["low"] is not None and (one["low"] > 0 or one["high"] < 0)
    verdict = f"{escape(a if one['value'] > 0 else b)} is better" if sure else "not told apart"
    return [f"{one['value']:+.3f}", interval(one, 3), verdict]


def overall_verdict(pair: Mapping[str, Any], p: float | None) -> str:
    a, b = escape(pair["a"]), escape(pair["b"])
    on = [f"{name} is better on at least {count} of {pair['of']} tasks" for name, count in
          ((a, pair["a_better_on"]), (b, pair["b_better_on"])) if count]
    enough = all(one["units"] >= FEW_UNITS for one in pair["tasks"].values())
    tasks = f"{'; '.join(on)} (5%, Benjamini and Heller 2008)." if on and enough else ""
    if p is None:
        return f"Overall they are not judged: not both are ranked, or there are too few units. {tasks}"
    return f"Overall {'they differ for sure' if p <= 0.05 else 'neither is better for sure'}: p = {p:.4f}, adjusted for all pairs. {tasks}"


def where_ahead(snapshot: Snapshot, track: str, a: str, b: str) -> str:
    """The parts of tasks on which the two differ most, either way, and pairs of texts that may be shown."""
    entries = [snapshot.entry(name, track) for name in (a, b)]
    tasks = {task["name"]: task["title"] for task in snapshot.ranked_tasks(track)}
    found = task_parts(snapshot.samples, entries[0], entries[1], list(tasks)) if entries[0] and entries[1] else []
    sides = [(name, other, side) for name, other, side in zip((a, b), (b, a), largest_differences(found, MOST_PARTS), strict=True) if side]
    texts = texts_ahead(snapshot, track, a, b)
    if not sides and not texts:
        return ""
    shown = "".join(f"<h3>Where {escape(name)} is ahead</h3>" + table(["Task", "Part", escape(a), escape(b), "Difference"], [
        [escape(tasks[part.task]), escape(part.where.replace("_", " ").replace(" | ", ", ")), f"{part.a:.2f}", f"{part.b:.2f}",
         f"{part.difference:+.2f}"] for part in side], f"Where {name} is furthest ahead of {other}", words=True) for name, other, side in sides)
    said = f'<p class="cap">The largest of {len(found)} parts, picked because they are large: elsewhere expect less. 1 is perfect in each.</p>' \
        if sides else ""
    none = '<p class="cap">No texts are shown: the licences of the sets that these two were asked about do not allow it.</p>'
    return f"<details><summary>Where each is furthest ahead</summary>{shown}{said}{texts or none}</details>"


def texts_ahead(snapshot: Snapshot, track: str, a: str, b: str) -> str:
    """Pairs of texts that one places nearer to where people place them than the other does."""
    known = (snapshot.facts.get("shown_pairs") or {}).get(track)
    if known is None or not {a, b} <= known["metrics"].keys():
        return ""
    rows = [[f"{escape(texts[0])}<br>{escape(texts[1])}", escape(first), f"{people:.2f}", *(f"{one:.2f}" for one in (of if first == a else of[::-1]))]
            for first, other in ((a, b), (b, a)) for texts, people, *of in nearer(known, first, other, MOST_TEXTS)]
    said = '<p class="cap">Where each places a pair among the others of its set: 0 is the least alike, 1 the most.</p>'
    return table(["Two texts", "Nearer to people", "People", escape(a), escape(b)], rows, f"Texts on which {a} and {b} differ", words=True) + said if rows else ""


def correlations(snapshot: Snapshot, track: str, names: Sequence[str]) -> str:
    known = snapshot.facts["agreement"].get(track)
    if known is None or not all(name in known["entries"] for name in names):
        return ""
    places = [known["entries"].index(name) for name in names]
    rows = [[escape(names[i]), *(correlation(known["values"][a][b]) for b in places)] for i, a in enumerate(places)]
    return card("How alike their answers are", table(["", *map(escape, names)], rows, "Rank correlation of answers")
                + '<p class="cap">Rank correlation of their answers to the same questions: 1 is the same order.</p>')
