"""Render tables, cards and progress in the terminal."""

from __future__ import annotations

import io
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import Box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from harness.base.errors import format_bytes, printable
from leaderboard.cli.fitted_table import Column, FittedTable, plain_table
from leaderboard.cli.options import write_file
from leaderboard.publishing.changes import Changes
from leaderboard.report.formats import format_authors
from leaderboard.report.position import Position
from leaderboard.report.schema import DescribedEntry, MetricPair, Standing, SuiteInfo, TaskInfo, TrackQuality
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.scores import CLAIMED

if TYPE_CHECKING:
    from harness.evaluation.loop import RunSummary
    from leaderboard.publishing.views import ResultsView

output = Console(highlight=False)
messages = Console(stderr=True, highlight=False)

INTERVALS, MEASURES = 4, 5                  # columns of a ranked table that are dropped first where space is short
LINES = Box("\n".join(["    "] * 4 + [" ── ", "    ", "    ", "    "]), ascii=False)      # between sections only
# Measures shown next to a task's score in the ranked table: heading and name.
COLUMNS = {"known_similarity": (("A", "accuracy"), ("Aw", "weighted_accuracy"), ("mono.", "monotonicity"),
                                ("sep.", "signed_separability"), ("lin.", "signed_linearity"))}


def format_number(estimate: Estimate | None, digits: int = 2) -> str:
    """Return an estimate as text."""
    return "-" if estimate is None else f"{estimate.value:.{digits}f}"


