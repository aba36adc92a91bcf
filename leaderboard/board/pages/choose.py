"""Which metric: a few questions, and a short list with reasons and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from leaderboard.board.components.filters import tags
from leaderboard.board.components.layout import Estimate, Links, brief, interval, number, table
from leaderboard.board.pages.compare import score_of
from leaderboard.board.pages.ranking import value_of
from leaderboard.board.snapshot import Snapshot
from leaderboard.scoring.comparison import estimate_difference

QUICK, SLOW = 1.0, 10.0                     # times the cost of chi
SHORT_LIST = 5


def choose(snapshot: Snapshot, links: Links, wanted: Mapping[str, str]) -> str:
    """The questions, and the ranked metrics that fulfil the wishes, the best first."""
    tracks = snapshot.tracks or ["corpus"]
    track, task = wanted.get("track", tracks[0]), wanted.get("task", "")
    track = track if track in tracks else tracks[0]
    tasks = snapshot.ranked_tasks(track)
    task = task if any(one["name"] == task for one in tasks) else ""
    cost, model, symmetric = wanted.get("cost", ""), wanted.get("model", ""), wanted.get("symmetric", "")
    fields = [
        select("track", "What do you compare?", {"corpus": "two corpora", "text": "two texts"}, track),
        select("task", "What matters most?", {"": "all tasks alike", **{one["name"]: one["title"].lower() for one in tasks}}, task),
        select("cost", "How quick must it be?", {"": "I can wait", "10": "up to ten times chi", "1": "as quick as chi"}, cost),
        select("model", "May it need an embedding model?", {"": "yes", "no": "no"}, model),
        select("symmetric", "Must d(p, q) equal d(q, p)?", {"": "no", "yes": "yes"}, symmetric)]
    found = suited(snapshot, track, task, cost, model, symmetric)
    return (f'<h1>Which metric for me?</h1><form class="questions" data-go="choose">{"".join(fields)}<button>Show</button></form>'
            + (short_list(snapshot, links, track, task, found) if found else
               '<p role="status">No ranked metric fulfils all of that. Give up one wish, the quickest one first.</p>'))


def short_list(snapshot: Snapshot, links: Links, track: str, task: str, found: Sequence[Mapping[str, Any]]) -> str:
    """The best of those that fulfil the wishes, beside the first of them; and a cheaper one that may be as good."""
    first = found[0]
    standing = {one["name"]: parted(snapshot, track, task, first, one) for one in found[1:]}
    words = {None: "not judged", False: "not told apart", True: "behind it"}
    rows = [[f'<a href="{escape(links.to("metric", metric=one["name"]))}">{escape(one["name"])}</a><br><small>{brief(one["title"])}</small>',
             f"{number(wanted_score(one, task))} {interval(wanted_score(one, task))}",
             "the best of these" if one is first else words[standing[one["name"]]], cost_words(one), escape(reasons(snapshot, one))]
            for one in found[:SHORT_LIST]]
    adjusted = "adjusted for all pairs" if not task else "for this pair and this task alone"
    return (cheaper_words(links, first, [one for one in found[1:] if standing[one["name"]] is False])
            + table(["Metric", "Score", f"Beside {escape(first['name'])}", "Cost", "Why"], rows, "A short list", words=True)
            + f'<p class="cap">{len(found)} of the ranked metrics fulfil it; the best {len(rows)} are shown.</p>'
            f'<p class="foot">Not told apart: a test at 5%, {adjusted}, cannot say which of the two is better. Costs are multiples of '
            "chi's on the same corpora, without the embedding.</p>")


def parted(snapshot: Snapshot, track: str, task: str, first: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    """Whether the first is better for sure; None where there are too few units to judge."""
    if not task:
        p = snapshot.p(track, first["name"], other["name"])
        return None if p is None else p <= 0.05
    ours, theirs = (snapshot.samples.get((one["name"], task)) for one in (first, other))
    between = estimate_difference(ours, theirs) if ours is not None and theirs is not None else None
    return None if between is None or between.low is None else between.low > 0


def cheaper_words(links: Links, first: Mapping[str, Any], equals: Sequence[Mapping[str, Any]]) -> str:
    """The cheapest of those that cannot be told from the best, if it is much cheaper than that and needs no more than it."""
    costs = [(cost, one["name"]) for one in equals if (cost := value_of(one, "timing.cost_in_chi"))
             and (first["input"] == "embeddings" or one["input"] != "embeddings")]
    best = value_of(first, "timing.cost_in_chi")
    if not costs or best is None or (cheapest := min(costs))[0] > best / 2:
        return ""
    cost, name = cheapest
    return (f'<p><strong>If cost counts:</strong> <a href="{escape(links.to("metric", metric=name))}">{escape(name)}</a> is not told apart '
            f"from {escape(first['name'])} and takes {cost / best:.2g} times as long, without the embedding.</p>")


def select(name: str, words: str, options: Mapping[str, str], chosen: str) -> str:
    listed = "".join(f'<option value="{escape(key)}"{" selected" if key == chosen else ""}>{escape(shown)}</option>'
                     for key, shown in options.items())
    return f'<label>{words} <select name="{name}">{listed}</select></label>'


def suited(snapshot: Snapshot, track: str, task: str, cost: str, model: str, symmetric: str) -> list[dict[str, Any]]:
    """The ranked entries that fulfil the wishes, best first."""
    most = {"1": QUICK, "10": SLOW}.get(cost, math.inf)
    found = []
    for entry in snapshot.entries(track):
        price = value_of(entry, "timing.cost_in_chi")
        if entry["rank"] is None or wanted_score(entry, task) is None:
            continue
        if (math.isfinite(most) and (price is None or price > most)) or (model == "no" and "no-model" not in tags(entry)) \
                or (symmetric == "yes" and value_of(entry, "axioms.symmetric") != 1):
            continue
        found.append(entry)
    return sorted(found, key=lambda entry: -(wanted_score(entry, task) or {"value": 0.0})["value"])


def wanted_score(entry: Mapping[str, Any], task: str) -> Estimate:
    return score_of(entry, {"name": task}) if task else entry["overall"]


def cost_words(entry: Mapping[str, Any]) -> str:
    cost = value_of(entry, "timing.cost_in_chi")
    return "not timed" if cost is None else f"{cost:.2g} × chi"


def reasons(snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
    """Where it stands, what it needs, its strong side and its weak one."""
    low, high = entry["rank_interval"] or (entry["rank"], entry["rank"])
    words = [f"rank {entry['rank']}" + (f" ({low}–{high})" if low != high else ""), "no model" if "no-model" in tags(entry) else f"needs {entry['input']}"]
    held = value_of(entry, "timing.peak_megabytes")
    if held is not None:
        words.append(f"{held:,.0f} MB")
    ranks = {snapshot.task(name)["title"].lower(): one["rank"] for name, one in entry["task_ranks"].items() if one["rank"] is not None}
    if len(ranks) > 1:
        strong, weak = min(ranks, key=lambda title: ranks[title]), max(ranks, key=lambda title: ranks[title])
        if ranks[strong] != ranks[weak]:
            words.append(f"rank {ranks[strong]} in {strong}, {ranks[weak]} in {weak}")
    axioms = entry["tasks"].get("axioms")
    if axioms:
        broken = [name.replace("_", " ") for name, one in axioms["measures"].items() if one is not None and one["value"] < 1]
        words.append(f"misses: {', '.join(broken)}" if broken else "holds all axioms")
    return "; ".join(words)
