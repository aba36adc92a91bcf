"""Ensembles of metrics: learned on some documents, judged on others, and what one metric adds to the rest.

Pure functions over arrays.  A row is a question; it belongs to groups (a document, a query, two texts), and a group is either
learned from or judged on, never both: USMB splits rows, so that its forests have seen the texts they are asked about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from leaderboard.scoring.estimates import Estimate, stratified_mean

HELD_OUT = 0.2                              # of the groups
MOST_PAIRS = 20_000                         # that a forest learns from
AGAIN = 1_000                               # added to the seed of a forest that is learned once more
LEAVES = 10                                 # `min_samples_leaf` of the forest beside scikit-learn's defaults

Learner = Literal["linear", "intercept", "forest", "leaves"]


class SplitScores(NamedTuple):
    """Scores whose mean over strata is a table's score: of a choice, a query, a sample of texts."""

    values: np.ndarray
    times: np.ndarray                       # how often each counts
    cluster: np.ndarray                     # numbers: what would be drawn again together
    stratum: np.ndarray                     # numbers


@dataclass(frozen=True)
class TrainingTable:
    """The questions of one task as rows, with the answers of some metrics and what would be right."""

    task: str
    metrics: tuple[str, ...]
    answers: np.ndarray                     # rows x metrics, similarities in [0, 1]
    target: np.ndarray                      # rows
    groups: np.ndarray                      # rows x 1 or 2: numbers of groups
    condition: np.ndarray                   # of each row, by name: what can be left out
    dataset: np.ndarray                     # likewise
    learner: Learner
    score: Callable[[np.ndarray, np.ndarray], float]        # of predictions, and how often each row counts: 0 if it is not judged
    middle: float = 0.0                     # taken off a forest's probabilities, where 0 is undecided
    each: Callable[[np.ndarray, np.ndarray], SplitScores] | None = None        # where the score is a mean: what of

    @cached_property
    def names(self) -> np.ndarray:
        """The groups that there are."""
        return np.unique(self.groups)

    def of(self, metrics: Sequence[str]) -> TrainingTable:
        """The same questions with the answers of some of the metrics."""
        columns = [self.metrics.index(name) for name in metrics]
        return replace(self, metrics=tuple(metrics), answers=self.answers[:, columns])


@dataclass(frozen=True)
class Split:
    """How often each row is learned from, and how often judged."""

    learned: np.ndarray
    judged: np.ndarray


@dataclass(frozen=True)
class JudgedSplit:
    """What came of one split."""

    score: float
    weights: np.ndarray                     # metrics: share of |beta|, or of the decrease in impurity
    predictions: np.ndarray                 # rows; not a number where none was asked for


def split_groups(table: TrainingTable, seed: int, drawn: bool = False) -> Split:
    """A fifth of the groups held out; with `drawn`, of groups that are first drawn again with replacement."""
    rng = np.random.default_rng(seed)
    names = table.names
    counts = np.zeros(int(names.max()) + 1)
    if drawn:
        np.add.at(counts, rng.choice(names, len(names)), 1)
    else:
        counts[names] = 1
    order = rng.permutation(names)
    out = np.zeros(len(counts), dtype=bool)
    out[order[:max(1, round(HELD_OUT * len(names)))]] = True
    first, *others = table.groups.T
    times, any_held, all_held = counts[first], out[first], out[first]
    for column in others:
        times, any_held, all_held = times * counts[column], any_held | out[column], all_held & out[column]
    return Split(times * ~any_held, times * all_held)


def judge_split(table: TrainingTable, parted: Split, seed: int = 0, learner: Learner | None = None, most: int = MOST_PAIRS) -> JudgedSplit:
    """Learns from the one part, answers for the other, and scores that."""
    learner = learner or table.learner
    rows = np.flatnonzero(parted.judged)
    if learner in ("linear", "intercept"):
        predicted, weights = fit_linear(table, parted.learned, rows, learner == "intercept")
    else:
        predicted, weights = fit_forest(table, parted.learned, rows, seed, 1 if learner == "forest" else LEAVES, most)
    predictions = np.full(len(table.target), np.nan)
    predictions[rows] = predicted
    return JudgedSplit(table.score(predictions, parted.judged), weights, predictions)


