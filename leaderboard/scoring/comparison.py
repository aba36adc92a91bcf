"""Two metrics beside each other: paired differences on each task, and on how many of them one is better for sure.

What is compared are samples: the score of each unit where a task's score is a mean over units, replicates under the task's one
plan where it is not.  They come from a store's scores or from the files of a release, and are compared alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.base.hashing import seed_of
from leaderboard.scoring.estimates import (
    CONFIDENCE,
    Estimate,
    Resampled,
    at_least,
    influences,
    part_means,
    part_replicates,
    stratified_mean,
    weights,
)
from leaderboard.scoring.ranking import Ranking

DRAWS = 5_000


@dataclass(frozen=True)
class ByUnit:
    """A score that is the mean over strata of the means over units: that of each unit."""

    score: Mapping[str, float]
    stratum: Mapping[str, str]


Sample = ByUnit | Resampled
Samples = Mapping[tuple[str, str], Sample]                  # by entry and task


@dataclass(frozen=True)
class Difference:
    """By how much one metric is above another on a task; p says how sure it is that it is above at all (one-sided)."""

    estimate: Estimate
    p: float


def samples_of(rankings: Iterable[Ranking]) -> dict[tuple[str, str], Sample]:
    """The samples of everybody, on the ranked tasks."""
    found: dict[tuple[str, str], Sample] = {}
    for ranking in rankings:
        for scored in (place.scored for place in ranking.places):
            for score in scored.ranked_tasks:
                if score.complete and score.by_unit:
                    strata = {unit.id: " | ".join(unit.stratum) for unit in scored.suite.units(score.task)}
                    found[scored.name, score.task.name] = score.resampled or ByUnit(score.by_unit, strata)
    return found


def samples_in(units: pd.DataFrame, replicates: pd.DataFrame) -> dict[tuple[str, str], Sample]:
    """The same from the files of a release."""
    found: dict[tuple[str, str], Sample] = {}
    for (entry, task), rows in units.groupby(["entry", "task"], sort=False):
        score, stratum = (dict(zip(rows.unit, column, strict=True)) for column in (rows.score, rows.stratum))
        found[str(entry), str(task)] = ByUnit(score, stratum)
    for entry, task, value, left_out, drawn, strata in replicates.itertuples(index=False):
        found[entry, task] = Resampled(value, np.asarray(left_out, dtype=float), np.asarray(drawn, dtype=float),
                                       np.asarray(strata, dtype=int))
    return found


def difference(a: Sample, b: Sample) -> Difference | None:
    """a less b, paired; None where they share nothing to be paired on."""
    estimate = estimated(a, b)
    if estimate is None:
        return None
    if isinstance(a, Resampled) and isinstance(b, Resampled):
        both = np.array([a.left_out, b.left_out])
        parted = part_replicates(np.array([a.value, b.value]), np.array([a.replicates, b.replicates]), influences(both, a.strata))
        return Difference(estimate, one_sided(float(parted.p[0, 1]), a.value - b.value))
    assert isinstance(a, ByUnit)
    assert isinstance(b, ByUnit)
    shared = in_common(a, b)
    scores = np.array([[one.score[unit] for unit in shared] for one in (a, b)])
    rng = np.random.default_rng(seed_of("two beside each other", min(shared)))
    parted = part_means(scores, weights([a.stratum[unit] for unit in shared]), DRAWS, rng)
    return Difference(estimate, one_sided(float(parted.p[0, 1]), estimate.value))


def estimated(a: Sample, b: Sample) -> Estimate | None:
    """The same without p, which takes thousands of draws."""
    if isinstance(a, Resampled) and isinstance(b, Resampled):
        return a.minus(b).estimate()
    if not isinstance(a, ByUnit) or not isinstance(b, ByUnit):
        return None
    cells: dict[str, list[float]] = {}
    for unit in in_common(a, b):
        cells.setdefault(a.stratum[unit], []).append(a.score[unit] - b.score[unit])
    return stratified_mean(cells.values()) if cells else None


def in_common(a: ByUnit, b: ByUnit) -> list[str]:
    return [unit for unit in a.score if unit in b.score]


def one_sided(p: float, difference: float) -> float:
    return p / 2 if difference > 0 else 1 - p / 2


def better_on(p: Sequence[float], level: float = 1 - CONFIDENCE) -> int:
    """On how many tasks, at least, it is better for sure: the largest u with p(u of n) <= level (Benjamini and Heller 2008)."""
    return max((u for u in range(1, len(p) + 1) if at_least(p, u) <= level), default=0)


def compare(samples: Samples, names: Sequence[str], tasks: Sequence[str]) -> dict[str, Any]:
    """Every pair of some metrics on some tasks, as plain values."""
    pairs = []
    for a, b in itertools.combinations(names, 2):
        found = {task: difference(samples[a, task], samples[b, task]) for task in tasks
                 if (a, task) in samples and (b, task) in samples}
        known = {task: one for task, one in found.items() if one is not None}
        p = [one.p for one in known.values()]
        pairs.append({
            "a": a, "b": b, "tasks": {task: {**one.estimate.to_dict(), "p": one.p} for task, one in known.items()},
            "a_better_on": better_on(p), "b_better_on": better_on([1 - one for one in p]), "of": len(p)})
    return {"entries": list(names), "pairs": pairs}
