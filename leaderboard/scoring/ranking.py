"""The one ranking: terminal, pages and releases all call `rank`, once a track.

An entry's place depends on its own scores and on how many are better, on nothing else: adding a metric never swaps two
others.  Controls and entries that cannot be ranked are listed apart, with the reason.  Who is better than whom for sure is
judged for all pairs at once, on the units that all of them share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.hashing import seed_of
from harness.evaluation.suite import Suite
from harness.results.store import Store
from leaderboard.scoring.estimates import FEW_UNITS, unit_weights
from leaderboard.scoring.resampling import DRAWS as PLANNED
from leaderboard.scoring.resampling import Plan, make_plans, resampled_mean
from leaderboard.scoring.scores import Scored, TaskScore, score_suite
from leaderboard.scoring.significance import (
    PairwiseTests,
    dividing_lines,
    jackknife_influences,
    pairwise_tests_of_means,
    pairwise_tests_of_replicates,
    rank_intervals,
)

DRAWS = 5_000


@dataclass(frozen=True)
class RankedEntry:
    """An entry and its place, or why it has none."""

    scored: Scored
    rank: int | None                        # entries with equal scores share the better rank
    reason: str | None
    interval: tuple[int, int] | None = None     # 1 + how many are better for sure, m - how many are worse for sure


@dataclass(frozen=True)
class Ranking:
    """Everybody in order, and what parts them."""

    places: tuple[RankedEntry, ...]
    lines: tuple[int, ...]                  # after how many ranked entries a line is drawn
    parted: PairwiseTests | None                   # of the ranked, in their order; None where too few units would part them

    @cached_property
    def ranked(self) -> tuple[RankedEntry, ...]:
        return tuple(place for place in self.places if place.rank is not None)

    @cached_property
    def gameable(self) -> dict[str, list[str]]:
        """The tasks on which controls do as well as half of the ranked metrics, and which controls."""
        controls = [place.scored for place in self.places if place.scored.entry.header.control]
        found: dict[str, list[str]] = {}
        for name in [score.task.name for score in self.ranked[0].scored.ranked_tasks] if self.ranked else []:
            scores = [place.scored.tasks[name].score for place in self.ranked]
            half = float(np.median([score.value for score in scores if score is not None]))
            for one in controls:
                score = one.tasks[name].score
                if score is not None and score.value >= half:
                    found.setdefault(name, []).append(one.name)
        return found

    def p(self, a: str, b: str) -> float | None:
        """The p-value of the difference of two entries' overall scores, adjusted for all pairs; None if not both are ranked."""
        names = [place.scored.name for place in self.ranked]
        if self.parted is None or a not in names or b not in names:
            return None
        return float(self.parted.p[names.index(a), names.index(b)])


def rank_entries(scored: Iterable[Scored]) -> Ranking:
    """Everybody in order, with rank intervals and dividing lines."""
    places = rank_order(scored)
    ranked = [place.scored for place in places if place.rank is not None]
    parted = compare_means(ranked)
    if parted is None:
        return Ranking(tuple(places), (), None)
    better = parted.better()
    intervals = rank_intervals(better)
    placed = [RankedEntry(place.scored, place.rank, place.reason, interval)
              for place, interval in zip(places[:len(ranked)], intervals, strict=True)]
    return Ranking((*placed, *places[len(ranked):]), tuple(dividing_lines(range(len(ranked)), better)), parted)


def rank_suite(store: Store, suite: Suite) -> dict[str, Ranking]:
    """Everybody whom the store has answers of, by the tracks in which anybody was asked."""
    scored = score_suite(store, suite)
    found = {track: rank_entries(one.in_track(track) for one in scored if track in one.tracks) for track in suite.tracks}
    return {track: ranking for track, ranking in found.items() if ranking.places}


def select_family_defaults(rankings: Mapping[str, Ranking], suite: Suite, track: str | None) -> dict[str, Ranking]:
    """Those of all tracks, or of the one that was named."""
    if track is not None and track not in suite.tracks:
        raise TouchstoneError(f'The suite {suite.name} has no track "{track}".{did_you_mean(track, suite.tracks)} It has '
                      f"{', '.join(suite.tracks)}.")
    return {name: ranking for name, ranking in rankings.items() if track in (None, name)}


def ranks_on(ranked: Sequence[Scored], task: str) -> list[tuple[int | None, tuple[int, int] | None]]:
    """The place of each ranked entry on one task, and the ranks it may have there; all pairs are judged at once, as overall."""
    scores = [one.tasks[task].score for one in ranked]
    parted = compare_means(ranked, task)
    intervals: Sequence[tuple[int, int] | None] = [None] * len(ranked) if parted is None else rank_intervals(parted.better())
    return [(None if score is None else 1 + sum(other is not None and other.value > score.value for other in scores), interval)
            for score, interval in zip(scores, intervals, strict=True)]


