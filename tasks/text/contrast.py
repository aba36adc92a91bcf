"""Contrast: is a text closer to its paraphrase than to an edit with another meaning, when the surface tells nothing?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field, field_validator, model_validator

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, Measures, Presentation, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import SourcesSettings, TaskSettings
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_means
from tasks.common.sampling import CACHED_UNITS, batch_ranges
from tasks.phenomena.meaning_changes import PHENOMENA
from tasks.phenomena.selections import PairSource, Quad, Request, count_pairs, load_generated, load_selection
from tasks.phenomena.words import Half
from tasks.text.base import (
    CONTEXT_BOUNDS,
    CONTEXT_MEASURES,
    DocumentTask,
    answered_clusters,
    blend_failures,
    document_range,
    locate_clusters,
    score_in_mixed_order,
)

UNRANKED = frozenset({"tense"})             # a change of tense changes the meaning too little, by the readers of the edits
RANKED = tuple(name for name in PHENOMENA if name not in UNRANKED)
REQUIRED = 8                                # ranked phenomena
TIE = 1e-12

COMPARISONS = {
    "hard": "share of quads in which the far text with the same meaning is closer than the near one with another, ties one half",
    "easy": "share of quads in which the near text with the same meaning is closer than the far one with another, ties one half",
    "joint": "share of quads in which both are",
    "far": "share of quads in which the far text with the same meaning is closer than the far one with another, ties one half",
    "near": "share of quads in which the near text with the same meaning is closer than the near one with another, ties one half",
}


class SourceSettings(TaskSettings):
    """A dataset of pairs of paraphrases."""

    name: str
    least: float | None = None              # smallest score of a pair; None: all pairs


class Settings(SourcesSettings):
    """Settings of the task in a suite."""

    sources: Annotated[tuple[SourceSettings, ...], Field(min_length=1)]
    half: Half = "public"                   # of the word lists
    phenomena: Annotated[tuple[str, ...], Field(min_length=1)] = tuple(PHENOMENA)
    least: Annotated[int, Field(ge=2, le=10_000)] = 200            # quads of a phenomenon; those with fewer are left out
    largest: Annotated[int, Field(ge=2, le=10_000)] = 300
    batch: Annotated[int, Field(ge=1, le=1_000)] = 50              # source pairs of a test unit
    selection: str | None = None            # of quads that is checked in; None: generated on first use and kept in the cache
    digest: str | None = None               # of its texts

    @classmethod
    def replace_datasets(cls, table: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
        return {**super().replace_datasets(table, names), "selection": None, "digest": None}

    @field_validator("phenomena")
    @classmethod
    def check_phenomena(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Reject unknown names."""
        for name in names:
            if name not in PHENOMENA:
                raise TouchstoneError(f'There is no phenomenon "{name}".{did_you_mean(name, PHENOMENA)} The phenomena are '
                                      f"{', '.join(PHENOMENA)}.")
        return names

    @model_validator(mode="after")
    def check_selection(self) -> Settings:
        """Reject a selection without its digest."""
        if (self.selection is None) != (self.digest is None):
            raise ValueError("`selection` and `digest` are given together or not at all")
        if self.least > self.largest:
            raise ValueError("`least` is greater than `largest`")
        return self


