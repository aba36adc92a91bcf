"""All about one metric: facts, scores, pictures, axioms, cost, failures, source, and how to run and to cite it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from leaderboard.board.components import ensembles as ensemble_cards
from leaderboard.board.components import insights as insight_cards
from leaderboard.board.components.charts import curve, legend, radar
from leaderboard.board.components.insights import card
from leaderboard.board.components.layout import Links, brief, interval, number, outside, rank_of, table
from leaderboard.board.pages.ranking import value_of
from leaderboard.board.snapshot import TRACKS, Snapshot
from leaderboard.publishing.citations import as_bibtex, as_latex
from leaderboard.report.paper_authors import written_by
from tasks.registry import TASKS

RADAR = {"known_similarity": {"accuracy": "accuracy", "weighted_accuracy": "weighted", "monotonicity": "monotonicity",
                              "signed_separability": "separability", "signed_linearity": "linearity"},
         "convergence": {"size_contrast": "size", "imbalance_contrast": "imbalance"}}

REASONS = 5                                 # of a task's failures that are shown


def metric(snapshot: Snapshot, links: Links, name: str, against: str | None = None) -> str | None:
    """The page of a metric, with another beside it if wanted; None if there is no such metric."""
    standing = [entry for entry in snapshot.facts["entries"] if entry["name"] == name]
    if not standing:
        return None
    entry = standing[0]
    other = next((one for one in snapshot.facts["entries"] if one["name"] == against), None) or default_rival(snapshot, entry)
    tried = [one for one in standing if insight_cards.similarities(one)] or standing       # only the text track has sensitivity
    cards = "".join((
        scores(snapshot, links, standing, other), pictures(entry, other),
        insight_cards.sensitivity(tried[0], rival_in(snapshot, tried[0], other)), insight_cards.faults(entry, other),
        "".join(ensemble_cards.added(snapshot, one) for one in standing),
        axioms(snapshot, entry), insight_cards.cost(entry, other), insight_cards.training(snapshot, entry), failures(snapshot, standing), running(snapshot, entry),
        insight_cards.history(snapshot, links, entry), source(snapshot, entry), measures(snapshot, standing)))
    return f"""<p class="back"><a href="{escape(links.to("board", track=entry["track"]))}">← Board</a></p>
<h1>{escape(name)} <small>{brief(entry["title"])}</small></h1>
<p class="lede"><bdi>{brief(entry["summary"])}</bdi> {outside(entry["paper"], written_by(entry["paper"]) or "Its paper") if entry["paper"] else ""}</p>
<p class="facts">{"".join(f"<span>{brief(one)}</span>" for one in facts(entry))}</p>
{signatures(snapshot, standing)}
<div class="grid">{cards}</div>"""


def signatures(snapshot: Snapshot, standing: list[dict[str, Any]]) -> str:
    """What travels with its numbers: of its first ranked task; those of the others stand with their measures."""
    found = [entry["tasks"][task["name"]]["signature"] for entry in standing for task in snapshot.ranked_tasks(entry["track"])
             if task["name"] in entry["tasks"]]
    return f'<p class="sig" title="Signature of its first task; those of the others stand with their measures">{escape(found[0])}</p>' if found else ""


def facts(entry: Mapping[str, Any]) -> list[str]:
    """What a reader wants to know before the numbers, a few words each."""
    low, high = ("-∞" if entry["range"][0] is None else f"{entry['range'][0]:g}"), \
        ("∞" if entry["range"][1] is None else f"{entry['range'][1]:g}")
    found = [f"{entry['kind']} metric" + (", lifted to corpora" if entry["lifted"] else ""),
             f"takes {entry['input']}" + (f" of {', '.join(entry['models'])}" if entry["models"] else ""),
             f"{entry['returns']}, {low} to {high}", entry["license"]]
    share = value_of(entry, "axioms.symmetric")
    if share is not None:
        found.append("symmetric: tested" if share == 1 else "not symmetric")
    same = value_of(entry, "axioms.repeatable")
    if same is not None:
        found.append("repeatable: tested" if same == 1 else "answers change from one asking to the next")
    cost, exponent = value_of(entry, "timing.cost_in_chi"), value_of(entry, "timing.cost_exponent")
    if cost is not None:
        found.append(f"{cost:.2g} times the cost of chi" + (f", growing as n^{exponent:.1f}" if exponent is not None else ""))
    held = value_of(entry, "timing.peak_megabytes")
    if held is not None:
        found.append(f"held {held:,.0f} MB of memory at most")
    if entry["trained_on"]:
        found.append(f"trained on {', '.join(entry['trained_on'])}")
    return found + list(entry["marks"])


def default_rival(snapshot: Snapshot, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The best of its track but itself."""
    return next((one for one in snapshot.entries(entry["track"]) if one["rank"] is not None and one["name"] != entry["name"]), None)


