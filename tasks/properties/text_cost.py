"""Time that a text metric takes for a pair of texts."""

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

    pairs: Annotated[int, Field(ge=10, le=10_000)] = 200


class TextCost(CostTask):
    """How long does the metric take for a pair of texts?"""

    name: ClassVar[str] = "text_cost"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Time per pair of texts", short="tc", score="none (property)", chance=0.0, worst=0.0, unit="repetition",
        strata=("sources",), observe_version=1, measure_version=1, track="text", ranked=False, alone=True,
        measures={name: f"time per pair of short texts, in one call with many, {how}" for name, how in MEASURES.items()},
        bounds=BOUNDS, presentation=describe_cost("ms per pair of texts"))

    def needed(self, unit: Unit) -> int:
        count: int = unit.parameters["pairs"] + 1
        return count

    def observe(self, unit: Unit, metric: MetricSession) -> Cost:
        first, second = self.draw(unit)
        a, b = first[1:], second[1:]
        metric.pair_scores(first[:1], second[:1], 0, [*first, *second])     # what is initialised once does not count
        return Cost(len(a), metric.time_pairs(a, b, 1, [*a, *b]), metric.embedding_seconds([*a, *b]))
