"""The page on which readers try metrics on their own texts, and what it shows of the answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
    CORPUS_METRICS,
    CORPUS_TEXTS,
    FEWEST_TEXTS,
    LINE_CHARACTERS,
    PAIR_METRICS,
    SEED,
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
EXAMPLE_TEXTS = ("The museum opens at nine and closes late on Fridays.", "On Fridays you can visit the gallery until the evening; its doors open at 9 am.")
EXAMPLE_CORPORA = ("""The soup needs more salt and a squeeze of lemon.
Knead the dough until it no longer sticks to the board.
Let the rice rest under a cloth for ten minutes.
Roast the peppers until their skins turn black.
A pinch of sugar balances the acid of the tomatoes.
Whisk the egg whites in a clean bowl until they are stiff.
The stew tastes better on the second day.
Slice the onions thinly and fry them slowly.
Fold the berries into the batter at the very end.
Boil the potatoes in their skins so that they stay firm.
Toast the spices in a dry pan before grinding them.
The bread is done when it sounds hollow underneath.""", """The night train leaves from the third platform.
A signal failure delayed all services to the coast.
Please keep your ticket until the end of the journey.
The conductor announced a change of engines at the border.
Two carriages were added for the holiday weekend.
The last bus waits for passengers of the delayed express.
Bicycles travel free of charge outside the rush hour.
The new line shortens the trip to the airport by half.
Snow on the tracks forced the railcar to turn back.
Seats by the window can be reserved at the counter.
The station clock runs two minutes ahead on purpose.
Workers replaced the sleepers along the old viaduct.""")
SURFACE = "Only surface metrics, which compare words and characters rather than meaning, {what}, so no verdict is drawn."


def render_form(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Markup:
    """Return what can be tried; the form consists of Gradio's components."""
    return render("try.html", links=links, text_characters=TEXT_CHARACTERS, corpus_texts=CORPUS_TEXTS, fewest_texts=FEWEST_TEXTS,
                  line_characters=LINE_CHARACTERS)


def stream_texts(snapshot: Snapshot, links: Links, a: str, b: str) -> Iterator[Markup]:
    """Yield the answers about two texts so far, whenever a metric has answered.

    Raises:
        TouchstoneError: A text is empty or too long.
        TryBusy: Another request is running.
    """
    names = order_metrics(snapshot, PAIR_METRICS, "text")
    return stream(names, try_texts(a, b, snapshot.report.suite.model.name, names), partial(render_texts, snapshot, links))


def stream_corpora(snapshot: Snapshot, links: Links, a: str, b: str) -> Iterator[Markup]:
    """Yield the answers about two corpora, one text per line, so far, whenever a metric has answered.

    Raises:
        TouchstoneError: A corpus has too few or too many texts, or too long ones.
        TryBusy: Another request is running.
    """
    names = order_metrics(snapshot, CORPUS_METRICS, "corpus")
    return stream(names, try_corpora(a, b, snapshot.report.suite.model.name, names), partial(render_corpora, snapshot, links))


def stream(names: Sequence[str], answers: Iterator[TriedMetric], show: Callable[[Sequence[TriedMetric], int], Markup]) -> Iterator[Markup]:
    """Yield the answers so far in the order of the names, and at the end with a verdict."""
    complete: list[TriedMetric] = []
    for answer in answers:
        complete.append(answer)
        complete.sort(key=lambda answer: names.index(answer.entry.name))
        yield show(complete, max(1, len(names) - len(complete)))
    yield show(complete, 0)


def order_metrics(snapshot: Snapshot, names: Sequence[str], track: str) -> list[str]:
    """Return metrics by their agreement with human ratings, the best first, then by rank; those without either last."""
    def key(name: str) -> tuple[float, float]:
        entry = snapshot.entry(name, track)
        agreement = snapshot.role_value(entry, Role.HUMAN_AGREEMENT) if entry is not None and track == "text" else None
        rank = entry.rank if entry is not None else None
        return (-agreement if agreement is not None else math.inf, rank if rank is not None else math.inf)
    return sorted(names, key=key)


