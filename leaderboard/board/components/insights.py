"""Cards of a metric's page that say what it sees, what it costs, what it may have met before, and what it was before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from leaderboard.board.components.charts import curve, legend
from leaderboard.board.components.layout import Links, brief, interval, number, table
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.series import MEGABYTES, SECONDS
from tasks.common.corpus_faults import FAULT_DESCRIPTIONS
from tasks.common.transformations import POSITIONS
from tasks.data import loading as data
from tasks.text.sensitivity import CONDITIONS, SIZES, condition_name

MISSED = 0.3                                # a sensitivity below is no sight of the fault
SAYS_NOTHING = frozenset({"of", "and", "the", "in", "on", "for", "from", "corpus", "dataset", "data", "texts", "sentences", "questions",
                          "english", "test", "train", "news", "reviews", "articles", "their", "made"})


def card(title: str, content: str, width: int = 6) -> str:
    return f'<section class="card w{width}"><h2>{title}</h2>{content}</section>'


def sensitivity(entry: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    """Mean similarity against the share of tokens that is put in, taken out, replaced; one picture a kind and place."""
    if not similarities(entry):
        return ""
    drawn = []
    for kind in SIZES:
        for place in POSITIONS:
            title = f"{kind}, {place}"
            mine, theirs = similarity_curve(title, entry, kind, place), similarity_curve(title, other, kind, place) if other else None
            if mine is not None:
                drawn.append(f"<figure>{curve(mine, theirs, ideal(title, kind, place))}<figcaption>{escape(title)}</figcaption></figure>")
    beside = other["name"] if other is not None and similarities(other) else None
    names = [entry["name"], beside, "what would be right"]
    return card("As tokens are put in, taken out, replaced",
                legend(names) + f'<div class="figures">{"".join(drawn)}</div>', 12) if drawn else ""


def similarities(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The measures of sensitivity that are known."""
    asked = entry["tasks"].get("sensitivity") or {"measures": {}}
    return {name: one for name, one in asked["measures"].items() if one is not None}


def similarity_curve(title: str, entry: Mapping[str, Any], kind: str, place: str) -> dict[str, Any] | None:
    known = similarities(entry)
    points = [(one.size, found["value"], found["low"], found["high"]) for one in CONDITIONS if (one.kind, one.position) == (kind, place)
              if (found := known.get(condition_name(one))) is not None]
    return drawn_as(title, points) if points else None


def ideal(title: str, kind: str, place: str) -> dict[str, Any]:
    return drawn_as(title, [(one.size, one.ideal, None, None) for one in CONDITIONS if (one.kind, one.position) == (kind, place)])


def drawn_as(title: str, points: Sequence[tuple[float, float, float | None, float | None]]) -> dict[str, Any]:
    return {"title": title, "x": "share of the tokens", "y": "similarity", "series": [{"name": "", "points": points}]}


