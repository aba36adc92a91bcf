"""Sensitivity (USMB): does the similarity fall by as much as is inserted, removed or replaced?

The published conditions depend on length alone, so a metric that compares only lengths scores close to 1. Therefore conditions
that
replace tokens, and keep the length, have the same weight in the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import AT_MOST_ONE, SHARE, Context, MeasureCurve, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer
from tasks.common.sampling import CACHED_UNITS, batch_ranges, cut_needle, sample_documents, sample_needles
from tasks.common.transformations import POSITIONS, insert_tokens, remove_tokens, replace_tokens
from tasks.text.base import (
    CONTEXT_BOUNDS,
    CONTEXT_MEASURES,
    USMB,
    USMB_MEANING,
    DocumentMeansTask,
    score_pairs,
    usmb_presentation,
)

INSERTION, REMOVAL, REPLACEMENT = "insertion", "removal", "replacement"
SIZES = {INSERTION: (0.05, 0.1, 0.25, 0.5, 1.0), REMOVAL: (0.05, 0.1, 0.25, 0.5), REPLACEMENT: (0.05, 0.1, 0.25, 0.5)}     # x


class Condition(NamedTuple):
    """A change: its kind, its size x, and its position."""

    kind: str
    size: float                             # x
    position: str

    @property
    def ideal(self) -> float:
        """The ideal similarity: 1 - x/2 for an insertion, 1 - x otherwise."""
        return 1 - self.size / 2 if self.kind == INSERTION else 1 - self.size


def condition_name(condition: Condition) -> str:
    """Return the name of a condition's measure."""
    return f"{condition.kind} {condition.size:.0%} {condition.position}"


def condition_curve(kind: str, position: str) -> MeasureCurve:
    """Return the curve of the mean similarity over the sizes of one kind of change at one position."""
    conditions = [Condition(kind, size, position) for size in SIZES[kind]]
    points = tuple((condition.size, condition_name(condition), condition.ideal) for condition in conditions)
    return MeasureCurve(f"{kind}, {position}", "share of the tokens", "similarity", points)


CONDITIONS = tuple(Condition(kind, size, position) for kind, sizes in SIZES.items() for size in sizes for position in POSITIONS)
IDEAL = np.array([condition.ideal for condition in CONDITIONS])
IS_PUBLISHED = np.array([condition.kind != REPLACEMENT for condition in CONDITIONS])     # the others keep the length


