"""Alignment (USMB): is the summary that people prefer more similar to the document?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_correlations, weighted_means
from tasks.common.sampling import ASPECTS, batch_ranges, sample_compared, sample_rated
from tasks.text.base import (
    CONTEXT_BOUNDS,
    CONTEXT_MEASURES,
    USMB,
    USMB_MEANING,
    DocumentTask,
    Stratum,
    blend_failures,
    cluster_count,
    score_in_mixed_order,
    split_strata,
    usmb_presentation,
)

AXIS, COMPARISONS = "axis", "comparisons"
RANKED = {AXIS: "axis", COMPARISONS: "accuracy"}          # the ranked measure of each kind
NEAR_LENGTH = 0.1                           # relative difference of two lengths in words that counts as near

Documents = Annotated[int, Field(ge=2, le=100_000)]         # maximal number, per dataset


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    axis: Annotated[tuple[tuple[str, Documents], ...], Field(min_length=1)]               # rated summaries
    comparisons: Annotated[tuple[tuple[str, Documents], ...], Field(min_length=1)]      # choices between two summaries
    batch: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class AlignmentAnswers:
    """The raw answers for documents and their summaries, with the judgements of people."""

    places: tuple[int, ...]                 # index of the document of each summary, or pair of summaries
    first: tuple[float, ...]                # answers for the summaries, or for the first of each pair
    second: tuple[float, ...]               # for the second; empty for rated summaries
    ratings: dict[str, tuple[float, ...]]   # by aspect; empty for pairs
    choices: tuple[int, ...]                # 1: the second was chosen; empty for rated summaries
    words: tuple[tuple[int, int], ...]      # lengths in words of both summaries
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Alignment(DocumentTask[AlignmentAnswers]):
    """Does the metric agree with people about summaries?"""

    name: ClassVar[str] = "alignment"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = AlignmentAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Alignment", short="ali", score="mean of 0.5(1 + r) with the overall ratings and the accuracy of choices",
        chance=0.5, worst=0.0, unit="source document with all its summaries", strata=("kind", "dataset"), observe_version=1,
        measure_version=1, track="text", measures={
            USMB: USMB_MEANING,
            "axis": "0.5(1 + r), r Pearson's correlation with the overall rating, as in the published column",
            **{f"pearson_{aspect}": f"Pearson's correlation with the ratings of people: {aspect}" for aspect in ASPECTS},
            **{f"spearman_{aspect}": f"Spearman's correlation with the ratings of people: {aspect}" for aspect in ASPECTS},
            "accuracy": "share of the choices of people that the metric makes too; a tie counts one half",
            "precision": "precision for the choice of the second summary; a tie counts one half",
            "recall": "recall for the choice of the second summary; a tie counts one half",
            "f1": "harmonic mean of precision and recall",
            "accuracy_at_near_length": "accuracy for pairs of summaries of nearly equal length",
            "balanced_accuracy": "mean accuracy where the preferred summary is the longer one and where it is the shorter one",
            **CONTEXT_MEASURES,
        },
        bounds=CONTEXT_BOUNDS, axis_measures=(USMB,),
        refused="a baseline that compares only lengths scores .449 above chance (release 2026.2)",
        presentation=usmb_presentation(
            "an article and two summaries; the summary that people prefer should be more similar to the article."))

    def datasets(self, settings: Settings) -> set[str]:
        return {name for name, _ in (*settings.axis, *settings.comparisons)}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for kind, (name, count) in (*((AXIS, dataset) for dataset in settings.axis),
                                    *((COMPARISONS, dataset) for dataset in settings.comparisons)):
            for start, stop in batch_ranges(count, settings.batch):
                yield self.unit(context, (kind, name), {"kind": kind, "dataset": name, "sample": context.seed, "start": start,
                                                        "stop": stop, "documents": count}, (name,))

    def texts(self, unit: Unit) -> Iterable[str]:
        return {text for _, a, b in pairs_to_score(unit) for text in (a, b)} | set(fit_texts(unit))

    def observe(self, unit: Unit, metric: MetricSession) -> AlignmentAnswers:
        questions = pairs_to_score(unit)
        answers, rechecked = score_in_mixed_order(metric, [(text, summary) for _, text, summary in questions], fit_texts(unit))
        scale, documents = ScoreScale.from_header(metric.entry.header), documents_of(unit)
        rows, lengths = [index for index, _, _ in questions], [len(summary.split()) for _, _, summary in questions]
        if unit.parameters["kind"] == AXIS:
            aspects = documents[0].ratings if documents else {}
            ratings = {aspect: tuple(value for document in documents for value in document.ratings[aspect]) for aspect in aspects}
            words = tuple((length, 0) for length in lengths)
            return AlignmentAnswers(tuple(rows), answers, (), ratings, (), words, scale, rechecked)
        choices = tuple(choice for document in documents for choice in document.choices)
        return AlignmentAnswers(tuple(rows[::2]), answers[::2], answers[1::2], {}, choices,
                                tuple(zip(lengths[::2], lengths[1::2], strict=True)), scale, rechecked)

    def measure(self, unit: Unit, observation: AlignmentAnswers) -> Measures:
        once = np.ones((1, len(observation.places)))
        measures = weighted_measures(observation, once) if observation.places else {}
        values: dict[str, float | None] = {name: float(value) if np.isfinite(value) else None
                                           for name, (value,) in measures.items()}
        score = values.get(RANKED[unit.parameters["kind"]])
        values |= context_measures(observation.rechecked, np.array([*observation.first, *observation.second]))
        return Measures(score, values, context_marks(observation.rechecked))

    def replicates(self, units: Sequence[Unit], observations: Sequence[AlignmentAnswers | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        by_dataset: dict[str, dict[str, np.ndarray]] = {}
        scores: dict[str, list[np.ndarray]] = {}
        for stratum in split_strata(units, observations):
            kind, name = stratum.key
            merged = stratum.merge_answers()
            measures = {} if merged is None else weighted_measures(merged, stratum.counts_of_answers(counts))
            score = measures.get(RANKED[kind], np.full(len(counts), np.nan))
            share = failed_share(stratum, counts)
            scores.setdefault(kind, []).append(blend_failures(score, share, self.info.chance, self.info.worst))
            by_dataset[name] = measures
        score = np.mean([np.mean(values, axis=0) for values in scores.values()], axis=0)
        names = dict.fromkeys(name for measures in by_dataset.values() for name in measures)
        values = {name: mean_of_arrays(measures[name] for measures in by_dataset.values() if name in measures) for name in names}
        detail = {f"{name}: {dataset}": measures[name] for dataset, measures in by_dataset.items() for name in RANKED.values()
                  if name in measures and len(by_dataset) > 2}
        return {"score": score, USMB: score, **values, **detail}


def failed_share(stratum: Stratum[AlignmentAnswers], counts: np.ndarray) -> np.ndarray:
    """Return the share of a stratum's documents in failed units, under each row of counts."""
    def count_documents(units: Iterable[tuple[Unit, int]]) -> np.ndarray:
        return sum((counts[:, first:first + cluster_count(unit)].sum(axis=1) for unit, first in units), np.zeros(len(counts)))

    failed = count_documents((unit, first) for unit, observation, first in stratum.members if observation is None)
    total = count_documents((unit, first) for unit, _, first in stratum.members)
    return np.asarray(np.divide(failed, total, out=np.zeros(len(counts)), where=total > 0))


