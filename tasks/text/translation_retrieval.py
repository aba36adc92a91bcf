"""Retrieval of translations: is the translation of a text the most similar of many texts in the other language?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, Measures, Presentation, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.sampling import CACHED_UNITS, shuffle_items, tables_of_kind
from tasks.text.base import CONTEXT_BOUNDS, CONTEXT_MEASURES, TextTask, score_all_pairs


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]          # pairs of a text and its translation
    texts: Annotated[int, Field(ge=2, le=1_000)]                       # per unit
    samples: Annotated[int, Field(ge=1, le=100)]                       # disjoint samples per dataset


@dataclass(frozen=True)
class TranslationScores:
    """The raw answers for every text and every translation; those of a text and its own translation are on the diagonal."""

    answers: np.ndarray                     # texts x translations
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class TranslationRetrieval(TextTask[TranslationScores]):
    """Is the translation of a text the most similar of many texts in the other language?"""

    name: ClassVar[str] = "translation_retrieval"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = TranslationScores
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Translations", short="tr", score="share of texts whose translation is the most similar, mean of both directions",
        chance=0.0, worst=0.0, unit="sample", strata=("dataset",), observe_version=1, measure_version=1, track="text",
        measures={
            "translation_first": "share of texts whose translation is the most similar text in the other language",
            "original_first": "share of translations whose original is the most similar text",
            "reciprocal_rank": "mean of 1 / rank of the translation",
            "chance": "1/n: the score of a random order",
            **CONTEXT_MEASURES,
        },
        bounds={**dict.fromkeys(("score", "translation_first", "original_first", "reciprocal_rank", "chance"), SHARE),
                **CONTEXT_BOUNDS},
        presentation=Presentation(
            example="a verse in English and many verses in Turkish; its translation should be the most similar."))

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.datasets)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name in settings.datasets:
            for sample in range(settings.samples):
                yield self.unit(context, (name,), {"dataset": name, "sample": context.seed, "part": sample,
                                                   "texts": settings.texts}, (name,))

    def texts(self, unit: Unit) -> Iterable[str]:
        return [text for pair in sample_pairs(unit) for text in pair]

    def observe(self, unit: Unit, metric: MetricSession) -> TranslationScores:
        originals, translations = (list(side) for side in zip(*sample_pairs(unit), strict=True))
        answers, rechecked = score_all_pairs(metric, originals, translations, [*originals, *translations])
        return TranslationScores(answers, ScoreScale.from_header(metric.entry.header), rechecked)

    def measure(self, unit: Unit, observation: TranslationScores) -> Measures:
        similarity = observation.scale.as_similarity(observation.answers.astype(float))
        forward, backward = rank_shares(similarity), rank_shares(similarity.T)
        values = {"translation_first": forward[0], "original_first": backward[0],
                  "reciprocal_rank": (forward[1] + backward[1]) / 2, "chance": 1 / len(similarity),
                  **context_measures(observation.rechecked, observation.answers.ravel())}
        return Measures((forward[0] + backward[0]) / 2, values, context_marks(observation.rechecked))

    def chance(self, units: Sequence[Unit], observations: Sequence[TranslationScores]) -> float:
        """Return the mean over samples of 1/n."""
        sizes = [len(observation.answers) for observation in observations]
        return float(np.mean(1 / np.array(sizes))) if sizes else self.info.chance


def rank_shares(similarity: np.ndarray) -> tuple[float, float]:
    """Return the share of rows whose diagonal element is the largest, and the mean reciprocal rank; ties in a random order."""
    own = np.diag(similarity)[:, None]
    above, tied = (similarity > own).sum(axis=1), (similarity == own).sum(axis=1)
    first = np.where(above == 0, 1 / tied, 0.0)
    reciprocal = [np.mean(1 / (rank + 1 + np.arange(count))) for rank, count in zip(above, tied, strict=True)]
    return float(first.mean()), float(np.mean(reciprocal))


@lru_cache(CACHED_UNITS)
def sample_pairs(unit: Unit) -> list[tuple[str, str]]:
    """Return the texts of a unit with their translations."""
    p = unit.parameters
    tables, _ = tables_of_kind(p["dataset"], "pairs")
    rows = tables["data"]
    pairs = shuffle_items(list(zip(rows.text_a, rows.text_b, strict=True)), p["dataset"], p["sample"])
    return list(pairs[p["part"] * p["texts"]:(p["part"] + 1) * p["texts"]])
