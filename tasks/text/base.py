"""Base classes of text tasks: scoring pairs in random order, rechecking some of them alone, and means per document."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from harness.base.units import Cluster, Unit
from harness.evaluation.metric_session import MetricSession, not_finite_fault
from harness.evaluation.task import NONNEGATIVE, CombinedColumn, Measures, Presentation, Task
from tasks.common.consistency import RecheckedAnswer, context_marks, context_measures, remove_excused_marks
from tasks.common.correlations import mean_of_arrays, weighted_means

PAIRS_PER_CALL = 5_000
CHECKED_PAIRS = 3                           # of a unit, scored again alone

CONTEXT_MEASURES = {"context_difference": "mean change of an answer when its pair is scored alone, in SD of the unit's answers",
                    "repeat_spread": "mean change of an answer when it is repeated with another seed, in the same unit"}
CONTEXT_BOUNDS = dict.fromkeys(CONTEXT_MEASURES, NONNEGATIVE)

USMB = "usmb"                               # the score by the definition of USMB; its column is the mean over the five tasks
USMB_MEANING = "the score as USMB computes it"
USMB_COLUMN = CombinedColumn(USMB, "USMB", "Mean of the scores of the five tasks as USMB computes them")
USMB_ORIGIN = "Adapted from the USMB task of the same name."

def usmb_presentation(example: str, **fields: Any) -> Presentation:
    """Return the presentation of a task that is adapted from USMB."""
    return Presentation(origin=USMB_ORIGIN, combined=(USMB_COLUMN,), example=example, **fields)



class DocumentAnswers(Protocol):
    """Observations with one or several answers per document."""

    @property
    def places(self) -> tuple[int, ...]:
        """The indices of the documents in the order of their dataset."""

    @property
    def rechecked(self) -> tuple[RecheckedAnswer, ...]:
        """The answers that were repeated alone."""


class RowAnswers(DocumentAnswers, Protocol):
    """Observations with one row of answers per document."""

    @property
    def answers(self) -> tuple[tuple[Any, ...], ...]:
        """The answers, documents x conditions; None where a condition does not apply."""


Observation = TypeVar("Observation")
Answers = TypeVar("Answers", bound=DocumentAnswers)
Rows = TypeVar("Rows", bound=RowAnswers)


class TextTask(Task[Observation]):
    """A task of the text track; the measures of its units include `CONTEXT_MEASURES`."""

    def marks(self, measured: Sequence[Measures]) -> frozenset[str]:
        return remove_excused_marks(super().marks(measured), measured)


class DocumentTask(TextTask[Observation]):
    """A text task whose test units are batches of documents; each document is a cluster."""

    def clusters(self, units: Sequence[Unit]) -> list[Cluster]:
        return [Cluster(unit.stratum, str(index)) for unit in units for index in document_range(unit)]


class DocumentMeansTask(DocumentTask[Rows]):
    """A text task whose measures are means over datasets of means over documents."""

    ranked_measures: ClassVar[tuple[str, ...]]      # the score is their mean; a failed unit gets the worst value in each
    usmb_measures: ClassVar[tuple[str, ...]]        # those whose mean is the score of USMB

    def document_measures(self, observation: Rows) -> dict[str, np.ndarray]:
        """Return every measure for each document, NaN where it does not apply."""
        raise NotImplementedError

    def measure(self, unit: Unit, observation: Rows) -> Measures:
        values: dict[str, float | None] = {name: float(np.nanmean(column)) if np.isfinite(column).any() else None
                                           for name, column in self.document_measures(observation).items()}
        raw = np.array(observation.answers, dtype=float)
        values |= context_measures(observation.rechecked, raw[np.isfinite(raw)])
        ranked = [value for value in map(values.get, self.ranked_measures) if value is not None]
        return Measures(float(np.mean(ranked)) if ranked else None, values, context_marks(observation.rechecked))

    def replicates(self, units: Sequence[Unit], observations: Sequence[Rows | None],
                   counts: np.ndarray) -> Mapping[str, np.ndarray]:
        names = [name for name in self.info.measures if name not in (USMB, *CONTEXT_MEASURES)]
        columns = {name: np.full(counts.shape[1], np.nan) for name in names}
        datasets: dict[str, list[int]] = {}
        for unit, observation, first in locate_clusters(units, observations):
            rows = range(first, first + cluster_count(unit))
            datasets.setdefault(unit.stratum[0], []).extend(rows)
            if observation is None:
                for name in self.ranked_measures:
                    columns[name][rows] = self.info.worst
            else:
                for name, column in self.document_measures(observation).items():
                    columns[name][answered_clusters(unit, observation, first)] = column
        values: dict[str, np.ndarray] = {}
        by_dataset: dict[str, np.ndarray] = {}
        for name, column in columns.items():
            means = {dataset: weighted_means(column[rows], counts[:, rows]) for dataset, rows in datasets.items()}
            values[name] = mean_of_arrays(means.values())
            if name in self.ranked_measures and len(datasets) > 1:
                by_dataset |= {f"{name}: {dataset}": mean for dataset, mean in means.items()}
        score = np.mean([values[name] for name in self.ranked_measures], axis=0)
        usmb = np.mean([values[name] for name in self.usmb_measures], axis=0)
        return {"score": np.where(np.isfinite(score), score, self.info.chance), USMB: usmb, **values, **by_dataset}


# ---- observations and the columns of their clusters in a table of counts --------------------------------------------------

def document_range(unit: Unit) -> range:
    """Return the indices of the unit's documents, or pairs, in the order of its dataset."""
    return range(unit.parameters["start"], unit.parameters["stop"])


