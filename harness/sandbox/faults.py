"""Faults of a metric, and failures of the sandbox that are not the metric's."""

from __future__ import annotations

import enum
from collections.abc import Sequence


class FaultKind(enum.StrEnum):
    """Kinds of faults."""

    RAISED = "raised"                       # an exception in the metric
    FORM = "wrong answer"                   # not of the declared form, or not finite
    TIME = "out of time"
    DIED = "died"                           # exited, or was killed
    PROTOCOL = "broke the protocol"
    GIVEN_UP = "given up"


class Fault(Exception):
    """A fault of a metric, described in one sentence for the record."""

    def __init__(self, kind: FaultKind, sentence: str, places: Sequence[str] = (), output: str = "") -> None:
        super().__init__(sentence)
        self.kind, self.sentence, self.places, self.output = kind, sentence, tuple(places), output


class SupervisorLost(RuntimeError):
    """A supervisor did not start or has ended. The metric is not at fault, so the assignment is run once more."""


class WorkerLost(SupervisorLost):
    """The supervisor died together with its worker. If this happens twice in a row, the metric is blamed."""
