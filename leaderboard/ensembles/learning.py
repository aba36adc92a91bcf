"""Learn ensembles of metrics on some documents, evaluate them on others, and measure what each metric adds.

Pure functions over arrays. A row is a question that belongs to groups (a document, a query, two texts); a group is used either
for learning or for evaluation. USMB splits rows instead, so its forests have seen the texts that they are evaluated on.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy

from leaderboard.scoring.estimates import Estimate, stratified_mean

HELD_OUT = 0.2                              # share of the groups that is held out
MOST_PAIRS = 20_000                         # pairs that a forest is trained on
SMALL = 1_000                               # pairs for which threads take longer than they save
AGAIN = 1_000                               # added to the seed of a forest that is trained once more
LEAVES = 10                                 # `min_samples_leaf` of the forest beside scikit-learn's defaults

Learner = Literal["linear", "intercept", "forest", "leaves"]


class SplitScores(NamedTuple):
    """Scores of a choice, a query or a sample of texts, whose mean over strata is a table's score."""

    values: np.ndarray
    times: np.ndarray                       # weights
    cluster: np.ndarray                     # cluster numbers, for resampling
    stratum: np.ndarray                     # numbers


@dataclass(frozen=True)
class TrainingTable:
    """The questions of one task as rows, with the answers of some metrics and the targets."""

    task: str
    metrics: tuple[str, ...]
    answers: np.ndarray                     # rows x metrics, similarities in [0, 1]
    target: np.ndarray                      # rows
    groups: np.ndarray                      # rows x 1 or 2: numbers of groups
    condition: np.ndarray                   # labels of each row, by name, that can be left out
    dataset: np.ndarray                     # likewise
    learner: Learner
    score: Callable[[np.ndarray, np.ndarray], float]        # function of predictions and of how often each row counts
    middle: float = 0.0                     # subtracted from a forest's probabilities if 0 means undecided
    each: Callable[[np.ndarray, np.ndarray], SplitScores] | None = None        # if the score is a mean: the terms of that mean
    published: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = field(default_factory=dict)      # USMB's measures

    @cached_property
    def names(self) -> np.ndarray:
        """The numbers of all groups."""
        return np.unique(self.groups)

    def of(self, metrics: Sequence[str]) -> TrainingTable:
        """Return the same questions with the answers of some of the metrics."""
        columns = [self.metrics.index(name) for name in metrics]
        return replace(self, metrics=tuple(metrics), answers=self.answers[:, columns])

    def leaving_out(self, metric: str) -> TrainingTable:
        """Return the same questions with the answers of the other metrics."""
        return self.of([name for name in self.metrics if name != metric])


@dataclass(frozen=True)
class Split:
    """How often each row counts in learning, and how often in evaluation."""

    learned: np.ndarray
    judged: np.ndarray


@dataclass(frozen=True)
class JudgedSplit:
    """The result of one split."""

    score: float
    weights: np.ndarray                     # by metric: share of |beta|, or of the decrease in impurity
    predictions: np.ndarray                 # by row; nan where no prediction was requested


def split_groups(table: TrainingTable, seed: int, drawn: bool = False) -> Split:
    """Hold out a fifth of the groups; with `drawn`, of groups resampled with replacement."""
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


def judge_split(
    table: TrainingTable, parted: Split, seed: int = 0, learner: Learner | None = None, most: int = MOST_PAIRS
) -> JudgedSplit:
    """Learn from one part, predict the other, and score the predictions."""
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
    """Fit least squares by the normal equations."""
    x = np.column_stack([table.answers, np.ones(len(table.answers))]) if intercept else table.answers
    weighted = x.T * times
    beta = np.linalg.lstsq(weighted @ x, weighted @ table.target, rcond=1e-10)[0]
    size = np.abs(beta[:len(table.metrics)])
    return x[rows] @ beta, size / size.sum() if size.any() else size