def sample_of(unit: Unit) -> tuple[Any, ...]:
    """Return the documents of a unit's dataset, rated or compared, in the order of its sample."""
    sample: Any = sample_rated if unit.parameters["kind"] == AXIS else sample_compared
    return tuple(sample(unit.parameters["dataset"], unit.parameters["sample"]))


def documents_of(unit: Unit) -> tuple[Any, ...]:
    """Return the documents of a unit; fewer than its range if the dataset is smaller."""
    return sample_of(unit)[unit.parameters["start"]:unit.parameters["stop"]]


def pairs_to_score(unit: Unit) -> list[tuple[int, str, str]]:
    """Return (index of the document, its text, a summary) of each pair; compared summaries follow each other."""
    return [(index, document.text, summary) for index, document in enumerate(documents_of(unit), unit.parameters["start"])
            for summary in document.summaries]


def fit_texts(unit: Unit) -> list[str]:
    """Return the texts that a metric is fitted on: those of all units of the dataset."""
    return [document.text for document in sample_of(unit)[:unit.parameters["documents"]]]


def weighted_measures(observation: AlignmentAnswers, times: np.ndarray) -> dict[str, np.ndarray]:
    """Return every measure under each row of counts of summaries, or pairs; Spearman's ranks are those of all of them."""
    first = observation.scale.as_similarity(np.array(observation.first))
    if observation.ratings:
        values = {}
        for aspect, ratings in observation.ratings.items():
            values[f"pearson_{aspect}"] = weighted_correlations(first, np.array(ratings), times)
            ranks = scipy.stats.rankdata([first, np.array(ratings)], axis=1)
            values[f"spearman_{aspect}"] = weighted_correlations(ranks[0], ranks[1], times)
        return {"axis": (1 + values["pearson_overall"]) / 2, **values}
    second = observation.scale.as_similarity(np.array(observation.second))
    guessed = np.where(first == second, 0.5, (second > first).astype(float))            # whether the second is preferred
    chosen = np.array(observation.choices, dtype=float)
    lengths = np.array(observation.words, dtype=float)
    near = np.abs(lengths[:, 0] - lengths[:, 1]) <= NEAR_LENGTH * lengths.max(axis=1)
    agreed = np.where(chosen == 1, guessed, 1 - guessed)
    longer = np.where(chosen == 1, lengths[:, 1] > lengths[:, 0], lengths[:, 0] > lengths[:, 1])
    shorter = np.where(chosen == 1, lengths[:, 1] < lengths[:, 0], lengths[:, 0] < lengths[:, 1])
    halves = [weighted_means(np.where(half, agreed, np.nan), times) for half in (longer, shorter)]
    return {**choice_measures(guessed, chosen, times),
            "accuracy_at_near_length": weighted_means(np.where(near, agreed, np.nan), times),
            "balanced_accuracy": np.mean(halves, axis=0)}


def choice_measures(guessed: np.ndarray, chosen: np.ndarray, times: np.ndarray) -> dict[str, np.ndarray]:
    """Return the measures of guessed choices of the second summary (a tie is 0.5) under each row of counts of pairs."""
    agreed = np.where(chosen == 1, guessed, 1 - guessed)
    precision = weighted_means(chosen, times * guessed)
    recall = weighted_means(guessed, times * chosen)
    total = precision + recall
    return {"accuracy": weighted_means(agreed, times), "precision": precision, "recall": recall,
            "f1": np.divide(2 * precision * recall, total, out=np.full(len(times), np.nan), where=total > 0)}
