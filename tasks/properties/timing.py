"""Time and memory that a metric takes, and how time grows with the corpora, relative to a reference metric in the same unit.

Seconds cannot be compared between machines, so every unit also times the reference metric on the same corpora, before and after.
Units
sample their own texts, and their collections look like those of known similarity, so that caching answers or detecting the
measurement
does not help a metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.task import NONNEGATIVE, Context, Curve, Measures, Presentation, Role, Task, TaskInfo
from harness.submission.submission import Entry, load_submission, published_digest
from tasks.common.base import TaskSettings
from tasks.common.curves import mean_points
from tasks.common.mixtures import draw_mixtures, separated_pairs
from tasks.data.loading import load_corpus

REFERENCE = "chi"
COLLECTION, GROWTH = "collection", "growth"
SECONDS, MEGABYTES = "seconds", "MB held at most"             # axes of the curves, as releases name them


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    pair: tuple[str, str]
    k: Annotated[int, Field(ge=3, le=50)] = 12
    n: Annotated[int, Field(ge=2, le=10_000)] = 100
    sizes: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=2)] = (100, 200, 400, 800, 1600)
    repetitions: Annotated[int, Field(ge=1, le=100)]


@dataclass(frozen=True)
class Times:
    """Seconds without communication: of a whole collection, or of one pair of each size, including preparation."""

    calls: int                              # of a collection; 0 for the growth
    seconds: float
    reference: tuple[float, float]          # of the reference metric on the same corpora, before and after
    by_size: tuple[tuple[int, float], ...]  # n, seconds per pair
    peaks: tuple[int | None, ...]           # peak memory in bytes until the end of each size; None: not measured


class Timing(Task[Times]):
    """How much time and memory does the metric take?"""

    name: ClassVar[str] = "timing"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = Times
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Time and memory", short="t", score="none (property)", chance=0.0, worst=0.0, unit="repetition", strata=("what",),
        observe_version=2, measure_version=2, ranked=False, alone=True,
        measures={
            "cost_in_chi": f"time of a collection as a multiple of that of {REFERENCE} on the same corpora",
            "calls_per_second": "pairs of corpora per second including preparation, on the machine of the run",
            "cost_exponent": "slope of log time on log n, for one pair of corpora of n texts each",
            "peak_megabytes": "peak memory of the worker process over all n, including Python and libraries; mean",
        },
        bounds=dict.fromkeys(("cost_in_chi", "calls_per_second", "peak_megabytes"), NONNEGATIVE),
        presentation=Presentation(
            columns=("cost_in_chi",), titles={"cost_in_chi": f"Cost, \N{MULTIPLICATION SIGN} {REFERENCE}"},
            units={"cost_in_chi": f"\N{MULTIPLICATION SIGN} {REFERENCE}", "peak_megabytes": "MB"},
            roles={Role.COST: "cost_in_chi", Role.GROWTH: "cost_exponent", Role.MEMORY: "peak_megabytes"},
            tables=(MEGABYTES,)))

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.pair)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        a, b = settings.pair
        common = {"source_a": a, "source_b": b, "reference": published_digest(reference_entry().digest)}
        for repetition in range(settings.repetitions):
            for what, sizes in ((COLLECTION, {"k": settings.k, "n": settings.n}), (GROWTH, {"sizes": list(settings.sizes)})):
                yield self.unit(context, (what,), {**common, **sizes, "repetition": repetition}, (a, b))

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for corpora, _ in self.portions(unit) for corpus in corpora for text in corpus)

    def portions(self, unit: Unit) -> list[tuple[list[list[str]], list[tuple[int, int]]]]:
        """Return corpora and the pairs to compare; for the growth one portion per size, with equally many texts in each."""
        p, rng = unit.parameters, np.random.default_rng(unit.seed)
        names = (p["source_a"], p["source_b"])
        a, b = (load_corpus(name) for name in names)
        if "k" in p:
            return [(draw_mixtures(names[0], a, names[1], b, p["k"], p["n"], rng), separated_pairs(p["k"]))]
        largest = max(p["sizes"])
        for name, texts in zip(names, (a, b), strict=True):
            if len(texts) < largest:
                raise TouchstoneError(f'Timing corpora of {largest:,} texts needs that many of "{name}", which has '
                                      f"{len(texts):,}. Choose smaller sizes or another source.")
        portions = []
        for n in p["sizes"]:
            corpora = [[texts[i] for i in rng.choice(len(texts), n, replace=False)]
                       for _ in range(max(1, largest // n)) for texts in (a, b)]
            portions.append((corpora, [(i, i + 1) for i in range(0, len(corpora), 2)]))
        return portions

    def observe(self, unit: Unit, metric: MetricSession) -> Times:
        portions = self.portions(unit)
        if unit.stratum == (GROWTH,):
            metric.stop_worker()                  # a used worker may have held more memory for other units
            by_size, peaks = [], []
            for n, (corpora, pairs) in zip(unit.parameters["sizes"], portions, strict=True):
                by_size.append((n, metric.time_corpora(corpora, pairs) / len(pairs)))
                peaks.append(metric.peak_memory())
            return Times(0, sum(seconds for _, seconds in by_size), (0.0, 0.0), tuple(by_size), tuple(peaks))
        (corpora, pairs), = portions
        before = self._reference(metric, corpora, pairs)
        metric.stop_worker()
        seconds = metric.time_corpora(corpora, pairs)
        return Times(len(pairs), seconds, (before, self._reference(metric, corpora, pairs)), (), ())

    @staticmethod
    def _reference(metric: MetricSession, corpora: Sequence[Sequence[str]], pairs: Sequence[tuple[int, int]]) -> float:
        other = metric.session_for(reference_entry())
        try:
            return other.time_corpora(corpora, pairs)
        finally:
            other.stop_worker()

    def measure(self, unit: Unit, times: Times) -> Measures:
        if unit.stratum == (COLLECTION,):
            # The faster one: other processes can slow down a measurement of a few milliseconds tenfold, but never speed it up.
            return Measures(None, {"cost_in_chi": times.seconds / min(times.reference),
                                   "calls_per_second": times.calls / times.seconds})
        n, seconds = np.log(np.array(times.by_size)).T
        return Measures(None, {"cost_exponent": float(np.polyfit(n, seconds, 1)[0]),
                               "peak_megabytes": None if times.peaks[-1] is None else times.peaks[-1] / 1e6})

    def curves(self, title: str, observations: Sequence[Times]) -> list[Curve]:
        """Return seconds and peak memory of one pair of corpora by their size."""
        grown = [times for times in observations if times.by_size]
        if not grown:
            return []
        sizes = [size for size, _ in grown[0].by_size]
        rows = {SECONDS: np.array([[seconds for _, seconds in times.by_size] for times in grown])}
        if all(peak is not None for times in grown for peak in times.peaks):
            rows[MEGABYTES] = np.array([times.peaks for times in grown]) / 1e6
        return [Curve("one pair of corpora", "texts in each corpus", y, mean_points(sizes, values), logarithmic=True)
                for y, values in rows.items()]


@cache
def reference_entry() -> Entry:
    """Return the metric to which others are compared."""
    return load_submission(SUBMISSIONS / f"{REFERENCE}.py").entries[0]