def format_interval(estimate: Estimate | None, digits: int = 2) -> Text:
    """Return a confidence interval as text, grey if it rests on few test units."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return Text("unknown" if estimate is not None else "-", style="dim")
    return Text(f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}", style="dim" if estimate.few else "")


def ranking_tables(results: ResultsView, tracks: Iterable[str]) -> RenderableType:
    """Return one table per track."""
    footing = Text(
        "95% intervals for new draws from these datasets. ranks: 95% range of the rank, corrected for all pairs. A line: every "
        "metric above is significantly better than every metric below.",
        style="dim",
    )
    return Group(*(part for track in tracks for part in (ranking_table(results, track), Text(""))), footing)


def ranking_table(results: ResultsView, track: str) -> RenderableType:
    """Return the ranked table, followed by unranked entries with the reason."""
    suite, overview, tasks = results.suite, results.overview, results.suite.ranked_tasks(track)
    entries, ranked = list(overview.standings(track).values()), len(overview.ranked(track))

    def column(heading: str, cells: Iterable[str | Text], level: int, short: str = "", label: str = "",
               style: str = "") -> Column:
        lines = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
        if ranked < len(entries):           # an empty line and a heading between the ranked and the others
            lines[ranked:ranked] = [Text(), Text("not ranked" if heading == "Metric" else "", style="dim")]
        return Column(heading, lines, short, level, label, style)

    names = [Text(f"{entry.name} (yours)" if entry.digest in results.own else entry.name,
                  style="bold" if entry.rank is not None else "dim") for entry in entries]
    columns = [column("", (str(entry.rank or "") for entry in entries), 0),
               column("ranks", (format_ranks(entry) if entry.rank else "" for entry in entries), 0, style="dim"),
               column("Metric", names, 0)]
    axis = suite.headline(track)
    if len(tasks) > 1:
        columns.append(column(axis.title, (format_number(entry.overall) for entry in entries), 0, "all"))
        columns.append(column("95%", map(format_interval, (entry.overall for entry in entries)), 1))
    for other in suite.other_axes(track):
        values = (entry.axes[other.name].value if other.name in entry.axes else None for entry in entries)
        columns.append(column(other.title, map(format_number, values), 2, label="other axes", style="dim"))
    for task in tasks:
        scores = [entry.score_on(task.name) for entry in entries]
        columns.append(column(task.title, map(format_number, scores), 1, task.short))
        if any(score is not None and score.low is not None for score in scores):
            columns.append(column("95%", map(format_interval, scores), INTERVALS, label="intervals"))
        columns += [column(short, (format_number(entry.measures_on(task.name).get(name)) for entry in entries), MEASURES,
                           label="measures") for short, name in COLUMNS.get(task.name, ())]
    if any(task.presentation.axioms for task in suite.tasks):
        columns.append(column("Axioms", (count_axioms(entry, suite) for entry in entries), 2, "ax."))
    columns.append(column("", (describe_notes(entry, results) for entry in entries), 3, label="notes"))
    of_track = f" · {track} metrics" if len(suite.tracks) > 1 else ""
    title = Text.assemble((suite.label, "bold"), f" · {suite.title}{of_track}")
    gameable = [f"{suite.task(name).title} ({', '.join(controls)})" for name, controls in overview.gameable[track].items()]
    footnotes = [f"{axis.title}: {axis.unit or axis.description}."] if len(tasks) > 1 and (axis.unit or axis.description) else []
    footnotes += [f"A trivial baseline does as well as half of the metrics on: {'; '.join(gameable)}."] if gameable else []
    table = FittedTable(columns, overview.lines[track], LINES, keep_headings_above=3)
    return Group(title, Text(""), table, *(Text(note, style="dim") for note in ("", *footnotes)))


def position_view(positions: Sequence[Position], release: str) -> RenderableType:
    """Return the position of one entry among the metrics of a release, per track."""
    parts: list[RenderableType] = []
    for position in positions:
        of = f"{position.of} {position.track} metrics (release {release})"
        if position.rank is None:
            heading = f"not ranked among {of}: {position.not_ranked}"
        else:
            heading = f"rank {format_rank(position.rank, position.rank_interval)} of {of}"
        parts.append(Text.assemble((position.name, "bold"), f": {heading}"))
        if position.overall is not None:
            parts.append(Text.assemble(f"  {position.axis.lower()} {format_number(position.overall, 3)} (95% ",
                                       format_interval(position.overall, 3), f"; {position.unit})"))
        if position.unseen is not None and position.unseen_level:
            parts.append(Text(f"  ranks on single tasks {position.unseen[0]}-{position.unseen[1]}: on another such task the rank "
                              f"would be in this range with a probability of {position.unseen_level:.0%}"))
        if position.rank is not None:
            parts += [Text(f"  significantly better than {list_names(position.better_than)}"),
                      Text(f"  significantly worse than {list_names(position.worse_than)}")]
        if position.most_similar:
            alike = ", ".join(f"{other} ({r:.2f})" for other, r in position.most_similar)
            parts.append(Text(f"  most similar answers (rank correlation): {alike}"))
        rows = [(task.title, format_number(task.score, 3), format_interval(task.score, 3),
                 "-" if task.rank is None else format_rank(task.rank, task.rank_interval)) for task in position.tasks]
        parts += [Padding(plain_table(("Task", "score", "95%", "rank"), rows), (0, 0, 0, 2)), Text("")]
    return Group(*parts)


def format_rank(rank: int, interval: tuple[int, int] | None) -> str:
    """Return a rank with its 95% range."""
    return str(rank) if interval is None else f"{rank} (95% {interval[0]}-{interval[1]})"


def list_names(names: Sequence[str], most: int = 8) -> str:
    """Return the number of names and the first of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{len(names)}: {', '.join(names[:most])}{more}" if names else "none"


def own_order_tables(orders: Mapping[str, Mapping[str, tuple[int, float]]], heading: str) -> RenderableType:
    """Return one table per track of entries in a custom order."""
    parts: list[RenderableType] = []
    for track, entries in orders.items():
        rows = [(str(rank), name, f"{value:.3f}") for name, (rank, value) in entries.items()]
        parts += [Text(f"{track} metrics · {heading}", style="bold"), plain_table(("", "Metric", "value"), rows), Text("")]
    return Group(*parts, Text("An order without intervals; `touchstone show` prints significance.", style="dim"))


def format_ranks(entry: Standing) -> str:
    """Return the rank range of an entry."""
    if entry.rank_interval is None:
        return ""
    low, high = entry.rank_interval
    return f"{low}-{high}" if low != high else str(low)


def count_axioms(entry: Standing, suite: SuiteInfo) -> str:
    """Return how many of the tested axioms hold."""
    asked = [task.name for task in suite.tasks
             if task.presentation.axioms and task.name in entry.tasks and entry.tasks[task.name].units.asked]
    shares = [estimate.value for task in asked for estimate in entry.measures_on(task).values()]
    return f"{shares.count(1)}/{len(shares)}" if asked else "-"


