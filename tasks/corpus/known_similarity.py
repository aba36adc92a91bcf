"""Known-similarity corpora (Kour et al. 2022, sections 3 and 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import (
    AT_MOST_ONE,
    CORRELATION,
    NONNEGATIVE,
    SHARE,
    Context,
    Curve,
    Measures,
    Presentation,
    Task,
    TaskInfo,
)
from harness.results.outcomes import StoredAs
from tasks.common.base import PairsSettings, TaskSettings
from tasks.common.consistency import (
    RecheckedAnswer,
    context_marks,
    differ,
    recheck_measures,
    remove_excused_marks,
    value_or_chance,
)
from tasks.common.correlations import next_power_of_two, omega_squared, pearson
from tasks.common.curves import mean_points
from tasks.common.mixtures import draw_balanced_mixtures, draw_mixtures, separated_pairs
from tasks.common.references import KOUR_2022
from tasks.data.loading import load_corpus

CHECKED_SHARE, CHECKED_LEAST = 0.05, 5      # of the pairs of a collection, repeated alone
CHECKED_THOROUGHLY = 2                      # repetitions; one pair in later ones, since fresh workers are slow
MIRRORED = 5                                # pairs compared in both directions if the metric declares symmetry


class CorpusSize(TaskSettings):
    """The number of corpora k and their size n."""

    k: Annotated[int, Field(ge=3, le=50)]
    n: Annotated[int, Field(ge=2, le=10_000)]


class Settings(PairsSettings):
    """Settings of the task in a suite."""

    levels: Annotated[tuple[CorpusSize, ...], Field(min_length=1)]
    repetitions: Annotated[int, Field(ge=1, le=1000)]
    balanced: bool = False                  # draw texts of both sources in pairs of equal length


@dataclass(frozen=True)
class MixtureDistances:
    """The raw answers for one set of k corpora, c_1 (all A) to c_k (all B)."""

    k: int
    forward: tuple[float, ...]              # d(c_i, c_j), i < j, in the order of `separated_pairs`
    backward: tuple[float, ...]             # d(c_j, c_i), the same pairs
    mirrored: int                           # how many answers were copied from the other direction:
                                            # if the metric declares symmetry, and no answer contradicts it
    scale: Annotated[ScoreScale, StoredAs("orientation")]
    rechecked: tuple[RecheckedAnswer, ...]


class KnownSimilarity(Task[MixtureDistances]):
    """Does the distance grow as the shares of the two sources diverge?"""

    name: ClassVar[str] = "known_similarity"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = MixtureDistances
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Known similarity", short="ks",
        score="mean of 2A-1, 2Aw-1, monotonicity, signed separability, signed linearity",
        chance=0.0, worst=-1.0, unit="repetition", strata=("pair", "level"), observe_version=4, measure_version=1,
        paper=KOUR_2022,
        measures={
            "accuracy": "A: share of nested interval pairs judged correctly, ties one half",
            "weighted_accuracy": "Aw: A weighted by 1/(difference in separation)",
            "monotonicity": "Spearman correlation of separation and distance",
            "signed_separability": "omega squared of separation, with the sign of the correlation",
            "signed_linearity": "r|r| of the regression on separation",
            "separability": "omega squared of separation as a factor",
            "linearity": "R squared of the regression on separation",
            "linearity_r": "r, as in the published column",
            "accuracy_tree": "A over the published multiset of judgements, strict",
            "weighted_accuracy_tree": "Aw over the published multiset of judgements, strict",
            "accuracy_le": "A with ties counted as correct, the paper's formula",
            "asymmetry": "mean |d(p,q) - d(q,p)|, in SD of the distances",
            "context_difference": "mean change of an answer when its pair is compared alone, in SD of the distances",
            "repeat_spread": "mean change of an answer when it is repeated, in SD of the distances",
        },
        bounds={**dict.fromkeys(("accuracy", "weighted_accuracy", "linearity", "accuracy_tree", "weighted_accuracy_tree",
                                 "accuracy_le"), SHARE),
                **dict.fromkeys(("monotonicity", "signed_separability", "signed_linearity", "linearity_r"), CORRELATION),
                "separability": AT_MOST_ONE,
                **dict.fromkeys(("asymmetry", "context_difference", "repeat_spread"), NONNEGATIVE)},
        presentation=Presentation(
            example="corpora mixed from two sources in different proportions; those with similar proportions should be closer.",
            curves_title="Distance by separation",
            radar={"accuracy": "accuracy", "weighted_accuracy": "weighted", "monotonicity": "monotonicity",
                   "signed_separability": "separability", "signed_linearity": "linearity"}))

    def datasets(self, settings: Settings) -> set[str]:
        return {name for pair in settings.pairs for name in pair}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        balanced = {"balanced": True} if settings.balanced else {}          # other units keep their ids
        for (a, b), level, repetition in itertools.product(settings.pairs, settings.levels, range(settings.repetitions)):
            yield self.unit(context, (f"{a}, {b}", f"k={level.k} n={level.n}"),
                            {"source_a": a, "source_b": b, "k": level.k, "n": level.n, "repetition": repetition,
                             **balanced}, (a, b))

    def texts(self, unit: Unit) -> Iterable[str]:
        return itertools.chain.from_iterable(self.corpora(unit))

    def corpora(self, unit: Unit) -> list[list[str]]:
        """Return the mixtures of a unit."""
        p = unit.parameters
        a, b = p["source_a"], p["source_b"]
        draw = draw_balanced_mixtures if p.get("balanced") else draw_mixtures
        return draw(a, load_corpus(a), b, load_corpus(b), p["k"], p["n"], np.random.default_rng(unit.seed))

    def observe(self, unit: Unit, metric: MetricSession) -> MixtureDistances:
        corpora, k = self.corpora(unit), unit.parameters["k"]
        forward = separated_pairs(k)
        pairs = [*forward, *((j, i) for i, j in forward)]
        answers, mirrored = compare_both_directions(metric, corpora, pairs, unit.seed)
        checked = pairs_to_recheck(k, unit.seed, unit.parameters["repetition"])
        alone = metric.recheck_corpora(corpora, pairs, checked)
        rechecked = tuple(RecheckedAnswer(pairs[index], answers[index], first, again)
                          for index, (first, again) in zip(checked, alone, strict=True))
        half = len(forward)
        return MixtureDistances(k, tuple(answers[:half]), tuple(answers[half:]), mirrored, metric.scale, rechecked)

    def measure(self, unit: Unit, observation: MixtureDistances) -> Measures:
        forward = observation.scale.as_distance(np.array(observation.forward))
        backward = observation.scale.as_distance(np.array(observation.backward))
        unit_of_scale = next_power_of_two(max(np.abs(forward).max(), np.abs(backward).max()))
        forward, backward = forward / unit_of_scale, backward / unit_of_scale
        distances = (forward + backward) / 2
        spread = float(distances.std()) if np.ptp(distances) else None
        values: dict[str, float | None] = {
            **measure_distances(distances, observation.k),
            "asymmetry": float(np.abs(forward - backward).mean()) / spread if spread else None,
            **recheck_measures(observation.rechecked, spread * unit_of_scale if spread else None),
        }
        ranked = [2 * value_or_chance(values["accuracy"], 0.5) - 1, 2 * value_or_chance(values["weighted_accuracy"], 0.5) - 1,
                  *(value_or_chance(values[name], 0.0) for name in ("monotonicity", "signed_separability", "signed_linearity"))]
        return Measures(float(np.mean(ranked)), values, context_marks(observation.rechecked))

    def answers(self, observation: MixtureDistances) -> np.ndarray:
        """Return the means of both directions, z-scored in their collection; zeros if all are equal."""
        forward = observation.scale.as_distance(np.array(observation.forward))
        backward = observation.scale.as_distance(np.array(observation.backward))
        distances = forward / 2 + backward / 2
        spread = distances.std()
        return np.asarray((distances - distances.mean()) / spread if spread > 0 and np.isfinite(spread) else distances * 0)

    def curves(self, title: str, observations: Sequence[MixtureDistances]) -> list[Curve]:
        """Return the distance, standardised in each collection, by separation."""
        k = observations[0].k
        levels = np.array([j - i for i, j in separated_pairs(k)])
        standardised = np.array([self.answers(observation) for observation in observations])
        means = np.array([standardised[:, levels == level].mean(axis=1) for level in range(1, k)]).T
        return [Curve(title, "separation", "distance, standardised", mean_points(range(1, k), means))]

    def marks(self, measured: Sequence[Measures]) -> frozenset[str]:
        return remove_excused_marks(super().marks(measured), measured)


def compare_both_directions(metric: MetricSession, corpora: Sequence[Sequence[str]], pairs: Sequence[tuple[int, int]],
                            seed: int) -> tuple[list[float], int]:
    """Return the answers for all pairs, whose second half is the reversed first half, and how many of them were mirrored.

    For a metric that declares symmetry, each pair is compared in one random direction, which reveals nothing about the order of
    the
    corpora, and five pairs in both directions. If any of these answers differ, all pairs are compared in both directions.
    """
    half = len(pairs) // 2
    omitted: list[int] = []
    if metric.entry.header.symmetric:
        rng = np.random.default_rng([seed, half])
        other_side = np.arange(half) + half * rng.integers(2, size=half)
        omitted = sorted(other_side[rng.permutation(half)[MIRRORED:]].tolist())
    skipped = set(omitted)
    first = [index for index in range(len(pairs)) if index not in skipped]
    answers = dict(zip(first, metric.corpus_distances(corpora, [pairs[index] for index in first]), strict=True))

    def mirror(index: int) -> int:
        return (index + half) % len(pairs)
    if any(differ(answers[index], answers[mirror(index)]) for index in first if mirror(index) not in skipped):
        remaining = metric.corpus_distances(corpora, [pairs[index] for index in omitted], order=1, first=len(pairs))
        answers |= dict(zip(omitted, remaining, strict=True))
        omitted = []
    answers |= {index: answers[mirror(index)] for index in omitted}
    return [answers[index] for index in range(len(pairs))], len(omitted)


def pairs_to_recheck(k: int, seed: int, repetition: int) -> list[int]:
    """Return the indices of the pairs to repeat alone: 5% of the k(k-1)/2 pairs, at least five, in either direction.

    They are random, so a metric cannot predict them. After the first repetitions one pair is enough: a metric does not know which
    repetition it is in, and all repetitions are judged together.
    """
    pairs = len(separated_pairs(k))
    count = max(CHECKED_LEAST, round(CHECKED_SHARE * pairs)) if repetition < CHECKED_THOROUGHLY else 1
    return sorted(np.random.default_rng([seed, k]).choice(2 * pairs, count, replace=False).tolist())


@dataclass(frozen=True)
class Judgements:
    """The set J of equation 5 as arrays: pairs of an interval and one strictly inside it, with their weights."""

    inner: np.ndarray                       # indices into separated_pairs(k)
    outer: np.ndarray
    weight: np.ndarray                      # 1/(l2 - l1)
    in_tree: np.ndarray                     # how often the authors' recursion visits it


@lru_cache
def list_judgements(k: int) -> Judgements:
    """Return all ((q,r),(i,j)) with [q,r] strictly inside [i,j]: the set J, equation 5.

    The authors' recursion visits an interval once for each path that leads to it. A visit of (s,e) makes one judgement against
    each of
    its strict sub-intervals, and then visits (s,e-1) and (s+1,e). Hence a judgement is counted as often as its outer interval is
    visited:
    binomial(missing, missing on the left) times.
    """
    pairs = separated_pairs(k)
    visits = {(0, k - 1): 1}
    for length in range(k - 1, 1, -1):
        for start in range(k - length):
            end = start + length
            for child in ((start, end - 1), (start + 1, end)):
                visits[child] = visits.get(child, 0) + visits[start, end]
    nested = [(inner, outer) for outer, (i, j) in enumerate(pairs) for inner, (q, r) in enumerate(pairs)
              if i <= q and r <= j and (q, r) != (i, j)]
    inner, outer = (np.array(side, dtype=int) for side in zip(*nested, strict=True))
    separation = np.array([j - i for i, j in pairs])
    return Judgements(inner, outer, 1 / (separation[outer] - separation[inner]),
                      np.array([visits[pairs[o]] for o in outer], dtype=float))


def measure_distances(distances: np.ndarray, k: int) -> dict[str, float | None]:
    """Return all measures of the distances of one set of k corpora, in the order of `separated_pairs`."""
    return {**measure_accuracies(distances, k), **measure_trend(distances, np.array([j - i for i, j in separated_pairs(k)]))}


def measure_accuracies(distances: np.ndarray, k: int) -> dict[str, float | None]:
    """Return shares of J judged correctly: d(inner) < d(outer), ties one half; weighted; over the tree multiset; with <=."""
    j = list_judgements(k)
    inner, outer = distances[j.inner], distances[j.outer]
    right, tied = (inner < outer).astype(float), (inner == outer).astype(float)
    halves = right + tied / 2
    return {
        "accuracy": float(halves.mean()),
        "weighted_accuracy": float(np.average(halves, weights=j.weight)),
        "accuracy_tree": float(np.average(right, weights=j.in_tree)),
        "weighted_accuracy_tree": float(np.average(right, weights=j.in_tree * j.weight)),
        "accuracy_le": float((right + tied).mean()),
    }


def measure_trend(distances: np.ndarray, separation: np.ndarray) -> dict[str, float | None]:
    """Return monotonicity, separability and linearity, which do not depend on scale; None if all distances are equal."""
    names = ("monotonicity", "separability", "linearity", "linearity_r", "signed_separability", "signed_linearity")
    if np.ptp(distances) == 0:
        return dict.fromkeys(names)
    r, omega2 = pearson(separation, distances), omega_squared(distances, separation)
    rho = pearson(scipy.stats.rankdata(separation), scipy.stats.rankdata(distances))
    return dict(zip(names, (rho, omega2, r * r, r, float(np.sign(r)) * omega2, r * abs(r)), strict=True))

