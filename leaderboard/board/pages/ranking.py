"""The ranked table of a track.  The page's script (board.js) searches, sorts, filters and weighs what is here."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Set
from html import escape
from typing import Any

from leaderboard.board.components.charts import bar
from leaderboard.board.components.ensembles import baselines
from leaderboard.board.components.filters import filters, tags
from leaderboard.board.components.layout import LONGEST, Links, brief, json_in_page, number, rank_of
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.report.paper_authors import written_by

SHOWN_PROPERTIES = {"distributionality": "distributionality", "timing": "cost_in_chi", "axioms": None}
SHORT_TITLES = {"distributionality.distributionality": "Distributionality", "timing.cost_in_chi": "Cost, × chi"}
TASKS_SHOWN = 10                            # the others can be picked

Column = tuple[str, str, str]               # key, title, what it says


def board(snapshot: Snapshot, links: Links, track: str) -> str:
    """The ranked table; controls and what is not ranked below it, with the reasons."""
    entries = snapshot.entries(track)
    ranked = [entry for entry in entries if entry["rank"] is not None]
    rest = [entry for entry in entries if entry["rank"] is None]
    tasks, columns = snapshot.ranked_tasks(track), columns_of(snapshot, track)
    shown = [key for key, _, _ in columns if key in default_columns(snapshot, track)]
    marked, beside = snapshot.facts["gameable"].get(track, {}), corrected(snapshot, track)
    scored = {task["name"] for task in tasks}
    heads = "".join(head(key, title, words, key in marked, "" if key in scored else "property") for key, title, words in columns if key in shown)
    lines = set(snapshot.facts["lines"].get(track, []))
    rows = "".join(row(entry, links, shown, scored, beside) + (dividing_line(len(shown)) if number in lines else "")
                   for number, entry in enumerate(ranked, start=1))
    values = {"track": track, "tasks": [[task["name"], task["title"]] for task in tasks], "marked": list(marked), "beside": sorted(beside),
              "columns": [[*column, column[0] in shown] for column in columns],
              "rows": {entry["name"]: {"overall": entry["overall_above_chance"],
                                       "above": [short(above_chance(entry, task["name"])) for task in tasks],
                                       "values": [short(value_of(entry, key)) for key, _, _ in columns]} for entry in ranked}}
    empty = "" if ranked else f'<tr><td colspan="{3 + len(shown)}">Nobody is ranked in this track yet.</td></tr>'
    return f"""<p class="lede"><strong>Which text-similarity metric is any good, and at what?</strong> Each metric answers the same
questions, alone, behind walls. A gold line parts metrics only where the data can; inside a group the order is noise.</p>
{tools(snapshot, links, track)}
<p class="foot" role="status" id="ts-count">{len(ranked)} ranked metrics.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Ranking"><table id="ts-table"><thead><tr>
{head("rank", "Rank", "Place; beside it the ranks it may have")}{head("name", "Metric", "Name and title")}
{head("overall", "Above chance, 95%", "Mean over the ranked tasks of (score - chance)/(1 - chance)", kind="score")}{heads}</tr></thead>
<tbody>{rows or empty}</tbody></table></div>
<p class="foot">Above chance: 0 is chance, 1 is perfect; in grey beside scores whose chance is not 0. Columns behind the double line are
properties, which no rank rests on. Beside a rank, the ranks it may have: how many are better for sure, and worse, judged for all
pairs at once (5%). Intervals speak of new draws from these datasets, not of new datasets. {said_of_marks(marked)}</p>
{baselines(snapshot, track)}
<details id="ts-rest"><summary>Controls, variants and metrics that are not ranked ({len(rest)})</summary>
<div class="wide" tabindex="0" role="region" aria-label="Not ranked"><table><thead><tr><th scope="col">Metric</th>
<th scope="col">Above chance</th><th scope="col">Why it has no rank</th></tr></thead>
<tbody>{"".join(unranked(entry, links) for entry in rest)}</tbody></table></div></details>
{json_in_page(values, "ts-data")}"""


def tools(snapshot: Snapshot, links: Links, track: str) -> str:
    """The row above the table: tracks, search, ranking by, filters, columns, own weights, downloads."""
    tabs = "".join(f'<a class="chip" href="{escape(links.to("board", track=one))}"{" aria-current=true" if one == track else ""}>'
                   f"{TRACKS[one]}</a>" for one in snapshot.tracks)
    tasks = snapshot.ranked_tasks(track)
    orders = "".join(f'<option value="task.{escape(task["name"])}">{escape(task["title"])}</option>' for task in tasks)
    weights = "".join(f'<label>{escape(task["title"])} <input type="number" step="any" value="1" data-weight="{escape(task["name"])}">'
                      "</label>" for task in tasks)
    downloads = "".join(f'<a href="{"board-" + track + "." + form if links.static else "#"}" data-download="{form}" download>{words}{", the whole table" if links.static else ""}</a>'
                        for form, words in (("csv", "CSV"), ("parquet", "Parquet"), ("tex", "LaTeX"), ("md", "Markdown")))
    return f"""<div class="tools" role="toolbar" aria-label="Track, search and filters"><span class="chips">{tabs}</span>
