"""Estimate the time left in a run."""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

from harness.evaluation.assignment import Assignment, TaskUnit
from harness.results.outcomes import Outcome

CLEARLY_SLOWER, SECONDS_UNNOTICED = 1.2, 5.0


class TimeEstimate:
    """The time left, from the mean time of test units of the same entry and stratum.

    The expected end is moved back only if the work is clearly slower than thought, so the time left does not go up and down.
    """

    def __init__(self, assignments: Sequence[Assignment], jobs: int) -> None:
        self._jobs = jobs
        self._left = {(task_unit.unit.id, entry.digest): self._keys(entry.digest, task_unit) for entry, task_unit in assignments}
        self._times: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._seen = 0
        self._end = math.inf                    # when the work is expected to end

    @staticmethod
    def _keys(digest: str, question: TaskUnit) -> tuple[tuple[str, ...], ...]:
        stratum = (question.unit.task, *question.unit.stratum)
        return (digest, *stratum), stratum, (digest,), ()

    def left_after(self, outcome: Outcome) -> float:
        """Return the remaining seconds after one more outcome."""
        for key in self._left.pop((outcome.unit_id, outcome.entry_digest), ()):
            self._times[key].append(outcome.seconds)
        self._seen += 1
        now = time.monotonic()
        if self._seen < 8 or self._seen % 20 == 0:
            typical = {key: statistics.fmean(times) for key, times in self._times.items()}
            left = sum(next((typical[key] for key in keys if key in typical), 0.0) for keys in self._left.values()) / self._jobs
            if now + left < self._end or left > CLEARLY_SLOWER * (self._end - now) + SECONDS_UNNOTICED:
                self._end = now + left
        return max(0.0, self._end - now)