def cluster_count(unit: Unit) -> int:
    """Return the number of clusters of a unit: one per document, or per `together` pairs."""
    together: int = unit.parameters.get("together", 1)
    return -(-len(document_range(unit)) // together)


def locate_clusters(units: Sequence[Unit],
                    observations: Sequence[Observation | None]) -> Iterator[tuple[Unit, Observation | None, int]]:
    """Return each unit with its observation and the column of its first cluster in a table of counts."""
    return zip(units, observations, np.cumsum([0, *map(cluster_count, units[:-1])]).tolist(), strict=True)


def answered_clusters(unit: Unit, observation: DocumentAnswers, first: int) -> np.ndarray:
    """Return the column in a table of counts for each answer of an observation."""
    offsets = np.array(observation.places, dtype=int) - unit.parameters["start"]
    return np.asarray(first + offsets // unit.parameters.get("together", 1))


class Stratum(NamedTuple, Generic[Answers]):
    """The units of one stratum, each with its observation and the column of its first cluster."""

    key: tuple[str, ...]
    members: list[tuple[Unit, Answers | None, int]]

    def merge_answers(self) -> Answers | None:
        """Return all answers as one observation, or None if there are none."""
        answered = [observation for _, observation, _ in self.members if observation is not None and observation.places]
        return merge_observations(answered) if answered else None

    def counts_of_answers(self, counts: np.ndarray) -> np.ndarray:
        """Return the column of counts for each answer, in the order of `merge_answers`."""
        columns = [answered_clusters(unit, observation, first) for unit, observation, first in self.members
                   if observation is not None]
        return counts[:, np.concatenate(columns)]


def split_strata(units: Sequence[Unit], observations: Sequence[Answers | None]) -> Iterator[Stratum[Answers]]:
    """Return the strata of the units in order of appearance."""
    located = list(locate_clusters(units, observations))
    for key in dict.fromkeys(unit.stratum for unit in units):
        yield Stratum(key, [member for member in located if member[0].stratum == key])


def merge_observations(observations: Sequence[Answers]) -> Answers:
    """Return several observations of one dataset as one: tuples are concatenated, other fields are those of the first."""
    def merge_values(values: Sequence[Any]) -> Any:
        if isinstance(values[0], dict):
            return {key: merge_values([value[key] for value in values]) for key in values[0]}
        return tuple(itertools.chain.from_iterable(values)) if isinstance(values[0], tuple) else values[0]

    first: Any = observations[0]
    merged: Answers = dataclasses.replace(first, **{
        field.name: merge_values([getattr(observation, field.name) for observation in observations])
        for field in dataclasses.fields(first)})
    return merged


def blend_failures(values: np.ndarray, failed: np.ndarray | float, chance: float, worst: float) -> np.ndarray:
    """Return values, chance where they are unknown, with `worst` for the share of failed documents."""
    return (1 - failed) * np.where(np.isfinite(values), values, chance) + failed * worst


# ---- scoring ------------------------------------------------------------------------------------------------------------

def score_pairs(metric: MetricSession, pairs: Sequence[tuple[str, str]], conditions: Sequence[str],
                collection: Sequence[str]) -> tuple[tuple[float, ...], tuple[RecheckedAnswer, ...]]:
    """Return the raw answers for all pairs: in one call, or in one call per condition if the unit says `mixed = false`.

    One call per condition reproduces the published values of scores that depend on their batch.
    """
    if metric.unit.parameters.get("mixed", True):
        return score_in_mixed_order(metric, pairs, collection)
    answers = np.empty(len(pairs))
    rechecked: list[RecheckedAnswer] = []
    for call, condition in enumerate(dict.fromkeys(conditions)):
        rows = [row for row, other in enumerate(conditions) if other == condition]
        answers[rows], repeated = score_in_mixed_order(metric, [pairs[row] for row in rows], collection, call)
        rechecked += repeated
    return tuple(answers.tolist()), tuple(rechecked)


def score_in_mixed_order(metric: MetricSession, pairs: Sequence[tuple[str, str]], collection: Sequence[str],
                         call: int = 0) -> tuple[tuple[float, ...], tuple[RecheckedAnswer, ...]]:
    """Return the raw answers for all pairs, scored in one call in random order, and the answers of some pairs scored alone.

    The order matters for scores that depend on the other pairs of a batch: in the order of conditions, such a metric could infer
    the condition of a pair.
    """
    rng = np.random.default_rng([metric.unit.seed, len(pairs), call])
    order = rng.permutation(len(pairs)).tolist()
    a, b = ([pairs[row][side] for row in order] for side in (0, 1))
    shuffled = metric.pair_scores(a, b, call, collection)
    answers = dict(zip(order, shuffled, strict=True))
    return tuple(answers[row] for row in range(len(pairs))), recheck_answers(metric, a, b, shuffled, collection, call, rng)


def recheck_answers(metric: MetricSession, a: Sequence[str], b: Sequence[str], answers: Sequence[float],
                    collection: Sequence[str], call: int, rng: np.random.Generator) -> tuple[RecheckedAnswer, ...]:
    """Return the answers of a few random pairs, each scored alone in a fresh worker."""
    chosen = sorted(rng.choice(len(a), min(CHECKED_PAIRS, len(a)), replace=False).tolist())
    alone = metric.recheck_pairs(a, b, call, collection, chosen)
    return tuple(RecheckedAnswer((call, row), answers[row], first, again)
                 for row, (first, again) in zip(chosen, alone, strict=True))


def score_all_pairs(metric: MetricSession, a: Sequence[str], b: Sequence[str],
                    collection: Sequence[str]) -> tuple[np.ndarray, tuple[RecheckedAnswer, ...]]:
    """Return the raw answers for every text of a with every text of b, and the answers of some pairs scored alone.

    The metric's own matrix is used if it has one; otherwise the pairs are scored in random order.
    """
    matrix = metric.score_matrix(a, b, 0, collection)
    first, second = (side.ravel().tolist() for side in np.indices((len(a), len(b))))
    rng = np.random.default_rng([metric.unit.seed, len(a), len(b)])
    if matrix is None:
        order = rng.permutation(len(first)).tolist()
        answers = np.empty(len(first))
        for start in range(0, len(order), PAIRS_PER_CALL):
            batch = order[start:start + PAIRS_PER_CALL]
            answers[batch] = metric.pair_scores([a[first[i]] for i in batch], [b[second[i]] for i in batch], start, collection)
        matrix = answers.reshape(len(a), len(b))
    elif not np.isfinite(matrix).all():
        raise not_finite_fault(float(matrix[~np.isfinite(matrix)][0]))
    cells = rng.choice(len(first), min(CHECKED_PAIRS, len(first)), replace=False).tolist()
    alone = recheck_answers(metric, [a[first[i]] for i in cells], [b[second[i]] for i in cells],
                            [float(matrix[first[i], second[i]]) for i in cells], collection, len(first), rng)
    return matrix, alone
