"""The ranking of a track; the command line, the board and releases all use it.

An entry's rank depends only on its own score and on the number of better ones, so adding a metric never swaps two others. Trivial
baselines and entries that cannot be ranked are listed separately, with the reason. Significance is tested for all pairs at once,
on the test units that all of them share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from harness.base.hashing import seed_of
from harness.evaluation.suite import AdmissionRule, Suite
from leaderboard.scoring.estimates import FEW_UNITS, unit_weights
from leaderboard.scoring.kept_scores import KeptTests, stamp_tests
from leaderboard.scoring.resampling import DRAWS as PLANNED
from leaderboard.scoring.resampling import Plan, make_plans, resampled_mean
from leaderboard.scoring.results import PublishedResults, Results, results_of
from leaderboard.scoring.scores import CLAIMED, Scored, TaskScore
from leaderboard.scoring.significance import (
    PairwiseTests,
    dividing_lines,
    jackknife_influences,
    pairwise_tests_of_means,
    pairwise_tests_of_replicates,
    rank_intervals,
)

if TYPE_CHECKING:
    import pandas as pd

    from harness.results.store import Store

DRAWS = 5_000
AT_CHANCE = AdmissionRule.score             # highest score above chance of a trivial baseline


@dataclass(frozen=True)
class RankedEntry:
    """An entry with its rank, or the reason why it has none."""

    scored: Scored
    rank: int | None                        # ties share the better rank
    reason: str | None
    interval: tuple[int, int] | None = None     # 1 + number significantly better, m - number significantly worse


@dataclass(frozen=True)
class Ranking:
    """All entries of a track in order, with pairwise tests; `to_frame` returns them as a table."""

    places: tuple[RankedEntry, ...]
    lines: tuple[int, ...]                  # positions of dividing lines, in ranked entries
    parted: PairwiseTests | None                   # of the ranked entries, in order; None with too few test units
    kept: KeptTests | None = field(default=None, compare=False)     # tests that need not be computed

    def __repr__(self) -> str:
        """Return the leading entries; the observations would fill pages."""
        leaders = ", ".join(f"{entry.rank} {entry.scored.name}" for entry in self.ranked[:3])
        return f"<Ranking of {len(self.ranked)} metrics: {leaders}{', ...' * (len(self.ranked) > 3)}>"

    @cached_property
    def ranked(self) -> tuple[RankedEntry, ...]:
        """The entries that have a rank."""
        return tuple(entry for entry in self.places if entry.rank is not None)

    @cached_property
    def task_tests(self) -> dict[str, PairwiseTests | None]:
        """The tests of all pairs of ranked entries on each ranked task."""
        panel = [entry.scored for entry in self.ranked]
        tasks = [score.task.name for score in panel[0].ranked_tasks] if panel else []
        return {task: compare_means(panel, task, self.kept) for task in tasks}

    @cached_property
    def task_ranks(self) -> dict[str, dict[str, tuple[int | None, tuple[int, int] | None]]]:
        """The rank and the rank range of each ranked entry on each ranked task."""
        panel = [entry.scored for entry in self.ranked]
        tasks = list(self.task_tests)
        by_task = {task: ranks_on(panel, task, self.task_tests[task]) for task in tasks}
        return {scored.name: {task: by_task[task][index] for task in tasks} for index, scored in enumerate(panel)}

    @cached_property
    def unseen(self) -> dict[str, tuple[int, int]]:
        """The lowest and the highest rank of each ranked entry on single tasks: a prediction of its rank on another task.

        If the tasks are exchangeable with a further task, the range contains the rank on it with a probability of at least
        `unseen_level`; this is the conformal prediction interval of k ranks.
        """
        ranks = {name: [rank for rank, _ in of_task.values() if rank is not None] for name, of_task in self.task_ranks.items()}
        return {name: (min(of_entry), max(of_entry)) for name, of_entry in ranks.items() if of_entry}

    @cached_property
    def other_axes(self) -> dict[str, Ranking]:
        """The same entries ranked by each of the other axes of the track."""
        scored = [entry.scored for entry in self.places]
        axes = [axis for axis in scored[0].suite.axes if axis.track == scored[0].track][1:] if scored else []
        return {axis.name: rank_entries((entry.in_track(axis.track, axis.name) for entry in scored), self.kept) for axis in axes}

    @property
    def unseen_level(self) -> float:
        """The probability of `unseen`: (k - 1)/(k + 1) for k tasks."""
        tasks = len(self.ranked[0].scored.ranked_tasks) if self.ranked else 0
        return max(0, tasks - 1) / (tasks + 1)

    @cached_property
    def gameable(self) -> dict[str, list[str]]:
        """The tasks on which trivial baselines do as well as half of the ranked metrics, and which baselines.

        A baseline at chance is not listed: where half of the metrics are at chance too, the task is hard, not gameable.
        """
        controls = [entry.scored for entry in self.places if entry.scored.entry.header.control]
        controls_by_task: dict[str, list[str]] = {}
        for name in [score.task.name for score in self.ranked[0].scored.ranked_tasks] if self.ranked else []:
            scores = [entry.scored.tasks[name].score for entry in self.ranked]
            half = float(np.median([score.value for score in scores if score is not None]))
            for control in controls:
                score = control.tasks[name].score
                if score is not None and score.value >= half and (control.tasks[name].above_chance or 0.0) > AT_CHANCE:
                    controls_by_task.setdefault(name, []).append(control.name)
        return controls_by_task

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry: rank, rank range, overall score above chance with interval, and the score of each task."""
        import pandas as pd

        rows = []
        for entry in self.places:
            low, high = entry.interval or (None, None)
            overall = entry.scored.overall_estimate
            rows.append({
                "name": entry.scored.name, "rank": entry.rank, "rank_low": low, "rank_high": high,
                "overall": entry.scored.overall, "overall_low": overall and overall.low, "overall_high": overall and overall.high,
                **{score.task.name: score.score and score.score.value for score in entry.scored.ranked_tasks},
                "reason": entry.reason})
        return pd.DataFrame(rows).astype({"rank": "Int64", "rank_low": "Int64", "rank_high": "Int64"})

    def p(self, a: str, b: str) -> float | None:
        """Return the adjusted p-value of the difference of two entries' overall scores; None unless both are ranked."""
        names = [entry.scored.name for entry in self.ranked]
        if self.parted is None or a not in names or b not in names:
            return None
        return float(self.parted.p[names.index(a), names.index(b)])