def describe_notes(entry: Standing, results: ResultsView) -> Text:
    """Return why an entry is not ranked, its marks, and how many test units failed."""
    failed = sum(result.units.failed for result in results.overview.results(entry.name).values())
    notes = [entry.not_ranked] if entry.rank is None and entry.not_ranked else []
    notes += ["lifted"] if entry.lifted else []
    stated = ("context-dependent", CLAIMED)     # as the reason
    notes += [*(mark for mark in entry.marks if mark not in stated), *([f"{failed} failed"] if failed else [])]
    return Text(", ".join(notes), style="dim")


def card_view(entries: Sequence[DescribedEntry], suite: SuiteInfo, relations: Sequence[str] = ()) -> RenderableType:
    """Return everything about one entry, given once per track; `relations` are sentences on its relation to others."""
    entry, tracks = entries[0], {entry.track: entry for entry in entries}
    low, high = (edge if edge is not None else sign * math.inf for edge, sign in zip(entry.range, (-1, 1), strict=True))
    lines: list[RenderableType] = [
        Text.assemble((entry.name, "bold"), f"  {entry.title}"), Text(entry.summary),
        Text(", ".join(filter(None, (
            f"{entry.kind} metric", f"takes {entry.input}", f"returns a {entry.returns}", f"range {low:g} to {high:g}",
            entry.license, format_authors(entry.authors, entry.year), entry.paper))), style="dim"), Text("")]
    for track, standing in tracks.items():
        rank = (f"rank {format_rank(standing.rank, standing.rank_interval)}" if standing.rank is not None
                else f"not ranked: {standing.not_ranked}")
        axis = suite.headline(track)
        lines.append(Text.assemble((f"{track} metrics".capitalize(), "bold"), f"  {rank}, {axis.title.lower()} "
                                   f"{format_number(standing.overall, 3)} (95% ", format_interval(standing.overall, 3), ")"))
        if standing.unseen is not None:
            lines.append(Text(f"  ranks on single tasks {standing.unseen[0]}-{standing.unseen[1]}"))
        for other in suite.other_axes(track):
            if other.name in standing.axes:
                on_axis = standing.axes[other.name]
                rank = "not ranked" if on_axis.rank is None else f"rank {format_rank(on_axis.rank, on_axis.rank_interval)}"
                lines.append(Text.assemble(f"  {other.title} {format_number(on_axis.value, 3)} (95% ",
                                           format_interval(on_axis.value, 3), f"), {rank} of {on_axis.of}"))
    lines.append(Text(""))
    for task in suite.tasks:
        standing = tracks.get(task.track, entry)
        if task.name in standing.tasks:
            lines += [*task_lines(standing, task), Text("")]
    if relations:
        lines += [*map(Text, relations), Text("")]
    last = entry.environment
    if last is not None:
        lines.append(Text(f"Last run {last.started[:16].replace('T', ' ')} UTC with Touchstone {last.version}, "
                          f"Python {last.python}, numpy {last.packages.get('numpy', '?')}, "
                          f"on {last.processor}; layers: {', '.join(last.layers)}.", style="dim"))
    return Group(*lines)


def task_lines(entry: DescribedEntry, task: TaskInfo) -> list[RenderableType]:
    """Return an entry's score on a task with its rank there, its measures, and what failed."""
    result = entry.tasks[task.name]
    if not task.descriptive:
        on_task = entry.task_ranks.get(task.name)
        rank = f"  rank {format_rank(on_task.rank, on_task.rank_interval)}" if on_task is not None and on_task.rank else ""
        heading = Text.assemble((task.title, "bold"), f"  {format_number(result.score, 3)}  (95% ",
                                format_interval(result.score, 3), f"){rank}")
    else:
        heading = Text.assemble((task.title, "bold"), "  a property, not part of any score")
    progress = f"{result.units.asked} of {result.units.planned} test units run"
    if result.units.failed:
        progress += f", {result.units.failed} failed"
    lines: list[RenderableType] = [heading, Text(f"{result.signature}   {progress}", style="dim")]
    if result.not_applicable:
        return [*lines, Text(f"not applicable: {result.not_applicable}")]
    if task.presentation.axioms:
        shares = {name: estimate.value for name, estimate in entry.measures_on(task.name).items()}
        table = axiom_table(shares, task.measures, entry.worst_cases)
    else:
        table = plain_table(("",) * 4, [
            (name, format_number(estimate, 3) if estimate else "unknown", format_interval(estimate, 3),
             Text(task.measures.get(name, ""), style="dim")) for name, estimate in result.measures.items()
            if name not in task.presentation.listed])
        lines += [Text(f"  {words}") for words in task.list_verdicts(result.measures)]
    return [*lines, Padding(table, (0, 0, 0, 2)), *(Text(f"  failed: {failure}", style="red") for failure in result.failures[:5])]


