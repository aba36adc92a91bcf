"""Alignment (USMB): is the summary that people prefer the one that is closer to the text?"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy import stats

from harness.base.units import Cluster, Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_correlations, weighted_means
from tasks.common.sampling import ASPECTS, batch_ranges, sample_compared, sample_rated
from tasks.text.base import CONTEXT_MEASURES, USMB, USMB_MEANING, TextTask, document_range, score_in_mixed_order

AXIS, COMPARISONS = "axis", "comparisons"
NEAR_LENGTH = 0.1                           # lengths in words that differ by at most this share of the longer
RATINGS = ("accuracy", "precision", "recall", "f1", "accuracy_at_near_length")


Documents = Annotated[int, Field(ge=2, le=100_000)]         # at most, of a dataset


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    axis: Annotated[tuple[tuple[str, Documents], ...], Field(min_length=1)]             # rated summaries
    comparisons: Annotated[tuple[tuple[str, Documents], ...], Field(min_length=1)]      # choices between two
    batch: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class AlignmentAnswers:
    """The raw answers for texts and their summaries, beside what people say of these."""

    places: tuple[int, ...]                 # of the document of each summary, or pair of summaries, in its dataset's order
    first: tuple[float, ...]                # the answers for the summaries, or for the first of each pair
    second: tuple[float, ...]               # for the second; nothing of rated summaries
    ratings: dict[str, tuple[float, ...]]   # by aspect; nothing of pairs
    choices: tuple[int, ...]                # 1: the second was chosen; nothing of rated summaries
    words: tuple[tuple[int, int], ...]      # the lengths of both
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Alignment(TextTask[AlignmentAnswers]):
    """Does it agree with people about summaries?"""

    name: ClassVar[str] = "alignment"
    settings_type: ClassVar[type[BaseModel]] = Settings
    observation_type: ClassVar[type[Any]] = AlignmentAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Alignment", short="ali", score="mean of 0.5(1 + r) with the overall ratings and the accuracy of choices",
        chance=0.5, worst=0.0, unit="source document with all its summaries", strata=("kind", "dataset"), observe_version=1,
        measure_version=1, track="text", measures={
            USMB: USMB_MEANING,
            "axis": "0.5(1 + r), r Pearson's correlation with the overall rating, as the published column has it",
            **{f"pearson_{aspect}": f"Pearson's correlation with people's ratings: {aspect}" for aspect in ASPECTS},
            **{f"spearman_{aspect}": f"Spearman's: {aspect}" for aspect in ASPECTS},
            "accuracy": "share of choices agreed with, a tie counts one half",
            "precision": "of the choices of the second summary, a tie counts one half",
            "recall": "likewise",
            "f1": "harmonic mean of the two",
            "accuracy_at_near_length": "accuracy where both summaries are of nearly the same length",
            **CONTEXT_MEASURES,
        })

    def datasets(self, settings: Settings) -> set[str]:
        return {name for name, _ in (*settings.axis, *settings.comparisons)}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        sets = [*((AXIS, *one) for one in settings.axis), *((COMPARISONS, *one) for one in settings.comparisons)]
        for kind, name, count in sets:
            for start, stop in batch_ranges(count, settings.batch):
                yield self.unit(context, (kind, name), {"kind": kind, "dataset": name, "sample": context.seed, "start": start,
                                                        "stop": stop, "documents": count}, (name,))

    def clusters(self, units: Sequence[Unit]) -> list[Cluster]:
        return [Cluster(unit.stratum, str(index)) for unit in units for index in document_range(unit)]

    def texts(self, unit: Unit) -> Iterable[str]:
        return {text for _, a, b in pairs_to_score(unit) for text in (a, b)} | set(fit_texts(unit))

    def observe(self, unit: Unit, metric: MetricSession) -> AlignmentAnswers:
        questions = pairs_to_score(unit)
        answers, rechecked = score_in_mixed_order(metric, [(a, b) for _, a, b in questions], fit_texts(unit))
        scale = ScoreScale.from_header(metric.entry.header)
        p = unit.parameters
        places = range(p["start"], p["stop"])
        if p["kind"] == AXIS:
            found = sample_rated(p["dataset"], p["sample"])[p["start"]:p["stop"]]
            ratings = {aspect: tuple(value for one in found for value in one.ratings[aspect]) for aspect in found[0].ratings} \
                if found else {}
            words = tuple((len(b.split()), 0) for _, _, b in questions)
            return AlignmentAnswers(tuple(place for place, _, _ in questions), answers, (), ratings, (), words, scale, rechecked)
        of_pairs = [(place, one) for place, one in zip(places, sample_compared(p["dataset"], p["sample"])[p["start"]:p["stop"]],
                                                       strict=False)]
        words = tuple((len(a.split()), len(b.split())) for _, one in of_pairs for a, b in one.pairs)
        return AlignmentAnswers(tuple(place for place, one in of_pairs for _ in one.pairs), answers[::2], answers[1::2], {},
                                tuple(choice for _, one in of_pairs for choice in one.choices), words, scale, rechecked)

    def measure(self, unit: Unit, observation: AlignmentAnswers) -> Measures:
        ones = np.ones((1, len(observation.places)))
        found = {name: value for name, (value,) in weighted_measures(observation, ones).items()} if observation.places else {}
        values: dict[str, float | None] = {name: float(value) if np.isfinite(value) else None for name, value in found.items()}
        score = values.get("axis" if unit.parameters["kind"] == AXIS else "accuracy")
        values |= context_measures(observation.rechecked, np.array([*observation.first, *observation.second]))
        return Measures(score, values, context_marks(observation.rechecked))

    def replicates(self, units: Sequence[Unit], seen: Sequence[AlignmentAnswers | None], counts: np.ndarray) -> Mapping[str, np.ndarray]:
        columns = np.cumsum([0, *(len(document_range(unit)) for unit in units)])
        by_dataset: dict[str, dict[str, np.ndarray]] = {}
        parts: dict[str, list[np.ndarray]] = {AXIS: [], COMPARISONS: []}
        for kind, name in dict.fromkeys(unit.stratum for unit in units):
            mine = [place for place, unit in enumerate(units) if unit.stratum == (kind, name)]
            whole = np.concatenate([counts[:, columns[i]:columns[i + 1]] for i in mine], axis=1).sum(axis=1)
            lost = sum((counts[:, columns[i]:columns[i + 1]].sum(axis=1) for i in mine if seen[i] is None), np.zeros(len(counts)))
            share = np.divide(lost, whole, out=np.zeros(len(counts)), where=whole > 0)
            told = [(i, one) for i in mine if (one := seen[i]) is not None and one.places]
            found: dict[str, np.ndarray] = {}
            if told:
                where = np.concatenate([columns[i] + np.array(one.places) - units[i].parameters["start"] for i, one in told])
                found = weighted_measures(merge_observations([one for _, one in told]), counts[:, where])
            value = found.get("axis" if kind == AXIS else "accuracy", np.full(len(counts), np.nan))
            value = np.where(np.isfinite(value), value, self.info.chance)
            parts[kind].append((1 - share) * value + share * self.info.worst)
            by_dataset[name] = found
        score = np.mean([np.mean(values, axis=0) for values in parts.values() if values], axis=0)
        names = dict.fromkeys(name for found in by_dataset.values() for name in found)
        values = {name: mean_of_arrays(found[name] for found in by_dataset.values() if name in found) for name in names}
        detail = {f"{name}: {dataset}": found[name] for dataset, found in by_dataset.items() for name in ("axis", "accuracy")
                  if name in found and len(by_dataset) > 2}
        return {"score": score, USMB: score, **values, **detail}


def pairs_to_score(unit: Unit) -> list[tuple[int, str, str]]:
    """(Place of the document, its text, a summary), of pairs the first and the second in turn."""
    p = unit.parameters
    if p["kind"] == AXIS:
        texts = sample_rated(p["dataset"], p["sample"])
        return [(index, texts[index].text, summary) for index in range(p["start"], min(p["stop"], len(texts)))
                for summary in texts[index].summaries]
    pairs = sample_compared(p["dataset"], p["sample"])
    return [(index, pairs[index].text, summary) for index in range(p["start"], min(p["stop"], len(pairs)))
            for both in pairs[index].pairs for summary in both]


def fit_texts(unit: Unit) -> list[str]:
    """What a metric is fitted on: the texts of all units of the dataset."""
    p = unit.parameters
    documents: Sequence[Any] = (sample_rated if p["kind"] == AXIS else sample_compared)(p["dataset"], p["sample"])
    return [document.text for document in documents[:p["documents"]]]


def merge_observations(observations: Sequence[AlignmentAnswers]) -> AlignmentAnswers:
    """The answers of several units of one dataset as one."""
    aspects = observations[0].ratings

    def all_of(name: str) -> tuple[Any, ...]:
        return tuple(itertools.chain.from_iterable(getattr(observation, name) for observation in observations))
    return AlignmentAnswers(all_of("places"), all_of("first"), all_of("second"),
                            {aspect: tuple(itertools.chain.from_iterable(one.ratings[aspect] for one in observations)) for aspect in aspects},
                            all_of("choices"), all_of("words"), observations[0].scale, ())


def weighted_measures(observation: AlignmentAnswers, times: np.ndarray) -> dict[str, np.ndarray]:
    """Every measure under each row of how often each summary, or pair, counts; Spearman's ranks are those of all of them."""
    first = observation.scale.as_similarity(np.array(observation.first))
    if observation.ratings:
        values = {}
        for aspect, ratings in observation.ratings.items():
            values[f"pearson_{aspect}"] = weighted_correlations(first, np.array(ratings), times)
            values[f"spearman_{aspect}"] = weighted_correlations(stats.rankdata(first), stats.rankdata(ratings), times)
        return {"axis": (1 + values["pearson_overall"]) / 2, **values}
    second = observation.scale.as_similarity(np.array(observation.second))
    guessed = np.where(first == second, 0.5, (second > first).astype(float))            # that the second was chosen
    chosen = np.array(observation.choices, dtype=float)
    agreed = np.where(chosen == 1, guessed, 1 - guessed)
    lengths = np.array(observation.words, dtype=float)
    near = np.abs(lengths[:, 0] - lengths[:, 1]) <= NEAR_LENGTH * lengths.max(axis=1)
    precision = mean_under_weights(chosen, times * guessed)
    recall = mean_under_weights(guessed, times * chosen)
    both = precision + recall
    return {"accuracy": weighted_means(agreed, times), "precision": precision, "recall": recall,
            "f1": np.divide(2 * precision * recall, both, out=np.full(len(times), np.nan), where=both > 0),
            "accuracy_at_near_length": weighted_means(np.where(near, agreed, np.nan), times)}


def mean_under_weights(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    whole = weights.sum(axis=1)
    return np.asarray(np.divide(weights @ values, whole, out=np.full(len(weights), np.nan), where=whole > 0))
