"""The page on which texts of one's own are tried, and what it says of the answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from harness.submission.header import Header
from leaderboard.board.components.layout import Links, table
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.rated_pairs import CLASSES, HARDLY, less_alike, sign_of
from leaderboard.workflows.try_texts import (
    CORPUS_TEXTS,
    FEWEST_TEXTS,
    LINE_CHARACTERS,
    SPLITS,
    TEXT_CHARACTERS,
    TriedMetric,
    read_halves,
)
from tasks.text.human_ordering import HumanOrdering

TEXTS, CORPORA = "texts", "corpora"
HARDLY_SAID = "it hardly tells such pairs apart"
SURE = 99                                   # percent of a class: a value is beyond it
KINDS = {TEXTS: "Two texts", CORPORA: "Two corpora"}


def page(links: Links, asked: Mapping[str, str]) -> str:
    """The form; its answers are put below it."""
    lede = '<h1>Try it</h1><p class="lede">What quick metrics say of texts of yours. A model reads them first, which takes some seconds.</p>'
    if links.static:
        return f"{lede}<p>This is a copy without a server, which cannot ask metrics; <code>touchstone serve</code> in a clone can.</p>"
    kind = asked.get("kind", TEXTS)
    kind = kind if kind in KINDS else TEXTS
    chips = "".join(f'<a class="chip" href="{escape(links.to("try", kind=one))}"{" aria-current=true" if one == kind else ""}>{title}</a>'
                    for one, title in KINDS.items())
    if kind == TEXTS:
        fields = field("a", "First text", 5, TEXT_CHARACTERS) + field("b", "Second text", 5, TEXT_CHARACTERS)
        bounds = f"Up to {TEXT_CHARACTERS:,} characters each."
    else:
        longest = CORPUS_TEXTS * (LINE_CHARACTERS + 1)
        fields = field("a", "First corpus, one text a line", 12, longest) + field("b", "Second corpus, one text a line", 12, longest)
        bounds = f"{FEWEST_TEXTS} to {CORPUS_TEXTS} texts each, of up to {LINE_CHARACTERS:,} characters."
    return (f'{lede}<nav class="chips" aria-label="What is compared">{chips}</nav><form data-try="{kind}"><div class="pair">{fields}</div>'
            f'<p><button>Ask the metrics</button> <span class="cap">{bounds} They go to this server alone and are not kept; metrics see them '
            'behind the same walls as ever.</span></p></form><div id="ts-tried" role="status" aria-live="polite"></div>')


def field(name: str, title: str, rows: int, longest: int) -> str:
    return f'<label>{title}<textarea name="{name}" rows="{rows}" maxlength="{longest}" required></textarea></label>'


def texts_answered(snapshot: Snapshot, links: Links, found: Sequence[TriedMetric]) -> str:
    """A value a metric, where it stands among its values of pairs that people rated, and what that says."""
    rows, ordinary = [], []
    for one in found:
        if not one.values:
            rows.append([named(snapshot, links, one), "–", *["–"] * len(CLASSES), said(one), ""])
            continue
        places = places_among(snapshot, one)
        like = most_ordinary(snapshot, one, places)
        if len(places) == len(CLASSES) and like != HARDLY_SAID:
            ordinary.append(like)
        rows.append([named(snapshot, links, one), f"{one.values[0]:.3f}",
                     *(f"{places[name]:.0f}%" if name in places else "–" for name in CLASSES), like, reading(one.entry.header)])
    heads = ["Metric", "Value", *(f"More alike than … of {name} pairs" for name in CLASSES), "Most ordinary for", "How to read it"]
    return f"<h2>Values</h2>{verdict(ordinary)}{table(heads, rows, 'Values for the two texts', words=True)}{rated_pairs(snapshot)}"


def places_among(snapshot: Snapshot, one: TriedMetric) -> dict[str, float]:
    """Percent of each class of rated pairs that is less alike; nothing where this state of the metric was not asked about them."""
    entry = snapshot.entry(one.entry.name, "text")
    if entry is None or entry["digest"] != one.entry.digest or not entry.get("known_values"):
        return {}
    sign = sign_of(one.entry.header.returns)
    return {name: less_alike(one.values[0], known["percentiles"], sign) for name, known in entry["known_values"]["classes"].items()}


def most_ordinary(snapshot: Snapshot, one: TriedMetric, places: Mapping[str, float]) -> str:
    """The class in whose middle it is nearest; none of a metric that does not tell them apart."""
    if len(places) < len(CLASSES):
        return "unknown"
    apart = (snapshot.entry(one.entry.name, "text") or {})["known_values"]["told_apart"]
    if apart is not None and apart < HARDLY:
        return HARDLY_SAID
    names = list(CLASSES)
    if places[names[0]] <= 50 or places[names[-1]] >= 50:           # at the ends there is nothing beyond
        return names[0] if places[names[0]] <= 50 else names[-1]
    between = [f"between {low} and {high}" for low, high in pairwise(names) if places[low] >= SURE and places[high] <= 100 - SURE]
    return between[0] if between else min(names, key=lambda name: abs(places[name] - 50))


def verdict(ordinary: Sequence[str]) -> str:
    """What most metrics say, in a sentence."""
    if not ordinary:
        return ""
    (most, times), *rest = Counter(ordinary).most_common()
    def words(like: str) -> str:
        return f"like a {like} pair" if like in CLASSES else like
    others = "; ".join(f"{words(like)} to {count}" for like, count in rest)
    return f"<p><strong>To {times} of {len(ordinary)} metrics these two look {words(most)}</strong>{f'; {others}' if others else ''}.</p>"


def rated_pairs(snapshot: Snapshot) -> str:
    """Of what the percentages are."""
    pairs: dict[str, int] = {}
    for entry in snapshot.entries("text"):
        pairs |= {name: known["pairs"] for name, known in ((entry.get("known_values") or {}).get("classes") or {}).items()}
    if not pairs:
        return '<p class="cap">Nobody was asked enough pairs that people rated, in what is shown here, to say where these values stand.</p>'
    task = next((task for task in snapshot.facts["suite"]["tasks"] if task["name"] == HumanOrdering.name), None)
    on = f" of {escape(', '.join(task['data']))}" if task else ""
    shown = "; ".join(f"{name}: {CLASSES[name]} ({count:,})" for name, count in pairs.items())
    return f'<p class="cap">Percentages are of pairs{on} that people rated. {escape(shown[:1].upper() + shown[1:])}.</p>'


def reading(header: Header) -> str:
    """What a high value means, in a few words."""
    low, high = (f"{edge:g}" if math.isfinite(edge) else None for edge in header.range)
    between = f", from {low} to {high}" if low is not None and high is not None else ""
    return f"similarity{between}: high is alike" if header.returns == "similarity" else f"distance{between}: low is alike"


def corpora_answered(snapshot: Snapshot, links: Links, found: Sequence[TriedMetric]) -> str:
    """The distance, what halves of different corpora and of one are apart, and what that says."""
    rows, apart, judged = [], 0, 0
    for one in found:
        if not one.values:
            rows.append([named(snapshot, links, one), "–", said(one), "–", "–"])
            continue
        halves = read_halves(one.values)
        apart, judged = apart + halves.apart, judged + 1
        rows.append([named(snapshot, links, one), f"{halves.whole:.3g}", "apart" if halves.apart else "not told apart",
                     spread(halves.across), spread(halves.within)])
    whole = (f"<p><strong>{apart} of {judged} metrics</strong> find halves of different corpora further apart than halves of one in all of "
             f"{SPLITS} random cuts: these call them apart.</p>" if judged else "")
    heads = ["Metric", "Distance", "Verdict", "Half of one, half of the other", "Two halves of one"]
    return (f"<h2>Distances</h2>{whole}{table(heads, rows, 'Distances of the two corpora', words=True)}"
            '<p class="cap">A distance depends on the metric and on how many texts there are, so that it means little alone. All halves have the '
            "same size. Metrics of texts are lifted: every text looks for its nearest. This is a picture, not a test: the cuts share texts.</p>")


def spread(values: Sequence[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


def said(one: TriedMetric) -> str:
    return f'<span class="reason">{escape(one.failure or "")}</span>'


def named(snapshot: Snapshot, links: Links, one: TriedMetric) -> str:
    """The metric, with a link to its page where it has one."""
    name = one.entry.name
    shown = escape(name)
    if snapshot.entry(name) is not None:
        shown = f'<a href="{escape(links.to("metric", metric=name))}">{shown}</a>'
    return f"{shown}<br><small>{escape(one.entry.header.title)}</small>"