def fit_linear(table: TrainingTable, times: np.ndarray, rows: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Least squares by the normal equations."""
    x = np.column_stack([table.answers, np.ones(len(table.answers))]) if intercept else table.answers
    weighted = x.T * times
    beta = np.linalg.lstsq(weighted @ x, weighted @ table.target, rcond=1e-10)[0]
    size = np.abs(beta[:len(table.metrics)])
    return x[rows] @ beta, size / size.sum() if size.any() else size


def fit_forest(table: TrainingTable, times: np.ndarray, rows: np.ndarray, seed: int, leaf: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The probability that the target holds, by scikit-learn's random forest; learned from so many pairs at most."""
    from sklearn.ensemble import RandomForestClassifier

    sampled = np.flatnonzero(times)
    if len(sampled) > most:
        sampled = np.random.default_rng([seed, len(sampled)]).choice(sampled, most, replace=False)
    trees = RandomForestClassifier(min_samples_leaf=leaf, random_state=seed)
    trees.fit(table.answers[sampled], table.target[sampled] > 0, sample_weight=times[sampled])
    likely: Any = trees.predict_proba(table.answers[rows])
    if len(trees.classes_) == 1:
        return np.full(len(rows), float(trees.classes_[0]) - table.middle), np.asarray(trees.feature_importances_)
    return np.asarray(likely[:, 1] - table.middle), np.asarray(trees.feature_importances_)


@dataclass(frozen=True)
class Ensemble:
    """An ensemble's mean over splits, beside its members on the same held-out parts."""

    score: float
    low: float | None                       # 95%; None: unknown
    high: float | None
    weights: dict[str, float]
    members: dict[str, float]


def learn(table: TrainingTable, seeds: int, draws: int = 0, learner: Learner | None = None) -> Ensemble:
    """The score of an ensemble over so many splits.

    Its interval is of groups drawn again with the splits inside; without draws, of what was judged, as it was learned.
    """
    splits = [split_groups(table, seed) for seed in range(seeds)]
    judged = [judge_split(table, split, seed, learner) for seed, split in enumerate(splits)]
    weights = np.mean([split.weights for split in judged], axis=0)
    alone = np.ascontiguousarray(table.answers.T)       # a score looks at nothing but what is judged
    members = {name: float(np.nanmean([table.score(answers, split.judged) for split in splits]))
               for name, answers in zip(table.metrics, alone, strict=True)}
    if draws:
        again = [judge_split(table, split_groups(table, seeds + draw, drawn=True), draw, learner).score for draw in range(draws)]
        estimate = Estimate(float(np.nanmean([split.score for split in judged])), *interval(again), seeds)
    else:
        estimate = mean_over_splits(table, splits, [split.predictions for split in judged])
    return Ensemble(estimate.value, estimate.low, estimate.high, dict(zip(table.metrics, map(float, weights), strict=True)), members)


def mean_over_splits(table: TrainingTable, splits: Sequence[Split], predictions: Sequence[np.ndarray],
                     less: Sequence[np.ndarray] | None = None) -> Estimate:
    """The mean score of predictions over splits, or of how much they score above others.

    Its interval is Student's t over clusters, where the score is a mean: what was learned is not learned again.
    """
    if table.each is None:
        scores = [table.score(values_of, parted.judged) for values_of, parted in zip(predictions, splits, strict=True)]
        others = [table.score(values_of, parted.judged) for values_of, parted in zip(less, splits, strict=True)] if less else 0.0
        return Estimate(float(np.nanmean(np.subtract(scores, others))), None, None, len(scores))
    scores = []
    values: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, parted in enumerate(splits):
        mine = table.each(predictions[row], parted.judged)
        if less:
            mine = mine._replace(values=mine.values - table.each(less[row], parted.judged).values)
        scores.append(mean_of_strata(mine))
        for stratum, cluster, value in zip(mine.stratum.tolist(), mine.cluster.tolist(), mine.values.tolist(), strict=True):
            values[stratum][cluster].append(value)
    estimate = stratified_mean([[float(np.mean(values_of)) for values_of in clusters.values()] for clusters in values.values()])
    value = float(np.nanmean(scores))
    if estimate is None or estimate.low is None or estimate.high is None:
        return Estimate(value, None, None, estimate.units if estimate else 0)
    return Estimate(value, value + estimate.low - estimate.value, value + estimate.high - estimate.value, estimate.units)


def mean_of_strata(each: SplitScores) -> float:
    """The mean over strata of the weighted means within them; not a number where nothing is judged."""
    weight = np.bincount(each.stratum, each.times)
    whole, weighted = np.bincount(each.stratum, each.times * each.values), weight > 0
    return float(np.mean(whole[weighted] / weight[weighted])) if weighted.any() else float("nan")


@dataclass(frozen=True)
class ValueAdded:
    """What a metric adds to others: the ensemble with it less the ensemble without."""

    value: float
    low: float | None
    high: float | None


def value_added(table: TrainingTable, metric: str, seeds: int, draws: int = 0, learner: Learner | None = None,
                most: int = MOST_PAIRS) -> ValueAdded:
    """With an intercept on both sides: without one a constant would add what an intercept does.

    The interval is of groups drawn again with the splits inside; without draws, of what was judged, and of the chance in
    learning: how far the ensemble without it is from itself when it is learned once more.
    """
    learner = "intercept" if table.learner in ("linear", "intercept") else learner or table.learner
    others = table.of([name for name in table.metrics if name != metric])

    def difference(parted: Split, seed: int) -> float:
        return judge_split(table, parted, seed, learner, most).score - judge_split(others, parted, seed, learner, most).score
    if not draws:
        splits = [split_groups(table, seed) for seed in range(seeds)]
        sides = [[judge_split(side, parted, seed, learner, most).predictions for seed, parted in enumerate(splits)]
                 for side in (table, others)]
        once_more = [judge_split(others, parted, AGAIN + seed, learner, most).score for seed, parted in enumerate(splits)]
        alone = [table.score(side, parted.judged) for side, parted in zip(sides[1], splits, strict=True)]
        by_chance = np.subtract(once_more, alone)
        return widened(mean_over_splits(table, splits, *sides), by_chance)
    differences = [difference(split_groups(table, seed), seed) for seed in range(seeds)]
    low, high = interval([difference(split_groups(table, seeds + draw, drawn=True), draw) for draw in range(draws)])
    return ValueAdded(float(np.nanmean(differences)), low, high)


def widened(estimate: Estimate, by_chance: np.ndarray) -> ValueAdded:
    """An estimate over splits whose interval holds too what chance alone makes of the difference in each of them."""
    if estimate.low is None or estimate.high is None:
        return ValueAdded(estimate.value, None, None)
    reach = float(stats.t.ppf(0.975, len(by_chance)) * np.sqrt(np.mean(by_chance ** 2) / len(by_chance)))
    return ValueAdded(estimate.value, estimate.value - float(np.hypot(estimate.value - estimate.low, reach)),
                      estimate.value + float(np.hypot(estimate.high - estimate.value, reach)))


def without(table: TrainingTable, what: Literal["condition", "dataset"], name: str, seed: int) -> JudgedSplit:
    """Learned without the rows of one condition or dataset, judged as ever; of a dataset, on that one alone."""
    parted, of_it = split_groups(table, seed), getattr(table, what) == name
    judged = parted.judged * of_it if what == "dataset" else parted.judged
    return judge_split(table, Split(parted.learned * ~of_it, judged), seed)


def general(tables: Sequence[TrainingTable], seeds: int) -> dict[str, float]:
    """One linear combination for all tasks, each of the same weight in learning: its score on each."""
    found: dict[str, list[float]] = {table.task: [] for table in tables}
    for seed in range(seeds):
        parted = [split_groups(table, seed) for table in tables]
        gram = sum((scaled(table, split.learned)[0] for table, split in zip(tables, parted, strict=True)),
                   np.zeros((len(tables[0].metrics), len(tables[0].metrics))))
        right = sum((scaled(table, split.learned)[1] for table, split in zip(tables, parted, strict=True)),
                    np.zeros(len(tables[0].metrics)))
        beta = np.linalg.lstsq(gram, right, rcond=1e-10)[0]
        for table, split in zip(tables, parted, strict=True):
            found[table.task].append(table.score(np.where(split.judged > 0, table.answers @ beta, np.nan), split.judged))
    return {task: float(np.nanmean(scores)) for task, scores in found.items()}


def scaled(table: TrainingTable, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The normal equations of one task, per row."""
    weighted = table.answers * times[:, None] / times.sum()
    return weighted.T @ table.answers, weighted.T @ table.target


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    finite = [value for value in values if np.isfinite(value)]
    if len(finite) < 40:                     # too few for a tail of 2.5%
        return None, None
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)