def faults(entry: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    """How well the distance follows the strength of each fault, and from what strength on it notices it at all."""
    asked = entry["tasks"].get("diagnostics")
    if asked is None or not any(asked["measures"].get(fault.value) for fault in FAULT_DESCRIPTIONS):
        return ""
    theirs = ((other["tasks"].get("diagnostics") or {"measures": {}}) if other else {"measures": {}})["measures"]
    beside = other is not None and any(theirs.get(fault.value) for fault in FAULT_DESCRIPTIONS)
    rows = []
    for fault, meaning in FAULT_DESCRIPTIONS.items():
        found, noticed = asked["measures"].get(fault.value), entry.get("faults_noticed", {}).get(fault.value)
        words = "unknown: it does not change" if found is None else f"{number(found)}<br>{interval(found)}"
        missed = found is None or found["value"] < MISSED
        rows.append([f'{escape(fault.value.replace("_", " "))}<br><small>{escape(meaning)}</small>',
                     f'<span class="no">{words}</span>' if missed else words, noticed_from(noticed),
                     *([number(theirs.get(fault.value))] if beside else [])])
    heads = ["Fault", "Sensitivity", "Noticed from", *([escape(other["name"])] if beside and other else [])]
    said = ('<p class="cap">Sensitivity: rank correlation of distance and strength, 1 is perfect, 0 blind. Noticed: the distance leaves what '
            "fault-free samples of the same source are apart; the median strength, and in how many of the draws.</p>")
    return card("What it sees, and what it misses", table(heads, rows, "Faults of corpora", words=True) + said)


def noticed_from(noticed: Mapping[str, Any] | None) -> str:
    if noticed is None:
        return "–"
    if noticed["onset"] is None:
        return '<span class="no">never</span>'
    return f"{noticed['onset']:.0%} <br><small>{noticed['noticed']:.0%} of draws</small>"


def cost(entry: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    """Seconds a pair of corpora against their size, and the memory that it holds at each."""
    mine, theirs = cost_curve(entry, SECONDS), cost_curve(other, SECONDS)
    if mine is None:
        return ""
    picture = legend([entry["name"], other["name"] if other is not None and theirs is not None else None]) + f"<figure>{curve(mine, theirs)}</figure>"
    held = {one["name"]: found for one in (entry, other) if one is not None and (found := cost_curve(one, MEGABYTES)) is not None}
    if entry["name"] not in held:
        memory, said = "", "Its memory was not measured."
    else:
        sizes = [f"{size:,.0f}" for size, *_ in held[entry["name"]]["series"][0]["points"]]
        rows = [[escape(name), *(f"{peak:,.0f}" for _, peak, *_ in found["series"][0]["points"])] for name, found in held.items()]
        memory = table(["Held at most, MB", *sizes], rows, "Memory by the number of texts in each corpus", stacked=True)
        said = "Memory: the most that its process held at once by then, Python and its libraries included, mean over draws; " \
               "the embedding is the harness's."
    return card("What it costs", picture + memory + f'<p class="cap">On the machine of the run, one thread; both axes are logarithmic. {said}</p>')


def cost_curve(entry: Mapping[str, Any] | None, what: str) -> Mapping[str, Any] | None:
    return next((one for one in entry["curves"] if (one["task"], one["y"]) == ("timing", what)), None) if entry else None


# ---- what it may have met before ---------------------------------------------------------------------------------------

def training(snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
    """What its model was trained on, as far as the submission says, and which of the suite's data that may be."""
    model, vectors = snapshot.facts["suite"]["model"]["name"], entry["input"] != "texts"
    said = f'<p class="cap">It sees texts through {escape(model)}; what that was trained on is not recorded here.</p>' if vectors else ""
    if not entry["trained_on"]:
        none = "needs no model, and none is named" if not entry["models"] and not vectors else "names none: unknown, which is not none"
        return card("Training data and the suite's", f"<p>The submission {none}.</p>{said}")
    rows = [[brief(named), ", ".join(map(escape, overlaps(named, snapshot.facts["suite"]["data"]))) or "none by name"]
            for named in entry["trained_on"]]
    return card("Training data and the suite's", table(["Trained on", "Data of this suite that it may hold"], rows, "Training data", words=True)
                + '<p class="cap">By names alone: a crawl of the web or of an encyclopedia may hold anything public.</p>' + said)


def overlaps(named: str, datasets: Sequence[Sequence[str]]) -> list[str]:
    """The suite's data whose name or title shares all telling words with what a submission names, or the other way round."""
    claimed, found = telling(named), []
    for name, *_ in datasets:
        known = data.DATASETS.get(name)
        for words in (telling(name), telling(known.title if known else "")):
            if claimed and words and (words <= claimed or claimed <= words):
                found.append(name)
                break
    return found


def telling(words: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", words.lower()) if not word.isdigit() and len(word) > 2} - SAYS_NOTHING


# ---- what it was before ------------------------------------------------------------------------------------------------

def history(snapshot: Snapshot, links: Links, entry: Mapping[str, Any]) -> str:
    """Every digest that the name has had, the latest first."""
    known = list(snapshot.versions.get(entry["name"], ()))
    if not known:
        return ""
    rows = []
    for version in reversed(known):
        current = " <b>shown here</b>" if version.digest == entry["digest"] else ""
        standings = [one for one in version.released if one[2]["track"] == entry["track"]]
        rows.append([f"<code>{escape(version.digest[:12])}</code>{current}", escape(version.first_seen[:10]),
                     "<br>".join(released(links, *one) for one in standings) or "in no release"])
    alone = "" if len(known) > 1 else '<p class="cap">It has never been another.</p>'
    return card("History of versions", table(["Digest", "First seen", "Released"], rows, "History of versions", words=True) + alone)


def released(links: Links, name: str, suite: str, entry: Mapping[str, Any]) -> str:
    place = f"rank {entry['rank']}, {number(entry['overall'])}" if entry["rank"] is not None else "not ranked"
    link = escape(name) if links.static else f'<a href="{escape(Links(release=name).to("metric", metric=entry["name"]))}">{escape(name)}</a>'
    return f"{link}: {place} <small>on {escape(suite)}</small>"

