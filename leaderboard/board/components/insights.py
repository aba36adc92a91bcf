"""Cards of a metric's page: figures, detection of faults, cost, training data, versions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

from harness.evaluation.task import FaultDetection, MeasureCurve, Point, Role
from harness.submission.submission import current_digest
from leaderboard.board.columns import measure_value
from leaderboard.board.components.charts import draw_curves, draw_radar
from leaderboard.board.components.layout import Links
from leaderboard.board.rendering import UI, UNKNOWN, format_estimate, render, shorten
from leaderboard.board.snapshot import Snapshot
from leaderboard.publishing.versions import Publication
from leaderboard.report.schema import DatasetInfo, EntryReport, FigureData, Series, TaskInfo

LOW_SENSITIVITY = 0.3                       # below, a fault counts as missed
FEWEST_AXES = 3                             # of a radar chart
COMMON_WORDS = frozenset({"of", "and", "the", "in", "on", "for", "from", "corpus", "dataset", "data", "texts", "sentences", "questions",
                          "english", "test", "train", "news", "reviews", "articles", "their", "made"})


# ---- figures -----------------------------------------------------------------------------------------------------------

def render_radar(snapshot: Snapshot, entries: Sequence[EntryReport], required: Sequence[EntryReport]) -> Markup:
    """Return the radar chart of the measures that the required entries have; nothing for fewer than three."""
    axes = {label: (task.name, measure) for task in snapshot.report.suite.tasks for measure, label in task.presentation.radar.items()
            if all(measure_value(entry, task.name, measure) is not None for entry in required)}
    if len(axes) < FEWEST_AXES:
        return Markup()
    series = {entry.name: [measure_value(entry, *names) for names in axes.values()] for entry in entries}
    return render("radar.html", picture=draw_radar(list(axes), series), names=list(series))


def render_curves(snapshot: Snapshot, standings: Sequence[EntryReport], rivals: Sequence[EntryReport | None]) -> Markup:
    """Return a card per task that draws curves; each compared with the rival's in the track that has the task."""
    cards = []
    cost = snapshot.role(Role.COST)
    for task in snapshot.report.suite.tasks:
        if cost is not None and task.name == cost[0]:
            continue                        # `render_cost` shows them
        pairs = list(zip(standings, rivals, strict=True))
        entry, rival = next((pair for pair in pairs if task.name in pair[0].tasks), pairs[0])
        own, other = ({curve.title: curve for curve in task_curves(task, holder)} if holder is not None else {}
                      for holder in (entry, rival))
        if not own:
            continue
        ideals = {curve.title: ideal_curve(task, curve) for curve in task.presentation.measure_curves}
        figures = [(title, draw_curves(curve, other.get(title), *([ideals[title]] if title in ideals else []))) for title, curve in own.items()]
        names = [entry.name, rival.name if rival is not None and other else None, *(["ideal"] if ideals else [])]
        cards.append(render("figures.html", heading=task.presentation.curves_title or task.title, names=names, figures=figures))
    return Markup().join(cards)


def task_curves(task: TaskInfo, entry: EntryReport) -> list[FigureData]:
    """Return the entry's curves of a task: those of the report, and those whose points are measures."""
    curves = [curve for curve in entry.curves if curve.task == task.name]
    measures = entry.measures_on(task.name)
    for curve in task.presentation.measure_curves:
        estimates = [(x, measures[measure]) for x, measure, _ in curve.points if measure in measures]
        points = [(x, estimate.value, estimate.low, estimate.high) for x, estimate in estimates]
        if points:
            curves.append(FigureData(task=task.name, title=curve.title, x=curve.x, y=curve.y, series=[Series(name="", points=points)]))
    return curves


def ideal_curve(task: TaskInfo, curve: MeasureCurve) -> FigureData:
    """Return the ideal values of a curve of measures."""
    points: list[Point] = [(x, ideal, None, None) for x, _, ideal in curve.points]
    return FigureData(task=task.name, title=curve.title, x=curve.x, y=curve.y, series=[Series(name="", points=points)])