def compare_means(ranked: Sequence[Scored], only: str | None = None) -> PairwiseTests | None:
    """All pairs of ranked entries, judged at once on the ranked tasks of their track, or on one of them.

    Where all scores are means over units, on these, with signs drawn from the suite's fingerprint; else on replicates of the
    overall score.  The same for whoever judges the same answers.
    """
    if len(ranked) < 2:
        return None
    asked = [[score for score in one.ranked_tasks if only in (None, score.task.name)] for one in ranked]
    if any(score.resampled is not None for score in asked[0]):
        return compare_replicates(ranked, asked, make_plans(ranked[0].suite))
    columns: list[np.ndarray] = []
    of_unit: list[np.ndarray] = []
    of_task: list[int] = []
    for number, task in enumerate(score.task for score in asked[0]):
        units = ranked[0].suite.units(task)
        if len(units) < FEW_UNITS:
            return None
        of_task += [number] * len(units)
        columns.append(np.array([[scores[number].by_unit[unit.id] for unit in units] for scores in asked]))
        of_unit.append(unit_weights([unit.stratum for unit in units]) / (len(asked[0]) * (1 - task.info.chance)))
    rng = np.random.default_rng(seed_of("who is better than whom", ranked[0].suite.fingerprint))
    return pairwise_tests_of_means(np.concatenate(columns, axis=1), np.concatenate(of_unit), DRAWS, rng, of_task)


def compare_replicates(ranked: Sequence[Scored], asked: Sequence[Sequence[TaskScore]], drawn: Mapping[str, Plan]) -> PairwiseTests | None:
    """The same by the mean scores under the draws of the tasks' plans, which are independent of each other."""
    if not all(drawn[score.task.name].tells for score in asked[0]):
        return None
    count = len(asked[0])
    overall, parts, mean = np.zeros((len(ranked), PLANNED)), [], np.zeros(len(ranked))
    for number, task in enumerate(score.task for score in asked[0]):
        scores = [of_entry[number] for of_entry in asked]
        units, plan = ranked[0].suite.units(task), drawn[task.name]
        found = [score.resampled or resampled_mean(units, score.by_unit, plan) for score in scores]
        share = np.array([[1 / (count * (1 - score.chance))] for score in scores])       # of the overall score
        chance = np.array([[score.chance] for score in scores])
        overall += share * (np.array([one.replicates for one in found]) - chance)
        mean += (share * (np.array([[one.value] for one in found]) - chance))[:, 0]
        parts += jackknife_influences(share * np.array([one.left_out for one in found]), found[0].strata)
    return pairwise_tests_of_replicates(mean, overall, parts)


def rank_order(scored: Iterable[Scored]) -> list[RankedEntry]:
    """Ranked entries first, best first; then controls, then those that are not ranked; names settle the order of equals."""
    standing: list[tuple[float, Scored]] = []
    apart: list[RankedEntry] = []
    for one in scored:
        reason = unranked_reason(one)
        if reason is None and one.overall is not None:
            standing.append((one.overall, one))
        else:
            apart.append(RankedEntry(one, None, reason or "no score yet"))
    placed = [(1 + sum(other > overall for other, _ in standing), one) for overall, one in standing]
    ranked = [RankedEntry(one, position, None) for position, one in sorted(placed, key=lambda pair: (pair[0], pair[1].name))]
    apart.sort(key=lambda place: (place.reason != "control", -(place.scored.overall or 0.0), place.scored.name))
    return ranked + apart


def unranked_reason(scored: Scored) -> str | None:
    """The reason why an entry has no rank; None if it has one."""
    if scored.entry.header.control:
        return "control"
    if scored.entry.variant is not None:
        return f"variant of {scored.entry.header.name}"
    if "context-dependent" in scored.marks:
        return "context-dependent: its answers change with what else it was asked"
    if scored.overall is not None and not math.isfinite(scored.overall):
        return "its score is not a finite number"
    for score in scored.ranked_tasks:
        title = score.task.info.title.lower()
        if score.too_many_failed:
            return f"{len(score.failures)} of {score.asked} units of {title} failed"
        if score.not_applicable is not None:
            return f"{title} does not apply: {score.not_applicable}"
        if not score.complete:
            return f"{score.asked} of {score.planned} units of {title} asked so far"
    return None
