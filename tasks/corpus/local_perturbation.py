"""Local perturbation (Ackerman, Kour and Farchi, section 2): how soon does a metric detect that a few neighbours moved?

Without text: A is a mixture of three normal distributions in q dimensions, B is A with a little noise; then a share p of B, a
point y* with its nearest neighbours, moves by delta in one direction: that of y* minus the centroid of its component.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.hashing import seed_of
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import CORRELATION, Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import PointsTask, TaskSettings
from tasks.common.correlations import pearson
from tasks.common.references import ACKERMAN

COMPONENTS, POINTS = 3, 300
BOX, SPREAD = 10.0, 1.0                     # centres in [-10, 10]^q, standard deviation 1: the defaults of make_blobs
JITTER = 0.1
DELTAS = tuple(0.5 * step for step in range(21))
SHARES = tuple(round(0.05 * step, 2) for step in range(11))
DIMENSIONS = (2, 3, 4, 5, 6)
DELTA, SHARE = 3.0, 0.1                     # the values in the other sweeps
NOTICED = 2.0                               # standard errors between d(max) and d(0) of the mean curve


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    repetitions: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class PerturbationCurves:
    """The raw answers d(A, B') of one repetition."""

    by_delta: tuple[float, ...]             # over DELTAS, q = 2
    by_share: tuple[float, ...]             # over SHARES, q = 2
    by_dimension: tuple[float, ...]         # over DIMENSIONS
    scale: Annotated[ScoreScale, StoredAs("orientation")]


class LocalPerturbation(PointsTask[PerturbationCurves]):
    """How soon does the metric detect that a few neighbours moved?"""

    name: ClassVar[str] = "local_perturbation"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = PerturbationCurves
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Local perturbation", short="lp", score="none (property)", chance=0.0, worst=0.0, unit="repetition", strata=(),
        observe_version=2, measure_version=1, ranked=False, paper=ACKERMAN,
        measures={
            "locality": "area under the mean curve of (d(delta)-d(0))/(d(max)-d(0)): 1 if the smallest move is detected",
            "noticed": "d(max)-d(0) of the mean curve, in standard errors; below 2 the locality is unknown",
            "rise_with_share": "correlation of p and the mean distance",
            "rise_with_dimension": "correlation of q and the mean distance",
        },
        bounds={"locality": (0.0, 1.0), "rise_with_share": CORRELATION, "rise_with_dimension": CORRELATION})

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for repetition in range(settings.repetitions):
            yield self.unit(context, (), {"mixtures": seed_of(context.seed, self.name, "mixtures"), "repetition": repetition}, ())

    def observe(self, unit: Unit, metric: MetricSession) -> PerturbationCurves:
        corpora: list[np.ndarray] = []
        pairs: list[tuple[int, int]] = []
        for a, perturbed in generate_sweeps(unit.parameters["mixtures"], unit.seed):
            corpora.append(a)
            pairs += [(len(corpora) - 1, len(corpora) + index) for index in range(len(perturbed))]
            corpora += perturbed
        answers = tuple(metric.corpus_distances(corpora, pairs))
        first, second = len(DELTAS), len(DELTAS) + len(SHARES)
        return PerturbationCurves(answers[:first], answers[first:second], answers[second:], metric.scale)

    def measure_all(self, units: Sequence[Unit], observations: Sequence[PerturbationCurves]) -> list[Measures]:
        """Return the measures; the locality of a repetition is the jackknife pseudo-value of that of the mean curve."""
        if not observations:
            return []
        scale = observations[0].scale
        curves = scale.as_distance(np.array([observation.by_delta for observation in observations]))
        overall, n = measure_locality(curves), len(curves)
        if overall is None or n < 3:
            localities = [overall] * n
        else:
            without = [area_under_curve(np.delete(curves, row, axis=0)) for row in range(n)]
            localities = [n * overall - (n - 1) * (overall if partial is None else partial) for partial in without]
        common = {"noticed": detection_ratio(curves),
                  "rise_with_share": measure_rise(SHARES, [observation.by_share for observation in observations], scale),
                  "rise_with_dimension": measure_rise(DIMENSIONS, [observation.by_dimension for observation in observations],
                                                      scale)}
        return [Measures(None, {"locality": value, **common}) for value in localities]


def generate_sweeps(mixtures: int, seed: int) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Yield A and every B' for the sweeps of delta, p and q; A and B are equal in all repetitions, the moved points differ."""
    mixture = Mixture.draw(2, np.random.default_rng([mixtures, 0]))
    yield mixture.a, [mixture.perturbed(delta, SHARE, np.random.default_rng([seed, 1])) for delta in DELTAS]
    yield mixture.a, [mixture.perturbed(DELTA, share, np.random.default_rng([seed, 1])) for share in SHARES]
    for q in DIMENSIONS:
        other = Mixture.draw(q, np.random.default_rng([mixtures, q]))
        yield other.a, [other.perturbed(DELTA, SHARE, np.random.default_rng([seed, q]))]


@dataclass(frozen=True)
class Mixture:
    """A, and B with the centre of each of its points: POINTS x q."""

    a: np.ndarray
    b: np.ndarray
    centres: np.ndarray

    @classmethod
    def draw(cls, q: int, rng: np.random.Generator) -> Mixture:
        """Return a random mixture in q dimensions."""
        centres = rng.uniform(-BOX, BOX, (COMPONENTS, q))[np.arange(POINTS) % COMPONENTS]
        a = centres + SPREAD * rng.normal(size=(POINTS, q))
        return cls(a.astype(np.float32), a + JITTER * rng.normal(size=(POINTS, q)), centres)

    def perturbed(self, delta: float, share: float, rng: np.random.Generator) -> np.ndarray:
        """Return B': the share of B nearest to a random point y*, moved together by delta along y* minus its centroid."""
        chosen = rng.integers(len(self.b))
        distances = np.linalg.norm(self.b - self.b[chosen], axis=1)
        nearest = np.argsort(distances, kind="stable")[:round(share * len(self.b))]
        direction = self.b[chosen] - self.centres[chosen]
        moved = self.b.copy()
        moved[nearest] += delta * direction / np.linalg.norm(direction)
        return moved.astype(np.float32)


def detection_ratio(curves: np.ndarray) -> float | None:
    """Return the mean of d(max)-d(0) over its standard error, or None without spread."""
    grown = curves[:, -1] - curves[:, 0]
    spread = float(grown.std(ddof=1)) if len(grown) > 1 else 0.0
    return float(grown.mean()) / spread * float(np.sqrt(len(grown))) if spread > 0 else None


def measure_locality(curves: np.ndarray) -> float | None:
    """Return the area under the mean curve, or None if the largest move is hardly detected."""
    noticed = detection_ratio(curves)
    return area_under_curve(curves) if noticed is not None and noticed >= NOTICED else None


def area_under_curve(curves: np.ndarray) -> float | None:
    """Return the area under (d(delta)-d(0))/(d(max)-d(0)) of the mean curve, clipped to [0, 1], over delta scaled to [0, 1]."""
    mean = curves.mean(axis=0)
    if mean[-1] <= mean[0]:
        return None
    share = np.clip((mean - mean[0]) / (mean[-1] - mean[0]), 0, 1)
    return float(((share[1:] + share[:-1]) / 2).mean())


def measure_rise(x: Sequence[float], curves: Sequence[Sequence[float]], scale: ScoreScale) -> float | None:
    """Return the correlation with the mean curve, or None if it is flat."""
    mean = scale.as_distance(np.array(curves)).mean(axis=0)
    return pearson(np.array(x), mean) if np.ptp(mean) > 0 else None
