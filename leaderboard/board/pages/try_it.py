"""The page on which readers try metrics on their own texts, and what it shows of the answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from harness.evaluation.task import Role
from harness.submission.header import Header
from harness.submission.submission import current_digest
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import UI, UNKNOWN, render
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.rated_pairs import CLASSES, HARDLY, less_alike, sign_of
from leaderboard.report.schema import RatedValues
from leaderboard.workflows.try_texts import (
    CORPUS_TEXTS,
    FEWEST_TEXTS,
    LINE_CHARACTERS,
    SPLITS,
    TEXT_CHARACTERS,
    TriedMetric,
    read_halves,
    try_corpora,
    try_texts,
)

TEXTS, CORPORA = "texts", "corpora"
INDISTINCT = "does not separate the classes"
EDGE = 99                                   # percent of a class beyond which a value is outside it
KINDS = {TEXTS: "Two texts", CORPORA: "Two corpora"}


def render_form(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Markup:
    """Return the form; the script puts the answers below it."""
    kind = query.get("kind", TEXTS)
    return render("try.html", links=links, kinds=KINDS, kind=kind if kind in KINDS else TEXTS, text_characters=TEXT_CHARACTERS,
                  corpus_texts=CORPUS_TEXTS, fewest_texts=FEWEST_TEXTS, line_characters=LINE_CHARACTERS)


def render_texts(snapshot: Snapshot, links: Links, answers: Sequence[TriedMetric]) -> Markup:
    """Return a value per metric with its percentiles among human-rated pairs, and a summary."""
    rows: list[list[str | Markup]] = []
    classes = []
    for answer in answers:
        if not answer.values:
            rows.append([link_metric(snapshot, links, answer), UNKNOWN, *[UNKNOWN] * len(CLASSES), UI.reason(answer.failure or ""), ""])
            continue
        percentiles = class_percentiles(snapshot, answer)
        typical = most_typical_class(snapshot, answer, percentiles)
        if len(percentiles) == len(CLASSES) and typical != INDISTINCT:
            classes.append(typical)
        rows.append([link_metric(snapshot, links, answer), f"{answer.values[0]:.3f}",
                     *(f"{percentiles[name]:.0f}%" if name in percentiles else UNKNOWN for name in CLASSES), typical,
                     describe_scale(answer.entry.header)])
    headings = ["Metric", "Value", *(f"More similar than … of {name} pairs" for name in CLASSES), "Most typical of", "Scale"]
    return render("tried_texts.html", headings=headings, rows=rows, summary=summarise_classes(classes), legend=describe_classes(snapshot))


def rated_values(snapshot: Snapshot, answer: TriedMetric) -> RatedValues | None:
    """Return the values of this version of the metric on human-rated pairs."""
    version = answer.entry.name, answer.entry.digest
    entries = [entry for entry in snapshot.report.entries if (entry.name, current_digest(entry.digest)) == version]
    return next((entry.known_values for entry in entries if entry.known_values is not None), None)


def class_percentiles(snapshot: Snapshot, answer: TriedMetric) -> dict[str, float]:
    """Return the percentage of each class of rated pairs that is less similar; nothing if this version was not run on them."""
    rated = rated_values(snapshot, answer)
    sign = sign_of(answer.entry.header.returns)
    return {name: less_alike(answer.values[0], values.percentiles, sign) for name, values in (rated.classes if rated is not None else {}).items()}


def most_typical_class(snapshot: Snapshot, answer: TriedMetric, percentiles: Mapping[str, float]) -> str:
    """Return the class whose median is closest; none for a metric that does not separate them."""
    rated = rated_values(snapshot, answer)
    if rated is None or len(percentiles) < len(CLASSES):
        return "unknown"
    if rated.told_apart is not None and rated.told_apart < HARDLY:
        return INDISTINCT
    names = list(CLASSES)
    if percentiles[names[0]] <= 50 or percentiles[names[-1]] >= 50:           # no class beyond the first and the last
        return names[0] if percentiles[names[0]] <= 50 else names[-1]
    between = [f"between {low} and {high}" for low, high in pairwise(names) if percentiles[low] >= EDGE and percentiles[high] <= 100 - EDGE]
    return between[0] if between else min(names, key=lambda name: abs(percentiles[name] - 50))


def summarise_classes(classes: Sequence[str]) -> tuple[str, str] | None:
    """Return what most metrics indicate, and what the others do."""
    if not classes:
        return None
    (first, count), *others = Counter(classes).most_common()

    def describe_class(name: str) -> str:
        return f"a {name} pair" if name in CLASSES else f"a pair {name}"
    return (f"According to {count} of {len(classes)} metrics, the texts are typical of {describe_class(first)}",
            "; ".join(f"{describe_class(name)}: {times}" for name, times in others))


def describe_classes(snapshot: Snapshot) -> str | None:
    """Return what the percentages refer to; None if no metric was run on enough rated pairs."""
    pairs: dict[str, int] = {}
    for entry in snapshot.report.entries:
        if entry.known_values is not None:
            pairs |= {name: values.pairs for name, values in entry.known_values.classes.items()}
    if not pairs:
        return None
    names = snapshot.role(Role.HUMAN_AGREEMENT)
    datasets = f" of {', '.join(snapshot.task(names[0]).data)}" if names is not None else ""
    classes = "; ".join(f"{name}: {CLASSES[name]} ({count:,})" for name, count in pairs.items())
    return f"Percentages refer to human-rated pairs{datasets}. {classes[:1].upper()}{classes[1:]}."


def describe_scale(header: Header) -> str:
    """Return the direction and the range of a metric's values."""
    low, high = (f"{edge:g}" if math.isfinite(edge) else None for edge in header.range)
    bounds = f", {low} to {high}" if low is not None and high is not None else ""
    return f"similarity{bounds}: high is similar" if header.returns == "similarity" else f"distance{bounds}: low is similar"