<input type="search" id="ts-search" placeholder="Search: name, author, tag" aria-label="Search metrics: all words must be in the name, title, author, tag or summary">
<select id="ts-order" aria-label="Rank by"><option value="overall">Overall: mean above chance</option>{orders}
<option value="borda">Borda, reference panel</option><option value="weights">My weights</option></select>
<span class="chips">{filters(snapshot.entries(track), track)}</span><span class="right"><details class="menu"><summary>Columns</summary><div id="ts-columns"></div></details>
<details class="menu"><summary>Download</summary><div>{downloads}</div></details><button type="button" id="ts-copy">Copy link</button></span></div>
<fieldset class="weights" id="ts-weights" hidden><legend>My weights: an order, without intervals or lines</legend>{weights}
<p class="failed" role="alert" hidden>Weights are 0 or more, and one of them is more.</p></fieldset>"""


def head(key: str, title: str, words: str, marked: bool = False, kind: str = "") -> str:
    mark = ' <span class="mark" title="gameable: a control does well here">●</span>' if marked else ""
    return (f'<th scope="col" data-key="{escape(key)}"{f" class={kind}" if kind else ""}><button type="button" data-sort="{escape(key)}" '
            f'title="{escape(words)}">{escape(title)}{mark}</button></th>')


def row(entry: Mapping[str, Any], links: Links, shown: list[str], scored: Set[str] = frozenset(), beside: Set[str] = frozenset()) -> str:
    cells = "".join(cell(entry, key, key in scored, key in beside) for key in shown)
    low, high = entry["rank_interval"] or ("", "")
    borda = "" if entry["borda"] is None else f"{entry['borda']:.4f}"
    return (f'<tr data-name="{escape(entry["name"])}" data-find="{escape(findable(entry))}" data-tags="{" ".join(tags(entry))}" '
            f'data-rank="{entry["rank"]}" data-between="{low}–{high}" data-borda="{borda}">'
            f'<td class="rank">{rank_of(entry)}</td>{name_cell(entry, links)}<td class="score">{bar(entry["overall"])}</td>{cells}</tr>')


def cell(entry: Mapping[str, Any], key: str, scored: bool, beside: bool) -> str:
    """A value; the score above chance beside it where chance is not 0, and as the colour of the cell."""
    if not scored:
        return f'<td data-key="{escape(key)}" class=property>{written(value_of(entry, key))}</td>'
    above = above_chance(entry, key)
    small = f" <small>{written(above)}</small>" if beside else ""
    heat = 0 if above is None else math.ceil(5 * min(1.0, max(0.0, above)))
    return f'<td data-key="{escape(key)}" class=h{heat}>{written(value_of(entry, key))}{small}</td>'


def dividing_line(columns: int) -> str:
    return f'<tr class="line"><td colspan="{3 + columns}"><span class="hidden">a dividing line</span></td></tr>'


def unranked(entry: Mapping[str, Any], links: Links) -> str:
    return (f'<tr data-name="{escape(entry["name"])}" data-find="{escape(findable(entry))}">{name_cell(entry, links)}'
            f'<td>{number(entry["overall"])}</td><td class="reason">{brief(entry["not_ranked"] or "")}</td></tr>')


def name_cell(entry: Mapping[str, Any], links: Links) -> str:
    shown = (["lifted"] if entry["lifted"] else []) + entry["marks"]
    marks = "".join(f'<span class="tag">{escape(one)}</span>' for one in shown)
    return (f'<td class="name"><a href="{escape(links.to("metric", metric=entry["name"]))}">{escape(entry["name"])}</a>{marks}'
            f'<small>{brief(entry["title"])}</small></td>')


def findable(entry: Mapping[str, Any]) -> str:
    """In what its words are searched."""
    parts = [entry["name"], entry["title"], entry["summary"], f"{entry['kind']} metric", entry["input"], entry["paper"] or "",
             written_by(entry["paper"]) or "", entry["license"], *entry["models"], "lifted" if entry["lifted"] else "",
             "control" if entry["control"] else ""]
    return plain(" ".join(part[:LONGEST] for part in parts))


def plain(words: str) -> str:
    """In small letters, without accents: as it is searched."""
    return "".join(one for one in unicodedata.normalize("NFD", words.lower()) if not unicodedata.combining(one))


# ---- columns -----------------------------------------------------------------------------------------------------------

def columns_of(snapshot: Snapshot, track: str) -> list[Column]:
    """The tasks' scores, the properties, and all measures of both."""
    found: list[Column] = [(task["name"], task["title"], task["score"]) for task in snapshot.ranked_tasks(track)]
    if track == "text":
        found.append(("usmb", "USMB", "Mean of the five tasks' scores as USMB computes them"))
    for task in snapshot.facts["suite"]["tasks"]:
        if task["ranked"] and task["track"] != track:
            continue
        if task["name"] == "axioms":
            found.append(("axioms", "Axioms", "How many of the axioms hold in every trial"))
        found += [(key, SHORT_TITLES.get(key, f"{task['title']}: {name.replace('_', ' ')}"), words)
                  for name, words in task["measures"].items() for key in [f"{task['name']}.{name}"]]
    return found


