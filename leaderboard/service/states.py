"""The states of a submission, which state may follow which, and what is stored with them.

A field that a later version adds has a default, so that everything that was stored can be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, Field

from leaderboard.report.position import Position
from leaderboard.scoring.estimates import Estimate
from leaderboard.workflows.check import CheckSummary


class State(StrEnum):
    """The state of a submission."""

    RECEIVED = "received"  # stored
    SCREENED = "screened"  # its header was read; waits for the check
    CHECKED = "checked"  # the check in the sandbox succeeded; its owner may queue it
    QUEUED = "queued"  # waits for a runner
    RUNNING = "running"
    SCORED = "scored"  # every test unit has an outcome; the result cannot be withdrawn any more
    HELD = "held"  # visible to its owner only
    PUBLISHED = "published"
    REFUSED = "refused"
    FAILED = "failed"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


FOLLOWING: dict[State, frozenset[State]] = {
    State.RECEIVED: frozenset({State.SCREENED, State.REFUSED}),
    State.SCREENED: frozenset({State.CHECKED, State.REFUSED, State.FAILED, State.EXPIRED, State.WITHDRAWN}),
    State.CHECKED: frozenset({State.QUEUED, State.EXPIRED, State.WITHDRAWN}),
    State.QUEUED: frozenset({State.RUNNING, State.EXPIRED, State.WITHDRAWN}),
    State.RUNNING: frozenset({State.QUEUED, State.SCORED, State.FAILED}),
    State.SCORED: frozenset({State.HELD}),
    State.HELD: frozenset({State.PUBLISHED}),
    **{state: frozenset() for state in (State.PUBLISHED, State.REFUSED, State.FAILED, State.EXPIRED, State.WITHDRAWN)},
}
FINAL = frozenset(state for state, following in FOLLOWING.items() if not following)
WITHDRAWABLE = frozenset(state for state, following in FOLLOWING.items() if State.WITHDRAWN in following)


class Fault(StrEnum):
    """The cause of a failure: the service or the metric."""

    OURS = "ours"                           # nothing is charged, and the same file may be uploaded again
    YOURS = "yours"


class RunProgress(BaseModel):
    """The progress of a check or a run: the current stage and the last message."""

    stage: str | None = None
    done: int = 0
    total: int = 0
    unit: str = ""
    left: float | None = Field(default=None, description="seconds until the stage ends")
    message: str | None = None


class CheckDetails(BaseModel):
    """The stored result of a check: a report for each entry."""

    reports: list[CheckSummary]


@dataclass(frozen=True)
class SubmittedPosition(Position):
    """A position, with the interval of the overall score at the level that the number of tries requires."""

    overall_corrected: Estimate | None = None


class RunDetails(BaseModel):
    """The stored result of a run: its costs, and the positions among the published metrics."""

    seconds: float = 0.0
    suite: str | None = None
    fingerprint: str | None = None
    release: str | None = Field(default=None, description="the release with whose metrics the entries are ranked")
    unranked: str | None = Field(default=None, description="why the entries are not ranked with the metrics of a release")
    positions: list[SubmittedPosition] = []
    fault: Fault | None = Field(default=None, description="what caused the failure of the run: the metric or the service")


class IllegalTransition(Exception):
    """A submission is not in a state that the new one may follow; nothing was changed."""
