"""Human ordering (Yamshchikov et al. 2020): are pairs that people call alike, alike to the metric?

The paper orders whole datasets by their means, which is easy: that a set holds random pairs tells most of it.  The score is the
correlation of single pairs with people, within each dataset of parallel texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.units import Cluster, Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, Paper, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common import rank_orders
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_correlations, weighted_means
from tasks.common.sampling import batch_ranges, shuffle_items
from tasks.data.loading import load_dataset
from tasks.text.base import (
    CONTEXT_MEASURES,
    TextTask,
    blend_failures,
    cluster_count,
    document_range,
    score_in_mixed_order,
    split_strata,
)

FEWEST_PAIRS = 3
PARALLEL, RANDOM = "parallel", "random"

YAMSHCHIKOV_2020 = Paper(
    "yamshchikov2020style", ("Yamshchikov, Ivan P.", "Shibaev, Viacheslav", "Khlebnikov, Nikolay", "Tikhonov, Alexey"),
    "Style-transfer and Paraphrase: Looking for a Sensible Semantic Similarity Metric", "Proceedings of the AAAI Conference on "
    "Artificial Intelligence", 2021, "https://arxiv.org/abs/2004.05001")


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    pairs: Annotated[int, Field(ge=FEWEST_PAIRS, le=100_000)]       # at most, of a group of a dataset
    batch: Annotated[int, Field(ge=1, le=5_000)]
    together: Annotated[int, Field(ge=1, le=100)] = 5               # so many pairs are drawn again as one


@dataclass(frozen=True)
class Pair:
    a: str
    b: str
    score: float                            # what people think, the mean
    ratings: tuple[float, ...]              # of each of them; nothing where only the mean is known


@dataclass(frozen=True)
class RatedAnswers:
    """The raw answers for the pairs of a batch, beside what people say."""

    places: tuple[int, ...]
    answers: tuple[float, ...]
    human: tuple[float, ...]
    ratings: tuple[tuple[float, ...], ...]
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class HumanOrdering(TextTask[RatedAnswers]):
    """Does it call alike what people call alike?"""

    name: ClassVar[str] = "human_ordering"
    settings_type: ClassVar[type[BaseModel]] = Settings
    observation_type: ClassVar[type[Any]] = RatedAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Human ordering", short="ho", score="mean over the parallel sets of Spearman's correlation of pairs with people",
        chance=0.0, worst=-1.0, unit="pair", strata=("kind", "dataset"), observe_version=1, measure_version=1, track="text",
        paper=YAMSHCHIKOV_2020, measures={
            "spearman": "Spearman's correlation with people, pair by pair, mean over the parallel sets",
            "pearson": "Pearson's", "kendall": "Kendall's tau-b",
            "bound": "how high it can be expected to be: the root of the reliability of the mean rating, ICC(1, k)",
            "share_of_bound": "Spearman's over the bound, where single ratings are known",
            "spearman_random": "Spearman's, mean over the sets of random pairs: there is hardly anything to be seen in them",
            "pearson_of_means": "Pearson's correlation of the sets' means, signed",
            "spearman_of_order": "of the two orders of sets",
            "coinciding_ranks": "sets of the same rank in both orders",
            "swaps": "half the footrule of the two orders",
            "variability": "range of the random sets' means over that of all",
            "separates_random": "1 where every random set is at most as alike as every parallel one",
            **CONTEXT_MEASURES,
        })

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.datasets)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name in settings.datasets:
            for (kind, group), count in sizes(name).items():
                count = min(count, settings.pairs)
                if count < FEWEST_PAIRS:
                    raise TouchstoneError(f'The set "{group}" of "{name}" has {count} pairs; an order needs {FEWEST_PAIRS}.')
                for start, stop in batch_ranges(count, settings.batch):
                    yield self.unit(context, (kind, group), {
                        "dataset": name, "kind": kind, "group": group, "sample": context.seed, "start": start, "stop": stop,
                        "pairs": count, "together": settings.together}, (name,))

    def clusters(self, units: Sequence[Unit]) -> list[Cluster]:
        return [Cluster(unit.stratum, f"{unit.parameters['start']}, {lot}") for unit in units for lot in range(cluster_count(unit))]

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for pair in pairs_of(unit) for text in (pair.a, pair.b))

    def observe(self, unit: Unit, metric: MetricSession) -> RatedAnswers:
        p, pairs = unit.parameters, pairs_of(unit)
        whole = sets(p["dataset"], p["sample"])[p["kind"], p["group"]][:p["pairs"]]
        collection = [text for pair in whole for text in (pair.a, pair.b)]
        answers, rechecked = score_in_mixed_order(metric, [(pair.a, pair.b) for pair in pairs], collection)
        return RatedAnswers(tuple(range(p["start"], p["stop"])), answers, tuple(pair.score for pair in pairs),
                            tuple(pair.ratings for pair in pairs), ScoreScale.from_header(metric.entry.header), rechecked)

    def measure(self, unit: Unit, observation: RatedAnswers) -> Measures:
        values = {name: None if not np.isfinite(value) else float(value)
                  for name, (value,) in correlations(observation, np.ones((1, len(observation.places)))).items()}
        values |= context_measures(observation.rechecked, np.array(observation.answers))
        return Measures(values["spearman"], values, context_marks(observation.rechecked))

    def answers(self, observation: RatedAnswers) -> np.ndarray:
        """The places of the unit's pairs, from 0 for the least alike to 1."""
        ranks = stats.rankdata(observation.scale.as_similarity(np.array(observation.answers)))
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
                by_set[stratum.key] = correlations(merged, weights)
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
        return {"score": np.mean(ranked, axis=0), **values, **dataset_measures(means)}


