"""Who may do what: owners by account or token, or by address where neither is used."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import sqlalchemy as sa

from leaderboard.service.database import FACTS, ServiceDatabase
from leaderboard.service.epochs.ledger import Epochs
from leaderboard.service.providers import Provider
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
    OAUTH = "oauth"                         # by the account at another service, in a browser; by a token elsewhere


class Sender(NamedTuple):
    """What a request says about who sends it."""

    host: str = ""
    authorization: str | None = None        # the header of that name
    signed_in: str | None = None            # the owner in the session of a browser


NOBODY = Sender()


@dataclass(frozen=True)
class Caller:
    """Who sends a request: the owner, and a hash of the address."""

    owner: str
    address: str


class Service:
    """The submission service as the web application uses it."""

    def __init__(self, database: ServiceDatabase, settings: Settings, auth: Auth, providers: Sequence[Provider] = ()) -> None:
        self.submissions, self.tokens, self.auth = Submissions(database, settings), Tokens(database), auth
        self.providers, self.epochs = tuple(providers), Epochs(database)
        self.refusals: Counter[int] = Counter()             # of requests to this process, by status
        self._salt = stored_secret(database, "salt")

    def identify(self, sender: Sender) -> Caller:
        """Return the caller of a request; raise InvalidToken, or RefusedRequest if the sender is not identified."""
        address = hashlib.blake2b(sender.host.encode(), key=self._salt, digest_size=16).hexdigest()
        if self.auth is Auth.NONE:
            return Caller(f"address:{address}", address)
        token = (sender.authorization or "").removeprefix(BEARER).strip()
        if token:
            return Caller(self.tokens.owner(token), address)
        if sender.signed_in is not None:
            return Caller(sender.signed_in, address)
        raise RefusedRequest("A token is needed: send it as `Authorization: Bearer ts_...`." if self.auth is Auth.TOKEN else
                             "Sign in on the page Submit, or send a token as `Authorization: Bearer ts_...`.", 401)

    def own(self, identifier: str, sender: Sender) -> Record:
        """Return a submission that the caller may change; one of somebody else does not exist for them."""
        record = self.submissions.get(identifier)
        if self.auth is not Auth.NONE and record.owner != self.identify(sender).owner:
            raise UnknownSubmission("There is no such submission; check the address.")
        return record

    def may_see_results(self, record: Record, sender: Sender) -> bool:
        """Return whether the caller may see results that are not published yet."""
        if record.state is State.PUBLISHED or self.auth is Auth.NONE:
            return True
        return bool(sender.authorization or sender.signed_in) and self.identify(sender).owner == record.owner


def stored_secret(database: ServiceDatabase, name: str) -> bytes:
    """Return a secret of the service, such as the salt of hashed addresses; it is made once for each database."""
    with database.transaction() as connection:
        database.serialize(connection)
        secret = connection.execute(sa.select(FACTS.c.value).where(FACTS.c.name == name)).scalar_one_or_none()
        if secret is None:
            secret = secrets.token_hex(32)
            connection.execute(sa.insert(FACTS).values(name=name, value=secret))
        return bytes.fromhex(secret)
