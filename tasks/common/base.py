"""Base classes of settings and of tasks that pool observations."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from harness.base.units import Unit
from harness.evaluation.task import Measures, Task

Observation = TypeVar("Observation")


class TaskSettings(BaseModel):
    """Settings of a task in a suite; unknown names and wrong types are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class PooledTask(Task[Observation]):
    """A task whose measures of a unit depend on the observations of other units; subclasses define `measure_all`."""

    def measure(self, unit: Unit, observation: Observation) -> Measures:
        return self.measure_all([unit], [observation])[0]
