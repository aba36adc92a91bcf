"""What the commands print: tables, cards, progress."""

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
from rich.table import Table
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from harness.errors import Refusal, amount
from harness.run import Tally
from harness.statistics import Estimate
from leaderboard.ranking import Placed, Ranking
from leaderboard.scores import Scored, TaskScore
from tasks.axioms import AXIOMS, Verdict, worst_cases
from tasks.suite import Suite

output = Console(highlight=False)
messages = Console(stderr=True, highlight=False)

WIDE = 110
LINES = Box("\n".join(["    "] * 4 + [" ── ", "    ", "    ", "    "]), ascii=False)      # between sections only
# The measures shown beside a task's score in the ranked table: heading and name.
COLUMNS = {"known_similarity": (("A", "accuracy"), ("Aw", "weighted_accuracy"), ("mono.", "monotonicity"),
                                ("sep.", "signed_separability"), ("lin.", "signed_linearity"))}


def number(estimate: Estimate | None, digits: int = 2) -> str:
    return "-" if estimate is None else f"{estimate.value:.{digits}f}"


def interval(estimate: Estimate | None, digits: int = 2) -> Text:
    """The 95% interval; grey where too few units stand behind it."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return Text("unknown" if estimate is not None else "-", style="dim")
    return Text(f"{estimate.low:.{digits}f} to {estimate.high:.{digits}f}", style="dim" if estimate.few else "")


def ranking_table(ranking: Ranking, suite: Suite, width: int) -> RenderableType:
    """The ranked table, then what is not ranked and why; measures beside the scores as far as the width allows."""
    ranked = [task for task in suite.tasks if task.declares.ranked]
    several, wide = len(ranked) > 1, width >= WIDE
    shown = {task.name: () if several else COLUMNS.get(task.name, ())[: 5 if wide else 1] for task in ranked}
    intervals = wide or not several         # what there is no room for stands on the metric's card
    table = Table(box=LINES, show_edge=False, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0), border_style="dim")
    table.add_column("", justify="right", no_wrap=True, min_width=2)
    if intervals:
        table.add_column("ranks", no_wrap=True, header_style="dim")
    table.add_column("Metric", no_wrap=True)
    if several:
        table.add_column("Above\nchance", justify="right", no_wrap=True)
    for task in ranked:
        table.add_column(task.declares.title.replace(" ", "\n").replace("-", "-\n"), justify="right", no_wrap=True)
        if intervals:
            table.add_column("95%", no_wrap=True)
        for short, _ in shown[task.name]:
            table.add_column(short, justify="right", no_wrap=True)
    table.add_column("Axioms", justify="right", no_wrap=True)
    table.add_column("")

    def row(rank: str, between: str, name: Text, scored: Scored | None, notes: Text, end: bool = False) -> None:
        cells = _cells(scored, shown, intervals) if scored else []
        gap = [""] * (len(table.columns) - 2 - len(cells) - intervals) if not cells else []
        table.add_row(rank, *([Text(between, style="dim")] if intervals else []), name, *cells, *gap, notes, end_section=end)

    for number, place in enumerate(ranking.ranked, start=1):
        row(str(place.rank), ranks(place), Text(place.scored.name, style="bold"), place.scored, _notes(place.scored),
            number in ranking.lines)
    rest, below = [place for place in ranking.places if place.rank is None], []
    if rest:
        table.add_row()
        row("", "", Text("not ranked", style="dim"), None, Text(""))
    for place in rest:
        notes = Text(", ").join(note for note in (Text(place.reason or "", style="dim"), _notes(place.scored)) if note)
        if not intervals:                   # whole sentences would take the table apart
            below.append(Text.assemble((f"{place.scored.name}: ", "dim"), notes))
            notes = Text("")
        row("", "", Text(place.scored.name, style="dim"), place.scored, notes)
    heading = Text.assemble((f"{suite.name}@{suite.fingerprint[:6]}", "bold"), f" · {suite.title}")
    footing = Text("0 is chance, 1 is perfect. The intervals speak of new draws from these datasets. Under ranks: how many are "
                   "better for sure, and worse, judged for all pairs at once (5%); a line is drawn where everybody above is "
                   "better for sure than everybody below.", style="dim")
    return Group(heading, Text(""), table, Text(""), *below, *([Text("")] if below else []), footing)


def ranks(place: Placed) -> str:
    """The ranks that an entry may have."""
    if place.interval is None:
        return ""
    low, high = place.interval
    return f"{low}-{high}" if low != high else str(low)


def _cells(scored: Scored, shown: Mapping[str, Sequence[tuple[str, str]]], intervals: bool) -> list[RenderableType]:
    cells: list[RenderableType] = []
    if len(scored.ranked_tasks) > 1:
        cells.append("-" if scored.overall is None else f"{scored.overall:.2f}")
    for score in scored.ranked_tasks:
        cells += [number(score.score), interval(score.score)] if intervals else [number(score.score)]
        cells += [number(score.measures.get(name)) for _, name in shown[score.task.name]]
    axioms = scored.tasks.get("axioms")
    if axioms is None or not axioms.asked:
        return [*cells, "-"]
    known = [axioms.measures[name].value for name in AXIOMS if name in axioms.measures]
    return [*cells, f"{sum(1 for share in known if share == 1)}/{len(known)}"]


def _notes(scored: Scored) -> Text:
    notes = (["lifted"] if scored.lifted else []) + sorted(scored.marks - {"context-dependent"})
    failed = sum(len(score.failures) for score in scored.tasks.values())
    return Text(", ".join([*notes, *([f"{failed} failed"] if failed else [])]), style="dim")


def card(scored: Scored, place: Placed, provenance: Sequence[dict[str, Any]]) -> RenderableType:
    """All there is to say about one entry."""
    header = scored.entry.header
    lines: list[RenderableType] = [
        Text.assemble((scored.name, "bold"), f"  {header.title}"), Text(header.summary),
        Text(", ".join([f"{header.kind} metric", f"takes {header.input}", f"returns a {header.returns}",
                        f"range {header.range[0]:g} to {header.range[1]:g}", header.license,
                        *([header.paper] if header.paper else [])]), style="dim"), Text("")]
    for score in scored.tasks.values():
        lines += [*_task_lines(scored, score, place), Text("")]
    if provenance:
        last = provenance[0]
        lines.append(Text(f"Last run {last['started'][:16].replace('T', ' ')} UTC with Touchstone {last['version']}, "
                          f"Python {last['python']}, numpy {last['packages'].get('numpy', '?')}, "
                          f"on {last['processor']}; layers: {', '.join(last['layers'])}.", style="dim"))
    return Group(*lines)


def _task_lines(scored: Scored, score: TaskScore, place: Placed) -> list[RenderableType]:
    declares = score.task.declares
    if declares.ranked:
        between = f" ({ranks(place)} for sure)" if place.interval else ""
        stands = f"rank {place.rank}{between}" if place.rank is not None else f"not ranked: {place.reason}"
        heading = Text.assemble((declares.title, "bold"), f"  {number(score.score, 3)}  (95% ", interval(score.score, 3),
                                f")  {stands}")
    else:
        heading = Text.assemble((declares.title, "bold"), "  a property, not part of any score")
    asked = f"{score.asked} of {score.planned} units asked"
    if score.failures:
        asked += f", {len(score.failures)} failed"
    lines: list[RenderableType] = [heading, Text(f"{scored.signature(score)}   {asked}", style="dim")]
    if score.not_applicable:
        return [*lines, Text(f"does not apply: {score.not_applicable}")]
    if score.task.name == "axioms":
        lines.append(Padding(axiom_table(score.measures, worst_cases(score.observed.values())), (0, 0, 0, 2)))
    else:
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for name, meaning in declares.measures.items():
            estimate = score.measures.get(name)
            table.add_row(name, number(estimate, 3) if estimate else "unknown", interval(estimate, 3), Text(meaning, style="dim"))
        lines.append(Padding(table, (0, 0, 0, 2)))
    lines += [Text(f"  failed: {failure}", style="red") for failure in list(dict.fromkeys(map(str, score.failures)))[:5]]
    return lines


def difference_table(a: Scored, b: Scored, differences: Mapping[str, Estimate | None], p: float | None) -> RenderableType:
    """The paired differences of two entries, and who is better."""
    table = plain_table(("", a.name, b.name, "difference", "95%"), [
        (a.tasks[name].task.declares.title, number(a.tasks[name].score, 3), number(b.tasks[name].score, 3),
         f"{one.value:+.3f}" if one else "-", interval(one, 3)) for name, one in differences.items()])
    for column in table.columns[1:4]:
        column.justify = "right"
    if p is None:
        verdict = "Whether one is better cannot be said: not both are ranked, or there are too few units."
    else:
        better, worse = (a.name, b.name) if (a.overall or 0) > (b.overall or 0) else (b.name, a.name)
        sure = f"{better} is better than {worse} for sure" if p <= 0.05 else "Neither is better for sure"
        verdict = f"{sure}: p = {p:.4f}, adjusted for all pairs of ranked metrics."
    return Group(table, Text(""), Text(verdict))


def axiom_table(shares: Any, worst: dict[str, Verdict]) -> Table:
    """Each axiom: share of trials passed, and the trial that misses it most."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for axiom, meaning in AXIOMS.items():
        if axiom not in shares:
            continue
        share = shares[axiom].value if isinstance(shares[axiom], Estimate) else shares[axiom]
        mark = Text("holds", style="green") if share == 1 else Text(f"{share:.0%}", style="yellow")
        example = worst.get(axiom)
        table.add_row(axiom, mark, Text(meaning, style="dim") if example is None else Text(describe(example)))
    return table