def correlations(observation: RatedAnswers, times: np.ndarray) -> dict[str, np.ndarray]:
    """Of one set, under each row of how often each pair counts; ranks, Kendall's tau and the bound are those of all pairs."""
    similarity, human = observation.scale.as_similarity(np.array(observation.answers)), np.array(observation.human)
    values = {"spearman": weighted_correlations(stats.rankdata(similarity), stats.rankdata(human), times),
              "pearson": weighted_correlations(similarity, human, times)}
    once = np.full(len(times), np.nan)
    constant = len(similarity) < FEWEST_PAIRS or np.ptp(similarity) == 0 or np.ptp(human) == 0
    values["kendall"] = only_full_sample(once, np.nan if constant else float(stats.kendalltau(similarity, human).statistic))
    if all(len(ratings) > 1 for ratings in observation.ratings):
        upper_bound = rank_orders.bound(np.array(observation.ratings))
        if upper_bound is not None:
            values["bound"] = only_full_sample(once, upper_bound)
            values["share_of_bound"] = values["spearman"] / upper_bound
    return values


def only_full_sample(empty: np.ndarray, value: float) -> np.ndarray:
    """A value that is not drawn again: known for what was seen, under no other counts."""
    column = empty.copy()
    column[0] = value
    return column


def dataset_measures(means: Mapping[tuple[str, ...], tuple[np.ndarray, float]]) -> dict[str, np.ndarray]:
    """The paper's measures of whole sets, as they were seen; nothing of fewer than three."""
    if len(means) < FEWEST_PAIRS:
        return {}
    once = np.full(len(next(iter(means.values()))[0]), np.nan)
    metric, human = [drawn[0] for drawn, _ in means.values()], [mean for _, mean in means.values()]
    random = [kind == RANDOM for kind, _ in means]
    metric_ranks, human_ranks = rank_orders.ranks(metric), rank_orders.ranks(human)
    values: dict[str, float | None] = {
        "pearson_of_means": rank_orders.pearson_of_means(metric, human), "spearman_of_order": rank_orders.spearman_of_order(metric_ranks, human_ranks),
        "coinciding_ranks": rank_orders.coinciding_ranks(metric_ranks, human_ranks), "swaps": rank_orders.swaps(metric_ranks, human_ranks)}
    if any(random) and not all(random):
        values |= {"variability": rank_orders.variability(metric, random),
                   "separates_random": float(rank_orders.separates(metric, random, [not is_random for is_random in random]))}
    return {name: only_full_sample(once, value) for name, value in values.items() if value is not None}


# ---- which pairs -----------------------------------------------------------------------------------------------------------

@lru_cache(maxsize=8)
def read_pairs(name: str) -> Mapping[tuple[str, str], tuple[Pair, ...]]:
    """The rated pairs of a dataset, by kind and group; a dataset without groups is one, under its own name."""
    loaded = load_dataset(name)
    rows = loaded.rows
    if loaded.dataset.kind != "pairs" or "score" not in rows.columns:
        raise TouchstoneError(f'The dataset "{name}" has no pairs that people rated; human ordering needs them.')
    rows = rows[rows.score.notna()]
    groups = rows["group"].astype(str) if "group" in rows.columns else [name] * len(rows)
    kinds = [RANDOM if is_random else PARALLEL for is_random in rows["random"]] if "random" in rows.columns else [PARALLEL] * len(rows)
    ratings = [tuple(map(float, row)) for row in rows["ratings"]] if "ratings" in rows.columns else [()] * len(rows)
    pairs_by_group: dict[tuple[str, str], list[Pair]] = {}
    for kind, group, a, b, score, each in zip(kinds, groups, rows.text_a, rows.text_b, rows.score, ratings, strict=True):
        pairs_by_group.setdefault((kind, group), []).append(Pair(str(a), str(b), float(score), each))
    return {key: tuple(pairs) for key, pairs in pairs_by_group.items()}


def sizes(name: str) -> dict[tuple[str, str], int]:
    return {key: len(pairs) for key, pairs in read_pairs(name).items()}


@lru_cache(maxsize=8)
def sets(name: str, seed: int) -> Mapping[tuple[str, str], tuple[Pair, ...]]:
    """The same, each set in an order that the seed decides."""
    return {(kind, group): shuffle_items(pairs, f"{name}, {kind}, {group}", seed) for (kind, group), pairs in read_pairs(name).items()}


def pairs_of(unit: Unit) -> tuple[Pair, ...]:
    p = unit.parameters
    return sets(p["dataset"], p["sample"])[p["kind"], p["group"]][p["start"]:p["stop"]]
