"""Time and memory: what a metric takes, and how that grows with the corpora; time beside a fixed reference in the same unit.

Seconds do not travel between machines, so every unit also times the reference metric on the same corpora, before and
after.  Units draw texts of their own, and a collection looks like those of known similarity: an answer that is kept from
before, or skipped where the clock runs, helps nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.task import Context, Measures, Task, TaskInfo
from harness.submission.submission import Entry, load_submission
from tasks.common.mixtures import draw_mixtures, separated_pairs
from tasks.data.loading import load_corpus

REFERENCE = "chi"
COLLECTION, GROWTH = "collection", "growth"


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    pair: tuple[str, str]
    k: Annotated[int, Field(ge=3, le=50)] = 12
    n: Annotated[int, Field(ge=2, le=10_000)] = 100
    sizes: Annotated[tuple[Annotated[int, Field(ge=2)], ...], Field(min_length=2)] = (100, 200, 400, 800, 1600)
    repetitions: Annotated[int, Field(ge=1, le=100)]


@dataclass(frozen=True)
class Times:
    """Seconds, less the way to the worker and back: a whole collection, or one pair of each size, preparing included."""

    calls: int                              # of a collection; 0 for the growth
    seconds: float
    reference: tuple[float, float]          # the reference metric on the same corpora, before and after
    by_size: tuple[tuple[int, float], ...]  # n, seconds a pair
    peaks: tuple[int | None, ...]           # bytes: the most that was held till the end of each size; None: nobody counts


class Timing(Task[Times]):
    """How long does it take, and how much memory?"""

    name: ClassVar[str] = "timing"
    settings_type: ClassVar[type[BaseModel]] = Settings
    observation_type: ClassVar[type[Any]] = Times
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Time and memory", short="t", score="none: a property", chance=0.0, worst=0.0, unit="repetition", strata=("what",),
        observe_version=2, measure_version=2, ranked=False, alone=True,
        measures={
            "cost_in_chi": f"time of a collection as a multiple of {REFERENCE}'s on the same corpora",
            "calls_per_second": "pairs of corpora answered a second, preparing included, on the machine it ran on",
            "cost_exponent": "slope of log time on log n, for one pair of corpora of n texts each",
            "peak_megabytes": "the most memory its process held at once over all these n, Python and libraries included; mean",
        })

    def datasets(self, settings: Settings) -> set[str]:
        return set(settings.pair)

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        a, b = settings.pair
        common = {"source_a": a, "source_b": b, "reference": reference_entry().digest}
        for repetition in range(settings.repetitions):
            for what, sizes in ((COLLECTION, {"k": settings.k, "n": settings.n}), (GROWTH, {"sizes": list(settings.sizes)})):
                yield self.unit(context, (what,), {**common, **sizes, "repetition": repetition}, (a, b))

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for corpora, _ in self.portions(unit) for corpus in corpora for text in corpus)

    def portions(self, unit: Unit) -> list[tuple[list[list[str]], list[tuple[int, int]]]]:
        """Corpora and the pairs of them to be asked; for the growth one portion a size, with as many texts in each."""
        p, rng = unit.parameters, np.random.default_rng(unit.seed)
        names = (p["source_a"], p["source_b"])
        a, b = (load_corpus(name) for name in names)
        if "k" in p:
            return [(draw_mixtures(names[0], a, names[1], b, p["k"], p["n"], rng), separated_pairs(p["k"]))]
        largest = max(p["sizes"])
        for name, texts in zip(names, (a, b), strict=True):
            if len(texts) < largest:
                raise TouchstoneError(f'Timing pairs of {largest:,} texts needs as many of "{name}", which has {len(texts):,}. '
                                      "Take smaller sizes, or another source.")
        portions = []
        for n in p["sizes"]:
            corpora = [[texts[i] for i in rng.choice(len(texts), n, replace=False)]
                       for _ in range(max(1, largest // n)) for texts in (a, b)]
            portions.append((corpora, [(i, i + 1) for i in range(0, len(corpora), 2)]))
        return portions

    def observe(self, unit: Unit, metric: MetricSession) -> Times:
        portions = self.portions(unit)
        if unit.stratum == (GROWTH,):
            metric.stop_worker()                  # a worker that was at hand may have held more for other units
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
            # The quicker of the two: what else the machine does makes a few milliseconds ten times as long, never shorter.
            return Measures(None, {"cost_in_chi": times.seconds / min(times.reference),
                                   "calls_per_second": times.calls / times.seconds})
        n, seconds = np.log(np.array(times.by_size)).T
        return Measures(None, {"cost_exponent": float(np.polyfit(n, seconds, 1)[0]),
                               "peak_megabytes": None if times.peaks[-1] is None else times.peaks[-1] / 1e6})


@cache
def reference_entry() -> Entry:
    """The metric that others are timed against."""
    return load_submission(SUBMISSIONS / f"{REFERENCE}.py").entries[0]
