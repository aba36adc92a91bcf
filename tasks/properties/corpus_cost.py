"""Time that a metric takes for a pair of corpora."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.task import TaskInfo
from tasks.common.base import TaskSettings
from tasks.properties.costs import BOUNDS, MEASURES, Cost, CostTask, describe_cost
from tasks.properties.costs import Settings as CommonSettings


class Settings(CommonSettings):
    """Settings of the task in a suite."""

    n: Annotated[int, Field(ge=2, le=10_000)] = 100
    pairs: Annotated[int, Field(ge=1, le=1_000)] = 4


class CorpusCost(CostTask):
    """How long does the metric take for a pair of corpora of n texts each?"""

    name: ClassVar[str] = "corpus_cost"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Time per pair of corpora", short="cc", score="none (property)", chance=0.0, worst=0.0, unit="repetition",
        strata=("sources",), observe_version=1, measure_version=1, ranked=False, alone=True,
        measures={name: f"time per pair of corpora of n short texts, with preparation, {how}" for name, how in MEASURES.items()},
        bounds=BOUNDS, presentation=describe_cost("ms per pair of corpora"))

    def needed(self, unit: Unit) -> int:
        count: int = unit.parameters["n"] * (unit.parameters["pairs"] + 1)
        return count

    def observe(self, unit: Unit, metric: MetricSession) -> Cost:
        n, (a, b) = unit.parameters["n"], self.draw(unit)
        first, *corpora = [(a[start:start + n], b[start:start + n]) for start in range(0, len(a), n)]
        metric.corpus_distances(first, [(0, 1)])                # what is initialised once does not count
        pairs = [(2 * number, 2 * number + 1) for number in range(len(corpora))]
        seconds = metric.time_corpora([texts for pair in corpora for texts in pair], pairs, first=1)
        return Cost(len(pairs), seconds, metric.embedding_seconds([*a[n:], *b[n:]]))
