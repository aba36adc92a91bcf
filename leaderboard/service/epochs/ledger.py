"""The epochs, the disclosed private scores and the families in the database of the service.

No secret is stored before its epoch is closed, and no private score that is not rounded.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import TouchstoneError, did_you_mean, printable
from harness.base.progress import Progress
from harness.results.store import Json
from harness.submission.header import read_header
from harness.submission.submission import Submission
from leaderboard.service.database import SUBMISSIONS, ServiceDatabase
from leaderboard.service.epochs.disclosure import Gap, PrivateScore
from leaderboard.service.epochs.draws import commitment_of, derive_suite, digest_items, parse_secret
from leaderboard.service.epochs.families import find_family
from leaderboard.service.states import State
from tasks.suite_files import first_error

SCORED = (State.SCORED, State.HELD, State.PUBLISHED)
METADATA = sa.MetaData()
EPOCHS = sa.Table(
    "service_epochs",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("commitment", sa.Text, nullable=False),
    sa.Column("opened", sa.Float, nullable=False),
    sa.Column("closed", sa.Float),
    sa.Column("expires", sa.Text, nullable=False),
    sa.Column("recipe", sa.Text, nullable=False),
    sa.Column("sources", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),  # of the derived suite
    sa.Column("items", Json, nullable=False),  # digest of the texts of each task in order
    sa.Column("secret", sa.Text),  # once it is closed
)
PRIVATE_SCORES = sa.Table(
    "service_private_scores",
    METADATA,
    sa.Column("epoch", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, primary_key=True),  # of the entry
    sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("submission", sa.Text, index=True),  # none: a published entry
    sa.Column("owner", sa.Text),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("time", sa.Float, nullable=False),
    sa.Column("scores", Json, nullable=False),
    sa.Column("gaps", Json, nullable=False),
    sa.Column("flagged", Json, nullable=False),  # tasks that the draw does not confirm
)
FAMILIES = sa.Table(
    "service_families",
    METADATA,
    sa.Column("submission", sa.Text, primary_key=True),
    sa.Column("family", sa.Text, nullable=False, index=True),  # the first submission of the family
)


class Epoch(BaseModel):
    """An epoch; the recipe, the sources and the secret are shown once it is closed."""

    model_config = ConfigDict(frozen=True)

    name: str
    commitment: str = Field(description="sha256(secret || recipe || sources)")
    opened: float = Field(default=0.0, description="seconds since 1970")
    closed: float | None = None
    expires: datetime.date = Field(description="the last day on which badges are valid")
    recipe: str = Field("", description="the recipe in TOML")
    sources: str = Field("", description="the suite, the model and the datasets with their fingerprints")
    fingerprint: str = Field("", description="of the suite that the recipe and the secret determine")
    items: dict[str, str] = Field({}, description="digest of the texts of each task in their order")
    secret: str | None = None

    @property
    def expired(self) -> bool:
        """Whether badges of this epoch are no longer valid."""
        return (self.closed is not None and self.secret is None) or datetime.datetime.now(datetime.UTC).date() > self.expires

    @property
    def public_fingerprint(self) -> str:
        """The fingerprint of the public suite; empty if it is not shown."""
        fingerprints: list[str] = [*json.loads(self.sources or "{}").get("suite", {}).values(), ""]
        return fingerprints[0]

    @property
    def visible(self) -> Epoch:
        """What everybody may see: of an open epoch only the commitment and the times."""
        hidden = {"recipe", "sources", "fingerprint", "items", "secret"} if self.closed is None else set[str]()
        return Epoch.model_validate(self.model_dump(exclude=hidden))

    def check(self, secret: bytes) -> None:
        """Refuse a secret, a recipe or sources that are not those of the commitment."""
        if commitment_of(secret, self.recipe, self.sources) != self.commitment:
            raise TouchstoneError(f"The secret does not belong to the epoch {self.name}, or its recipe or sources were altered: "
                                  f"their hash is not the commitment {self.commitment[:16]}.")


class UnknownEpoch(TouchstoneError):
    """There is no epoch of a name."""


class PrivateResult(NamedTuple):
    """What is kept of an entry on a private draw."""

    epoch: str
    digest: str
    name: str
    submission: str | None
    owner: str | None
    tries: int
    time: float
    scores: tuple[PrivateScore, ...]
    gaps: Mapping[str, Gap]
    flagged: tuple[str, ...]


class Epochs:
    """Epochs and private results in a database."""

    def __init__(self, database: ServiceDatabase) -> None:
        self.database = database
        with database.transaction() as connection:
            database.serialize(connection)
            METADATA.create_all(connection)

    # ---- epochs -----------------------------------------------------------------------------------------------------------

    def open(self, epoch: Epoch) -> Epoch:
        """Store an epoch, of which one is open at a time."""
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            for row in connection.execute(sa.select(EPOCHS)):
                if row.name == epoch.name:
                    raise TouchstoneError(f"The epoch {epoch.name} already exists; change `name` in the recipe.")
                if row.closed is None:
                    raise TouchstoneError(f"The epoch {row.name} is open; close it first with `touchstone epoch close "
                                          f"{row.name}`.")
            values = epoch.model_dump() | {"opened": self.database.now(connection), "expires": epoch.expires.isoformat()}
            connection.execute(sa.insert(EPOCHS).values(**values))
        return self.get(epoch.name)

    def close(self, name: str, secret: bytes | None) -> Epoch:
        """Close an epoch and reveal its secret; without it, if it was lost, nobody can verify the epoch, and its badges end."""
        epoch = self.require_open(name)
        if secret is not None:
            epoch.check(secret)
        with self.database.transaction() as connection:
            connection.execute(sa.update(EPOCHS).where(EPOCHS.c.name == name, EPOCHS.c.closed.is_(None)).values(
                closed=self.database.now(connection), secret=None if secret is None else secret.hex()))
        return self.get(name)

    def require_open(self, name: str) -> Epoch:
        """Return an epoch that is open."""
        epoch = self.get(name)
        if epoch.closed is not None:
            raise TouchstoneError(f"The epoch {name} is already closed; verify it with `touchstone epoch verify {name}`.")
        return epoch

    def list(self) -> Sequence[Epoch]:
        """Return all epochs, the oldest first."""
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(sa.select(EPOCHS).order_by(EPOCHS.c.opened))
            return [Epoch.model_validate(dict(row._mapping)) for row in rows]

    def get(self, name: str) -> Epoch:
        """Return an epoch by name."""
        epochs = {epoch.name: epoch for epoch in self.list()}
        if name not in epochs:
            hint = f"{did_you_mean(name, epochs)} The epochs are {', '.join(epochs)}." if epochs else " There are none yet."
            raise UnknownEpoch(f'There is no epoch "{printable(name, 40)}".{hint}')
        return epochs[name]

    def current(self) -> Epoch | None:
        """Return the epoch that is open, if there is one."""
        return next((epoch for epoch in self.list() if epoch.closed is None), None)

    # ---- private results --------------------------------------------------------------------------------------------------

    def tries(self, epoch: str, owner: str, digest: str) -> int:
        """Return which try on a draw an entry is, counted from 1 over all entries of its owner."""
        return 1 + sum(result.digest != digest for result in self.results(epoch, owner=owner))

    def save(self, result: PrivateResult) -> None:
        """Store a result, unless the entry has one."""
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            same = sa.and_(PRIVATE_SCORES.c.epoch == result.epoch, PRIVATE_SCORES.c.digest == result.digest)
            existing = connection.execute(sa.select(PRIVATE_SCORES.c.submission).where(same)).one_or_none()
            if existing is None:
                values = result._asdict() | {"time": self.database.now(connection), "flagged": list(result.flagged),
                                             "scores": [asdict(score) for score in result.scores],
                                             "gaps": {task: asdict(gap) for task, gap in result.gaps.items()}}
                connection.execute(sa.insert(PRIVATE_SCORES).values(**values))

    def reassign(self, epoch: str, digests: Sequence[str], submission: str, owner: str) -> None:
        """Let results of an owner belong to a submission: a file can be submitted again after a failure of ours."""
        with self.database.transaction() as connection:
            connection.execute(sa.update(PRIVATE_SCORES).where(
                PRIVATE_SCORES.c.epoch == epoch, PRIVATE_SCORES.c.digest.in_(digests), PRIVATE_SCORES.c.owner == owner,
            ).values(submission=submission))

    def results(self, epoch: str | None = None, *, submission: str | None = None, name: str | None = None,
                owner: str | None = None, published: bool = False) -> Sequence[PrivateResult]:
        """Return the results on a draw, of a submission, under a name, of an owner, or of published entries, the oldest first."""
        query = sa.select(PRIVATE_SCORES).order_by(PRIVATE_SCORES.c.time, PRIVATE_SCORES.c.digest)
        for column, value in ((PRIVATE_SCORES.c.epoch, epoch), (PRIVATE_SCORES.c.submission, submission),
                              (PRIVATE_SCORES.c.name, name), (PRIVATE_SCORES.c.owner, owner)):
            if value is not None:
                query = query.where(column == value)
        if published:
            query = query.where(PRIVATE_SCORES.c.submission.is_(None))
        with self.database.transaction(reading=True) as connection:
            return [PrivateResult(**{**row._mapping, "scores": tuple(PrivateScore(**score) for score in row.scores),
                                     "gaps": {task: Gap(**gap) for task, gap in row.gaps.items()}, "flagged": tuple(row.flagged)})
                    for row in connection.execute(query)]

    def scored_submissions(self) -> Sequence[tuple[str, str, Submission]]:
        """Return the identifier, the owner and the file of every scored submission, the oldest first."""
        query = (sa.select(SUBMISSIONS.c.id, SUBMISSIONS.c.owner, SUBMISSIONS.c.filename, SUBMISSIONS.c.source)
                 .where(SUBMISSIONS.c.state.in_(SCORED)).order_by(SUBMISSIONS.c.changed))
        with self.database.transaction(reading=True) as connection:
            rows = connection.execute(query).all()
        return [(row.id, row.owner, Submission(row.filename, source, read_header(source, row.filename)))
                for row in rows for source in [bytes(row.source)]]

    # ---- families ---------------------------------------------------------------------------------------------------------

    def assign_family(self, submission: str, owner: str, name: str, source: bytes) -> str:
        """Store and return the family of a submission: that of the most similar one of its owner, or a new one."""
        with self.database.transaction() as connection:
            self.database.serialize(connection)
            rows = connection.execute(
                sa.select(FAMILIES.c.family, FAMILIES.c.submission, SUBMISSIONS.c.name, SUBMISSIONS.c.source)
                .join(SUBMISSIONS, SUBMISSIONS.c.id == FAMILIES.c.submission).where(SUBMISSIONS.c.owner == owner)).all()
            family = next((row.family for row in rows if row.submission == submission), None)
            if family is None:
                others = [(row.family, row.name or "", bytes(row.source)) for row in rows]
                family = find_family(name, source, others) or submission
                connection.execute(sa.insert(FAMILIES).values(submission=submission, family=family))
            return family

    def families(self) -> Mapping[str, str]:
        """Return the family of each submission."""
        with self.database.transaction(reading=True) as connection:
            return {row.submission: row.family for row in connection.execute(sa.select(FAMILIES))}

    def tries_of_family(self, submission: str) -> int:
        """Return how many submissions of a family have a score, at least 1."""
        family = sa.select(FAMILIES.c.family).where(FAMILIES.c.submission == submission).scalar_subquery()
        query = (sa.select(sa.func.count()).select_from(FAMILIES).join(SUBMISSIONS, SUBMISSIONS.c.id == FAMILIES.c.submission)
                 .where(FAMILIES.c.family == family, SUBMISSIONS.c.state.in_(SCORED)))
        with self.database.transaction(reading=True) as connection:
            return max(1, connection.execute(query).scalar_one())


def read_record(path: Path) -> Epoch:
    """Return an epoch from a file, as `/api/epochs/NAME` returns it."""
    try:
        return Epoch.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TouchstoneError(f"{path} cannot be read ({error.strerror}).") from None
    except ValidationError as error:
        raise TouchstoneError(f"{path} is not the record of an epoch: {first_error(error)}") from None


def verify_epoch(epoch: Epoch, progress: Progress | None = None) -> None:
    """Derive the draw of a closed epoch anew, and raise if anything differs from what was stored."""
    if epoch.secret is None and epoch.closed is not None:
        raise TouchstoneError(f"The epoch {epoch.name} was closed without its secret, so its draw cannot be derived.")
    if epoch.secret is None:
        raise TouchstoneError(f"The epoch {epoch.name} is open; its secret is revealed when it is closed.")
    secret = parse_secret(epoch.secret, f"The record of the epoch {epoch.name}")
    epoch.check(secret)
    draw = derive_suite(epoch.recipe, secret)
    if draw.fingerprint != epoch.fingerprint:
        raise TouchstoneError(f"The draw of {epoch.name} has the fingerprint {draw.fingerprint[:16]} here and "
                              f"{epoch.fingerprint[:16]} in the record; check out the version of Touchstone that opened it.")
    items = digest_items(draw, progress)
    for task in sorted({*items, *epoch.items}):
        if items.get(task) != epoch.items.get(task):
            raise TouchstoneError(f"The texts of {task} in the draw of {epoch.name} differ from those of the record.")
