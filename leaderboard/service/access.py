"""Who may do what: owners by token, or by address where no tokens are used."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa

from leaderboard.service.database import FACTS, ServiceDatabase
from leaderboard.service.epochs.ledger import Epochs
from leaderboard.service.quotas import RefusedRequest
from leaderboard.service.settings import Settings
from leaderboard.service.states import State
from leaderboard.service.submissions import Record, Submissions, UnknownSubmission
from leaderboard.service.tokens import Tokens

BEARER = "Bearer "


class Auth(StrEnum):
    """How owners are identified."""

    NONE = "none"                           # by address; whoever knows the identifier of a submission may queue and withdraw it
    TOKEN = "token"


@dataclass(frozen=True)
class Caller:
    """Who sends a request: the owner, and a hash of the address."""

    owner: str
    address: str


class Service:
    """The submission service as the web application uses it."""

    def __init__(self, database: ServiceDatabase, settings: Settings, auth: Auth) -> None:
        self.submissions, self.tokens, self.auth = Submissions(database, settings), Tokens(database), auth
        self.epochs = Epochs(database)
        self._salt = read_salt(database)

    def identify(self, authorization: str | None, host: str) -> Caller:
        """Return the caller of a request; raise InvalidToken, or RefusedRequest if a token is needed."""
        address = hashlib.blake2b(host.encode(), key=self._salt, digest_size=16).hexdigest()
        if self.auth is Auth.NONE:
            return Caller(f"address:{address}", address)
        token = (authorization or "").removeprefix(BEARER).strip()
        if not token:
            raise RefusedRequest("A token is needed: send it as `Authorization: Bearer ts_...`.", 401)
        return Caller(self.tokens.owner(token), address)

    def own(self, identifier: str, authorization: str | None, host: str) -> Record:
        """Return a submission that the caller may change; one of somebody else does not exist for them."""
        record = self.submissions.get(identifier)
        if self.auth is Auth.TOKEN and record.owner != self.identify(authorization, host).owner:
            raise UnknownSubmission("There is no such submission; check the address.")
        return record

    def may_see_results(self, record: Record, authorization: str | None, host: str) -> bool:
        """Return whether the caller may see results that are not published yet."""
        if record.state is State.PUBLISHED or self.auth is Auth.NONE:
            return True
        return bool(authorization) and self.identify(authorization, host).owner == record.owner


def read_salt(database: ServiceDatabase) -> bytes:
    """Return the secret with which addresses are hashed; it is made once for each database."""
    with database.transaction() as connection:
        database.serialize(connection)
        salt = connection.execute(sa.select(FACTS.c.value).where(FACTS.c.name == "salt")).scalar_one_or_none()
        if salt is None:
            salt = secrets.token_hex(32)
            connection.execute(sa.insert(FACTS).values(name="salt", value=salt))
        return bytes.fromhex(salt)
