"""Synthetic checks: does a distance between sets of points behave as expected where the true difference is known?

The checks of Räisä et al. 2025 for fidelity and diversity metrics, with expectations for a distance, which is smallest where two
distributions are equal. The verdict is on the mean curve over the repetitions; a difference counts if its 95% confidence interval
over the repetitions excludes 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, Curve, Presentation, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import PointsTask, TaskSettings, VerdictTask, refuse_unknown_checks
from tasks.common.curves import mean_points, rises
from tasks.common.references import RAISA
from tasks.corpus.synthetic_points import EXPERIMENTS, REAL_MODES, Experiment

SAME, SIMILAR = 0.1, 0.25                   # largest relative change, on the same points and on others (the paper's 0.05 of 0.2)


class Verdict(StrEnum):
    """What a curve must look like to pass."""

    SYMMETRIC = "is smallest where the two agree, and grows to both sides, equally within a quarter"
    GROWS_AWAY = "is smallest where the two agree, and grows to both sides"
    SMALLEST = "is smallest where the two agree"
    GROWS = "grows"
    DETECTED = "is noticed in every case"
    STAYS = "changes by at most a quarter"
    INVARIANT = "changes by at most a tenth"
    UNMOVED = "is as without it, within a tenth of its range"


@dataclass(frozen=True)
class Check:
    """A check: what is varied, what the distance should do, the values, where the two agree, and the dimensions."""

    description: str
    verdict: Verdict
    x: tuple[float, ...]
    dimensions: int
    agree: float = 0.0
    logarithmic: bool = False

    def experiments(self, name: str) -> dict[str, Experiment]:
        """Return the experiments whose curves are judged together, by variant."""
        plain = EXPERIMENTS["mean_difference"] if self.verdict is Verdict.UNMOVED else {}
        return {**plain, **EXPERIMENTS[name]}


CHECKS: Mapping[str, Check] = {
    "mean_difference": Check("the mean of a normal distribution moves", Verdict.SYMMETRIC, (-3, -1, -0.5, 0, 0.5, 1, 3), 8),
    "outlier": Check("the mean of a normal distribution moves and one set has an outlier", Verdict.UNMOVED,
                     (-3, -1, -0.5, 0, 0.5, 1, 3), 8),
    "pareto": Check("the mean of one dimension moves and the other has a heavy tail", Verdict.SYMMETRIC,
                    (-6, -3, -1.5, 0, 1.5, 3, 6), 2),
    "spread_difference": Check("the standard deviation falls or grows", Verdict.GROWS_AWAY, (0.1, 0.3, 0.6, 1, 1.7, 3, 10), 8,
                               agree=1, logarithmic=True),
    "simultaneous_mode_dropping": Check("nine of ten modes become rare together", Verdict.GROWS, (0, 0.25, 0.5, 0.75, 1), 8),
    "sequential_mode_dropping": Check("one of ten modes after the other disappears", Verdict.GROWS, (0, 2, 4, 6, 8, 9), 8),
    "mode_invention": Check("up to four of five modes disappear, or up to five more appear", Verdict.SMALLEST,
                            tuple(range(1, 11)), 2, agree=REAL_MODES),
    "mode_collapse": Check("two modes move apart and one wide mode covers both", Verdict.GROWS, (0, 1, 2, 3, 4, 5), 8),
    "sphere_surface": Check("the radius of a hypersphere's surface shrinks or grows", Verdict.GROWS_AWAY,
                            (0.1, 0.4, 0.7, 1, 1.3, 1.6, 1.9), 16, agree=1),
    "sample_size": Check("the samples of two overlapping hypercubes become larger", Verdict.STAYS, (0.5, 1, 2, 4), 8,
                         logarithmic=True),
    "generated_size": Check("the second of two overlapping hypercubes gets more points", Verdict.STAYS, (0.5, 1, 2, 4), 8,
                            logarithmic=True),
    "sphere_torus": Check("a torus surrounds a ball without touching it, and the second sample becomes larger", Verdict.DETECTED,
                          (0.5, 1, 2), 3, logarithmic=True),
    "scaled_dimension": Check("one dimension of both is multiplied by a constant", Verdict.INVARIANT,
                              (0.001, 0.1, 1, 10, 1000), 2, logarithmic=True),
    "disjoint_dimension": Check("one dimension differs by six standard deviations, and 1 to 256 do not differ", Verdict.DETECTED,
                                (1, 8, 64, 256), 0, logarithmic=True),
    "discrete_values": Check("one of the two is rounded more and more coarsely", Verdict.GROWS, (0.1, 0.5, 1, 2, 3), 8,
                             logarithmic=True),
}


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    n: Annotated[int, Field(ge=20, le=10_000)]
    repetitions: Annotated[int, Field(ge=2, le=1000)]
    checks: tuple[str, ...] = tuple(CHECKS)


@dataclass(frozen=True)
class SyntheticAnswers:
    """The raw answers for one check and one draw of points, by variant and value of x."""

    curve: tuple[tuple[float, ...], ...]    # reference and generated points
    same: tuple[tuple[float, ...], ...]     # reference and another sample of its distribution
    scale: Annotated[ScoreScale, StoredAs("orientation")]


class SyntheticChecks(VerdictTask[SyntheticAnswers], PointsTask[SyntheticAnswers]):
    """Does the distance behave as expected where the true difference is known?"""

    name: ClassVar[str] = "synthetic_checks"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = SyntheticAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Synthetic checks", short="syn", score="none (property)", chance=0.0, worst=0.0, unit="repetition",
        strata=("check",), observe_version=1, measure_version=1, ranked=False, paper=RAISA,
        measures={"passed": "share of the checks that pass, of those with a verdict",
                  **{name: f"1 if the distance {check.verdict} as {check.description}" for name, check in CHECKS.items()}},
        bounds={"passed": SHARE, **dict.fromkeys(CHECKS, SHARE)},
        presentation=Presentation(
            example="a normal distribution and one whose mean moves away; the distance should grow.",
            columns=("passed",), titles={"passed": "Synthetic checks passed"}, curves_title="Synthetic checks"))

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        refuse_unknown_checks(self.name, settings.checks, CHECKS)
        for name, repetition in itertools.product(settings.checks, range(settings.repetitions)):
            yield self.unit(context, (name,), {"check": name, "n": settings.n, "repetition": repetition}, ())

    def observe(self, unit: Unit, metric: MetricSession) -> SyntheticAnswers:
        name, check = unit.parameters["check"], CHECKS[unit.parameters["check"]]
        experiments = check.experiments(name).values()
        corpora: list[np.ndarray] = []
        pairs: list[tuple[int, int]] = []
        for experiment in experiments:
            reference = -1                  # its position in the corpora
            for number, points in enumerate(draw_points(experiment, check, unit.parameters["n"], unit.seed)):
                if number == 0 or not experiment.fixed:
                    reference = len(corpora)
                    corpora.append(points[0])
                pairs += [(reference, len(corpora)), (reference, len(corpora) + 1)]
                corpora += points[1:]
        answers = np.array(metric.corpus_distances(corpora, pairs)).reshape(len(experiments), len(check.x), 2)
        curve, same = (tuple(map(tuple, answers[..., column].tolist())) for column in (0, 1))
        return SyntheticAnswers(curve, same, metric.scale)

    def judge(self, check: str, observations: Sequence[SyntheticAnswers]) -> float | None:
        return judge(check, observations)

    def curves(self, title: str, observations: Sequence[SyntheticAnswers]) -> list[Curve]:
        """Return the distance of a check by what is varied, one curve per variant."""
        check = CHECKS.get(title)
        if check is None:
            return []
        rows = read_curves(observations).curve
        return [Curve(", ".join(filter(None, (title.replace("_", " "), variant))), check.description, "distance",
                      mean_points(check.x, rows[:, number]), check.logarithmic)
                for number, variant in enumerate(check.experiments(title))]


def draw_points(experiment: Experiment, check: Check, n: int, seed: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield for each value the reference, the generated points and another sample like the reference.

    Variants of a check share their random numbers, and so do the values of x where the answers must be invariant.
    """
    groups = [[x] for x in check.x] if check.verdict is Verdict.INVARIANT else [check.x]
    for values in groups:
        rng, others = (np.random.default_rng([seed, stream]) for stream in (0, 1))
        for x, (reference, generated) in zip(values, experiment.pairs(values, n, check.dimensions, rng), strict=True):
            another = experiment.reference(x, n, check.dimensions, others)
            yield tuple(points.astype(np.float32) for points in (reference, generated, another))


