"""The one ranking: terminal, pages and releases all call `rank`.

An entry's place depends on its own scores and on how many are better, on nothing else: adding a metric never swaps two
others.  Controls and entries that cannot be ranked are listed apart, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard.scores import Scored


@dataclass(frozen=True)
class Placed:
    """An entry and its place, or why it has none."""

    scored: Scored
    rank: int | None                        # entries with equal scores share the better rank
    reason: str | None


def rank(scored: Iterable[Scored]) -> list[Placed]:
    """Ranked entries first, best first; then controls, then those that are not ranked; names settle the order of equals."""
    standing: list[tuple[float, Scored]] = []
    apart: list[Placed] = []
    for one in scored:
        reason = why_unranked(one)
        if reason is None and one.overall is not None:
            standing.append((one.overall, one))
        else:
            apart.append(Placed(one, None, reason or "no score yet"))
    placed = [(1 + sum(other > overall for other, _ in standing), one) for overall, one in standing]
    ranked = [Placed(one, position, None) for position, one in sorted(placed, key=lambda pair: (pair[0], pair[1].name))]
    apart.sort(key=lambda place: (place.reason != "control", -(place.scored.overall or 0.0), place.scored.name))
    return ranked + apart


def why_unranked(scored: Scored) -> str | None:
    """The reason why an entry has no rank; None if it has one."""
    if scored.entry.header.control:
        return "control"
    if scored.entry.variant is not None:
        return f"a variant; {scored.entry.header.name} is ranked by its default"
    if "context-dependent" in scored.marks:
        return "context-dependent: its answers change with what else it was asked"
    if scored.overall is not None and not math.isfinite(scored.overall):
        return "its score is not a finite number"
    for score in scored.ranked_tasks:
        title = score.task.declares.title.lower()
        if score.too_many_failed:
            return f"{len(score.failures)} of {score.asked} units of {title} failed"
        if score.not_applicable is not None:
            return f"{title} does not apply: {score.not_applicable}"
        if not score.complete:
            return f"{score.asked} of {score.planned} units of {title} asked so far"
    return None
