"""Distributionality (Ackerman, Kour and Farchi): does a corpus metric compare distributions, or texts with their nearest texts?

From paraphrase pairs (a, b), corpora go from all a to all b. Compared as distributions, the all-a and the all-b corpus are nearly
equal; compared by nearest texts, they are furthest apart, since the corpora in between share texts. The energy distance is the
prototype of the first kind, the average Hausdorff distance of the second. A metric is as near to either as the densities of its
distances are, at each separation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import CORRELATION, NONNEGATIVE, SHARE, Context, Measures, Presentation, Task, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import SourcesSettings, TaskSettings
from tasks.common.correlations import next_power_of_two, pearson
from tasks.common.mixtures import separated_pairs
from tasks.common.references import ACKERMAN
from tasks.data.loading import load_dataset

GRID = np.linspace(-8, 8, 3001)             # 3,000 equal steps
DENSITIES_KEPT = 4_000
NARROWEST = 0.05                            # smallest bandwidth: at l = K all distances are equal
SAME_ANGLE = 0.005                          # texts at a smaller angle count as equal, as in the authors' code


class Paraphrases(TaskSettings):
    """A dataset of paraphrase pairs."""

    name: str
    least: float | None = None              # smallest score of a pair of paraphrases; None: use all pairs


class Settings(SourcesSettings):
    """Settings of the task in a suite."""

    sources: Annotated[tuple[Paraphrases, ...], Field(min_length=1)]
    n: Annotated[int, Field(ge=2, le=10_000)]
    K: Annotated[int, Field(ge=2, le=50)]
    R: Annotated[int, Field(ge=1, le=100)]
    redraws: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class ParaphraseDistances:
    """The raw answers for R sets of K+1 corpora of one draw of pairs, and the distances of both prototypes."""

    k: int                                  # K
    answers: tuple[float, ...]              # repetition by repetition, i < j in the order of `separated_pairs`
    energy: np.ndarray                      # R x pairs
    ahd: np.ndarray                         # R x pairs
    scale: Annotated[ScoreScale, StoredAs("orientation")]


class Distributionality(Task[ParaphraseDistances]):
    """Does the metric compare distributions, as the energy distance does, or nearest texts?"""

    name: ClassVar[str] = "distributionality"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = ParaphraseDistances
    needs_vectors: ClassVar[bool] = True
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Distributionality", short="di", score="none (property)", chance=0.0, worst=0.0, unit="redraw",
        strata=("source",), observe_version=2, measure_version=1, ranked=False, paper=ACKERMAN,
        measures={
            "distributionality": "deviation_ahd/(deviation_energy + deviation_ahd): 1 for the energy distance",
            "deviation_energy": "I(d, ENERGY): squared difference of the densities of standardised distances, mean over l",
            "deviation_ahd": "I(d, AHD): the same for the average Hausdorff distance",
            "nearer_energy": "share of redraws in which ENERGY is the nearer prototype",
            "distributionality_without_last": "distributionality without l = K, where all repetitions compare the same corpora",
            "deviation_energy_without_last": "deviation_energy without l = K",
            "deviation_ahd_without_last": "deviation_ahd without l = K",
            "nearer_energy_without_last": "nearer_energy without l = K",
            "rise": "correlation of l and the mean standardised distance at l",
            "last": "mean standardised distance at l = K",
            "last_is_lowest": "share of redraws in which no l has a smaller mean distance than K",
        },
        bounds={**dict.fromkeys(("distributionality", "distributionality_without_last", "nearer_energy",
                                 "nearer_energy_without_last", "last_is_lowest"), SHARE), "rise": CORRELATION,
                **dict.fromkeys(("deviation_energy", "deviation_ahd", "deviation_energy_without_last",
                                 "deviation_ahd_without_last"), NONNEGATIVE)},
        presentation=Presentation(columns=("distributionality",), titles={"distributionality": "Distributionality"}))

    def datasets(self, settings: Settings) -> set[str]:
        return {source.name for source in settings.sources}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for source, redraw in itertools.product(settings.sources, range(settings.redraws)):
            yield self.unit(context, (source.name,), {
                "source": source.name, "least": source.least, "n": settings.n, "K": settings.K, "R": settings.R,
                "redraw": redraw}, (source.name,))

    def texts(self, unit: Unit) -> Iterable[str]:
        return self.draw_sample(unit).texts

    def draw_sample(self, unit: Unit) -> ParaphraseSample:
        """Return the sample of a unit."""
        p = unit.parameters
        pairs = paraphrase_pairs(p["source"], p["least"])
        return draw_sample(p["source"], pairs, p["n"], p["K"], p["R"], np.random.default_rng(unit.seed))

    def observe(self, unit: Unit, metric: MetricSession) -> ParaphraseDistances:
        sample, k = self.draw_sample(unit), unit.parameters["K"]
        angles = angular_distances(metric.vectors(sample.texts))
        corpora = [[sample.texts[row] for row in rows] for rows in sample.corpora]
        answers = metric.corpus_distances(corpora, sample.pairs(k))
        shape = unit.parameters["R"], len(separated_pairs(k + 1))
        sets = [(sample.corpora[i], sample.corpora[j]) for i, j in sample.pairs(k)]
        return ParaphraseDistances(k, tuple(answers), np.array([energy_distance(angles, p, q) for p, q in sets]).reshape(shape),
                                   np.array([average_hausdorff(angles, p, q) for p, q in sets]).reshape(shape), metric.scale)

    def measure(self, unit: Unit, observation: ParaphraseDistances) -> Measures:
        distances = observation.scale.as_distance(np.array(observation.answers))
        standardized = standardize(distances / next_power_of_two(float(np.abs(distances).max())))
        of_energy, of_ahd = (standardize(distances.astype(float)) for distances in (observation.energy, observation.ahd))
        if standardized is None or of_energy is None or of_ahd is None:
            return Measures(None, dict.fromkeys(self.info.measures))
        separation = list_separations(observation)
        values: dict[str, float | None] = {}
        levels, counts = np.unique(separation, return_counts=True)
        deviations_by_prototype = [measure_deviations(standardized, deviation, separation) for deviation in (of_energy, of_ahd)]
        for ending, weights in (("", counts), ("_without_last", np.where(levels < observation.k, counts, 0))):
            if weights.any():
                means = (float(np.average(deviation, weights=weights)) for deviation in deviations_by_prototype)
                values |= {f"{name}{ending}": value for name, value in measure_nearness(*means).items()}
        trend = np.array([standardized[separation == level].mean() for level in levels])
        values["rise"] = pearson(levels, trend) if np.ptp(trend) > 0 else None
        values["last"] = float(trend[-1])
        values["last_is_lowest"] = float(trend[-1] <= trend.min())
        return Measures(None, values)


@lru_cache(maxsize=8)
def paraphrase_pairs(name: str, least: float | None) -> tuple[tuple[str, str], ...]:
    """Return the pairs of two different texts, restricted to those with at least the given score."""
    loaded = load_dataset(name)
    if loaded.dataset.kind != "pairs":
        raise TouchstoneError(f'The dataset "{name}" has the kind {loaded.dataset.kind}; the task requires pairs of paraphrases.')
    rows = loaded.rows[loaded.rows.text_a != loaded.rows.text_b]
    if least is not None:
        if "score" not in rows.columns:
            raise TouchstoneError(f'The pairs of "{name}" have no scores. Remove the setting `least`.')
        rows = rows[rows.score >= least]
    return tuple(zip(rows.text_a, rows.text_b, strict=True))


@dataclass(frozen=True)
class ParaphraseSample:
    """The texts of n pairs, all a and then all b, and R times K+1 corpora as rows of them."""

    texts: list[str]
    corpora: list[np.ndarray]

    def pairs(self, k: int) -> list[tuple[int, int]]:
        """Return all (i, j), i < j, of every repetition."""
        return [(start + i, start + j) for start in range(0, len(self.corpora), k + 1) for i, j in separated_pairs(k + 1)]


def draw_sample(name: str, pairs: Sequence[tuple[str, str]], n: int, k: int, repetitions: int,
                rng: np.random.Generator) -> ParaphraseSample:
    """Return n pairs and their corpora: c_i has round(n i/K) texts of B and the rest of A; corpora share texts."""
    if len(pairs) < n:
        raise TouchstoneError(f'Corpora of n={n} need {n:,} pairs of "{name}", which has {len(pairs):,}. '
                              "Choose a smaller n or another source.")
    chosen = [pairs[i] for i in rng.choice(len(pairs), n, replace=False)]
    corpora = []
    for _, i in itertools.product(range(repetitions), range(k + 1)):
        of_b = round(n * i / k)
        rows = np.concatenate([rng.choice(n, n - of_b, replace=False), n + rng.choice(n, of_b, replace=False)])
        corpora.append(rng.permutation(rows))
    return ParaphraseSample([a for a, _ in chosen] + [b for _, b in chosen], corpora)


def angular_distances(vectors: np.ndarray) -> np.ndarray:
    """Return arccos(cosine)/pi of all rows; up to 0.005 counts as 0, as in the authors' code; 1/2 for zero vectors."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    angles = np.arccos(np.clip(unit @ unit.T, -1, 1)) / np.pi
    return np.where(angles <= SAME_ANGLE, 0.0, angles)


