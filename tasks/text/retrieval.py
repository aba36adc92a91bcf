"""Retrieval (USMB): are the relevant documents first, and still when all documents are changed?

USMB's text has it that the score is retention, augmented over original; every metric and every control retains .8 to 1.0, and
the published column lies near the augmented score itself.  That is what is ranked; retention stands beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.base.hashing import seed_of
from harness.base.units import Cluster, Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_means
from tasks.common.sampling import UNITS_KEPT, Collection, cut_needle, sample_collection, sample_needles
from tasks.common.transformations import SEMANTIC, SUPERFICIAL, insert_tokens, remove_tokens
from tasks.text.base import CONTEXT_MEASURES, USMB, USMB_MEANING, TextTask, score_all_pairs

ORIGINAL = "original"
QUARTER = 0.25
CONDITIONS = (ORIGINAL, *SUPERFICIAL, *SEMANTIC, "inserted_quarter", "removed_quarter")
MIN_STANDARD_ERRORS = 3.0                   # between the original score and chance, for retention to be reported


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    documents: Annotated[int, Field(ge=2, le=10_000)]                  # at most, of each collection
    queries: Annotated[int, Field(ge=1, le=1_000)]
    needles: str                            # the dataset of what is put in


@dataclass(frozen=True)
class RetrievalScores:
    """The raw answers for every query against every document, and which are relevant."""

    answers: np.ndarray                     # queries x documents
    relevant: tuple[tuple[int, ...], ...]   # of each query: the columns
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Retrieval(TextTask[RetrievalScores]):
    """Are the relevant documents first?"""

    name: ClassVar[str] = "retrieval"
    settings_type: ClassVar[type[BaseModel]] = Settings
    observation_type: ClassVar[type[Any]] = RetrievalScores
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Retrieval", short="ret", score="share of the n relevant documents among the first n, of changed documents",
        chance=0.0, worst=0.0, unit="query", strata=("collection",), observe_version=1, measure_version=1, track="text",
        measures={
            USMB: USMB_MEANING,
            "original": "the same on the documents as they are",
            "retention": "augmented over original; unknown where the original is within 3 standard errors of chance",
            "chance": "n/N: what a random order scores",
            **{f"found {condition}": "found/n, documents changed so" for condition in CONDITIONS[1:]},
            **CONTEXT_MEASURES,
        })

    def datasets(self, settings: Settings) -> set[str]:
        return {*settings.datasets, settings.needles}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name, condition in itertools.product(settings.datasets, CONDITIONS):
            yield self.unit(context, (name,), {
                "dataset": name, "condition": condition, "sample": context.seed, "documents": settings.documents,
                "queries": settings.queries, "needles": settings.needles}, (name, settings.needles))

    def clusters(self, units: Sequence[Unit]) -> list[Cluster]:
        """A query counts in all conditions alike."""
        return list(dict.fromkeys(Cluster(unit.stratum, str(query)) for unit in units
                                  for query in range(unit.parameters["queries"])))

    def texts(self, unit: Unit) -> Iterable[str]:
        collection = collection_of(unit)
        return [*collection.queries, *collection.texts, *augment_collection(unit)]

    def observe(self, unit: Unit, metric: MetricSession) -> RetrievalScores:
        collection = collection_of(unit)
        answers, rechecked = score_all_pairs(metric, collection.queries, augment_collection(unit), collection.texts)
        return RetrievalScores(answers, tuple(tuple(np.flatnonzero(row).tolist()) for row in collection.relevant),
                               ScoreScale.from_header(metric.entry.header), rechecked)

    def measure(self, unit: Unit, observation: RetrievalScores) -> Measures:
        each = precision_at_n(observation)
        value = float(each.mean()) if len(each) else None
        values = {"chance": float(expected_precision(observation).mean()) if len(each) else None, **context_measures(observation.rechecked, observation.answers.ravel())}
        return Measures(value, values, context_marks(observation.rechecked))

    def chance(self, units: Sequence[Unit], observations: Sequence[RetrievalScores]) -> float:
        """The mean over collections of the mean over queries of n/N."""
        each = {unit.stratum: float(expected_precision(observation).mean()) for unit, observation in zip(units, observations, strict=True) if len(observation.relevant)}
        return float(np.mean(list(each.values()))) if each else self.info.chance

    def replicates(self, units: Sequence[Unit], observations: Sequence[RetrievalScores | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        clusters = self.clusters(units)
        unknown = np.full(len(counts), np.nan)
        by_condition: dict[str, list[np.ndarray]] = {}
        detail: dict[str, np.ndarray] = {}
        for stratum in dict.fromkeys(unit.stratum for unit in units):
            columns = [column for column, cluster in enumerate(clusters) if cluster.stratum == stratum]
            members = [(unit, observation) for unit, observation in zip(units, observations, strict=True) if unit.stratum == stratum]
            queries = max((len(observation.relevant) for _, observation in members if observation is not None), default=len(columns))
            shares = {}
            for unit, observation in members:
                precision = np.full(len(columns), np.nan)
                precision[:queries] = self.info.worst if observation is None else precision_at_n(observation)
                shares[unit.parameters["condition"]] = weighted_means(precision, counts[:, columns])
            changed = [share for condition, share in shares.items() if condition != ORIGINAL]
            shares["augmented"] = mean_of_arrays(changed) if changed else unknown         # a partial run may have the original only
            for condition, share in shares.items():
                by_condition.setdefault(condition, []).append(share)
            detail |= {f"{name}: {stratum[0]}": shares[name] for name in ("augmented", ORIGINAL) if name in shares}
        values = {condition: mean_of_arrays(shares) for condition, shares in by_condition.items()}
        score, original = values.pop("augmented"), values.pop(ORIGINAL, unknown)
        answered = [(unit, observation) for unit, observation in zip(units, observations, strict=True) if observation is not None]
        chance = self.chance([unit for unit, _ in answered], [observation for _, observation in answered])
        resampled = original[1 + counts.shape[1]:]
        error = float(np.std(resampled[np.isfinite(resampled)])) if np.isfinite(resampled).any() else 0.0
        above_chance = original[0] - chance > MIN_STANDARD_ERRORS * error
        retention = np.divide(score, original, out=unknown.copy(), where=(original > 0) & above_chance)
        return {"score": np.where(np.isfinite(score), score, chance), USMB: score, "original": original, "retention": retention,
                "chance": np.full(len(counts), chance), **detail,
                **{f"found {condition}": share for condition, share in values.items()}}


def collection_of(unit: Unit) -> Collection:
    p = unit.parameters
    return sample_collection(p["dataset"], p["sample"], p["documents"], p["queries"])


@lru_cache(UNITS_KEPT)
def augment_collection(unit: Unit) -> Sequence[str]:
    """The documents in the unit's condition; one that a transformation cannot change stays as it is."""
    p = unit.parameters
    condition, texts = p["condition"], collection_of(unit).texts
    if condition == ORIGINAL:
        return texts
    change = {**SUPERFICIAL, **SEMANTIC}.get(condition)
    needles = sample_needles(p["needles"], p["sample"])
    changed = []
    for text in texts:
        rng = np.random.default_rng(seed_of(p["sample"], p["dataset"], condition, text))
        if change is not None:
            changed.append(change(text, rng) or text)
        elif condition == "removed_quarter":
            changed.append(remove_tokens(text.split(), QUARTER, "end") or text)
        else:
            tokens = text.split()
            changed.append(insert_tokens(tokens, QUARTER, "middle", cut_needle(needles, len(tokens), rng)))
    return changed


def precision_at_n(observation: RetrievalScores) -> np.ndarray:
    """Of each query the share of its n relevant documents among the first n, in expectation over the order of ties."""
    similarity = observation.scale.as_similarity(observation.answers.astype(float))
    shares = np.empty(len(observation.relevant))
    for row, columns in enumerate(observation.relevant):
        n, scores = len(columns), similarity[row]
        threshold = np.partition(scores, -n)[-n]
        above, tied = scores > threshold, scores == threshold
        of_relevant = above[list(columns)].sum() + tied[list(columns)].sum() * (n - above.sum()) / tied.sum()
        shares[row] = of_relevant / n
    return shares


def expected_precision(observation: RetrievalScores) -> np.ndarray:
    """n/N of each query."""
    return np.asarray(np.array([len(columns) for columns in observation.relevant], dtype=float) / max(1, observation.answers.shape[1]))
