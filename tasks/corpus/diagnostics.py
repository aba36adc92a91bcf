"""Diagnostics of generated corpora (after Zwerdling et al.): which faults does a metric detect, and from which strength?

A corpus is compared with another sample of its source while a fault of growing strength is inserted into it. Changes of the
distance within the range of distances between fault-free samples are not meaningful.

In the balanced form every text keeps its length, and the corpus is also compared with another one that has the fault at full
strength: that distance should fall. A statistic of lengths is constant, and a statistic of one corpus is wrong in one series if
it is right in the other.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import CORRELATION, SHARE, Context, Curve, FaultDetection, Measures, Presentation, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import PooledTask, TaskSettings
from tasks.common.consistency import TOLERANCE
from tasks.common.corpus_faults import FAULT_DESCRIPTIONS, CorpusFault, FaultMaterial, insert_balanced_fault, insert_fault
from tasks.common.correlations import pearson
from tasks.common.curves import mean_points, standardise_rows
from tasks.common.mixtures import pair_equal_lengths
from tasks.common.sampling import CACHED_UNITS
from tasks.data.loading import load_corpus

STRENGTHS = tuple(round(0.1 * step, 1) for step in range(11))
NOISE_OF_COPIES = 0.5
BANDS = 2                                   # pairs of fault-free samples per unit


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    source: str
    elsewhere: str
    n: Annotated[int, Field(ge=4, le=10_000)]
    repetitions: Annotated[int, Field(ge=1, le=1000)]
    faults: Annotated[tuple[Annotated[CorpusFault, Field(strict=False)], ...], Field(min_length=1)] = tuple(CorpusFault)
    balanced: bool = False                  # keep the length of every text, and compare with both ends of the series


@dataclass(frozen=True)
class DiagnosticAnswers:
    """The raw answers for one fault and one draw of samples."""

    faulty: tuple[float, ...]               # d(reference, corpus with the fault), over STRENGTHS
    itself: float                           # d(corpus, corpus)
    fault_free: tuple[float, ...]           # d(r1, r2) of samples of the source
    scale: Annotated[ScoreScale, StoredAs("orientation")]
    from_faulty: tuple[float, ...] = ()     # d(another corpus with the whole fault, corpus with the fault), if balanced


class Diagnostics(PooledTask[DiagnosticAnswers]):
    """Which faults of generated corpora does the metric detect?"""

    name: ClassVar[str] = "diagnostics"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = DiagnosticAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Diagnostics", short="dg", score="mean over faults of the rank correlation of strength and distance",
        chance=0.0, worst=-1.0, unit="repetition", strata=("fault",), observe_version=1, measure_version=1,
        measures={
            **{fault.value: f"Spearman correlation of strength and distance: {FAULT_DESCRIPTIONS[fault]}"
               for fault in CorpusFault},
            "noticed": "share of units in which the distance exceeds the range of self-distances at some strength",
            "onset": "smallest strength at which the distance exceeds this range, if it does",
            "itself_in_band": "share of units in which d(p, p) is within the range of distances of fault-free samples",
        },
        bounds={**dict.fromkeys((fault.value for fault in CorpusFault), CORRELATION),
                **dict.fromkeys(("noticed", "onset", "itself_in_band"), SHARE)},
        presentation=Presentation(
            example="a corpus in which more and more texts are copies of a few; its distance from its source should grow.",
            curves_title="Distance by strength of a fault",
            faults={fault.value: meaning for fault, meaning in FAULT_DESCRIPTIONS.items()}))

    def datasets(self, settings: Settings) -> set[str]:
        return {settings.source, settings.elsewhere}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        if settings.balanced and CorpusFault.PLAGIARISM in settings.faults:
            raise TouchstoneError("tasks.diagnostics: two corpora do not reveal plagiarism, so a balanced score cannot contain "
                                  "it. List the other faults in `faults`.")
        balanced = {"balanced": True} if settings.balanced else {}          # other units keep their ids
        for fault, repetition in itertools.product(settings.faults, range(settings.repetitions)):
            yield self.unit(context, (fault.value,), {
                "fault": fault.value, "source": settings.source, "elsewhere": settings.elsewhere, "n": settings.n,
                "repetition": repetition, **balanced}, (settings.source, settings.elsewhere))

    def texts(self, unit: Unit) -> Iterable[str]:
        return itertools.chain.from_iterable(samples_of(unit).corpora)

    def observe(self, unit: Unit, metric: MetricSession) -> DiagnosticAnswers:
        samples = samples_of(unit)
        answers = metric.corpus_distances(samples.corpora, samples.pairs)
        count = len(STRENGTHS)
        last = count + 1 + BANDS
        return DiagnosticAnswers(tuple(answers[:count]), answers[count], tuple(answers[count + 1:last]), metric.scale,
                                 tuple(answers[last:]))

    def measure_all(self, units: Sequence[Unit], observations: Sequence[DiagnosticAnswers]) -> list[Measures]:
        """Return the measures; the range of self-distances is that of all fault-free samples of a source."""
        fault_free: dict[str, list[float]] = defaultdict(list)
        for unit, observation in zip(units, observations, strict=True):
            fault_free[unit.parameters["source"]] += observation.scale.as_distance(np.array(observation.fault_free)).tolist()
        highest = {source: upper_limit(np.array(distances)) for source, distances in fault_free.items()}
        return [self._judged(CorpusFault(unit.parameters["fault"]), observation, highest[unit.parameters["source"]])
                for unit, observation in zip(units, observations, strict=True)]

    def curves(self, title: str, observations: Sequence[DiagnosticAnswers]) -> list[Curve]:
        """Return the distance, standardised in each unit, by strength."""
        distances = np.array([answers.scale.as_distance(np.array(answers.faulty)) for answers in observations])
        points = mean_points(STRENGTHS, standardise_rows(distances))
        return [Curve(title.replace("_", " "), "strength", "distance, standardised", points)]

    def detect_faults(self, units: Sequence[Unit], observations: Sequence[DiagnosticAnswers]) -> dict[str, FaultDetection]:
        """Return the share of units in which each fault is detected, and the median onset."""
        onsets: dict[str, list[float | None]] = defaultdict(list)
        for unit, measured in zip(units, self.measure_all(units, observations), strict=True):
            onsets[unit.stratum[0]].append(measured.values["onset"])
        detections = {}
        for fault, values in onsets.items():
            strengths = [strength for strength in values if strength is not None]
            median = float(np.median(strengths)) if strengths else None
            detections[fault] = FaultDetection(len(strengths) / len(values), median)
        return detections

    def _judged(self, fault: CorpusFault, observation: DiagnosticAnswers, highest: float) -> Measures:
        distances = observation.scale.as_distance(np.array(observation.faulty))
        score = measure_sensitivity(distances)
        if observation.from_faulty:
            falling = measure_sensitivity(-observation.scale.as_distance(np.array(observation.from_faulty)))
            score = None if score is None and falling is None else ((score or 0) + (falling or 0)) / 2
        strength = find_onset(distances, highest)
        itself = float(observation.scale.as_distance(np.array(observation.itself)))
        return Measures(score, {fault.value: score, "noticed": float(strength is not None), "onset": strength,
                                "itself_in_band": float(not is_above(itself, highest))})


@dataclass(frozen=True)
class SourceSamples:
    """The corpora of a unit, and the pairs of them that are compared, in the order of `DiagnosticAnswers`."""

    corpora: list[list[str]]
    pairs: list[tuple[int, int]]


@lru_cache(CACHED_UNITS)
def samples_of(unit: Unit) -> SourceSamples:
    """Return the corpora of a unit and the pairs to compare."""
    p = unit.parameters
    return draw_samples(p["source"], load_corpus(p["source"]), p["elsewhere"], load_corpus(p["elsewhere"]), p["n"],
                        CorpusFault(p["fault"]), unit.seed, p.get("balanced", False))


def draw_samples(source: str, texts: Sequence[str], elsewhere: str, others: Sequence[str], n: int, fault: CorpusFault,
                 seed: int, balanced: bool = False) -> SourceSamples:
    """Return a reference, a disjoint corpus with the fault at every strength, and pairs of fault-free samples.

    If balanced, the last corpus is a disjoint one with the same fault at full strength.
    """
    parts = 3 + 2 * BANDS
    if balanced:
        pairs_of_texts = pair_equal_lengths(tuple(texts), tuple(others))
        if len(pairs_of_texts) < parts * n:
            raise TouchstoneError(f'Balanced diagnostics with n={n} needs {parts * n:,} pairs of equally long texts, one of '
                                  f'"{source}" and one of "{elsewhere}"; there are {len(pairs_of_texts):,}. Choose a smaller n '
                                  "or other sources.")
        texts, others = [texts[row] for row, _ in pairs_of_texts], [others[row] for _, row in pairs_of_texts]
    for name, needed, available in ((source, parts * n, len(texts)), (elsewhere, n, len(others))):
        if available < needed:
            raise TouchstoneError(f'Diagnostics with n={n} needs {needed:,} texts of "{name}", which has {available:,}. '
                                  "Choose a smaller n or another source.")
    rows = np.random.default_rng([seed, 0]).permutation(len(texts))[:parts * n].reshape(parts, n)
    reference, corpus, other, *free = ([texts[row] for row in part] for part in rows.tolist())
    if balanced:                            # both corpora have the same modes and the same vocabulary
        partners = [others[row] for row in rows[1:3].ravel().tolist()]
        series = [insert_balanced_fault(fault, [*corpus, *other], strength, partners, seed) for strength in STRENGTHS]
        faulty, far = [corpora[:n] for corpora in series], [series[-1][n:]]
        if fault is CorpusFault.MODE_COLLAPSE:          # copies with noise: shared texts would reveal the modes
            noisy = insert_balanced_fault(CorpusFault.EDA_NOISE, far[0], NOISE_OF_COPIES, partners, seed)
            far = [[text for text in noisy if text not in series[-1]]]
    else:
        faulty, far = [insert_fault(fault, corpus, strength, FaultMaterial(other, others), seed) for strength in STRENGTHS], []
    first = 1 + len(faulty)                 # first fault-free sample; strength 0 is the corpus itself
    pairs = [(0, column) for column in range(1, first)] + [(1, 1)]
    pairs += [(first + i, first + i + 1) for i in range(0, 2 * BANDS, 2)]
    return SourceSamples([reference, *faulty, *free, *far],
                         pairs + [(first + 2 * BANDS, column) for column in range(1, first)] * len(far))


def upper_limit(distances: np.ndarray) -> float:
    """Return the upper limit of 95% of further fault-free distances if they are normal: mean + t s sqrt(1 + 1/m)."""
    m = len(distances)
    if m < 2:
        return float(distances.max())
    return float(distances.mean() + scipy.stats.t.ppf(0.975, m - 1) * distances.std(ddof=1) * np.sqrt(1 + 1 / m))


def is_above(distance: float, edge: float) -> bool:
    """Return whether a distance is above the upper limit."""
    return distance > edge + TOLERANCE * max(1e-6, abs(edge))


def measure_sensitivity(distances: np.ndarray) -> float | None:
    """Return Spearman's correlation with the strength, or None if all distances are equal."""
    if np.ptp(distances) == 0:
        return None
    return pearson(np.arange(len(distances)), scipy.stats.rankdata(distances))


def find_onset(distances: np.ndarray, highest: float) -> float | None:
    """Return the smallest strength at which the distance is above the upper limit, or None."""
    return next((strength for strength, distance in zip(STRENGTHS, distances.tolist(), strict=True)
                 if strength > 0 and is_above(distance, highest)), None)