def rank_entries(scored: Iterable[Scored], kept: KeptTests | None = None) -> Ranking:
    """Return the ranking of entries of one track; tests that are kept are not computed again."""
    places = rank_order(scored)
    ranked = [entry.scored for entry in places if entry.rank is not None]
    parted = compare_means(ranked, kept=kept)
    if parted is None:
        return Ranking(tuple(places), (), None, kept)
    better = parted.better()
    intervals = rank_intervals(better)
    placed = [RankedEntry(entry.scored, entry.rank, entry.reason, interval)
              for entry, interval in zip(places[:len(ranked)], intervals, strict=True)]
    return Ranking((*placed, *places[len(ranked):]), tuple(dividing_lines(range(len(ranked)), better)), parted, kept)


def rank_suite(source: Results | Store | Path | str | None, suite: Suite,
               published: PublishedResults | None = None) -> dict[str, Ranking]:
    """Return the ranking of each track that has entries; the arguments are those of `score_suite`."""
    results = results_of(source, suite, published)
    rankings = {track: rank_entries((entry.in_track(track) for entry in results.scored if track in entry.tracks), results.tests)
                for track in suite.tracks}
    return {track: ranking for track, ranking in rankings.items() if ranking.places}


def ranks_on(ranked: Sequence[Scored], task: str,
             parted: PairwiseTests | None) -> list[tuple[int | None, tuple[int, int] | None]]:
    """Return each ranked entry's rank and rank range on one task from the tests of all pairs."""
    scores = [scored.tasks[task].score for scored in ranked]
    intervals: Sequence[tuple[int, int] | None] = [None] * len(ranked) if parted is None else rank_intervals(parted.better())
    return [(None if score is None else 1 + sum(other is not None and other.value > score.value for other in scores), interval)
            for score, interval in zip(scores, intervals, strict=True)]


def compare_means(ranked: Sequence[Scored], only: str | None = None, kept: KeptTests | None = None) -> PairwiseTests | None:
    """Test all pairs of ranked entries at once, on the ranked tasks of their track or on one of them.

    If all scores are means over test units, the tests use these, with signs drawn from the suite's fingerprint; otherwise they
    use replicates of the overall score. Results are reproducible.
    """
    if len(ranked) < 2:
        return None
    suite, key = ranked[0].suite, " ".join([ranked[0].track, ranked[0].axis.name, *([] if only is None else [only])])
    scores_by_entry = [[score for score in scored.ranked_tasks if only in (None, score.task.name)] for scored in ranked]
    if any(score.resampled is not None for score in scores_by_entry[0]):
        return compare_replicates(ranked, scores_by_entry, make_plans(ranked[0].suite), key, kept)
    columns: list[np.ndarray] = []
    of_unit: list[np.ndarray] = []
    of_task: list[int] = []
    for number, task in enumerate(score.task for score in scores_by_entry[0]):
        units = ranked[0].suite.units(task)
        if len(units) < FEW_UNITS:
            return None
        of_task += [number] * len(units)
        columns.append(np.array([[scores[number].by_unit[unit.id] for unit in units] for scores in scores_by_entry]))
        divisor = len(scores_by_entry[0]) * (1 - task.info.chance) * scores_by_entry[0][number].scale
        of_unit.append(unit_weights([unit.stratum for unit in units]) / divisor)
    scores, weights = np.concatenate(columns, axis=1), np.concatenate(of_unit)

    def test() -> PairwiseTests:
        rng = np.random.default_rng(seed_of("who is better than whom", suite.fingerprint))
        return pairwise_tests_of_means(scores, weights, DRAWS, rng, of_task)
    return test() if kept is None else kept.get(key, stamp_tests(suite.fingerprint, (scores, weights, np.array(of_task))), test)


