"""Statistics of the tasks of an axis: weights, agreement with the rest, signal and noise, decisions, saturation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.base.hashing import seed_of
from leaderboard.scoring.insights import agreement
from leaderboard.scoring.ranking import Ranking
from leaderboard.scoring.resampling import Plan, Resampled, make_plans, resampled_mean, task_clusters
from leaderboard.scoring.scores import Scored, TaskScore
from leaderboard.scoring.significance import jackknife_influences

FAMILY = 0.95                               # entries whose answers correlate by more are of one family
SPLITS = 200                                # random parts of the suite for decision accuracy
TENTH = 0.1
DETECTED = 1.959964 + 0.841621              # standard errors: two-sided 5%, power 80%
TOP = 10                                    # entries among which saturation is measured
SATURATED = 0.8


@dataclass(frozen=True)
class TaskQuality:
    """How well one task of an axis measures, over the ranked entries; scores are those above chance."""

    task: str
    weight: float                           # share of the variance of the axis times the number of tasks; 1 is equal weight
    rest_correlation: float | None          # Spearman's correlation with the mean of the other tasks
    signal_to_noise: float | None           # SD of the entries over the median standard error
    decisions_of_halves: float              # share of pairs that two random halves of the clusters order alike
    decisions_of_tenth: float               # share of pairs that a random tenth orders as the whole task does
    detectable: float                       # median difference that a paired comparison detects with a power of 80%
    best: float                             # highest score
    saturation: float | None                # share of the pairs of the ten best that are not significantly different
    clusters: int                           # what is resampled

    @property
    def saturated(self) -> bool:
        """Whether the task does not distinguish the best entries any more."""
        return self.saturation is not None and self.saturation > SATURATED


@dataclass(frozen=True)
class AxisQuality:
    """The quality of the tasks of an axis."""

    axis: str
    entries: list[str]                      # ranked
    families: list[str]                     # the best entry of each family of near-identical answers
    alpha: float | None                     # Cronbach's alpha over one entry per family
    tasks: list[TaskQuality]


def measure_quality(ranking: Ranking) -> AxisQuality | None:
    """Return the quality of the tasks of a ranking's axis; None with fewer than three ranked entries."""
    panel = [placed.scored for placed in ranking.ranked]
    if len(panel) < 3:
        return None
    names = [score.task.name for score in panel[0].ranked_tasks]
    parts = np.array([[score.corrected.value if score.corrected is not None else np.nan for score in scored.ranked_tasks]
                      for scored in panel])
    families = one_per_family(panel)
    plans = make_plans(panel[0].suite)
    tasks = [describe_task(ranking, panel, name, column, parts, plans[name]) for column, name in enumerate(names)]
    return AxisQuality(panel[0].axis.name, [scored.name for scored in panel], [panel[row].name for row in families],
                       cronbach_alpha(parts[families]), tasks)


def describe_task(ranking: Ranking, panel: Sequence[Scored], name: str, column: int, parts: np.ndarray,
                  plan: Plan) -> TaskQuality:
    """Return the quality of one task; `parts` are the scores on the axis, entries x tasks."""
    scores = [scored.tasks[name] for scored in panel]
    samples = [resampled_above_chance(score, scored, plan) for score, scored in zip(scores, panel, strict=True)]
    values = np.array([sample.value for sample in samples])
    replicates = np.array([sample.replicates for sample in samples])
    error = float(np.median(replicates.std(axis=1, ddof=1)))
    halves, tenth = decision_accuracy(samples, seed_of("parts of the suite", panel[0].suite.fingerprint, name))
    others = np.delete(parts, column, axis=1).mean(axis=1) if parts.shape[1] > 1 else None
    return TaskQuality(
        name, effective_weights(parts)[column], None if others is None else spearman(parts[:, column], others),
        float(values.std(ddof=1)) / error if error > 0 else None, halves, tenth,
        DETECTED * float(np.median([np.std(a - b, ddof=1) for a, b in combinations(replicates, 2)])), float(values.max()),
        saturation(ranking, name, values), len(samples[0].strata))


