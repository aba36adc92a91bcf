"""What readers see of private results, families and verification."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import BaseModel, Field

from leaderboard.service.epochs.disclosure import LadderScore, climb_ladder, rank_range
from leaderboard.service.epochs.ledger import Epochs, PrivateResult
from leaderboard.service.submissions import Record


class PrivateScoreView(BaseModel):
    """A score on a task of a private draw, in steps of about half the width of its interval."""

    task: str
    title: str
    value: float
    low: float
    high: float
    improved: bool = Field(description="false: this is the owner's best score so far, which the entry does not exceed")
    ranks: tuple[int, int] = Field(description="the possible ranks among the published entries on this draw")
    of: int = Field(description="number of published entries on this draw, plus this entry")


class PrivateView(BaseModel):
    """The result of an entry on the private draw of an epoch."""

    epoch: str
    name: str
    tries: int = Field(description="number of entries of the owner on this draw so far, for which the intervals are corrected")
    flagged: tuple[str, ...] = Field(description="tasks on which the public score is not confirmed")
    scores: list[PrivateScoreView]


class Level(StrEnum):
    """How well a result is supported."""

    VERIFIED = "verified"                   # reproduced, and supported by a private draw
    REPRODUCED = "reproduced"               # its code was run by the operator of the board
    CLAIMED = "claimed"                     # its answers were computed elsewhere


class Verification(NamedTuple):
    """The level of an entry, and the epoch that verifies it."""

    level: Level
    epoch: str | None = None
    expires: datetime.date | None = None


class Folded(NamedTuple):
    """A submission that stands for its family, and the number of others of the family in the same list."""

    record: Record
    variants: int


def view_private(epochs: Epochs, submission: str) -> list[PrivateView]:
    """Return the results of a submission on private draws; while an epoch is open by the Ladder rule over its owner's entries."""
    return [view_result(epochs, result) for result in epochs.results(submission=submission)]


def view_result(epochs: Epochs, result: PrivateResult) -> PrivateView:
    """Return what a submitter sees of a result."""
    is_open, published = epochs.get(result.epoch).closed is None, epochs.results(result.epoch, published=True)
    own = epochs.results(result.epoch, owner=result.owner)
    history = own[:[other.digest for other in own].index(result.digest) + 1]
    scores = []
    for score in result.scores:
        before = [other for earlier in history for other in earlier.scores if other.task == score.task]
        disclosed = climb_ladder(before)[-1] if is_open else LadderScore(score, True)
        compared = [other for entry in published for other in entry.scores if other.task == score.task]
        scores.append(PrivateScoreView(task=score.task, title=score.title, value=disclosed.score.value, low=disclosed.score.low,
                                       high=disclosed.score.high, improved=disclosed.improved, of=len(compared) + 1,
                                       ranks=rank_range(disclosed.score, compared)))
    return PrivateView(epoch=result.epoch, name=result.name, tries=result.tries, flagged=result.flagged, scores=scores)


def find_verification(epochs: Epochs | None, suite: str, name: str, submissions: Iterable[str], digest: str | None,
                      claimed: bool) -> Verification | None:
    """Return the level of an entry by name, or None if it is not published.

    Args:
        epochs: The epochs; None without a submission service.
        suite: Fingerprint of the suite.
        name: Name of the entry.
        submissions: Identifiers of published submissions under this name.
        digest: Digest of the entry in the release; None if it is not part of it.
        claimed: Whether its answers were computed elsewhere.
    """
    published = set(submissions)
    if claimed:
        return Verification(Level.CLAIMED)
    if digest is None and not published:
        return None
    for result in reversed([] if epochs is None else epochs.results(name=name)):
        epoch = epochs.get(result.epoch) if epochs is not None else None
        own = result.submission in published or result.digest == digest
        valid = epoch is not None and epoch.public_fingerprint == suite and not epoch.expired
        if epoch is not None and valid and own and result.scores and not result.flagged:
            return Verification(Level.VERIFIED, epoch.name, epoch.expires)
    return Verification(Level.REPRODUCED)


def fold_families(records: Iterable[Record], families: Mapping[str, str]) -> list[Folded]:
    """Return the first submission of each family of an owner in a list, with the number of the others."""
    folded: dict[tuple[str, str], Folded] = {}
    for record in records:
        key = (record.owner, families.get(record.id, record.id))
        first = folded.get(key)
        folded[key] = Folded(record, 0) if first is None else Folded(first.record, first.variants + 1)
    return list(folded.values())