def energy_distance(angles: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """Return 2 mean d(p,q) - mean d(p,p') - mean d(q,q') over all ordered pairs: the V-statistic, without root."""
    return float(2 * angles[np.ix_(p, q)].mean() - angles[np.ix_(p, p)].mean() - angles[np.ix_(q, q)].mean())


def average_hausdorff(angles: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """Return the mean of the two directed mean distances to the nearest text."""
    across = angles[np.ix_(p, q)]
    return float((across.min(axis=1).mean() + across.min(axis=0).mean()) / 2)


def list_separations(observation: ParaphraseDistances) -> np.ndarray:
    """Return l = j - i of every distance."""
    once = np.array([j - i for i, j in separated_pairs(observation.k + 1)])
    return np.tile(once, len(observation.answers) // len(once))


def standardize(distances: np.ndarray) -> np.ndarray | None:
    """Return the distances with mean 0 and standard deviation 1 over all l and repetitions, or None if all are equal."""
    flat = distances.ravel()
    return None if np.ptp(flat) == 0 else (flat - flat.mean()) / flat.std()


def kernel_density(values: np.ndarray) -> np.ndarray:
    """Return the density on the grid: a sum of Gaussians of bandwidth max(0.05, sd m^(-1/5))."""
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    h = max(NARROWEST, spread * len(values) ** -0.2)
    return np.asarray(np.exp(-((GRID[:, None] - values) / h) ** 2 / 2).mean(axis=1) / (h * np.sqrt(2 * np.pi)))


@lru_cache(DENSITIES_KEPT)
def prototype_density(content: bytes) -> np.ndarray:
    """Return the density of a prototype's distances; it is kept, since all metrics of a unit are compared with it."""
    return kernel_density(np.frombuffer(content))


def measure_deviations(values: np.ndarray, prototype: np.ndarray, separation: np.ndarray) -> np.ndarray:
    """Return I_l(v,w), the integral of the squared difference of the densities, for each l.

    I(v,w) is their mean weighted by |D_l|.
    """
    levels = np.unique(separation)
    squares = [(kernel_density(values[separation == level]) - prototype_density(prototype[separation == level].tobytes())) ** 2
               for level in levels]
    return np.asarray(np.sum(squares, axis=1) * (GRID[1] - GRID[0]))


def measure_nearness(from_energy: float, from_ahd: float) -> dict[str, float | None]:
    """Return the measures of the deviations from both prototypes; None if both are 0."""
    total = from_energy + from_ahd
    return {"deviation_energy": from_energy, "deviation_ahd": from_ahd,
            "distributionality": from_ahd / total if total > 0 else None,
            "nearer_energy": float(from_energy < from_ahd) if total > 0 else None}
