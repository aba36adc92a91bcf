"""Estimate the time left in a run."""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.evaluation.assignment import Assignment, TaskUnit
from harness.results.outcomes import Outcome

CLEARLY_SLOWER, SECONDS_UNNOTICED = 1.2, 5.0
SECONDS_BETWEEN_ESTIMATES = 10.0            # at most, because few test units may take long
SECONDS_TO_COMPARE = 5.0                    # of answers, before a metric is compared with published ones


@dataclass(frozen=True)
class PublishedTimes:
    """The seconds of each published metric by test unit."""

    release: str
    seconds: Mapping[str, Mapping[str, float]]

    @cached_property
    def typical(self) -> dict[str, float]:
        """The median of the metrics by test unit."""
        by_unit: dict[str, list[float]] = defaultdict(list)
        for times in self.seconds.values():
            for unit, taken in times.items():
                by_unit[unit].append(taken)
        return {unit: statistics.median(times) for unit, times in by_unit.items()}

    def slowest(self, units: Collection[str]) -> tuple[str, float]:
        """Return the metric that took longest for some test units, and its seconds."""
        totals = {name: sum(times.get(unit, 0.0) for unit in units) for name, times in self.seconds.items()}
        return max(totals.items(), key=lambda pair: pair[1])


class TimeEstimate:
    """The time left, from the mean time of test units of the same entry and stratum, and from the times of published metrics.

    The expected end is moved back only if the work is clearly slower than thought, so the time left does not go up and down.
    """

    def __init__(self, assignments: Sequence[Assignment], jobs: int, published: PublishedTimes | None = None) -> None:
        self._jobs, self._published = jobs, published
        self._typical = {} if published is None else published.typical
        self._left = {(task_unit.unit.id, entry.digest): self._keys(entry.digest, task_unit) for entry, task_unit in assignments}
        self._times: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._compared: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])      # own seconds, and typical ones, by entry
        self._units: dict[str, list[str]] = defaultdict(list)                        # by entry
        for unit, digest in self._left:
            self._units[digest].append(unit)
        self._totals: dict[str, tuple[float, str, float]] = {}      # typical seconds; the slowest published metric and its own
        self._reported: set[str] = set()
        self._seen, self._next, self._due = 0, 20, math.inf
        self._end = math.inf                    # when the work is expected to end

    @staticmethod
    def _keys(digest: str, question: TaskUnit) -> tuple[tuple[str, ...], ...]:
        stratum = (question.unit.task, *question.unit.stratum)
        return (digest, *stratum), stratum, (digest,), ()

    def left_after(self, outcome: Outcome) -> float:
        """Return the remaining seconds after one more outcome."""
        for key in self._left.pop((outcome.unit_id, outcome.entry_digest), ()):
            self._times[key].append(outcome.seconds)
        if outcome.unit_id in self._typical:
            own, typical = self._compared[outcome.entry_digest]
            self._compared[outcome.entry_digest] = [own + outcome.seconds, typical + self._typical[outcome.unit_id]]
        self._seen += 1
        now = time.monotonic()
        if self._seen < 8 or self._seen >= self._next or now >= self._due:
            self._next = self._seen + max(20, len(self._left) // 20)        # as it takes time in proportion to what is left
            self._due = now + SECONDS_BETWEEN_ESTIMATES
            means = {key: statistics.fmean(times) for key, times in self._times.items()}
            left = sum(self._expected(unit, digest, keys, means) for (unit, digest), keys in self._left.items()) / self._jobs
            if now + left < self._end or left > CLEARLY_SLOWER * (self._end - now) + SECONDS_UNNOTICED:
                self._end = now + left
        return max(0.0, self._end - now)

    def _expected(self, unit: str, digest: str, keys: Sequence[tuple[str, ...]], means: Mapping[tuple[str, ...], float]) -> float:
        """Return the expected seconds of one test unit."""
        ratio = self._ratio(digest)
        if keys[0] not in means and ratio is not None and unit in self._typical:
            return ratio * self._typical[unit]
        return next((means[key] for key in keys if key in means), 0.0)

    def _ratio(self, digest: str) -> float | None:
        """Return how many times the typical time an entry takes; None while nothing is known."""
        own, typical = self._compared.get(digest, (0.0, 0.0))
        return own / typical if typical > 0 else None

    def slow_entry(self, digest: str) -> str | None:
        """Return, once per entry, the end of a sentence if it is expected to take longer than every published metric."""
        ratio, own = self._ratio(digest), self._compared.get(digest, (0.0, 0.0))[0]
        if self._published is None or ratio is None or own < SECONDS_TO_COMPARE or digest in self._reported:
            return None
        if digest not in self._totals:
            units = [unit for unit in self._units[digest] if unit in self._typical]
            self._totals[digest] = sum(self._typical[unit] for unit in units), *self._published.slowest(units)
        typical, slowest, seconds = self._totals[digest]
        expected = ratio * typical
        if expected <= seconds:
            return None
        self._reported.add(digest)
        return (f"is slower than every metric of the release {self._published.release}: its answers are expected to take "
                f"{expected / 60:.1f} min; those of the slowest published metric, {slowest}, took {seconds / 60:.1f} min. Stop "
                "with Ctrl-C if this is too long; stored answers are kept.")
