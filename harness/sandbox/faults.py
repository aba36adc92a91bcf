"""What a metric can do wrong, and what goes wrong without it."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from harness.base.errors import TouchstoneError


class FaultKind(enum.StrEnum):
    RAISED = "raised"                       # an exception in the metric
    FORM = "wrong answer"                   # not of the promised form, or not finite
    TIME = "out of time"
    DIED = "died"                           # left, or was killed
    PROTOCOL = "broke the protocol"
    GIVEN_UP = "given up"


class Fault(Exception):
    """What a metric did wrong, as a sentence for the record."""

    def __init__(self, kind: FaultKind, sentence: str, places: Sequence[str] = (), output: str = "") -> None:
        super().__init__(sentence)
        self.kind, self.sentence, self.places, self.output = kind, sentence, tuple(places), output


class SupervisorLost(TouchstoneError):
    """A supervisor that did not start or is no longer there: no metric's fault, so it is asked once more."""


class WorkerLost(SupervisorLost):
    """A supervisor that took a worker down with it; where that happens twice in a row, it is held to be the metric's doing."""