def rival_in(snapshot: Snapshot, entry: Mapping[str, Any], other: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The other in the entry's track; where it was not asked there, the best of the track."""
    return (snapshot.entry(other["name"], entry["track"]) if other else None) or default_rival(snapshot, entry)


def scores(snapshot: Snapshot, links: Links, standing: list[dict[str, Any]], other: Mapping[str, Any] | None) -> str:
    """Its score on each ranked task, with rank and interval, beside the other's."""
    parts = []
    for entry in standing:
        track = entry["track"]
        rival = rival_in(snapshot, entry, other)
        heads = ["Task", "Score", "95%", "Above chance", "Rank", *([escape(rival["name"])] if rival else [])]
        rows = [["<b>Overall</b>", "", interval(entry["overall"]), f"<b>{number(entry['overall'])}</b>", rank_of(entry),
                 *([f"{number(rival['overall'])} <small>above chance</small>"] if rival else [])]]
        for task in snapshot.ranked_tasks(track):
            asked = entry["tasks"].get(task["name"])
            if asked is not None:
                above = "–" if asked["above_chance"] is None else f"{asked['above_chance']:.2f}"
                theirs = rival["tasks"].get(task["name"]) if rival else None
                rows.append([escape(task["title"]), number(asked["score"]), interval(asked["score"]), above, rank_on(entry, task["name"]),
                             *([number(theirs["score"]) if theirs else "–"] if rival else [])])
        place = f"Rank {rank_of(entry)}" if entry["rank"] is not None else f"Not ranked: {brief(entry['not_ranked'] or '')}"
        parts.append(f"<p><strong>{TRACKS[track]}.</strong> {place}</p>{table(heads, rows, f'Scores in {TRACKS[track].lower()}', stacked=True)}")
    choice = ""
    if other is not None and not links.static:
        options = "".join(f'<option{" selected" if one["name"] == other["name"] else ""}>{escape(one["name"])}</option>'
                          for one in snapshot.entries(standing[0]["track"]) if one["name"] != standing[0]["name"])
        compare = links.to("compare", metrics=f"{standing[0]['name']},{other['name']}")
        choice = (f'<p class="cap"><label>Beside <select id="ts-against" data-metric="{escape(standing[0]["name"])}">{options}</select>'
                  f'</label> · <a href="{escape(compare)}">compare the two</a></p>')
    return card("Scores", "".join(parts) + choice, 7)


def rank_on(entry: Mapping[str, Any], task: str) -> str:
    """Its place among the ranked on one task."""
    found = (entry.get("task_ranks") or {}).get(task)
    return rank_of(found) if found else "–"


def pictures(entry: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    """The radar of measures, and every curve that is known."""
    found = []
    axes = {label: f"{task}.{measure}" for task, of_task in RADAR.items() for measure, label in of_task.items()
            if value_of(entry, f"{task}.{measure}") is not None}
    if len(axes) >= 3:
        shown = {one["name"]: [value_of(one, key) for key in axes.values()] for one in (entry, other) if one is not None}
        found.append(card("Measures side by side", radar(list(axes), shown) + legend(list(shown)), 5))
    theirs = {one["title"]: one for one in other["curves"]} if other else {}
    for task, heading in (("known_similarity", "Distance against separation"), ("convergence", "As samples grow, and get unequal"),
                          ("diagnostics", "As ever more of a fault is put in")):
        mine = [one for one in entry["curves"] if one["task"] == task]
        drawn = "".join(f'<figure>{curve(one, theirs.get(one["title"]))}<figcaption>{escape(one["title"])}</figcaption></figure>'
                        for one in mine)
        if mine:
            names = [entry["name"], *([other["name"]] if other and theirs else [])]
            found.append(card(heading, legend(names) + f'<div class="figures">{drawn}</div>', 12))
    return "".join(found)


def measures(snapshot: Snapshot, standing: list[dict[str, Any]]) -> str:
    """Everything that was measured on each task, its signature, and what failed."""
    found = []
    seen = set()
    for entry in standing:
        for name, asked in entry["tasks"].items():
            task = snapshot.task(name)
            if name == "axioms" or name in seen:
                continue
            seen.add(name)
            rows = [[escape(measure.replace("_", " ")), number(asked["measures"].get(measure), 3) if asked["measures"].get(measure)
                     else "unknown", interval(asked["measures"].get(measure), 3), f'<span class="reason">{escape(task["measures"].get(measure, ""))}</span>']
                    for measure in asked["measures"]]
            units = asked["units"]
            said = f"{units['asked']} of {units['planned']} units asked" + (f", {units['failed']} failed" if units["failed"] else "")
            inapplicable = f"<p>Does not apply: {brief(asked['not_applicable'])}</p>" if asked["not_applicable"] else ""
            kind = "" if task["ranked"] else " <small>a property, not part of any score</small>"
            body = inapplicable or table(["Measure", "Value", "95%", "What it says"], rows, task["title"], words=True)
            found.append(f'<details><summary>{escape(task["title"])}{kind}</summary><p class="sig">{escape(asked["signature"])} · {said}</p>'
                         f"{body}</details>")
    return card("All measures, with signatures", "".join(found), 12)


def failures(snapshot: Snapshot, standing: list[dict[str, Any]]) -> str:
    """How many questions it did not answer, and why; each task once, whichever track it stands in."""
    asked = {task: found for entry in standing for task, found in entry["tasks"].items()}
    whole, failed = (sum(one["units"][kind] for one in asked.values()) for kind in ("asked", "failed"))
    rows = [[escape(snapshot.task(task)["title"]), f"{one['units']['failed']:,} of {one['units']['asked']:,}",
             "<br>".join(f'<span class="reason">{brief(reason)}</span>' for reason in one["failures"][:REASONS])
             + (f"<br>… {len(one['failures']) - REASONS:,} more reasons" if len(one["failures"]) > REASONS else "")]
            for task, one in asked.items() if one["units"]["failed"]]
    rows += [[escape(snapshot.task(task)["title"]), "does not apply", f'<span class="reason">{brief(one["not_applicable"])}</span>']
             for task, one in asked.items() if one["not_applicable"]]
    shown = table(["Task", "Units", "Why"], rows, "Failures", words=True) if rows else ""
    return card("Failures", f"<p>{failed:,} of the {whole:,} units that it was asked failed.</p>{shown}")


def axioms(snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
    """Which axioms hold, and the worst case of those that do not."""
    asked = entry["tasks"].get("axioms")
    if asked is None:
        return ""
    lines = []
    for axiom, words in snapshot.task("axioms")["measures"].items():
        estimate = asked["measures"].get(axiom)
        if estimate is not None:
            share = estimate["value"]
            mark = '<span class="ok">holds</span>' if share == 1 else f'<span class="no">{share:.0%} of trials</span>'
            worst = entry["worst_cases"].get(axiom)
            lines.append(f"<b>{escape(words)}</b>{mark}" + (f"<small>worst: {brief(worst)}</small>" if worst else ""))
    return card("Axioms, tested", f'<div class="ax">{"".join(lines)}</div>') if lines else ""


def running(snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
    """One line to run it, and how to cite it."""
    suite = snapshot.facts["suite"]["name"]
    tasks = [task for task in snapshot.ranked_tasks(entry["track"]) if (entry["tasks"].get(task["name"]) or {}).get("score")]
    quoted = ""
    if snapshot.release is not None and tasks and tasks[0]["name"] in TASKS:
        task = TASKS[tasks[0]["name"]]
        quoted = f"<h2>Cite</h2><pre tabindex=0>{escape(as_bibtex(snapshot.release, entry, task))}</pre>" \
                 f"<pre tabindex=0>{escape(as_latex(snapshot.release, entry, task))}</pre>"
    elif tasks:
        quoted = '<p class="cap">Not released: numbers of a release can be cited for ever, these may change.</p>'
    return card("Run it yourself", f"<pre tabindex=0>touchstone run {escape(entry['name'])} --suite {escape(suite)}\n"
                f"touchstone card {escape(entry['name'])} --suite {escape(suite)}</pre>{quoted}")


def source(snapshot: Snapshot, entry: Mapping[str, Any]) -> str:
    """The file, and under what conditions it was asked."""
    run, shown = entry["environment"], snapshot.sources.get(entry["name"])
    conditions = ""
    if run is not None:
        conditions = (f"Last asked {str(run['started'])[:10]} with Touchstone {run['version']}, Python {run['python']}, on "
                      f"{run['processor']}; layers: {', '.join(run['layers'])}.")
    text = f'<details><summary>{brief(entry["filename"])}</summary><pre tabindex=0><code>{escape(shown)}</code></pre></details>' \
        if shown is not None else "<p>The file of this digest is not here.</p>"
    return card("Source and provenance", f'{text}<p class="cap">Digest {escape(entry["digest"][:16])}, first asked '
                f'{escape(entry["first_seen"][:10])}. {escape(conditions)}</p>')
