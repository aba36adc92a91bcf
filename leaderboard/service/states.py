"""The states of a submission, and which state may follow which."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What has happened to a submission so far."""

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


class IllegalTransition(Exception):
    """A submission is not in a state that the new one may follow; nothing was changed."""
