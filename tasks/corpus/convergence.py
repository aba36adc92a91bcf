"""Robustness against the size and imbalance of samples (Kour et al. 2022, sections 4.6 and 4.7).

The published measures can be driven to 1 by adding a constant to the distance, and to minus infinity by a distance near 0. The
contrasts, which are ours, divide the same errors by the difference between the distance of the two sources and that of two
samples
of one source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import AT_MOST_ONE, SHARE, Context, Curve, Measures, Presentation, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import PairsSettings, PooledTask, TaskSettings
from tasks.common.curves import mean_points
from tasks.common.references import KOUR_2022
from tasks.data.loading import load_corpus

MIN_DEVIATIONS = 3.0                        # standard deviations between d* and the self-distance


class Settings(PairsSettings):
    """Settings of the task in a suite."""

    sizes: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=1)]      # s
    total: Annotated[int, Field(ge=4)]                                                  # N, of unequal samples
    reference: Annotated[int, Field(ge=2)]                                              # sample size of d*
    repetitions: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class ConvergenceCurves:
    """The raw answers of one repetition; all samples are independent, the first corpus of a pair is from source A."""

    sizes: tuple[int, ...]                  # s, up to the size of the smaller source
    equal: tuple[float, ...]                # d(a_s, b_s)
    total: int                              # N
    first: tuple[int, ...]                  # s < N
    unequal: tuple[float, ...]              # d(a_s, b_(N-s))
    reference: int
    far: float                              # d(a, b) at the reference size: its mean over repetitions is d*
    self_sizes: tuple[int, int]             # sizes of disjoint samples of one source, at most half of it
    near: tuple[float, float]               # d(a, a'), d(b, b')
    scale: Annotated[ScoreScale, StoredAs("orientation")]


class Convergence(PooledTask[ConvergenceCurves]):
    """Does the distance converge as samples grow, and is it unaffected by unequal sizes?"""

    name: ClassVar[str] = "convergence"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = ConvergenceCurves
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Size and imbalance", short="si", score="none (property)", chance=0.0, worst=0.0, unit="repetition",
        strata=("pair",), observe_version=1, measure_version=1, ranked=False,
        paper=KOUR_2022, measures={
            "size_contrast": "1 - mean of min(1, |d(a_s,b_s)-d*| / |d*-d_self|): error relative to the contrast",
            "imbalance_contrast": "size_contrast with |a_s| = s, |b_s| = N - s",
            "size_robustness": "S: 1 - mean over s of |d(a_s,b_s)-d*|/d*",
            "imbalance_robustness": "I: S with |a_s| = s, |b_s| = N - s",
            "imbalance_robustness_unnormalised": "I as in the published code, not divided by d*",
            "reference_distance": "d*: mean distance at the reference size",
            "self_distance": "mean distance of two samples of one source",
        },
        bounds={"size_contrast": SHARE, "imbalance_contrast": SHARE, "size_robustness": AT_MOST_ONE,
                "imbalance_robustness": AT_MOST_ONE, "imbalance_robustness_unnormalised": AT_MOST_ONE},
        presentation=Presentation(
            example="samples of two sources, larger and larger; their distance should stay the same.",
            curves_title="Distance by sample size and by imbalance",
            radar={"size_contrast": "size", "imbalance_contrast": "imbalance"}))

    def datasets(self, settings: Settings) -> set[str]:
        return {name for pair in settings.pairs for name in pair}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for a, b in settings.pairs:
            for repetition in range(settings.repetitions):
                yield self.unit(context, (f"{a}, {b}",),
                                {"source_a": a, "source_b": b, "sizes": list(settings.sizes), "total": settings.total,
                                 "reference": settings.reference, "repetition": repetition}, (a, b))

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for pair in self.samples(unit) for corpus in pair for text in corpus)

    def sizes(self, unit: Unit) -> SampleSizes:
        """Return the sizes of the design that the two sources allow."""
        p = unit.parameters
        return sample_sizes(p, len(load_corpus(p["source_a"])), len(load_corpus(p["source_b"])))

    def samples(self, unit: Unit) -> list[tuple[list[str], list[str]]]:
        """Return pairs of corpora: of growing size, of unequal sizes, of the reference size, and of one source (A, then B)."""
        p, rng = unit.parameters, np.random.default_rng(unit.seed)
        a, b = load_corpus(p["source_a"]), load_corpus(p["source_b"])
        sizes = self.sizes(unit)

        def sample(texts: Sequence[str], n: int) -> list[str]:
            return [texts[i] for i in rng.choice(len(texts), n, replace=False)]

        pairs = [(sample(a, s), sample(b, s)) for s in sizes.equal]
        pairs += [(sample(a, s), sample(b, sizes.total - s)) for s in sizes.first]
        pairs.append((sample(a, sizes.reference), sample(b, sizes.reference)))
        for texts, n in zip((a, b), sizes.of_one, strict=True):
            drawn_texts = sample(texts, 2 * n)
            pairs.append((drawn_texts[:n], drawn_texts[n:]))
        return pairs

    def observe(self, unit: Unit, metric: MetricSession) -> ConvergenceCurves:
        sizes, pairs = self.sizes(unit), self.samples(unit)
        answers = [0.0] * len(pairs)
        for index in np.random.default_rng([unit.seed, 1]).permutation(len(pairs)).tolist():
            answers[index], = metric.corpus_distances(pairs[index], [(0, 1)], order=index, first=index)
        remaining = iter(answers)
        equal, unequal = (tuple(next(remaining) for _ in sample) for sample in (sizes.equal, sizes.first))
        return ConvergenceCurves(sizes.equal, equal, sizes.total, sizes.first, unequal, sizes.reference, next(remaining),
                                 sizes.of_one, (next(remaining), next(remaining)), metric.scale)

    def measure_all(self, units: Sequence[Unit], observations: Sequence[ConvergenceCurves]) -> list[Measures]:
        """Return the measures; d* and the self-distance are means over all repetitions of a pair of sources."""
        curves_by_stratum: dict[tuple[str, ...], list[ConvergenceCurves]] = defaultdict(list)
        for unit, observation in zip(units, observations, strict=True):
            curves_by_stratum[unit.stratum].append(observation)
        levels = {stratum: ReferenceDistances.from_curves(curves) for stratum, curves in curves_by_stratum.items()}
        return [Measures(None, measure_robustness(observation, levels[unit.stratum]))
                for unit, observation in zip(units, observations, strict=True)]

    def curves(self, title: str, observations: Sequence[ConvergenceCurves]) -> list[Curve]:
        """Return the distance over d* by sample size and by imbalance; nothing where d* is not positive."""
        first = observations[0]
        star = float(np.mean([answers.scale.as_distance(np.array(answers.far)) for answers in observations]))
        if star <= 0:
            return []
        sides = (("equal sizes", first.sizes, [answers.equal for answers in observations]),
                 (f"unequal sizes, {first.total} in both", first.first, [answers.unequal for answers in observations]))
        return [Curve(f"{title}, {side}", "texts in the first corpus", "distance / d*",
                      mean_points(sizes, first.scale.as_distance(np.array(distances)) / star))
                for side, sizes, distances in sides]


@dataclass(frozen=True)
class SampleSizes:
    """The sample sizes that two sources allow."""

    equal: tuple[int, ...]
    total: int
    first: tuple[int, ...]
    reference: int
    of_one: tuple[int, int]


def sample_sizes(p: Any, size_a: int, size_b: int) -> SampleSizes:
    """Return the sizes of the design, reduced to the size of the smaller source.

    Raises:
        TouchstoneError: If a source is too small for the smallest size.
    """
    smaller = min(size_a, size_b)
    equal = tuple(s for s in p["sizes"] if s <= smaller)
    total = min(p["total"], smaller)
    first = tuple(s for s in p["sizes"] if s < total)
    reference = min(p["reference"], smaller)
    if not equal or not first or smaller < 4:
        raise TouchstoneError(f'Convergence needs samples of at least {min(p["sizes"])} texts; "{p["source_a"]}" has {size_a:,} '
                              f'and "{p["source_b"]}" {size_b:,}. Choose smaller sizes or other sources.')
    return SampleSizes(equal, total, first, reference, (min(reference, size_a // 2), min(reference, size_b // 2)))


@dataclass(frozen=True)
class ReferenceDistances:
    """The distances by which errors are divided."""

    far: float                              # d*
    near: float                             # d_self
    spread: float | None                    # the larger of their standard deviations; None with one repetition

    @classmethod
    def from_curves(cls, curves: Sequence[ConvergenceCurves]) -> ReferenceDistances:
        """Return the reference distances of all repetitions."""
        far = np.array([curve.scale.as_distance(np.array(curve.far)) for curve in curves])
        near = np.array([curve.scale.as_distance(np.array(curve.near)) for curve in curves])
        spread = max(float(far.std(ddof=1)), float(near.std(axis=0, ddof=1).max())) if len(curves) > 1 else None
        return cls(float(far.mean()), float(near.mean()), spread)

    @property
    def contrast(self) -> float | None:
        """|d* - d_self|, or None if it is not significant."""
        contrast = abs(self.far - self.near)
        return contrast if self.spread is not None and contrast > 0 and contrast >= MIN_DEVIATIONS * self.spread else None


def measure_robustness(curves: ConvergenceCurves, levels: ReferenceDistances) -> dict[str, float | None]:
    """Return the measures of one repetition."""
    values: dict[str, float | None] = {"reference_distance": levels.far, "self_distance": levels.near}
    for name, answers in (("size", curves.equal), ("imbalance", curves.unequal)):
        errors = np.abs(curves.scale.as_distance(np.array(answers)) - levels.far)
        contrast = levels.contrast
        values[f"{name}_robustness"] = float(1 - errors.mean() / levels.far) if levels.far > 0 else None
        values[f"{name}_contrast"] = float(1 - np.minimum(1, errors / contrast).mean()) if contrast else None
        if name == "imbalance":
            values["imbalance_robustness_unnormalised"] = float(1 - errors.mean())
    return values
