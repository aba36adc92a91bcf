"""Which metric: a few questions, and a short list with reasons and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from harness.evaluation.task import Role
from leaderboard.board.components.layout import Links
from leaderboard.board.pages.ranking import entry_tags
from leaderboard.board.rendering import UI, format_cell, render
from leaderboard.board.snapshot import Snapshot
from leaderboard.report.schema import EntryReport
from leaderboard.scoring.comparison import estimate_difference
from leaderboard.scoring.estimates import CONFIDENCE, Estimate

COST_BOUNDS = (100, 10, 1, 0.1)
TRACK_OBJECTS = {"corpus": "two corpora", "text": "two texts"}
SHORT_LIST = 5
MUCH_CHEAPER = 0.5                          # share of the cost of the best
VERDICTS = {None: "not tested", False: "no significant difference", True: "significantly worse"}


class Question(NamedTuple):
    """A question with its possible answers."""

    name: str
    text: str
    options: dict[str, str]
    answer: str


@dataclass(frozen=True)
class Needs:
    """What a reader needs of a metric."""

    track: str
    task: str = ""                          # none: the overall score
    cost: str = ""
    model: str = ""
    symmetric: str = ""

    @classmethod
    def read(cls, snapshot: Snapshot, query: Mapping[str, str]) -> Needs:
        """Return the needs that a query names; unknown tracks and tasks are replaced by the default."""
        tracks = snapshot.tracks or ["corpus"]
        track = query.get("track", tracks[0])
        track = track if track in tracks else tracks[0]
        task = query.get("task", "")
        task = task if any(candidate.name == task for candidate in snapshot.ranked_tasks(track)) else ""
        return cls(track, task, query.get("cost", ""), query.get("model", ""), query.get("symmetric", ""))

    def score(self, entry: EntryReport) -> Estimate | None:
        """Return the score that matters."""
        return entry.score_on(self.task) if self.task else entry.overall

    def met_by(self, snapshot: Snapshot, entry: EntryReport) -> bool:
        """Return whether an entry is ranked and has what is needed."""
        cost, bound = snapshot.cost(entry), float(self.cost) if self.cost in map(str, COST_BOUNDS) else math.inf
        return (entry.rank is not None and self.score(entry) is not None
                and (math.isinf(bound) or (cost is not None and cost <= bound))
                and (self.model != "no" or "no-model" in entry_tags(entry))
                and (self.symmetric != "yes" or snapshot.role_value(entry, Role.SYMMETRIC) == 1))


def list_questions(snapshot: Snapshot, query: Mapping[str, str]) -> list[Question]:
    """Return the questions with the answers that the parameters of an address give."""
    needs = Needs.read(snapshot, query)
    unit = snapshot.cost_unit(needs.track)
    tasks = {task.name: task.title.lower() for task in snapshot.ranked_tasks(needs.track)}
    return [
        Question("track", "What do you compare?", {track: TRACK_OBJECTS[track] for track in snapshot.tracks}, needs.track),
        Question("task", "Which task matters most?", {"": "all tasks equally", **tasks}, needs.task),
        Question("cost", "How fast must it be?", {"": "any speed", **{str(bound): f"at most {bound} {unit}" for bound in COST_BOUNDS}}, needs.cost),
        Question("model", "May it use an embedding model?", {"": "yes", "no": "no"}, needs.model),
        Question("symmetric", "Must d(p, q) equal d(q, p)?", {"": "no", "yes": "yes"}, needs.symmetric)]


def render_choose(snapshot: Snapshot, links: Links, query: Mapping[str, str]) -> Markup:
    """Return the ranked metrics that meet the needs, the best first."""
    needs = Needs.read(snapshot, query)
    matches = sorted((entry for entry in snapshot.entries(needs.track) if needs.met_by(snapshot, entry)), key=lambda entry: -sort_value(needs, entry))
    untimed = [entry.name for entry in snapshot.ranked_entries(needs.track) if snapshot.cost(entry) is None] if needs.cost else []
    return render("choose.html", short_list=render_short_list(snapshot, links, needs, matches) if matches else None, untimed=untimed)


def sort_value(needs: Needs, entry: EntryReport) -> float:
    """Return the value by which matches are sorted."""
    score = needs.score(entry)
    return score.value if score is not None else -math.inf


def render_short_list(snapshot: Snapshot, links: Links, needs: Needs, matches: Sequence[EntryReport]) -> Markup:
    """Return the best matches compared with the first, and a much cheaper one that may be as good."""
    best = matches[0]
    worse = {entry.name: significantly_worse(snapshot, needs, best, entry) for entry in matches[1:]}
    rows = [[UI.titled_link(links, entry.name, entry.title), UI.estimate(needs.score(entry)),
             "best of these" if entry is best else VERDICTS[worse[entry.name]], describe_cost(snapshot, entry), "; ".join(list_reasons(snapshot, entry))]
            for entry in matches[:SHORT_LIST]]
    cheaper, speedup = find_cheaper(snapshot, best, [entry for entry in matches[1:] if worse[entry.name] is False])
    return render("short_list.html", links=links, best=best, rows=rows, count=len(matches), cheaper=cheaper, speedup=speedup,
                  overall=not needs.task, unit=snapshot.cost_unit(needs.track))


def significantly_worse(snapshot: Snapshot, needs: Needs, best: EntryReport, other: EntryReport) -> bool | None:
    """Return whether an entry is significantly worse than the best; None with too few test units."""
    if not needs.task:
        p = snapshot.p(needs.track, best.name, other.name)
        return None if p is None else p <= 1 - CONFIDENCE
    samples = [snapshot.samples.get((entry.name, needs.task)) for entry in (best, other)]
    difference = estimate_difference(samples[0], samples[1]) if samples[0] is not None and samples[1] is not None else None
    return None if difference is None or difference.low is None else difference.low > 0


def find_cheaper(snapshot: Snapshot, best: EntryReport, equals: Sequence[EntryReport]) -> tuple[EntryReport | None, float]:
    """Return the cheapest of the entries that may be as good as the best and need no more input, and how much faster it is."""
    costs = [(cost, entry) for entry in equals if (cost := snapshot.cost(entry))
             and (best.input == "embeddings" or entry.input != "embeddings")]
    limit = snapshot.cost(best)
    if not costs or limit is None:
        return None, 1.0
    cost, cheapest = min(costs, key=lambda pair: (pair[0], pair[1].name))
    return (cheapest, limit / cost) if cost <= MUCH_CHEAPER * limit else (None, 1.0)


def describe_cost(snapshot: Snapshot, entry: EntryReport) -> str:
    """Return the cost with its unit."""
    cost = snapshot.cost(entry)
    return "not timed" if cost is None else f"{format_cell(cost)} {snapshot.cost_unit(entry.track)}"


def list_reasons(snapshot: Snapshot, entry: EntryReport) -> list[str]:
    """Return rank, requirements, the best and the worst task, and the axioms that fail."""
    low, high = entry.rank_interval or (entry.rank, entry.rank)
    reasons = [f"rank {entry.rank}" + (f" ({low}–{high})" if low != high else ""),
               "no neural model" if "no-model" in entry_tags(entry) else f"needs {entry.input.replace('_', ' ')}"]
    memory = snapshot.role_value(entry, Role.MEMORY)
    if memory is not None:
        reasons.append(f"{memory:,.0f} {snapshot.role_unit(Role.MEMORY)}")
    ranks = {snapshot.task(name).title.lower(): standing.rank for name, standing in entry.task_ranks.items() if standing.rank is not None}
    if len(ranks) > 1:
        strong, weak = min(ranks, key=lambda title: ranks[title]), max(ranks, key=lambda title: ranks[title])
        if ranks[strong] != ranks[weak]:
            reasons.append(f"rank {ranks[strong]} in {strong}, {ranks[weak]} in {weak}")
    for task in snapshot.report.suite.tasks:
        if task.presentation.axioms and task.name in entry.tasks:
            broken = [name.replace("_", " ") for name, estimate in entry.measures_on(task.name).items() if estimate.value < 1]
            reasons.append(f"fails {task.title.lower()}: {', '.join(broken)}" if broken else f"satisfies all {task.title.lower()}")
    return reasons
