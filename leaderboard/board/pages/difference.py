"""The page on what a difference of a metric means, with its thresholds by dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping

from markupsafe import Markup

from harness.base.errors import TouchstoneError
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import UNKNOWN, render
from leaderboard.board.snapshot import Snapshot
from leaderboard.own_data.differences import DomainThreshold, explain_difference, thresholds_by_domain
from leaderboard.own_data.pairs.thresholds import FALSE_ALARMS
from leaderboard.scoring.results import Results

EXAMPLE = {"name": "energy", "difference": "0.004", "size": "100"}
THRESHOLD_HEADINGS = ("Pairs", *(f"{share:.0%} false alarms" for share in FALSE_ALARMS), "Dissimilar pairs")


def list_metrics(snapshot: Snapshot) -> list[str]:
    """Return the names that can be explained."""
    return list(dict.fromkeys(entry.name for entry in snapshot.report.entries if entry.rank is not None))


def current_question(snapshot: Snapshot, query: Mapping[str, str]) -> dict[str, str]:
    """Return the metric, difference and size that the parameters of an address name, by default an example."""
    names = list_metrics(snapshot)
    default = EXAMPLE if EXAMPLE["name"] in names else {**EXAMPLE, "name": next(iter(names), "")}
    return {key: query.get(key) or value for key, value in default.items()}


def read_size(text: str) -> int:
    """Return a number of texts or pairs; 0, which is refused, for what is none."""
    return int(text) if text.isdecimal() else 0


def read_number(text: str) -> float:
    """Return a number; nan for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def render_difference(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Markup:
    """Return the probability that a difference is real, and thresholds."""
    question, problem, meaning, thresholds = current_question(snapshot, query), None, None, []
    try:
        results = snapshot.answers
        meaning = explain_difference(question["name"], read_number(question["difference"]), read_size(question["size"]), results)
        thresholds = list_thresholds(question["name"], results) if meaning.kind == "text" else []
    except TouchstoneError as error:
        problem = str(error)
    return render("difference.html", links=links, problem=problem, meaning=meaning, headings=THRESHOLD_HEADINGS, thresholds=thresholds)


def list_thresholds(name: str, results: Results) -> list[list[str]]:
    """Return the thresholds of a text metric, a row per set of pairs."""
    by_set: dict[str, dict[float, DomainThreshold]] = {}
    for item in thresholds_by_domain(name, results):
        by_set.setdefault(item.dataset, {})[item.false_alarms] = item
    return [[dataset, *(f"{items[share].value:.3f} ({items[share].detected:.0%})" if share in items else UNKNOWN for share in FALSE_ALARMS),
             f"{next(iter(items.values())).negatives:,}"] for dataset, items in by_set.items()]