def resampled_above_chance(score: TaskScore, scored: Scored, plan: Plan) -> Resampled:
    """Return the resampled score of an entry above chance."""
    sample = score.resampled or resampled_mean(scored.suite.units(score.task), score.by_unit,
                                               plan.restricted(task_clusters(score.task, scored.suite.units(score.task))))
    def above(values: np.ndarray) -> np.ndarray:
        return (values - score.chance) / (1 - score.chance)
    return Resampled(float(above(np.array(sample.value))), above(sample.left_out), above(sample.replicates), sample.strata)


def effective_weights(parts: np.ndarray) -> list[float]:
    """Return the share of each task in the variance of the mean over tasks, times the number of tasks."""
    overall = parts.mean(axis=1)
    variance = overall.var(ddof=1)
    return [float(np.cov(column, overall)[0, 1] / variance) if variance > 0 else float("nan") for column in parts.T]


def cronbach_alpha(parts: np.ndarray) -> float | None:
    """Return Cronbach's alpha of the tasks (columns) over the entries (rows); None for a single task."""
    count = parts.shape[1]
    total = parts.sum(axis=1).var(ddof=1) if len(parts) > 1 else 0.0
    if count < 2 or total == 0:
        return None
    return float(count / (count - 1) * (1 - parts.var(axis=0, ddof=1).sum() / total))


def one_per_family(panel: Sequence[Scored]) -> list[int]:
    """Return the index of the best entry of each family; the panel is ordered, the best first."""
    table, kept = agreement(panel), list[int]()
    listed = frozenset(table.entries) if table is not None else frozenset()

    def alike(a: str, b: str) -> bool:
        return table is not None and {a, b} <= listed and (table.between(a, b) or 0) > FAMILY

    for index, scored in enumerate(panel):
        if not any(alike(scored.name, panel[other].name) for other in kept):
            kept.append(index)
    return kept


def decision_accuracy(samples: Sequence[Resampled], seed: int) -> tuple[float, float]:
    """Return the shares of pairs of entries that two halves order alike, and that a tenth orders as the whole does.

    The score on a part of the clusters is the score plus the mean jackknife influence of these clusters: exact for means over
    strata, linear for other statistics. A tie counts one half.
    """
    values, rng = np.array([sample.value for sample in samples]), np.random.default_rng(seed)
    influences = jackknife_influences(np.array([sample.left_out for sample in samples]), samples[0].strata)
    whole, halves, tenth = pair_order(values), [], []
    for _ in range(SPLITS):
        scores = np.tile(values, (3, 1))                # of one half, of the other, of a tenth
        for influence in influences:
            order = rng.permutation(influence.shape[1])
            middle, few = len(order) // 2, max(1, round(TENTH * len(order)))
            for row, rows in enumerate((order[:middle], order[middle:], order[:few])):
                if len(rows):
                    scores[row] += influence.shape[1] * influence[:, rows].mean(axis=1)
        first, second, small = map(pair_order, scores)
        halves.append(np.mean(np.where((first == 0) | (second == 0), 0.5, first == second)))
        tenth.append(np.mean(np.where((small == 0) | (whole == 0), 0.5, small == whole)))
    return float(np.mean(halves)), float(np.mean(tenth))


def pair_order(values: np.ndarray) -> np.ndarray:
    """Return the sign of the difference of every pair."""
    rows, columns = np.triu_indices(len(values), 1)
    return np.asarray(np.sign(np.round(values[rows] - values[columns], 12)))


def saturation(ranking: Ranking, task: str, values: np.ndarray) -> float | None:
    """Return the share of the pairs of the ten best entries on a task that are not significantly different."""
    tests = ranking.task_tests[task]
    if tests is None:
        return None
    best = np.argsort(-values, kind="stable")[:TOP]
    better = tests.better()
    return float(np.mean([not (better[a, b] or better[b, a]) for a, b in combinations(best.tolist(), 2)]))


def spearman(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return Spearman's correlation, or None if one side is constant."""
    from scipy.stats import spearmanr

    value = spearmanr(a, b).statistic if np.ptp(a) and np.ptp(b) else np.nan
    return float(value) if np.isfinite(value) else None


def by_task(quality: AxisQuality | None) -> Mapping[str, TaskQuality]:
    """Return the quality of each task by name."""
    return {} if quality is None else {task.task: task for task in quality.tasks}