def quality_view(suite: SuiteInfo, track: str, quality: TrackQuality) -> RenderableType:
    """Return the statistics of the tasks of a track, and which of them may be ranked."""
    parts: list[RenderableType] = [Text(f"{track.capitalize()} metrics · {suite.headline(track).title}", style="bold")]
    if quality.axis is not None:
        alpha = "-" if quality.axis.alpha is None else f"{quality.axis.alpha:.2f}"
        parts += [Text(f"Cronbach's alpha {alpha} over {len(quality.axis.families)} families of "
                       f"{len(quality.axis.entries)} ranked metrics", style="dim"), Text("")]
        rows = [(suite.task(task.task).title, f"{task.weight:.2f}", *(
            "-" if value is None else f"{value:.2f}" for value in (
                task.rest_correlation, task.signal_to_noise, task.decisions_of_halves, task.decisions_of_tenth, task.detectable,
                task.best, task.saturation)), f"{task.clusters:,}") for task in quality.axis.tasks]
        parts += [plain_table(("Task", "weight", "rest r", "signal/noise", "halves", "tenth", "detects", "best", "saturation",
                               "clusters"), rows), Text("")]
    for admission in quality.admission:
        verdict = ("admitted", "green") if admission.admitted else ("not admitted", "yellow")
        highest = max(admission.controls, key=lambda control: control.value, default=None)
        parts.append(Text.assemble((suite.task(admission.task).title, "bold"), ": ", verdict, "" if highest is None else
                                   f"; highest trivial baseline {highest.name}, {highest.value:.3f} above chance"))
        parts += [Text(f"  {reason}", style="dim") for reason in admission.reasons]
    parts += [Text(f"A release would be refused: {problem}.", style="yellow") for problem in quality.problems]
    return Group(*parts, Text(""))


def changes_view(changes: Changes) -> RenderableType:
    """Return what differs between two releases."""
    parts: list[RenderableType] = [Text(f"{changes.old} to {changes.new}", style="bold")]
    parts += [Text(sentence) for sentence in changes.suite or ["The suite is the same."]]
    for track, moves in changes.moves.items():
        rows = [(escape(printable(move.name)), *("-" if rank is None else str(rank) for rank in (move.old_rank, move.new_rank)),
                 *("-" if score is None else f"{score:.3f}" for score in (move.old_score, move.new_score)),
                 escape(printable(move.reason))) for move in moves]
        table = plain_table(("Metric", "rank", "now", "score", "now", "reason"), rows) if rows else Text("No metric moved.")
        parts += [Text(""), Text(f"{track.capitalize()} metrics", style="bold"), table]
    return Group(*parts, Text(""))


def difference_table(a: Standing, b: Standing, tasks: Sequence[TaskInfo], pair: MetricPair) -> RenderableType:
    """Return the paired differences of two entries in a track, with significance overall and per task."""
    rows = []
    for task in tasks:
        difference = pair.tasks.get(task.name)
        within = f"{difference.low:.3f} to {difference.high:.3f}" if difference and difference.low is not None else "-"
        rows.append((task.title, *(format_number(entry.score_on(task.name), 3) for entry in (a, b)),
                     f"{difference.value:+.3f}" if difference else "-", within))
    table = plain_table(("", a.name, b.name, "difference", "95%"), rows)
    on = [f"{name} is significantly better on at least {count} of {pair.of} tasks" for name, count in
          ((a.name, pair.a_better_on), (b.name, pair.b_better_on)) if count and pair.of > 1]
    verdicts = [f"{difference} (5%, Benjamini and Heller 2008)." for difference in on]
    p = pair.p_of_overall
    if p is None:
        verdicts.append("The overall scores are not tested: the metrics are not both ranked, or there are too few test units.")
    else:
        better = a.name if (a.overall_above_chance or 0) > (b.overall_above_chance or 0) else b.name
        verdict = f"{better} is significantly better overall" if p <= 0.05 else "No significant overall difference"
        verdicts.append(f"{verdict} (p = {p:.4f}, adjusted for all pairs of ranked metrics).")
    return Group(table, Text(""), *map(Text, verdicts))