def fit_forest(
    table: TrainingTable, times: np.ndarray, rows: np.ndarray, seed: int, leaf: int, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Predict the probability of the target by scikit-learn's random forest, trained on at most `most` pairs."""
    from sklearn.ensemble import RandomForestClassifier

    sampled = np.flatnonzero(times)
    if len(sampled) > most:
        sampled = np.random.default_rng([seed, len(sampled)]).choice(sampled, most, replace=False)
    trees = RandomForestClassifier(min_samples_leaf=leaf, random_state=seed,
                                   n_jobs=1 if len(sampled) < SMALL else len(os.sched_getaffinity(0)))
    trees.fit(table.answers[sampled], table.target[sampled] > 0, sample_weight=times[sampled])
    trees.n_jobs = 1                        # the sum over trees depends on their order
    likely: Any = trees.predict_proba(table.answers[rows])
    if len(trees.classes_) == 1:
        return np.full(len(rows), float(trees.classes_[0]) - table.middle), np.asarray(trees.feature_importances_)
    return np.asarray(likely[:, 1] - table.middle), np.asarray(trees.feature_importances_)


@dataclass(frozen=True)
class Ensemble:
    """The mean score of an ensemble over splits, with its members on the same held-out parts."""

    score: float
    low: float | None                       # 95%; None: unknown
    high: float | None
    weights: dict[str, float]
    members: dict[str, float]


def learn(table: TrainingTable, seeds: int, draws: int = 0, learner: Learner | None = None) -> Ensemble:
    """Return the score of an ensemble over `seeds` splits.

    With draws, the interval resamples groups with the splits inside; without, it covers the evaluation only.
    """
    splits = [split_groups(table, seed) for seed in range(seeds)]
    judged = [judge_split(table, split, seed, learner) for seed, split in enumerate(splits)]
    weights = np.mean([split.weights for split in judged], axis=0)
    alone = np.ascontiguousarray(table.answers.T)       # a score depends on evaluated rows only
    members = {name: float(np.nanmean([table.score(answers, split.judged) for split in splits]))
               for name, answers in zip(table.metrics, alone, strict=True)}
    if draws:
        again = [judge_split(table, split_groups(table, seeds + draw, drawn=True), draw, learner).score for draw in range(draws)]
        estimate = Estimate(float(np.nanmean([split.score for split in judged])), *interval(again), seeds)
    else:
        estimate = mean_over_splits(table, splits, [split.predictions for split in judged])
    return Ensemble(
        estimate.value, estimate.low, estimate.high, dict(zip(table.metrics, map(float, weights), strict=True)), members
    )


def mean_over_splits(table: TrainingTable, splits: Sequence[Split], predictions: Sequence[np.ndarray],
                     less: Sequence[np.ndarray] | None = None) -> Estimate:
    """Return the mean score of predictions over splits, or of its difference to other predictions.

    The interval is Student's t over clusters if the score is a mean; nothing is learned again.
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
    high = value + estimate.high - estimate.value
    return Estimate(value, value + estimate.low - estimate.value, high if less else min(high, 1.0), estimate.units)


def mean_of_strata(each: SplitScores) -> float:
    """Return the mean over strata of weighted means; nan if nothing is evaluated."""
    weight = np.bincount(each.stratum, each.times)
    whole, weighted = np.bincount(each.stratum, each.times * each.values), weight > 0
    return float(np.mean(whole[weighted] / weight[weighted])) if weighted.any() else float("nan")


@dataclass(frozen=True)
class ValueAdded:
    """What a metric adds to others: the score of the ensemble with it minus the score without it."""

    value: float
    low: float | None
    high: float | None


class Reference:
    """The ensemble that metrics are added to; it is learned once, however many metrics are compared with it."""

    def __init__(self, table: TrainingTable, seeds: int, draws: int = 0, learner: Learner | None = None,
                 most: int = MOST_PAIRS) -> None:
        self.table, self.seeds, self.draws, self.most = table, seeds, draws, most
        self.learner: Learner = "intercept" if table.learner in ("linear", "intercept") else learner or table.learner

    @cached_property
    def splits(self) -> list[Split]:
        """The splits that every ensemble is learned and evaluated on."""
        return [split_groups(self.table, seed) for seed in range(self.seeds)]

    @cached_property
    def drawn(self) -> list[Split]:
        """The splits of groups resampled with replacement."""
        return [split_groups(self.table, self.seeds + draw, drawn=True) for draw in range(self.draws)]

    def judge(self, table: TrainingTable, splits: Sequence[Split], first_seed: int = 0) -> list[JudgedSplit]:
        """Learn and evaluate an ensemble on splits."""
        return [judge_split(table, split, seed, self.learner, self.most) for seed, split in enumerate(splits, first_seed)]

    @cached_property
    def judged(self) -> list[JudgedSplit]:
        """The ensemble without a further metric on every split."""
        return self.judge(self.table, self.splits)

    @cached_property
    def drawn_scores(self) -> list[float]:
        """Its scores on the resampled splits."""
        return [judged.score for judged in self.judge(self.table, self.drawn)]

    @cached_property
    def by_chance(self) -> np.ndarray:
        """What learning with other random numbers changes in the score of each split."""
        again = self.judge(self.table, self.splits, AGAIN)
        return np.subtract([judged.score for judged in again], [judged.score for judged in self.judged])

    def fits(self, table: TrainingTable) -> bool:
        """Return whether this is the ensemble of a table's metrics on the same questions."""
        mine = self.table
        return mine.metrics == table.metrics and np.array_equal(mine.answers, table.answers) and np.array_equal(
            mine.target, table.target) and np.array_equal(mine.groups, table.groups)


def value_added(table: TrainingTable, reference: Reference) -> ValueAdded:
    """Return what a table's metrics add to those of the reference; both sides have an intercept, so that a constant adds nothing.

    With draws, the interval resamples groups with the splits inside; without, it covers the evaluation and the randomness of
    learning, estimated by learning the ensemble without the metric once more.
    """
    judged = reference.judge(table, reference.splits)
    if not reference.draws:
        sides = [[split.predictions for split in side] for side in (judged, reference.judged)]
        return widened(mean_over_splits(table, reference.splits, *sides), reference.by_chance)
    differences = np.subtract([split.score for split in judged], [split.score for split in reference.judged])
    drawn = np.subtract([split.score for split in reference.judge(table, reference.drawn)], reference.drawn_scores)
    return ValueAdded(float(np.nanmean(differences)), *interval(drawn.tolist()))


def widened(estimate: Estimate, by_chance: np.ndarray) -> ValueAdded:
    """Return an estimate whose interval also covers the randomness of learning in each split."""
    if estimate.low is None or estimate.high is None:
        return ValueAdded(estimate.value, None, None)
    reach = float(scipy.stats.t.ppf(0.975, len(by_chance)) * np.sqrt(np.mean(by_chance ** 2) / len(by_chance)))
    return ValueAdded(estimate.value, estimate.value - float(np.hypot(estimate.value - estimate.low, reach)),
                      estimate.value + float(np.hypot(estimate.high - estimate.value, reach)))


def without(table: TrainingTable, what: Literal["condition", "dataset"], name: str, seed: int) -> JudgedSplit:
    """Learn without the rows of one condition or dataset, and evaluate as before; a dataset is evaluated on its own."""
    parted, of_it = split_groups(table, seed), getattr(table, what) == name
    judged = parted.judged * of_it if what == "dataset" else parted.judged
    return judge_split(table, Split(parted.learned * ~of_it, judged), seed)


def general(tables: Sequence[TrainingTable], seeds: int) -> dict[str, float]:
    """Return the score of one linear combination on all tasks; each task has the same weight in learning."""
    found: dict[str, list[float]] = {table.task: [] for table in tables}
    for seed in range(seeds):
        parted = [split_groups(table, seed) for table in tables]
        gram = sum((normal_equations(table, split.learned)[0] for table, split in zip(tables, parted, strict=True)),
                   np.zeros((len(tables[0].metrics), len(tables[0].metrics))))
        right = sum((normal_equations(table, split.learned)[1] for table, split in zip(tables, parted, strict=True)),
                    np.zeros(len(tables[0].metrics)))
        beta = np.linalg.lstsq(gram, right, rcond=1e-10)[0]
        for table, split in zip(tables, parted, strict=True):
            found[table.task].append(table.score(np.where(split.judged > 0, table.answers @ beta, np.nan), split.judged))
    return {task: float(np.nanmean(scores)) for task, scores in found.items()}


def normal_equations(table: TrainingTable, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal equations of one task, per row."""
    weighted = table.answers * times[:, None] / times.sum()
    return weighted.T @ table.answers, weighted.T @ table.target


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the 2.5% and 97.5% quantiles of the finite values."""
    finite = [value for value in values if np.isfinite(value)]
    if len(finite) < 40:                     # too few for 2.5% quantiles
        return None, None
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)
