"""Retrieval (USMB): are the relevant documents ranked first, also when all documents are changed?

According to USMB's text, the score is retention, augmented over original, after "creating a perturbed copy of each datapoint for
each transformation". This can be read in two ways. If the copies *replace* the documents, every metric and every trivial
baseline retains 0.8 to 1.0, and the published column is close to the augmented score itself. If they are *added* to the
documents, and only the originals are relevant, retention is far lower. The augmented score with replaced documents is ranked.
Retention and the scores with added copies, which need no further answers, are shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.hashing import seed_of
from harness.base.units import Cluster, Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures
from tasks.common.correlations import mean_of_arrays, weighted_means
from tasks.common.sampling import CACHED_UNITS, Collection, cut_needle, sample_collection, sample_needles
from tasks.common.transformations import SEMANTIC, SUPERFICIAL, insert_tokens, remove_tokens
from tasks.text.base import CONTEXT_BOUNDS, CONTEXT_MEASURES, USMB, USMB_MEANING, TextTask, score_all_pairs, usmb_presentation

ORIGINAL = "original"
QUARTER = 0.25
CONDITIONS = (ORIGINAL, *SUPERFICIAL, *SEMANTIC, "inserted_quarter", "removed_quarter")
COPIES = {"with_semantic_copies": tuple(SEMANTIC), "with_all_copies": CONDITIONS[1:]}       # conditions of added copies
MIN_STANDARD_ERRORS = 3.0                   # minimal difference of original and chance for reporting retention


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    documents: Annotated[int, Field(ge=2, le=10_000)]                  # maximal number per collection
    queries: Annotated[int, Field(ge=1, le=1_000)]
    needles: str                            # the dataset of inserted tokens


@dataclass(frozen=True)
class RetrievalScores:
    """The raw answers for every query and every document, and the relevant documents."""

    answers: np.ndarray                     # queries x documents
    relevant: tuple[tuple[int, ...], ...]   # columns of the relevant documents of each query
    scale: Annotated[ScoreScale, StoredAs("reading")]
    rechecked: tuple[RecheckedAnswer, ...]


class Retrieval(TextTask[RetrievalScores]):
    """Are the relevant documents ranked first?"""

    name: ClassVar[str] = "retrieval"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = RetrievalScores
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Retrieval", short="ret", score="share of the n relevant documents among the first n, for changed documents",
        chance=0.0, worst=0.0, unit="query", strata=("collection",), observe_version=2, measure_version=2, track="text",
        measures={
            USMB: USMB_MEANING,
            "original": "score for the original documents",
            "retention": "augmented over original; unknown if the original is within 3 standard errors of chance",
            "with_semantic_copies": "score for the original documents if copies of changed meaning are added to them",
            "with_all_copies": "score for the original documents if copies in all eight conditions are added to them",
            "retention_with_semantic_copies": "with_semantic_copies over original; unknown as retention is",
            "retention_with_all_copies": "with_all_copies over original; unknown as retention is",
            "chance": "n/N: the score of a random order",
            **{f"found {condition}": f"score for documents with {condition.replace('_', ' ')}" for condition in CONDITIONS[1:]},
            **CONTEXT_MEASURES,
        },
        bounds=CONTEXT_BOUNDS, axis_measures=(USMB,),
        presentation=usmb_presentation(
            "a question and many documents, of which the one with the answer should be the most similar, also after "
            "all documents were changed.",
            parts={f"found {condition}": f"documents with {condition.replace('_', ' ')}" for condition in CONDITIONS[1:]}))

    def datasets(self, settings: Settings) -> set[str]:
        return {*settings.datasets, settings.needles}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for name, condition in itertools.product(settings.datasets, CONDITIONS):
            yield self.unit(context, (name,), {
                "dataset": name, "condition": condition, "sample": context.seed, "documents": settings.documents,
                "queries": settings.queries, "needles": settings.needles}, (name, settings.needles))

    def clusters(self, units: Sequence[Unit]) -> list[Cluster]:
        """Return one cluster per query, which spans all conditions."""
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
        score = chance = None
        if observation.relevant:
            score, chance = float(precision_at_n(observation).mean()), float(expected_precision(observation).mean())
        values = {"chance": chance, **context_measures(observation.rechecked, observation.answers.ravel())}
        return Measures(score, values, context_marks(observation.rechecked))

    def chance(self, units: Sequence[Unit], observations: Sequence[RetrievalScores]) -> float:
        """Return the mean over collections of the mean over queries of n/N."""
        means = {unit.stratum: float(expected_precision(observation).mean())
                 for unit, observation in zip(units, observations, strict=True) if observation.relevant}
        return float(np.mean(list(means.values()))) if means else self.info.chance

    def replicates(self, units: Sequence[Unit], observations: Sequence[RetrievalScores | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        clusters = self.clusters(units)
        unknown = np.full(len(counts), np.nan)
        by_condition: dict[str, list[np.ndarray]] = {}
        detail: dict[str, np.ndarray] = {}
        for stratum in dict.fromkeys(unit.stratum for unit in units):
            columns = [column for column, cluster in enumerate(clusters) if cluster.stratum == stratum]
            members = [(unit.parameters["condition"], observation)
                       for unit, observation in zip(units, observations, strict=True) if unit.stratum == stratum]
            queries = max((len(pairs.relevant) for _, pairs in members if pairs is not None), default=len(columns))
            collections = {name: add_copies(dict(members), conditions) for name, conditions in COPIES.items()}
            members += [(name, collection) for name, collection in collections.items() if collection is not None]
            shares = {}
            for condition, observation in members:
                precision = np.full(len(columns), np.nan)
                precision[:queries] = self.info.worst if observation is None else precision_at_n(observation)
                shares[condition] = weighted_means(precision, counts[:, columns])
            changed = [share for condition, share in shares.items() if condition in CONDITIONS[1:]]
            shares["augmented"] = mean_of_arrays(changed) if changed else unknown         # in a partial run
            for condition, share in shares.items():
                by_condition.setdefault(condition, []).append(share)
            detail |= {f"{name}: {stratum[0]}": shares[name] for name in ("augmented", ORIGINAL, *COPIES) if name in shares}
        values = {condition: mean_of_arrays(shares) for condition, shares in by_condition.items()}
        score, original = values.pop("augmented"), values.pop(ORIGINAL, unknown)
        with_copies = {name: values.pop(name, unknown) for name in COPIES}
        pairs = [(unit, observation) for unit, observation in zip(units, observations, strict=True) if observation is not None]
        chance = self.chance([unit for unit, _ in pairs], [observation for _, observation in pairs])
        resampled = original[1 + counts.shape[1]:]
        error = float(np.std(resampled[np.isfinite(resampled)])) if np.isfinite(resampled).any() else 0.0
        above_chance = original[0] - chance > MIN_STANDARD_ERRORS * error

        def divide_by_original(share: np.ndarray) -> np.ndarray:
            return np.asarray(np.divide(share, original, out=unknown.copy(), where=(original > 0) & above_chance))

        return {"score": np.where(np.isfinite(score), score, chance), USMB: score, "original": original,
                "retention": divide_by_original(score), **with_copies,
                **{f"retention_{name}": divide_by_original(share) for name, share in with_copies.items()},
                "chance": np.full(len(counts), chance), **detail,
                **{f"found {condition}": share for condition, share in values.items()}}


def collection_of(unit: Unit) -> Collection:
    """Return the documents and queries of a unit."""
    p = unit.parameters
    return sample_collection(p["dataset"], p["sample"], p["documents"], p["queries"])


@lru_cache(CACHED_UNITS)
def augment_collection(unit: Unit) -> Sequence[str]:
    """Return the documents in the unit's condition; documents that a transformation cannot change stay as they are."""
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


def add_copies(observations: Mapping[str, RetrievalScores | None], conditions: Sequence[str]) -> RetrievalScores | None:
    """Return the answers for the originals followed by their copies, which are not relevant; None if some are missing."""
    parts = [observations.get(condition) for condition in (ORIGINAL, *conditions)]
    answered = [part for part in parts if part is not None]
    if len(answered) < len(parts):
        return None
    return replace(answered[0], answers=np.concatenate([part.answers for part in answered], axis=1))


def precision_at_n(observation: RetrievalScores) -> np.ndarray:
    """Return for each query the share of its n relevant documents among the first n, as expected for a random order of ties."""
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
    """Return n/N of each query."""
    counts = np.array([len(columns) for columns in observation.relevant], dtype=float)
    return np.asarray(counts / max(1, observation.answers.shape[1]))