def render_corpora(snapshot: Snapshot, links: Links, answers: Sequence[TriedMetric]) -> Markup:
    """Return a distance per metric, compared with the distances between random halves."""
    rows: list[list[str | Markup]] = []
    different = judged = 0
    for answer in answers:
        if not answer.values:
            rows.append([link_metric(snapshot, links, answer), UNKNOWN, UI.reason(answer.failure or ""), UNKNOWN, UNKNOWN])
            continue
        halves = read_halves(answer.values)
        different, judged = different + halves.apart, judged + 1
        rows.append([link_metric(snapshot, links, answer), f"{halves.whole:.3g}", "different" if halves.apart else "no clear difference",
                     format_range(halves.across), format_range(halves.within)])
    return render("tried_corpora.html", rows=rows, different=different, judged=judged, splits=SPLITS)


def format_range(values: Sequence[float]) -> str:
    """Return the smallest and the largest value."""
    return f"{min(values):.3g} to {max(values):.3g}"


def link_metric(snapshot: Snapshot, links: Links, answer: TriedMetric) -> Markup:
    """Return the metric with its title, and a link to its page if it has one."""
    name = answer.entry.name
    return UI.titled_link(links, name, answer.entry.header.title, snapshot.entry(name) is not None)


EXAMPLES = {"texts": ("The train to the coast leaves at nine.", "At nine o'clock the coastal train departs."),
            "corpora": ("\n".join(f"The weather is fine on day {i}." for i in range(1, 9)), "\n".join(f"Train {i} is late again." for i in range(1, 9)))}


def stream_texts(snapshot, links, a, b):
    yield render_texts(snapshot, links, try_texts(a, b, snapshot.report.suite.model.name))


def stream_corpora(snapshot, links, a, b):
    yield render_corpora(snapshot, links, try_corpora(a, b, snapshot.report.suite.model.name))