def compare_replicates(
    ranked: Sequence[Scored], scores_by_entry: Sequence[Sequence[TaskScore]], drawn: Mapping[str, Plan], key: str,
    kept: KeptTests | None = None
) -> PairwiseTests | None:
    """Test all pairs by the mean scores under the draws of the tasks' independent resampling plans."""
    if not all(drawn[score.task.name].tells for score in scores_by_entry[0]):
        return None
    suite, tasks, count = ranked[0].suite, [score.task for score in scores_by_entry[0]], len(scores_by_entry[0])

    def test() -> PairwiseTests:
        overall, parts, mean = np.zeros((len(ranked), PLANNED)), [], np.zeros(len(ranked))
        for number, task in enumerate(tasks):
            scores = [of_entry[number] for of_entry in scores_by_entry]
            units, plan = suite.units(task), drawn[task.name]
            resampled = [score.resampled or resampled_mean(units, score.by_unit, plan) for score in scores]
            share = np.array([[1 / (count * (1 - score.chance) * score.scale)] for score in scores])      # of the overall score
            chance = np.array([[score.chance] for score in scores])
            overall += share * (np.array([sample.replicates for sample in resampled]) - chance)
            mean += (share * (np.array([[sample.value] for sample in resampled]) - chance))[:, 0]
            parts += jackknife_influences(share * np.array([sample.left_out for sample in resampled]), resampled[0].strata)
        return pairwise_tests_of_replicates(mean, overall, parts)
    return test() if kept is None else kept.get(key, stamp_tests(suite.fingerprint, compared_arrays(scores_by_entry)), test)


def compared_arrays(scores_by_entry: Sequence[Sequence[TaskScore]]) -> Iterator[np.ndarray]:
    """Yield the numbers of scores that `compare_replicates` depends on."""
    for score in (score for of_entry in scores_by_entry for score in of_entry):
        yield np.array([score.chance, score.scale])
        if score.resampled is not None:
            yield from (np.array(score.resampled.value), score.resampled.left_out, score.resampled.replicates,
                        score.resampled.strata)
        else:
            yield np.array([score.by_unit[unit] for unit in sorted(score.by_unit)])


def rank_order(scored: Iterable[Scored]) -> list[RankedEntry]:
    """Return ranked entries best first, then trivial baselines, then other unranked entries; ties are ordered by name."""
    standing: list[tuple[float, Scored]] = []
    apart: list[RankedEntry] = []
    for entry in scored:
        reason = unranked_reason(entry)
        if reason is None and entry.overall is not None:
            standing.append((entry.overall, entry))
        else:
            apart.append(RankedEntry(entry, None, reason or "no score yet"))
    placed = [(1 + sum(other > overall for other, _ in standing), entry) for overall, entry in standing]
    ranked = [RankedEntry(entry, position, None) for position, entry in sorted(placed, key=lambda pair: (pair[0], pair[1].name))]
    apart.sort(key=lambda unranked: (unranked.reason != "control", -(unranked.scored.overall or 0.0), unranked.scored.name))
    return ranked + apart


def unranked_reason(scored: Scored) -> str | None:
    """Return why an entry has no rank, or None if it has one."""
    if scored.entry.header.control:
        return "control"
    if scored.entry.variant is not None:
        return f"variant of {scored.entry.header.name}"
    if CLAIMED in scored.marks:
        return f"{CLAIMED}, which cannot be verified"
    if "context-dependent" in scored.marks:
        return "context-dependent: its answers depend on other calls"
    if scored.overall is not None and not math.isfinite(scored.overall):
        return "its score is not a finite number"
    for score in scored.ranked_tasks:
        title = score.task.info.title.lower()
        if score.too_many_failed:
            return f"{len(score.failures)} of {score.asked} test units of {title} failed"
        if score.not_applicable is not None:
            return f"{title} does not apply: {score.not_applicable}"
        if not score.complete:
            return f"{score.asked} of {score.planned} test units of {title} run so far"
    missing = [name for name in scored.axis.tasks if name not in scored.tasks]
    return f"it has no score on {', '.join(missing)}" if missing else None
