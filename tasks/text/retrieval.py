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
from tasks.common.sampling import UNITS_KEPT, Collection, sample_collection, sample_documents
from tasks.common.transformations import SEMANTIC, SUPERFICIAL, insert_tokens, remove_tokens
from tasks.text.base import CONTEXT_MEASURES, USMB, USMB_MEANING, TextTask, score_all_pairs

ORIGINAL = "original"
QUARTER = 0.25
CONDITIONS = (ORIGINAL, *SUPERFICIAL, *SEMANTIC, "inserted_quarter", "removed_quarter")
TOLD_APART = 3.0                            # standard errors between the original score and chance, for retention to be said


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

    def replicates(self, units: Sequence[Unit], seen: Sequence[RetrievalScores | None], counts: np.ndarray) -> Mapping[str, np.ndarray]:
        clusters = self.clusters(units)
        parts: dict[str, list[np.ndarray]] = {}
        detail: dict[str, np.ndarray] = {}
        for stratum in dict.fromkeys(unit.stratum for unit in units):
            mine = [place for place, one in enumerate(clusters) if one.stratum == stratum]
            shares = {}
            queries = max((len(one.relevant) for unit, one in zip(units, seen, strict=True)
                           if unit.stratum == stratum and one is not None), default=len(mine))
            for unit, one in zip(units, seen, strict=True):
                if unit.stratum == stratum:
                    each = np.full(len(mine), np.nan)
                    each[:queries] = self.info.worst if one is None else precision_at_n(one)
                    shares[unit.parameters["condition"]] = weighted_means(each, counts[:, mine])
            for condition, share in shares.items():
                parts.setdefault(condition, []).append(share)
            changed = [share for condition, share in shares.items() if condition != ORIGINAL]
            mean = mean_of_arrays(changed) if changed else np.full(len(counts), np.nan)      # half a run: only the texts as they are
            parts.setdefault("augmented", []).append(mean)
            detail[f"augmented: {stratum[0]}"] = mean
            if ORIGINAL in shares:
                detail[f"original: {stratum[0]}"] = shares[ORIGINAL]
        values = {condition: mean_of_arrays(shares) for condition, shares in parts.items()}
        score = values.pop("augmented")
        original = values.pop(ORIGINAL, np.full(len(counts), np.nan))
        told = [(unit, one) for unit, one in zip(units, seen, strict=True) if one is not None]
        chance = self.chance([unit for unit, _ in told], [one for _, one in told])
        drawn = original[1 + counts.shape[1]:]
        spread = float(np.std(drawn[np.isfinite(drawn)])) if np.isfinite(drawn).any() else 0.0
        sure = original[0] - chance > TOLD_APART * spread
        retention = np.divide(score, original, out=np.full(len(counts), np.nan), where=(original > 0) & sure)
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
    straw = [token for document in sample_documents(p["needles"], p["sample"])[:200] for token in document.text.split()]
    changed = []
    for text in texts:
        rng = np.random.default_rng(seed_of(p["sample"], p["dataset"], condition, text))
        if change is not None:
            changed.append(change(text, rng) or text)
        elif condition == "removed_quarter":
            changed.append(remove_tokens(text.split(), QUARTER, "end") or text)
        else:
            tokens, start = text.split(), int(rng.integers(len(straw)))
            changed.append(insert_tokens(tokens, QUARTER, "middle", [straw[(start + i) % len(straw)] for i in range(len(tokens))]))
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
