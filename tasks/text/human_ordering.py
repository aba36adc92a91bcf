"""Human ordering (Yamshchikov et al. 2020): does the metric order pairs of texts by similarity as people do?

The paper orders datasets by their means, which is easy, because some consist of random pairs. The score is the correlation of
single pairs with the ratings of people, within each dataset of parallel texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.files import read_entries, write_entry
from harness.base.paths import cache_folder
from harness.base.units import Cluster, Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, Paper, Presentation, Role, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common import rank_orders
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_correlations, weighted_means
from tasks.common.sampling import batch_ranges, shuffle_items
from tasks.data.loading import dataset_fingerprint, load_dataset
from tasks.text.base import (
    CONTEXT_BOUNDS,
    CONTEXT_MEASURES,
    TextTask,
    blend_failures,
    cluster_count,
    document_range,
    score_in_mixed_order,
    split_strata,
)

MIN_PAIRS = 3
TENTHS, FIFTHS = 10, 5                      # parts of the pairs by word length and by rating, for `balance_pairs`
PARALLEL, RANDOM = "parallel", "random"

YAMSHCHIKOV_2020 = Paper(
    "yamshchikov2020style", ("Yamshchikov, Ivan P.", "Shibaev, Viacheslav", "Khlebnikov, Nikolay", "Tikhonov, Alexey"),
    "Style-transfer and Paraphrase: Looking for a Sensible Semantic Similarity Metric", "Proceedings of the AAAI Conference on "
    "Artificial Intelligence", 2021, "https://arxiv.org/abs/2004.05001")


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    pairs: Annotated[int, Field(ge=MIN_PAIRS, le=100_000)]       # maximal number, per group of a dataset
    batch: Annotated[int, Field(ge=1, le=5_000)]
    together: Annotated[int, Field(ge=1, le=100)] = 5               # number of pairs per cluster
    balanced: bool = False                                          # see `balance_pairs`


@dataclass(frozen=True)
class Pair:
    """Two texts with the ratings of their similarity."""

    a: str
    b: str
    score: float                            # mean rating
    ratings: tuple[float, ...]              # single ratings; empty if only the mean is known


@dataclass(frozen=True)
class RatedAnswers:
    """The raw answers for the pairs of a batch, with the ratings of people."""

    places: tuple[int, ...]
    answers: tuple[float, ...]
    human: tuple[float, ...]
    ratings: tuple[tuple[float, ...], ...]
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class HumanOrdering(TextTask[RatedAnswers]):
    """Does the metric order pairs of texts by similarity as people do?"""

    name: ClassVar[str] = "human_ordering"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = RatedAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Human ordering", short="ho",
        score="mean over the parallel sets of Spearman's correlation with the ratings of pairs", chance=0.0, worst=-1.0,
        unit="pair", strata=("kind", "dataset"), observe_version=1, measure_version=1, track="text",
        paper=YAMSHCHIKOV_2020, measures={
            "spearman": "Spearman's correlation with the ratings of pairs, mean over the parallel sets",
            "pearson": "Pearson's correlation", "kendall": "Kendall's tau-b",
            "bound": "largest correlation to be expected: the root of the reliability of the mean rating, ICC(1, k)",
            "share_of_bound": "Spearman's correlation over the bound, if single ratings are known",
            "spearman_random": "Spearman's correlation, mean over the sets of random pairs, which differ little in similarity",
            "pearson_of_means": "Pearson's correlation of the sets' means, signed",
            "spearman_of_order": "Spearman's correlation of the two orders of sets",
            "coinciding_ranks": "number of sets with the same rank in both orders",
            "swaps": "half the Spearman footrule of the two orders",
            "variability": "range of the means of the random sets over that of all sets",
            "separates_random": "1 if no random set has a larger mean similarity than a parallel one",
            **CONTEXT_MEASURES,
        },
        bounds=CONTEXT_BOUNDS,
        presentation=Presentation(
            example="pairs of sentences that people rated from unrelated to equivalent; the metric should order them alike.",
            roles={Role.HUMAN_AGREEMENT: "spearman"}))

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.datasets)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name in settings.datasets:
            for kind, group, count in count_pairs(name, settings.pairs, settings.balanced):
                if count < MIN_PAIRS:
                    raise TouchstoneError(f'The set "{group}" of "{name}" has {count} pairs; {MIN_PAIRS} are required.')
                balanced = {"balanced": settings.pairs} if settings.balanced else {}
                for start, stop in batch_ranges(count, settings.batch):
                    yield self.unit(context, (kind, group), {
                        "dataset": name, "kind": kind, "group": group, "sample": context.seed, "start": start, "stop": stop,
                        "pairs": count, "together": settings.together, **balanced}, (name,))

    def clusters(self, units: Sequence[Unit]) -> list[Cluster]:
        return [Cluster(unit.stratum, f"{unit.parameters['start']}, {number}") for unit in units
                for number in range(cluster_count(unit))]

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for pair in pairs_of(unit) for text in (pair.a, pair.b))

    def observe(self, unit: Unit, metric: MetricSession) -> RatedAnswers:
        p, pairs = unit.parameters, pairs_of(unit)
        collection = [text for pair in sampled_pairs(unit) for text in (pair.a, pair.b)]
        answers, rechecked = score_in_mixed_order(metric, [(pair.a, pair.b) for pair in pairs], collection)
        return RatedAnswers(tuple(range(p["start"], p["stop"])), answers, tuple(pair.score for pair in pairs),
                            tuple(pair.ratings for pair in pairs), ScoreScale.from_header(metric.entry.header), rechecked)

    def measure(self, unit: Unit, observation: RatedAnswers) -> Measures:
        values = {name: None if not np.isfinite(value) else float(value)
                  for name, (value,) in measure_correlations(observation, np.ones((1, len(observation.places)))).items()}
        values |= context_measures(observation.rechecked, np.array(observation.answers))
        return Measures(values["spearman"], values, context_marks(observation.rechecked))

    def answers(self, observation: RatedAnswers) -> np.ndarray:
        """Return the ranks of the unit's pairs, from 0 for the least similar to 1."""
        ranks = scipy.stats.rankdata(observation.scale.as_similarity(np.array(observation.answers)))
        return np.asarray((ranks - 1) / max(1, len(ranks) - 1))

    def replicates(self, units: Sequence[Unit], observations: Sequence[RatedAnswers | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        by_set: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
        means: dict[tuple[str, ...], tuple[np.ndarray, float]] = {}
        scores: dict[tuple[str, ...], np.ndarray] = {}
        for stratum in split_strata(units, observations):
            failed = sum(len(document_range(unit)) for unit, observation, _ in stratum.members if observation is None)
            score = np.full(len(counts), np.nan)
            merged = stratum.merge_answers()
            if merged is not None:
                weights = stratum.counts_of_answers(counts)
                by_set[stratum.key] = measure_correlations(merged, weights)
                similarity = merged.scale.as_similarity(np.array(merged.answers))
                means[stratum.key] = (weighted_means(similarity, weights), float(np.mean(merged.human)))
                score = by_set[stratum.key]["spearman"]
            share = failed / sum(len(document_range(unit)) for unit, _, _ in stratum.members)
            scores[stratum.key] = blend_failures(score, share, self.info.chance, self.info.worst)
        ranked = [score for (kind, _), score in scores.items() if kind == PARALLEL] or list(scores.values())
        parallel = [measures for (kind, _), measures in by_set.items() if kind == PARALLEL]
        values = {name: mean_of_arrays(measures[name] for measures in parallel if name in measures)
                  for name in dict.fromkeys(name for measures in parallel for name in measures)}
        random = [measures["spearman"] for (kind, _), measures in by_set.items() if kind == RANDOM]
        values |= {"spearman_random": mean_of_arrays(random)} if random else {}
        values |= {f"spearman: {group}{' random' if kind == RANDOM else ''}": measures["spearman"]
                   for (kind, group), measures in by_set.items()}
        return {"score": np.mean(ranked, axis=0), **values, **measure_datasets(means)}


def measure_correlations(observation: RatedAnswers, times: np.ndarray) -> dict[str, np.ndarray]:
    """Return the measures of one set under each row of counts; ranks, Kendall's tau and the bound are those of all pairs."""
    similarity, human = observation.scale.as_similarity(np.array(observation.answers)), np.array(observation.human)
    values = {"spearman": weighted_correlations(scipy.stats.rankdata(similarity), scipy.stats.rankdata(human), times),
              "pearson": weighted_correlations(similarity, human, times)}
    constant = len(similarity) < MIN_PAIRS or np.ptp(similarity) == 0 or np.ptp(human) == 0
    kendall = np.nan if constant else float(scipy.stats.kendalltau(similarity, human).statistic)
    values["kendall"] = only_full_sample(len(times), kendall)
    if all(len(ratings) > 1 for ratings in observation.ratings):
        upper_bound = rank_orders.correlation_bound(np.array(observation.ratings))
        if upper_bound is not None:
            values["bound"] = only_full_sample(len(times), upper_bound)
            values["share_of_bound"] = values["spearman"] / upper_bound
    return values


def only_full_sample(length: int, value: float) -> np.ndarray:
    """Return a column with a value for the full sample and NaN for all resamples."""
    return np.array([value, *[np.nan] * (length - 1)])


def measure_datasets(means: Mapping[tuple[str, ...], tuple[np.ndarray, float]]) -> dict[str, np.ndarray]:
    """Return the paper's measures of whole datasets, or none for fewer than three datasets."""
    if len(means) < MIN_PAIRS:
        return {}
    metric, human = [float(similarity[0]) for similarity, _ in means.values()], [mean for _, mean in means.values()]
    random = [kind == RANDOM for kind, _ in means]
    metric_ranks, human_ranks = rank_orders.rank_means(metric), rank_orders.rank_means(human)
    values: dict[str, float | None] = {
        "pearson_of_means": rank_orders.correlate(metric, human),
        "spearman_of_order": rank_orders.correlate(metric_ranks, human_ranks),
        "coinciding_ranks": rank_orders.count_coinciding_ranks(metric_ranks, human_ranks),
        "swaps": rank_orders.count_swaps(metric_ranks, human_ranks)}
    if any(random) and not all(random):
        values |= {"variability": rank_orders.variability(metric, random),
                   "separates_random": float(rank_orders.separates(metric, random, np.logical_not(random).tolist()))}
    length = len(next(iter(means.values()))[0])
    return {name: only_full_sample(length, value) for name, value in values.items() if value is not None}


# ---- datasets of pairs ------------------------------------------------------------------------------------------------------

@lru_cache(maxsize=8)
def read_pairs(name: str) -> Mapping[tuple[str, str], tuple[Pair, ...]]:
    """Return the rated pairs of a dataset by kind and group; a dataset without groups is one group of the same name."""
    loaded = load_dataset(name)
    rows = loaded.rows
    if loaded.dataset.kind != "pairs" or "score" not in rows.columns:
        raise TouchstoneError(f'The dataset "{name}" has no rated pairs, which human ordering requires; choose another dataset.')
    rows = rows[rows.score.notna()]
    groups = rows["group"].astype(str) if "group" in rows.columns else [name] * len(rows)
    random = rows["random"] if "random" in rows.columns else [False] * len(rows)
    ratings = [tuple(map(float, row)) for row in rows["ratings"]] if "ratings" in rows.columns else [()] * len(rows)
    pairs_by_group: dict[tuple[str, str], list[Pair]] = {}
    for is_random, group, a, b, score, row in zip(random, groups, rows.text_a, rows.text_b, rows.score, ratings, strict=True):
        key = (RANDOM if is_random else PARALLEL, group)
        pairs_by_group.setdefault(key, []).append(Pair(str(a), str(b), float(score), row))
    return {key: tuple(pairs) for key, pairs in pairs_by_group.items()}


@lru_cache(maxsize=8)
def count_pairs(name: str, most: int, balanced: bool) -> list[tuple[str, str, int]]:
    """Return (kind, group, number of pairs) for each group of a dataset; kept in the cache, so that the dataset is read once."""
    path, key = cache_folder() / "pair_counts.json", f"{name}@{dataset_fingerprint(name)}"
    key += f", {most} balanced" if balanced else ""
    counts = read_entries(path).get(key)
    if counts is None:
        counts = [[kind, group, len(balance_pairs(pairs, most) if balanced else pairs)]
                  for (kind, group), pairs in read_pairs(name).items()]
        write_entry(path, key, counts)
    return [(kind, group, min(count, most)) for kind, group, count in counts]


@lru_cache(maxsize=8)
def sample_sets(name: str, seed: int) -> Mapping[tuple[str, str], tuple[Pair, ...]]:
    """Return the pairs by kind and group, each group in an order that depends on the seed."""
    return {(kind, group): shuffle_items(pairs, f"{name}, {kind}, {group}", seed)
            for (kind, group), pairs in read_pairs(name).items()}


def pairs_of(unit: Unit) -> tuple[Pair, ...]:
    """Return the pairs of a unit."""
    return sampled_pairs(unit)[unit.parameters["start"]:unit.parameters["stop"]]


def sampled_pairs(unit: Unit) -> tuple[Pair, ...]:
    """Return the pairs of all units with the same group of a dataset."""
    p = unit.parameters
    pairs = sample_sets(p["dataset"], p["sample"])[p["kind"], p["group"]]
    return balance_pairs(pairs, p["balanced"]) if "balanced" in p else pairs[:p["pairs"]]


@lru_cache(maxsize=16)
def balance_pairs(pairs: tuple[Pair, ...], most: int) -> tuple[Pair, ...]:
    """Return at most so many pairs, in their order, whose mean word length says nothing about their rating.

    In a dataset of several genres, for example, captions have shorter words than news and other ratings. In each tenth of the
    pairs by word length, equally many pairs of each fifth by rating are kept. How many these are does not depend on the order.
    """
    tenths = divide([mean_word_length(f"{pair.a} {pair.b}") for pair in pairs], TENTHS)
    fifths = divide([pair.score for pair in pairs], FIFTHS)
    cells = np.zeros((TENTHS, FIFTHS), dtype=int)
    np.add.at(cells, (tenths, fifths), 1)
    kept = cells.min(axis=1)
    kept = kept * min(1.0, most / max(1, FIFTHS * kept.sum()))
    left, chosen = np.repeat(kept.astype(int)[:, None], FIFTHS, axis=1), []
    for pair, tenth, fifth in zip(pairs, tenths, fifths, strict=True):
        if left[tenth, fifth]:
            left[tenth, fifth] -= 1
            chosen.append(pair)
    return tuple(chosen)


def divide(values: Sequence[float], parts: int) -> np.ndarray:
    """Return for each value in which of about equally large parts it is by its rank; equal values are in the same part."""
    return np.asarray(parts * (scipy.stats.rankdata(values) - 1) // len(values), dtype=int)


def mean_word_length(text: str) -> float:
    """Return the mean number of characters of the words of a text."""
    words = text.split()
    return sum(map(len, words)) / len(words) if words else 0.0