def render_faults(snapshot: Snapshot, entry: EntryReport, rival: EntryReport | None) -> Markup:
    """Return how well the distance follows the strength of each fault, and the smallest strength that it detects."""
    cards = []
    for task in snapshot.report.suite.tasks:
        faults = task.presentation.faults
        own, other = (holder.measures_on(task.name) if holder is not None else {} for holder in (entry, rival))
        if not own.keys() & faults.keys():
            continue
        compared = rival is not None and bool(other.keys() & faults.keys())
        rows = []
        for fault, meaning in faults.items():
            estimate = own.get(fault)
            words = UI.lines([f"{estimate.value:.2f}", UI.interval(estimate)]) if estimate is not None else "unknown: its answers are constant"
            missed = estimate is None or estimate.value < LOW_SENSITIVITY
            rows.append([UI.with_note(fault.replace("_", " "), meaning), UI.bad(words) if missed else words,
                         describe_onset(entry.faults_noticed.get(fault)), *([format_estimate(other.get(fault))] if compared else [])])
        headings = ["Fault", "Sensitivity", "Smallest detectable fault", *([rival.name] if rival is not None and compared else [])]
        cards.append(render("faults.html", headings=headings, rows=rows))
    return Markup().join(cards)


def describe_onset(detection: FaultDetection | None) -> Markup | str:
    """Return the smallest detectable strength, and in how many draws it is detected at all."""
    if detection is None:
        return UNKNOWN
    if detection.onset is None:
        return UI.bad("never")
    return UI.with_note(f"{detection.onset:.0%} ", f"{detection.noticed:.0%} of draws")


def render_cost(snapshot: Snapshot, entry: EntryReport, rival: EntryReport | None) -> Markup:
    """Return time against the size of the corpora as a curve, and memory as a table."""
    role = snapshot.role(Role.COST)
    if role is None:
        return Markup()
    task = snapshot.task(role[0])
    own, other = (task_curves(task, holder) if holder is not None else [] for holder in (entry, rival))
    main, compared = (next((curve for curve in curves if curve.y not in task.presentation.tables), None) for curves in (own, other))
    if main is None:
        return Markup()
    tables = []
    for y in task.presentation.tables:
        columns = {holder.name: curve for holder, curves in ((entry, own), (rival, other)) if holder is not None
                   for curve in curves if curve.y == y}
        if entry.name in columns:
            sizes = [f"{x:,.0f}" for x, *_ in columns[entry.name].points]
            tables.append((columns[entry.name], [y, *sizes], [[name, *(f"{value:,.0f}" for _, value, *_ in curve.points)]
                                                              for name, curve in columns.items()]))
    names = [entry.name, rival.name if rival is not None and compared is not None else None]
    return render("cost.html", names=names, picture=draw_curves(main, compared), tables=tables)


# ---- training data -----------------------------------------------------------------------------------------------------

def render_training(snapshot: Snapshot, entry: EntryReport) -> Markup:
    """Return the declared training data, and which datasets of the suite they may contain."""
    datasets = snapshot.report.suite.datasets
    rows = [[shorten(declared), ", ".join(overlaps(declared, datasets)) or "none by name"] for declared in entry.trained_on]
    vectors = entry.input != "texts"
    return render("training.html", rows=rows, model=snapshot.report.suite.model.name if vectors else None,
                  needs_model=bool(vectors or entry.models))


def overlaps(declared: str, datasets: Sequence[DatasetInfo]) -> list[str]:
    """Return the datasets whose name or title shares all significant words with a declaration, or the reverse."""
    claimed = significant_words(declared)
    return [dataset.name for dataset in datasets if any(
        claimed and words and (words <= claimed or claimed <= words)
        for words in (significant_words(dataset.name), significant_words(dataset.title)))]


def significant_words(text: str) -> set[str]:
    """Return the words of a text that may identify a dataset."""
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if not word.isdigit() and len(word) > 2} - COMMON_WORDS


# ---- versions ----------------------------------------------------------------------------------------------------------

def render_history(snapshot: Snapshot, links: Links, entry: EntryReport) -> Markup:
    """Return every version of the metric, the latest first."""
    history = list(snapshot.versions.get(entry.name, ()))
    if not history:
        return Markup()
    rows = []
    for version in reversed(history):
        publications = [describe_publication(links, entry.name, publication) for publication in version.released if publication.track == entry.track]
        rows.append([UI.code(version.digest[:12], "shown here" if version.digest == current_digest(entry.digest) else ""), version.first_seen[:10],
                     UI.lines(publications) if publications else "in no release"])
    return render("history.html", rows=rows)


def describe_publication(links: Links, metric: str, publication: Publication) -> Markup:
    """Return the rank and score of a version in a release."""
    address = None if links.static else Links(release=publication.release).to("metric", metric=metric)
    return UI.publication(publication, address)