@dataclass(frozen=True)
class QuadAnswers:
    """The raw answers for the quads of a batch of source pairs."""

    places: tuple[int, ...]                 # the source pair of each quad
    phenomena: tuple[str, ...]
    answers: tuple[tuple[float, ...], ...]  # quads x (p, n, e, f)
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Contrast(DocumentTask[QuadAnswers]):
    """Is a text closer to its paraphrase than to an edit with another meaning, when the surface tells nothing?"""

    name: ClassVar[str] = "contrast"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = QuadAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Contrast", short="con",
        score="mean of two shares of quads, hard and easy, mean over the phenomena; overlap and length score 0.5 by construction",
        chance=0.5, worst=0.0, unit="batch of source pairs", strata=("sources",), observe_version=1, measure_version=1,
        track="text",
        measures={
            **COMPARISONS,
            **{name: f"score on {phenomenon.description}{'' if name in RANKED else '; not ranked'}"
               for name, phenomenon in PHENOMENA.items()},
            **CONTEXT_MEASURES,
        },
        bounds={**dict.fromkeys((*COMPARISONS, *PHENOMENA), SHARE), **CONTEXT_BOUNDS},
        presentation=Presentation(
            example="a sentence, its paraphrase, and an edit of the sentence that changes one word and the meaning: the "
                    "paraphrase should be closer to the sentence, although the edit shares more words with it.",
            examples={name: " → ".join(phenomenon.example) for name, phenomenon in PHENOMENA.items()},
            parts={name: phenomenon.description for name, phenomenon in PHENOMENA.items()}))

    def datasets(self, settings: Settings) -> set[str]:
        return {source.name for source in settings.sources}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        names = [source.name for source in settings.sources]
        shared: dict[str, Any] = {"sources": [[source.name, source.least] for source in settings.sources], "half": settings.half}
        if settings.selection is not None:
            count = count_pairs(settings.selection)
            shared |= {"selection": settings.selection, "digest": settings.digest}
        else:
            count = settings.largest * len(settings.phenomena)              # no more source pairs can be selected
            shared |= {"phenomena": list(settings.phenomena), "least": settings.least, "largest": settings.largest}
        for start, stop in batch_ranges(count, settings.batch):
            yield self.unit(context, (" + ".join(names),), {**shared, "start": start, "stop": stop}, names)

    def texts(self, unit: Unit) -> Iterable[str]:
        return [text for _, quad in quads_of(unit) for text in quad.texts]

    def observe(self, unit: Unit, metric: MetricSession) -> QuadAnswers:
        quads = quads_of(unit)
        pairs = [(quad.texts.anchor, text) for _, quad in quads for text in quad.texts[1:]]
        answers, rechecked = score_in_mixed_order(metric, pairs, fit_texts(unit)) if pairs else ((), ())
        table = np.array(answers).reshape(len(quads), 4)
        return QuadAnswers(tuple(place for place, _ in quads), tuple(quad.phenomenon for _, quad in quads),
                           tuple(map(tuple, table.tolist())), ScoreScale.from_header(metric.entry.header), rechecked)

    def measure(self, unit: Unit, observation: QuadAnswers) -> Measures:
        measured = measure_quads([observation], np.ones((1, len(observation.places))))
        values = {name: float(value[0]) if np.isfinite(value[0]) else None for name, value in measured.items()}
        values |= context_measures(observation.rechecked, np.array(observation.answers))
        return Measures(values.pop("score"), values, context_marks(observation.rechecked))

    def answers(self, observation: QuadAnswers) -> np.ndarray:
        """Return the ranks of the unit's pairs of texts, from 0 for the least similar to 1."""
        ranks = scipy.stats.rankdata(observation.scale.as_similarity(np.array(observation.answers).ravel()))
        return np.asarray((ranks - 1) / max(1, len(ranks) - 1))

    def replicates(self, units: Sequence[Unit], observations: Sequence[QuadAnswers | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        answered = [(unit, observation, first) for unit, observation, first in locate_clusters(units, observations)
                    if observation is not None and observation.places]
        values = {}
        if answered:
            columns = np.concatenate([answered_clusters(unit, observation, first) for unit, observation, first in answered])
            values = measure_quads([observation for _, observation, _ in answered], counts[:, columns])
        sizes = np.array([len(document_range(unit)) for unit in units])
        share = sizes[[observation is None for observation in observations]].sum() / sizes.sum()
        unknown = np.full(len(counts), np.nan)
        return {**values, "score": blend_failures(values.get("score", unknown), share, self.info.chance, self.info.worst)}


def measure_quads(observations: Sequence[QuadAnswers], counts: np.ndarray) -> dict[str, np.ndarray]:
    """Return the measures of quads under each row of counts; comparisons and the score are means over ranked phenomena."""
    compared = [compare(observation) for observation in observations]
    outcomes = {name: np.concatenate([outcome[name] for outcome in compared]) for name in ("score", *COMPARISONS)}
    names = np.array([name for observation in observations for name in observation.phenomena])
    by_phenomenon: dict[str, dict[str, np.ndarray]] = {}
    for phenomenon in PHENOMENA:
        rows = np.flatnonzero(names == phenomenon)
        if len(rows):
            by_phenomenon[phenomenon] = {name: weighted_means(values[rows], counts[:, rows]) for name, values in outcomes.items()}
    ranked = [measures for phenomenon, measures in by_phenomenon.items() if phenomenon in RANKED]
    values = {name: mean_of_arrays(measures[name] for measures in ranked) for name in outcomes} if ranked else {
        name: np.full(len(counts), np.nan) for name in outcomes}
    return {**values, **{phenomenon: measures["score"] for phenomenon, measures in by_phenomenon.items()},
            **{f"hard: {phenomenon}": measures["hard"] for phenomenon, measures in by_phenomenon.items()}}


def compare(observation: QuadAnswers) -> dict[str, np.ndarray]:
    """Return the outcome of each comparison and the score, for each quad."""
    similarity = observation.scale.as_similarity(np.array(observation.answers, dtype=float).reshape(-1, 4))
    p, n, e, f = similarity.T

    def closer(same: np.ndarray, changed: np.ndarray) -> np.ndarray:
        return np.where(np.abs(same - changed) <= TIE, 0.5, np.asarray(same > changed, dtype=float))
    hard, easy = closer(p, e), closer(n, f)
    return {"score": (hard + easy) / 2, "hard": hard, "easy": easy, "joint": (hard == 1) * (easy == 1.0), "far": closer(p, f),
            "near": closer(n, e)}


# ---- quads of a unit --------------------------------------------------------------------------------------------------------

def selected_quads(unit: Unit) -> tuple[Quad, ...]:
    """Return all quads of the selection that a unit is a part of."""
    p = unit.parameters
    sources = tuple(PairSource(name, least) for name, least in p["sources"])
    if "selection" in p:
        return load_selection(p["selection"], sources, p["half"], p["digest"])
    ranked = len(set(RANKED) & set(p["phenomena"]))
    return load_generated(Request(sources, p["half"], tuple(p["phenomena"]), p["least"], p["largest"], min(REQUIRED, ranked)))


@lru_cache(CACHED_UNITS)
def quads_of(unit: Unit) -> tuple[tuple[int, Quad], ...]:
    """Return (place of the source pair, quad) for the quads of a unit; source pairs are in the order of the selection."""
    places: dict[tuple[str, int], int] = {}
    located = [(places.setdefault((quad.source, quad.row), len(places)), quad) for quad in selected_quads(unit)]
    return tuple((place, quad) for place, quad in located if place in document_range(unit))


def fit_texts(unit: Unit) -> list[str]:
    """Return the texts that a metric is fitted on: the anchors of the selection."""
    return list(dict.fromkeys(quad.texts.anchor for quad in selected_quads(unit)))