def describe(verdict: Verdict) -> str:
    """The worst case of an axiom in a line."""
    trial = verdict.trial
    if trial.fault is not None:
        return f"{trial.about}: {trial.fault}"
    shown = trial.about if len(trial.about) <= 70 else trial.about[:69] + "…"
    return f"{shown}: {', '.join(f'{answer:.4g}' for answer in trial.answers)}"


def draw(shown: RenderableType, path: Path, width: int) -> None:
    """What would be printed, as an SVG file in the reader's own monospaced font."""
    canvas = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    canvas.print(shown)
    svg = canvas.export_svg(title="touchstone show", theme=SVG_EXPORT_THEME)
    svg = re.sub(r"@font-face\s*\{.*?\}", "", svg, flags=re.S).replace("Fira Code", "ui-monospace")
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as wrong:
        raise Refusal(f"{path} cannot be written ({wrong.strerror}).") from None


class TimeLeft(ProgressColumn):
    """The time left, as the work itself foresees it, else by the average so far."""

    def render(self, task: Task) -> Text:
        left = task.fields.get("left")
        seconds = left if left is not None else task.time_remaining
        return Text("" if seconds is None else f"{duration(seconds)} left", style="dim")


class Drawn:
    """Progress on a terminal: one line a stage, with the time left; in a file, a line now and then."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=28), TextColumn("{task.fields[amount]}"), TimeLeft(),
            TextColumn("[dim]{task.fields[note]}[/dim]"), console=messages, transient=True)

    def stage(self, title: str, total: int, unit: str) -> DrawnStage:
        if messages.is_terminal:
            self._progress.start()
        return DrawnStage(self._progress, title, total, unit)

    def say(self, sentence: str) -> None:
        messages.print(escape(sentence))


class DrawnStage:
    def __init__(self, progress: Progress, title: str, total: int, unit: str) -> None:
        self._progress, self._title, self._total, self._unit = progress, title, total, unit
        self._done, self._said, self._started = 0, time.monotonic(), time.monotonic()
        self._task = progress.add_task(title, total=total, left=None, note="", amount=self._amount())

    def _amount(self) -> str:
        if self._unit == "bytes":
            return f"{amount(self._done)} of {amount(self._total)}"
        return f"{self._done:,} of {self._total:,} {self._unit}"

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        self._done += amount
        self._progress.update(self._task, advance=amount, left=left, note=escape(note), amount=self._amount())
        if not messages.is_terminal and time.monotonic() - self._said > 15:
            self._said = time.monotonic()
            if left is None:
                left = (time.monotonic() - self._started) * (self._total / max(1, self._done) - 1)
            messages.print(f"{self._title}: {self._amount()}, {duration(left)} left", soft_wrap=True)

    def close(self) -> None:
        self._progress.remove_task(self._task)
        if not self._progress.tasks and messages.is_terminal:
            self._progress.stop()


def report_run(tally: Tally) -> None:
    """What a run did, in a line or two."""
    say = Drawn().say
    for sentence in tally.refused:
        say(f"touchstone: {sentence}")
    if not tally.planned:
        if not tally.refused:
            say("Nothing to ask: the store has an outcome of every unit.")
        return
    words = [f"{tally.answered:,} answered"]
    if tally.not_applicable:
        words.append(f"{tally.not_applicable:,} not applicable")
    if tally.failures:
        words.append(f"{len(tally.failures):,} failed")
    say(f"Asked {tally.planned:,} units in {duration(tally.seconds)}: {', '.join(words)}.")
    reasons: dict[tuple[str, str, str], int] = {}
    for name, question, failure in tally.failures:
        reasons[name, question.task.name, str(failure)] = reasons.get((name, question.task.name, str(failure)), 0) + 1
    for (name, task, reason), times in list(reasons.items())[:10]:
        say(f"  {name}, {task}: {reason}" + (f" ({times} units)" if times > 1 else ""))


def duration(seconds: float) -> str:
    """A time as people say it: 8 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def plain_table(headings: Sequence[str], rows: Iterable[Sequence[RenderableType]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for place, heading in enumerate(headings):
        table.add_column(heading, no_wrap=place == 0)
    for row in rows:
        table.add_row(*row)
    return table