@dataclass(frozen=True)
class Curves:
    """Distances by repetition, variant and value of x."""

    curve: np.ndarray
    same: np.ndarray


def read_curves(observations: Sequence[SyntheticAnswers]) -> Curves:
    """Return the answers as distances."""
    scale = observations[0].scale
    return Curves(scale.as_distance(np.array([observation.curve for observation in observations])),
                  scale.as_distance(np.array([observation.same for observation in observations])))


def reach_of_mean(differences: np.ndarray) -> np.ndarray:
    """Return half the width of the 95% confidence interval of the mean over repetitions."""
    n = len(differences)
    return np.asarray(scipy.stats.t.ppf(0.975, n - 1) * differences.std(axis=0, ddof=1) / np.sqrt(n))


def judge(name: str, observations: Sequence[SyntheticAnswers]) -> float | None:
    """Return 1 if a check passes and 0 if it fails; None if noise or blindness hides whether a curve stays."""
    check, curves = CHECKS[name], read_curves(observations)
    above = curves.curve - curves.same
    noticed = above.mean(axis=0) > reach_of_mean(above)
    first, mean = curves.curve[:, 0], curves.curve.mean(axis=0)
    lowest, highest, span = mean[0].argmin(), mean[0].argmax(), float(np.ptp(mean[0]))
    match check.verdict:
        case Verdict.DETECTED:
            return float(noticed.all())
        case Verdict.GROWS:
            return float(all(rises(check.x, row) for row in mean) and noticed[:, -1].all())
        case Verdict.STAYS:
            size = float(np.abs(mean[0]).mean())
            return is_same(first[:, highest] - first[:, lowest], SIMILAR * size) if noticed[0, -1] else None
        case Verdict.INVARIANT:
            return float(np.ptp(first, axis=1).mean() <= SAME * np.abs(mean[0]).mean()) if noticed.any() else None
        case Verdict.UNMOVED:
            moved = curves.curve[:, 1:] - curves.curve[:, :1]
            worst = np.unravel_index(np.abs(moved.mean(axis=0)).argmax(), mean[1:].shape)
            return is_same(moved[:, *worst], SAME * span) if noticed[0, [0, -1]].all() else None
    middle = check.x.index(check.agree)
    if lowest != middle or not noticed[0, [0, -1]].all():
        return 0.0
    if check.verdict is Verdict.SMALLEST:
        return 1.0
    if not rises(check.x[middle:], mean[0, middle:]) or not rises(check.x[:middle + 1], mean[0, middle::-1]):
        return 0.0
    return 1.0 if check.verdict is Verdict.GROWS_AWAY else is_same(first[:, -1] - first[:, 0], SIMILAR * span)


def is_same(changes: np.ndarray, limit: float) -> float | None:
    """Return 1 if the mean over repetitions is within the limit, allowing for noise; None if the noise exceeds the limit."""
    reach = float(reach_of_mean(changes))
    if abs(changes.mean()) - reach > limit:
        return 0.0
    return 1.0 if reach <= limit else None