def axiom_table(shares: Mapping[str, float], meanings: Mapping[str, str], worst_cases: Mapping[str, str]) -> FittedTable:
    """Return each axiom's share of passed trials, with its worst trial or else its meaning."""
    return plain_table(("", "", ""), [
        (axiom, Text("holds", style="green") if shares[axiom] == 1 else Text(f"{shares[axiom]:.0%}", style="yellow"),
         Text(worst_cases[axiom]) if axiom in worst_cases else Text(meaning, style="dim"))
        for axiom, meaning in meanings.items() if axiom in shares])


def draw_table(table: RenderableType, path: Path, width: int) -> None:
    """Write a table as an SVG file."""
    canvas = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    canvas.print(table)
    svg = canvas.export_svg(title="touchstone show", theme=SVG_EXPORT_THEME)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.S).replace("Fira Code", "ui-monospace")
    write_file(path, svg)


class TimeLeft(ProgressColumn):
    """A column with the time left, as estimated by the work itself or by extrapolation."""

    def render(self, task: Task) -> Text:
        left = task.fields.get("left")
        seconds = left if left is not None else task.time_remaining
        return Text("" if seconds is None else f"{format_duration(seconds)} left", style="dim")


class ConsoleProgress:
    """Progress in a terminal: one line per stage with the time left; occasional lines in a file."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=28), TextColumn("{task.fields[amount]}"), TimeLeft(),
            TextColumn("[dim]{task.fields[note]}[/dim]"), console=messages, transient=True)

    def stage(self, title: str, total: int, unit: str) -> ConsoleStage:
        if messages.is_terminal:
            self._progress.start()
        return ConsoleStage(self._progress, title, total, unit)

    def say(self, sentence: str) -> None:
        messages.print(escape(sentence))


class ConsoleStage:
    """One stage of console progress."""

    def __init__(self, progress: Progress, title: str, total: int, unit: str) -> None:
        self._progress, self._title, self._total, self._unit = progress, title, total, unit
        self._done, self._said, self._started = 0, time.monotonic(), time.monotonic()
        self._task = progress.add_task(title, total=total, left=None, note="", amount=self._amount())

    def _amount(self) -> str:
        if self._unit == "bytes":
            return f"{format_bytes(self._done)} of {format_bytes(self._total)}"
        return f"{self._done:,} of {self._total:,} {self._unit}"

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        self._done += amount
        self._progress.update(self._task, advance=amount, left=left, note=escape(note), amount=self._amount())
        if not messages.is_terminal and time.monotonic() - self._said > 10:
            self._said = time.monotonic()
            if left is None and self._done:
                left = (time.monotonic() - self._started) * (self._total / self._done - 1)
            estimate = "" if left is None else f", {format_duration(left)} left"
            messages.print(f"{self._title}: {self._amount()}{estimate}", soft_wrap=True)

    def close(self) -> None:
        self._progress.remove_task(self._task)
        if not self._progress.tasks and messages.is_terminal:
            self._progress.stop()


def report_run(tally: RunSummary) -> None:
    """Print a summary of a run."""
    say = ConsoleProgress().say
    for sentence in tally.refused:
        say(f"touchstone: {sentence}")
    if not tally.planned:
        if not tally.refused:
            say("Nothing to run: the store has an outcome for every test unit.")
        return
    words = [f"{tally.answered:,} answered"]
    if tally.not_applicable:
        words.append(f"{tally.not_applicable:,} not applicable")
    if tally.failures:
        words.append(f"{len(tally.failures):,} failed")
    say(f"Ran {tally.planned - tally.elsewhere:,} test units in {format_duration(tally.seconds)}: {', '.join(words)}.")
    if tally.elsewhere:
        say(f"{tally.elsewhere:,} test units were left to other runs on this store; repeat the command when these have ended.")
    reasons: dict[tuple[str, str, str], int] = {}
    for name, question, failure in tally.failures:
        reasons[name, question.task.name, str(failure)] = reasons.get((name, question.task.name, str(failure)), 0) + 1
    for (name, task, reason), times in list(reasons.items())[:10]:
        say(f"  {name}, {task}: {reason}" + (f" ({times} test units)" if times > 1 else ""))


def format_duration(seconds: float) -> str:
    """Return a duration as text: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
