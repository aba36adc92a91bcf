"""Render tables, cards and progress in the terminal."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import Box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from harness.base.errors import TouchstoneError, format_bytes
from harness.evaluation.loop import RunSummary
from harness.evaluation.suite import Suite
from leaderboard.cli.fitted_table import Column, FittedTable, plain_table
from leaderboard.report.position import Position
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.ranking import RankedEntry, Ranking
from leaderboard.scoring.scores import Scored, TaskScore
from tasks.properties.axioms import AXIOMS, Verdict, describe_verdict, find_worst_cases

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


def ranking_tables(rankings: Mapping[str, Ranking], suite: Suite) -> RenderableType:
    """Return one table per track."""
    footing = Text(
        "0 is chance, 1 is perfect; 95% intervals for new draws from these datasets. ranks: 95% range of the rank, "
        "corrected for all pairs. A line: every metric above is significantly better than every metric below.",
        style="dim",
    )
    tables = [part for track, ranking in rankings.items() for part in (ranking_table(ranking, suite, track), Text(""))]
    return Group(*tables, footing)


def ranking_table(ranking: Ranking, suite: Suite, track: str) -> RenderableType:
    """Return the ranked table, followed by unranked entries with the reason."""
    ranked, rest = ranking.ranked, [entry for entry in ranking.places if entry.rank is None]
    tasks = [task for task in suite.tasks if task.info.ranked and task.info.track == track]
    rows = [entry.scored for entry in (*ranked, *rest)]

    def column(heading: str, cells: Iterable[str | Text], level: int, short: str = "", label: str = "",
               style: str = "") -> Column:
        lines = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
        if rest:                            # an empty line and a heading between the ranked and the others
            lines[len(ranked):len(ranked)] = [Text(), Text("not ranked" if heading == "Metric" else "", style="dim")]
        return Column(heading, lines, short, level, label, style)

    names = [Text(entry.scored.name, style="bold" if entry.rank is not None else "dim") for entry in (*ranked, *rest)]
    columns = [column("", (str(entry.rank or "") for entry in (*ranked, *rest)), 0),
               column("ranks", (format_ranks(entry) if entry.rank else "" for entry in (*ranked, *rest)), 0, style="dim"),
               column("Metric", names, 0)]
    if len(tasks) > 1:
        columns.append(column("Above chance", (format_number(scored.overall_estimate) for scored in rows), 0, "all"))
    for task in tasks:
        results = [scored.tasks.get(task.name) for scored in rows]
        scores = [result.score if result else None for result in results]
        columns.append(column(task.info.title, map(format_number, scores), 1, task.info.short))
        if any(score is not None and score.low is not None for score in scores):
            columns.append(column("95%", map(format_interval, scores), INTERVALS, label="intervals"))
        columns += [column(short, (format_number(result.measures.get(name) if result else None) for result in results), MEASURES,
                           label="measures") for short, name in COLUMNS.get(task.name, ())]
    columns.append(column("Axioms", map(count_axioms, rows), 2, "ax."))
    columns.append(column("", (describe_notes(entry) for entry in (*ranked, *rest)), 3, label="notes"))
    of_track = f" · {track} metrics" if len(suite.tracks) > 1 else ""
    title = Text.assemble((f"{suite.name}@{suite.fingerprint[:6]}", "bold"), f" · {suite.title}{of_track}")
    titles = {task.name: task.info.title for task in tasks}
    gameable = [f"{titles[name]} ({', '.join(controls)})" for name, controls in ranking.gameable.items()]
    footnotes = [
        Text(""),
        Text(f"A trivial baseline does as well as half of the metrics on: {'; '.join(gameable)}.", style="dim"),
    ]
    table = FittedTable(columns, ranking.lines, LINES, keep_headings_above=3)
    return Group(title, Text(""), table, *(footnotes if gameable else []))


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
            parts.append(Text.assemble(f"  {format_number(position.overall, 3)} above chance (95% ",
                                       format_interval(position.overall, 3), "; 0 is chance, 1 is perfect)"))
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


def format_ranks(entry: RankedEntry) -> str:
    """Return the rank range of an entry."""
    if entry.interval is None:
        return ""
    low, high = entry.interval
    return f"{low}-{high}" if low != high else str(low)


def count_axioms(scored: Scored) -> str:
    """Return how many of the tested axioms hold."""
    axioms = scored.tasks.get("axioms")
    if axioms is None or not axioms.asked:
        return "-"
    values = [axioms.measures[name].value for name in AXIOMS if name in axioms.measures]
    return f"{sum(1 for share in values if share == 1)}/{len(values)}"


def describe_notes(entry: RankedEntry) -> Text:
    """Return why an entry is not ranked, its marks, and how many test units failed."""
    scored = entry.scored
    failed = sum(len(score.failures) for score in scored.tasks.values())
    notes = [*([entry.reason] if entry.rank is None and entry.reason else []), *(["lifted"] if scored.lifted else []),
             *sorted(scored.marks - {"context-dependent"}), *([f"{failed} failed"] if failed else [])]
    return Text(", ".join(notes), style="dim")


def card_view(
    places: Mapping[str, RankedEntry], provenance: Sequence[dict[str, Any]], beside: Sequence[str] = ()
) -> RenderableType:
    """Return everything about one entry; `beside` are sentences on its relation to others."""
    scored = next(iter(places.values())).scored
    header = scored.entry.header
    lines: list[RenderableType] = [
        Text.assemble((scored.name, "bold"), f"  {header.title}"), Text(header.summary),
        Text(", ".join([f"{header.kind} metric", f"takes {header.input}", f"returns a {header.returns}",
                        f"range {header.range[0]:g} to {header.range[1]:g}", header.license,
                        *([header.paper] if header.paper else [])]), style="dim"), Text("")]
    for score in scored.tasks.values():
        lines += [*_task_lines(scored, score, places.get(score.task.info.track)), Text("")]
    of_text = places.get("text")
    if of_text is not None and of_text.scored.usmb is not None:
        lines += [Text(f"Mean of USMB's five tasks as USMB computes them: {of_text.scored.usmb:.3f}"), Text("")]
    if beside:
        lines += [*(Text(sentence) for sentence in beside), Text("")]
    if provenance:
        last = provenance[0]
        lines.append(Text(f"Last run {last['started'][:16].replace('T', ' ')} UTC with Touchstone {last['version']}, "
                          f"Python {last['python']}, numpy {last['packages'].get('numpy', '?')}, "
                          f"on {last['processor']}; layers: {', '.join(last['layers'])}.", style="dim"))
    return Group(*lines)


def _task_lines(scored: Scored, score: TaskScore, entry: RankedEntry | None) -> list[RenderableType]:
    declares = score.task.info
    if declares.ranked and entry is not None:
        between = f" (95% {format_ranks(entry)})" if entry.interval else ""
        stands = f"rank {entry.rank}{between}" if entry.rank is not None else f"not ranked: {entry.reason}"
        heading = Text.assemble(
            (declares.title, "bold"), f"  {format_number(score.score, 3)}  (95% ", format_interval(score.score, 3), f")  {stands}"
        )
    else:
        heading = Text.assemble((declares.title, "bold"), "  not asked yet" if declares.ranked else
                                "  a property, not part of any score")
    progress = f"{score.asked} of {score.planned} test units run"
    if score.failures:
        progress += f", {len(score.failures)} failed"
    lines: list[RenderableType] = [heading, Text(f"{scored.signature(score)}   {progress}", style="dim")]
    if score.not_applicable:
        return [*lines, Text(f"not applicable: {score.not_applicable}")]
    if score.task.name == "axioms":
        lines.append(Padding(axiom_table(score.measures, find_worst_cases(score.observed.values())), (0, 0, 0, 2)))
    else:
        measures = [(name, score.measures.get(name), meaning) for name, meaning in score.meanings.items()]
        table = plain_table(("",) * 4, [
            (name, format_number(estimate, 3) if estimate else "unknown", format_interval(estimate, 3),
             Text(meaning, style="dim")) for name, estimate, meaning in measures])
        lines.append(Padding(table, (0, 0, 0, 2)))
    lines += [Text(f"  failed: {failure}", style="red") for failure in list(dict.fromkeys(map(str, score.failures)))[:5]]
    return lines


def difference_table(a: Scored, b: Scored, pair: Mapping[str, Any]) -> RenderableType:
    """Return the paired differences of two entries in a track, with significance overall and per task."""
    rows = []
    for score in a.ranked_tasks:
        difference, other = pair["tasks"].get(score.task.name), b.tasks.get(score.task.name)
        within = f"{difference['low']:.3f} to {difference['high']:.3f}" if difference and difference["low"] is not None else "-"
        rows.append((score.task.info.title, format_number(score.score, 3), format_number(other.score if other else None, 3),
                     f"{difference['value']:+.3f}" if difference else "-", within))
    table = plain_table(("", a.name, b.name, "difference", "95%"), rows)
    on = [f"{name} is significantly better on at least {count} of {pair['of']} tasks" for name, count in
          ((a.name, pair["a_better_on"]), (b.name, pair["b_better_on"])) if count and pair["of"] > 1]
    verdicts = [f"{difference} (5%, Benjamini and Heller 2008)." for difference in on]
    p = pair["p_of_overall"]
    if p is None:
        verdicts.append("The overall scores are not tested: the metrics are not both ranked, or there are too few test units.")
    else:
        better = a.name if (a.overall or 0) > (b.overall or 0) else b.name
        verdict = f"{better} is significantly better overall" if p <= 0.05 else "No significant overall difference"
        verdicts.append(f"{verdict} (p = {p:.4f}, adjusted for all pairs of ranked metrics).")
    return Group(table, Text(""), *map(Text, verdicts))


def axiom_table(shares: Any, worst: dict[str, Verdict]) -> FittedTable:
    """Return each axiom's share of passed trials and its worst trial."""
    rows = []
    for axiom, meaning in AXIOMS.items():
        if axiom not in shares:
            continue
        share = shares[axiom].value if isinstance(shares[axiom], Estimate) else shares[axiom]
        mark = Text("holds", style="green") if share == 1 else Text(f"{share:.0%}", style="yellow")
        example = worst.get(axiom)
        rows.append((axiom, mark, Text(meaning, style="dim") if example is None else Text(describe_verdict(example))))
    return plain_table(("", "", ""), rows)


def draw_table(table: RenderableType, path: Path, width: int) -> None:
    """Write a table as an SVG file."""
    canvas = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    canvas.print(table)
    svg = canvas.export_svg(title="touchstone show", theme=SVG_EXPORT_THEME)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.S).replace("Fira Code", "ui-monospace")
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as wrong:
        raise TouchstoneError(f"{path} cannot be written ({wrong.strerror}). Choose another file.") from None


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
        if not messages.is_terminal and time.monotonic() - self._said > 15:
            self._said = time.monotonic()
            if left is None:
                left = (time.monotonic() - self._started) * (self._total / max(1, self._done) - 1)
            messages.print(f"{self._title}: {self._amount()}, {format_duration(left)} left", soft_wrap=True)

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