def score_sensitivity(similarity: np.ndarray, ideal: np.ndarray = IDEAL) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 - MAE over the published conditions and over replacements; the last axis of similarity is the conditions."""
    right = 1 - np.abs(similarity - ideal)
    return right[..., IS_PUBLISHED].mean(axis=-1), right[..., ~IS_PUBLISHED].mean(axis=-1)


def best_constant() -> float:
    """Return the best score of a constant similarity, which is an ideal, since the score is piecewise linear."""
    return max(float(np.mean(score_sensitivity(np.full(len(CONDITIONS), value)))) for value in np.unique(IDEAL))


def above_best_constant(constant_length: np.ndarray) -> np.ndarray:
    """Return scores on replacements relative to that of the best constant similarity: 0 is the constant, 1 is perfect."""
    ideal = IDEAL[~IS_PUBLISHED]
    best = max(1 - float(np.abs(value - ideal).mean()) for value in np.unique(ideal))
    return (constant_length - best) / (1 - best)


CHANCE = best_constant()
EDITS = "edits"


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    datasets: Annotated[tuple[str, ...], Field(min_length=2)]          # inserted tokens come from the next dataset
    documents: Annotated[int, Field(ge=2, le=10_000)]
    batch: Annotated[int, Field(ge=1, le=1000)]
    mixed: bool = True                      # all conditions in one call; false in reproductions


@dataclass(frozen=True)
class SensitivityAnswers:
    """The raw answers for documents with themselves and their changed forms."""

    places: tuple[int, ...]                 # indices of the documents
    itself: tuple[float, ...]
    answers: tuple[tuple[float, ...], ...]  # one row per document, in the order of CONDITIONS
    same: tuple[tuple[bool, ...], ...]      # whether the change is cut off by the metric
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Sensitivity(DocumentMeansTask[SensitivityAnswers]):
    """Does the similarity fall by as much as the text changes?"""

    name: ClassVar[str] = "sensitivity"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = SensitivityAnswers
    ranked_measures, usmb_measures = ("changed_length", "constant_length"), ("changed_length",)
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Sensitivity", short="sen", score="1 - mean absolute error from the ideal, mean of changed and constant length",
        chance=CHANCE, worst=0.0, unit="document", strata=("dataset",), observe_version=1, measure_version=2, track="text",
        measures={
            USMB: USMB_MEANING,
            "changed_length": "1 - mean absolute error from 1 - x/2 of insertions and 1 - x of removals, as published",
            "constant_length": "1 - mean absolute error from 1 - x of replacements by unrelated tokens",
            EDITS: "constant_length above the score of the best constant similarity",
            INSERTION: "1 - mean absolute error of insertions", REMOVAL: "1 - mean absolute error of removals",
            "quadratic": "changed_length with the squared ideal",
            "square_root": "changed_length with the square root of the ideal",
            "same_input": "share of changed texts whose change is cut off by the metric",
            **{condition_name(condition): "mean similarity" for condition in CONDITIONS},
            **CONTEXT_MEASURES,
        },
        bounds={"same_input": SHARE, EDITS: AT_MOST_ONE, **CONTEXT_BOUNDS}, axis_measures=(USMB, EDITS),
        refused="a baseline that compares only lengths scores .198 above chance (release 2026.2); the edits at constant length "
                "are an axis of their own",
        presentation=usmb_presentation(
            "a text in which half of the tokens are replaced by unrelated ones; its similarity to the text should be 0.5.",
            curves_title="As tokens are inserted, removed and replaced",
            parts={condition_name(condition): f"{condition.kind} of {condition.size:.0%} of the tokens, {condition.position}"
                   for condition in CONDITIONS},
            measure_curves=tuple(condition_curve(kind, position) for kind in SIZES for position in POSITIONS)))

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.datasets)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        names = settings.datasets
        for number, name in enumerate(names):
            needles, unmixed = names[(number + 1) % len(names)], {} if settings.mixed else {"mixed": False}
            for start, stop in batch_ranges(settings.documents, settings.batch):
                yield self.unit(context, (name,), {"dataset": name, "needles": needles, "sample": context.seed, "start": start,
                                                   "stop": stop, "documents": settings.documents, **unmixed},
                                (name, needles))

    def texts(self, unit: Unit) -> Iterable[str]:
        return [*fit_texts(unit), *(form for text, forms in document_variants(unit).values() for form in (text, *forms))]

    def observe(self, unit: Unit, metric: MetricSession) -> SensitivityAnswers:
        variants = document_variants(unit)
        pairs = [(text, form) for text, forms in variants.values() for form in (text, *forms)]
        names = ["itself", *map(condition_name, CONDITIONS)] * len(variants)
        answers, rechecked = score_pairs(metric, pairs, names, fit_texts(unit))
        table = np.array(answers).reshape(len(variants), 1 + len(CONDITIONS))
        cut = np.array(metric.same_input([a for a, _ in pairs], [b for _, b in pairs]), dtype=bool).reshape(table.shape)
        return SensitivityAnswers(tuple(variants), tuple(table[:, 0].tolist()), tuple(map(tuple, table[:, 1:].tolist())),
                       tuple(map(tuple, cut[:, 1:].tolist())), ScoreScale.from_header(metric.entry.header), rechecked)

    def document_measures(self, observation: SensitivityAnswers) -> dict[str, np.ndarray]:
        shape = len(observation.places), len(CONDITIONS)
        raw, itself = np.array(observation.answers, dtype=float).reshape(shape), np.array(observation.itself)[:, None]
        similarity = observation.scale.to_unit_interval(raw, itself)
        accuracy = 1 - np.abs(similarity - IDEAL)
        kinds = np.array([condition.kind for condition in CONDITIONS])
        changed_length, constant_length = score_sensitivity(similarity)
        return {"changed_length": changed_length, "constant_length": constant_length, EDITS: above_best_constant(constant_length),
                INSERTION: accuracy[:, kinds == INSERTION].mean(axis=1), REMOVAL: accuracy[:, kinds == REMOVAL].mean(axis=1),
                "quadratic": score_sensitivity(similarity, IDEAL ** 2)[0],
                "square_root": score_sensitivity(similarity, np.sqrt(IDEAL))[0],
                "same_input": np.array(observation.same, dtype=float).reshape(shape).mean(axis=1),
                **{condition_name(condition): similarity[:, column] for column, condition in enumerate(CONDITIONS)}}

    def replicates(self, units: Sequence[Unit], observations: Sequence[SensitivityAnswers | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        values = super().replicates(units, observations, counts)
        return {**values, EDITS: above_best_constant(values["constant_length"])}     # with the worst value for failed documents


@lru_cache(CACHED_UNITS)
def document_variants(unit: Unit) -> Mapping[int, tuple[str, Sequence[str]]]:
    """Return for each document, by index, its tokens joined by one space and its changed forms in the order of CONDITIONS."""
    p = unit.parameters
    documents, needles = sample_documents(p["dataset"], p["sample"]), sample_needles(p["needles"], p["sample"])
    variants = {}
    for index in range(p["start"], min(p["stop"], len(documents))):
        tokens = documents[index].text.split()
        needle = cut_needle(needles, len(tokens), np.random.default_rng([p["sample"], index]))
        variants[index] = (" ".join(tokens), [change_tokens(condition, tokens, needle) for condition in CONDITIONS])
    return variants


def change_tokens(condition: Condition, tokens: Sequence[str], needle: Sequence[str]) -> str:
    """Return the text in a condition."""
    if condition.kind == REMOVAL:
        return remove_tokens(tokens, condition.size, condition.position)
    return (insert_tokens if condition.kind == INSERTION else replace_tokens)(tokens, condition.size, condition.position, needle)


def fit_texts(unit: Unit) -> list[str]:
    """Return the texts that a metric is fitted on: the original documents of all units."""
    p = unit.parameters
    return [" ".join(document.text.split()) for document in sample_documents(p["dataset"], p["sample"])[:p["documents"]]]
