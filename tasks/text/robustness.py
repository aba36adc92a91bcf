"""Robustness (USMB): is a text closer to a copy with typing errors than to its summary, and than to its negation?"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.hashing import seed_of
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer
from tasks.common.sampling import CACHED_UNITS, batch_ranges, sample_documents
from tasks.common.transformations import HARD_SUPERFICIAL, SEMANTIC, SUPERFICIAL
from tasks.text.base import (
    CONTEXT_BOUNDS,
    CONTEXT_MEASURES,
    USMB,
    USMB_MEANING,
    DocumentMeansTask,
    score_pairs,
    usmb_presentation,
)

SHARES = ("superficial_over_semantic", "summary_over_semantic", "superficial_over_summary")
# For a random order: all 3 superficial above all 3 semantic changes 3!3!/6!; the summary first of 4; the summary last of 4.
CHANCE = (1 / 20 + 1 / 4 + 1 / 4) / 3
CONDITIONS = ("itself", "summary", *SUPERFICIAL, *SEMANTIC, *HARD_SUPERFICIAL)
MORE = " And this was not all that was said of it."        # appended to a text to test whether its end reaches the metric


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    documents: Annotated[int, Field(ge=2, le=10_000)]                  # per dataset
    batch: Annotated[int, Field(ge=1, le=1000)]
    mixed: bool = True                      # all conditions in one call; false in reproductions


@dataclass(frozen=True)
class RobustnessAnswers:
    """The raw answers for documents with their summaries and their transformed forms."""

    places: tuple[int, ...]                 # indices of the documents
    answers: tuple[tuple[float | None, ...], ...]       # one row per document, in the order of CONDITIONS; None: no answer
    beyond: tuple[bool, ...]                # whether the end of the document is cut off
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Robustness(DocumentMeansTask[RobustnessAnswers]):
    """Does the metric ignore superficial changes and detect changes of meaning?"""

    name: ClassVar[str] = "robustness"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = RobustnessAnswers
    ranked_measures = usmb_measures = SHARES
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Robustness", short="rob", score="mean of three shares of documents that are ordered correctly",
        chance=CHANCE, worst=0.0, unit="document", strata=("dataset",), observe_version=2, measure_version=1, track="text",
        measures={
            USMB: USMB_MEANING,
            "superficial_over_semantic": "share of documents: every superficial change is closer than every change of meaning",
            "summary_over_semantic": "share of documents: the summary is closer than every change of meaning",
            "superficial_over_summary": "share of documents: every superficial change is closer than the summary",
            "superficial_over_summary_hard": "superficial_over_summary, also with o, l, e, a, s, t replaced by digits",
            "not_applicable": "share of documents that a transformation cannot change, such as a single sentence; excluded",
            "beyond_the_window": "share of documents whose end is cut off by the metric",
            **CONTEXT_MEASURES,
        },
        bounds={"beyond_the_window": SHARE, "not_applicable": SHARE, **CONTEXT_BOUNDS}, axis_measures=(USMB,),
        refused="a baseline that compares only lengths is ahead of every metric (release 2026.2)",
        presentation=usmb_presentation(
            "a text, the same text with typing errors, its summary, and a text that contradicts it, compared with the "
            "text in this order."))

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.datasets)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name, (start, stop) in itertools.product(settings.datasets, batch_ranges(settings.documents, settings.batch)):
            unmixed = {} if settings.mixed else {"mixed": False}
            yield self.unit(context, (name,), {"dataset": name, "sample": context.seed, "start": start, "stop": stop,
                                               "documents": settings.documents, **unmixed}, (name,))

    def texts(self, unit: Unit) -> Iterable[str]:
        documents = document_variants(unit).values()
        forms = [text for document in documents for text in document.forms.values() if text is not None]
        return [*forms, *(document.text + MORE for document in documents), *self.collection(unit)]

    def collection(self, unit: Unit) -> list[str]:
        """Return the texts that a metric is fitted on: the original documents of all units."""
        p = unit.parameters
        return [document.text for document in sample_documents(p["dataset"], p["sample"])[:p["documents"]]]

    def observe(self, unit: Unit, metric: MetricSession) -> RobustnessAnswers:
        documents = document_variants(unit)
        pairs = [(document.text, text) for document in documents.values() for text in document.forms.values() if text is not None]
        names = [name for document in documents.values() for name, text in document.forms.items() if text is not None]
        answers, rechecked = score_pairs(metric, pairs, names, self.collection(unit))
        remaining = iter(answers)
        rows = tuple(tuple(None if text is None else next(remaining) for text in document.forms.values())
                     for document in documents.values())
        texts = [document.text for document in documents.values()]
        beyond = metric.same_input(texts, [text + MORE for text in texts])
        return RobustnessAnswers(tuple(documents), rows, tuple(beyond), ScoreScale.from_header(metric.entry.header), rechecked)

    def document_measures(self, observation: RobustnessAnswers) -> dict[str, np.ndarray]:
        return measure_orders(observation)


class DocumentVariants(NamedTuple):
    """A document and the texts to compare it with, in the order of CONDITIONS; None if it cannot be changed."""

    text: str
    forms: Mapping[str, str | None]


@lru_cache(CACHED_UNITS)
def document_variants(unit: Unit) -> Mapping[int, DocumentVariants]:
    """Return the unit's documents in all forms by index; random choices depend on the document alone."""
    p = unit.parameters
    documents = sample_documents(p["dataset"], p["sample"])
    if any(document.summary is None for document in documents[:1]):
        raise TouchstoneError(f'The documents of "{p["dataset"]}" have no summaries, which robustness requires; choose another '
                              "dataset.")
    variants = {}
    for index in range(p["start"], min(p["stop"], len(documents))):
        text, rng = documents[index].text, np.random.default_rng(seed_of(p["sample"], p["dataset"], documents[index].text))
        changed = {name: change(text, rng) for name, change in {**SUPERFICIAL, **SEMANTIC, **HARD_SUPERFICIAL}.items()}
        variants[index] = DocumentVariants(text, {"itself": text, "summary": documents[index].summary, **changed})
    return variants


def measure_orders(observation: RobustnessAnswers) -> dict[str, np.ndarray]:
    """Return every measure for each document, 1 or 0; NaN if a transformation cannot change the document."""
    raw = np.array(observation.answers, dtype=float).reshape(len(observation.places), len(CONDITIONS))
    similarity: dict[str, np.ndarray] = dict(zip(CONDITIONS, observation.scale.as_similarity(raw).T, strict=True))
    superficial, semantic = (np.array([similarity[name] for name in kind]) for kind in (SUPERFICIAL, SEMANTIC))
    hard = np.array([similarity[name] for name in (*SUPERFICIAL, *HARD_SUPERFICIAL)])
    summary = similarity["summary"]
    whole: np.ndarray = np.isfinite(superficial).all(axis=0) & np.isfinite(semantic).all(axis=0) & np.isfinite(summary)

    def where_whole(holds: Any) -> np.ndarray:
        return np.where(whole, np.asarray(holds, dtype=float), np.nan)
    return {
        "superficial_over_semantic": where_whole((superficial[:, None] > semantic[None, :]).all(axis=(0, 1))),
        "summary_over_semantic": where_whole((summary > semantic).all(axis=0)),
        "superficial_over_summary": where_whole((superficial > summary).all(axis=0)),
        "superficial_over_summary_hard": where_whole((hard > summary).all(axis=0)),
        "not_applicable": (~whole).astype(float),
        "beyond_the_window": np.array(observation.beyond, dtype=float),
    }