def default_columns(snapshot: Snapshot, track: str) -> list[str]:
    properties = [task if measure is None else f"{task}.{measure}" for task, measure in SHOWN_PROPERTIES.items()]
    return [*(task["name"] for task in snapshot.ranked_tasks(track)[:TASKS_SHOWN]), *properties]


def value_of(entry: Mapping[str, Any], key: str) -> float | None:
    """What an entry has in a column."""
    if key == "usmb":
        usmb: float | None = entry["usmb"]
        return usmb
    task, _, measure = key.partition(".")
    asked = entry["tasks"].get(task)
    if asked is None:
        return None
    if task == "axioms" and not measure:
        known = [one["value"] for one in asked["measures"].values() if one is not None]
        return sum(share == 1 for share in known) / len(known) if known else None
    estimate = asked["measures"].get(measure) if measure else asked["score"]
    return None if estimate is None else float(estimate["value"])


def above_chance(entry: Mapping[str, Any], task: str) -> float | None:
    found: float | None = (entry["tasks"].get(task) or {}).get("above_chance")
    return found


def corrected(snapshot: Snapshot, track: str) -> set[str]:
    """The ranked tasks whose scores above chance are not the scores themselves."""
    names = {task["name"] for task in snapshot.ranked_tasks(track)}
    return {name for entry in snapshot.entries(track) for name in names if name in entry["tasks"] and entry["tasks"][name]["chance"]}


def short(value: float | None) -> float | None:
    """As exact as anybody looks at it in a table: a thousand rows of forty columns are a page's weight."""
    return None if value is None else float(f"{value:.6g}")


def written(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"


def said_of_marks(marked: Mapping[str, list[str]]) -> str:
    if not marked:
        return ""
    controls = sorted({name for names in marked.values() for name in names})
    return '<span class="mark">●</span> gameable: a control, which looks at nothing that matters, does as well as half of the ranked on ' \
           f"this task ({escape(', '.join(controls))})."