def render_texts(snapshot: Snapshot, links: Links, answers: Sequence[TriedMetric], running: int = 0) -> Markup:
    """Return a value per metric with its percentiles among human-rated pairs; when all have answered, also a verdict.

    `running` is the number of metrics that have not answered yet.
    """
    rows: list[list[str | Markup]] = []
    classes: list[tuple[str, bool]] = []
    for answer in answers:
        if not answer.values:
            rows.append([link_metric(snapshot, links, answer), UNKNOWN, *[UNKNOWN] * len(CLASSES), UI.reason(answer.failure or ""), ""])
            continue
        percentiles = class_percentiles(snapshot, answer)
        typical = most_typical_class(snapshot, answer, percentiles)
        if len(percentiles) == len(CLASSES) and typical != INDISTINCT:
            classes.append((typical, answer.takes_vectors))
        rows.append([link_metric(snapshot, links, answer), f"{answer.values[0]:.3f}",
                     *(f"{percentiles[name]:.0f}%" if name in percentiles else UNKNOWN for name in CLASSES), typical,
                     describe_scale(answer.entry.header)])
    headings = ["Metric", "Value", *(f"More similar than … of {name} pairs" for name in CLASSES), "Most typical of", "Scale"]
    return render("tried_texts.html", headings=headings, rows=rows, progress=describe_progress(answers, running),
                  summary=None if running else summarise_classes(classes), legend=describe_classes(snapshot))


def describe_progress(answers: Sequence[TriedMetric], running: int) -> str:
    """Return how many metrics have answered; nothing if all have."""
    return f"{len(answers)} metrics have finished, {running} are running." if running else ""


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


def summarise_classes(classes: Sequence[tuple[str, bool]]) -> str | None:
    """Return what most metrics indicate, from their classes and whether they are based on embeddings.

    Surface metrics alone give no verdict.
    """
    if not classes:
        return None
    (first, count), *others = Counter(name for name, _ in classes).most_common()
    embedded = dict.fromkeys(name for name, takes_vectors in classes if takes_vectors)
    if not embedded:
        return SURFACE.format(what="answered")
    if first not in embedded:
        return (SURFACE.format(what=f"find the texts typical of {describe_class(first)} ({count} of {len(classes)} metrics)")
                + f" Embedding-based metrics find them typical of {' or '.join(map(describe_class, embedded))}.")
    rest = "; ".join(f"{describe_class(name)}: {times}" for name, times in others)
    return f"According to {count} of {len(classes)} metrics, the texts are typical of {describe_class(first)}{f'; {rest}' if rest else ''}."


def describe_class(name: str) -> str:
    """Return a class with its article."""
    return f"a {name} pair" if name in CLASSES else f"a pair {name}"


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


def render_corpora(snapshot: Snapshot, links: Links, answers: Sequence[TriedMetric], running: int = 0) -> Markup:
    """Return a distance per metric, compared with the distances between random halves; when all have answered, also a verdict.

    `running` is the number of metrics that have not answered yet.
    """
    rows: list[list[str | Markup]] = []
    verdicts: list[tuple[bool, bool]] = []
    for answer in answers:
        texts = "all" if answer.drawn is None else f"up to {answer.drawn:,} of each corpus, drawn with seed {SEED}"
        if not answer.values:
            rows.append([link_metric(snapshot, links, answer), UNKNOWN, UI.reason(answer.failure or ""), UNKNOWN, UNKNOWN, texts])
            continue
        halves = read_halves(answer.values)
        verdicts.append((halves.apart, answer.takes_vectors))
        rows.append([link_metric(snapshot, links, answer), f"{halves.whole:.3g}", "different" if halves.apart else "no clear difference",
                     format_extent(halves.across), format_extent(halves.within), texts])
    return render("tried_corpora.html", rows=rows, splits=SPLITS, progress=describe_progress(answers, running),
                  summary=None if running else summarise_corpora(verdicts))


def summarise_corpora(verdicts: Sequence[tuple[bool, bool]]) -> str | None:
    """Return how many metrics find the corpora different, from their verdicts and whether they are based on embeddings.

    Surface metrics alone give no verdict.
    """
    if not verdicts:
        return None
    if not any(takes_vectors for _, takes_vectors in verdicts):
        return SURFACE.format(what="answered")
    different = sum(apart for apart, _ in verdicts)
    if different and not any(apart and takes_vectors for apart, takes_vectors in verdicts):
        return SURFACE.format(what=f"find the corpora different ({different} of {len(verdicts)} metrics)")
    if not different:
        return f"According to none of {len(verdicts)} metrics, the corpora clearly differ."
    return f"According to {different} of {len(verdicts)} metrics, the corpora differ."


def format_extent(values: Sequence[float]) -> str:
    """Return the smallest and the largest value."""
    return f"{min(values):.3g} to {max(values):.3g}"


def link_metric(snapshot: Snapshot, links: Links, answer: TriedMetric) -> Markup:
    """Return the metric with its title, and a link to its page if it has one."""
    name = answer.entry.name
    return UI.titled_link(links, name, answer.entry.header.title, snapshot.entry(name) is not None)
