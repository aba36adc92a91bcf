"""What is to be run: an entry on a test unit, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.base.units import Unit
from harness.evaluation.task import Task
from harness.sandbox.limits import Limits
from harness.submission.submission import Entry

if TYPE_CHECKING:
    from harness.environments.environment import Environment
    from harness.sandbox.layers import Sandbox


@dataclass(frozen=True)
class TaskUnit:
    """A test unit and the task that evaluates it."""

    task: Task[Any]
    unit: Unit

Assignment = tuple[Entry, TaskUnit]


@dataclass(frozen=True)
class Conditions:
    """The conditions of a run: sandbox, limits, environments."""

    confinement: Sandbox
    limits: Limits = field(default_factory=Limits)
    environments: Mapping[str, Environment] = field(default_factory=dict)  # by entry digest, where it is not the harness's own
    watched: bool = False                   # log what a metric attempts and is refused

    @property
    def locks(self) -> dict[str, tuple[str, ...]]:
        """The locked packages of every environment that is not the harness's own, by entry digest."""
        return {digest: environment.lock for digest, environment in self.environments.items() if environment.lock}
