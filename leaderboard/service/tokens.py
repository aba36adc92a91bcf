"""Tokens of owners: stored as hashes, with a scope and an expiry, revocable."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import NamedTuple

import sqlalchemy as sa

from harness.base.errors import TouchstoneError
from leaderboard.service.database import TOKENS, ServiceDatabase
from leaderboard.service.settings import DAY

PREFIX = "ts_"
SUBMIT = "submit"  # the scope: upload, queue and withdraw one's own submissions
OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,119}")


class InvalidToken(TouchstoneError):
    """A token is unknown, expired or revoked."""


class TokenInfo(NamedTuple):
    """A token without its secret."""

    id: str
    owner: str
    scope: str
    created: float
    expires: float
    revoked: float | None


class Tokens:
    """The tokens in a database."""

    def __init__(self, database: ServiceDatabase) -> None:
        self._database = database

    def create(self, owner: str, days: float = 90, replace: bool = False) -> str:
        """Store a new token of an owner and return it; only its hash is stored, so it cannot be shown again.

        With `replace` the earlier tokens of the owner are revoked.
        """
        if not OWNER.fullmatch(owner):
            raise TouchstoneError(
                "The name of an owner must have 1 to 120 letters, digits, dots, hyphens, underscores, colons and @, and begin "
                "with a letter or digit."
            )
        token = PREFIX + secrets.token_urlsafe(32)
        with self._database.transaction() as connection:
            now = self._database.now(connection)
            if replace:
                former = sa.update(TOKENS).where(TOKENS.c.owner == owner, TOKENS.c.revoked.is_(None))
                connection.execute(former.values(revoked=now))
            connection.execute(
                sa.insert(TOKENS).values(
                    id=secrets.token_hex(4),
                    owner=owner,
                    hash=hash_token(token),
                    scope=SUBMIT,
                    created=now,
                    expires=now + days * DAY,
                )
            )
        return token

    def owner(self, token: str) -> str:
        """Return the owner of a token; raise if it is unknown, expired or revoked."""
        with self._database.transaction(reading=True) as connection:
            row = connection.execute(sa.select(TOKENS).where(TOKENS.c.hash == hash_token(token))).one_or_none()
            now = self._database.now(connection)
        if row is None:
            raise InvalidToken("The token is not valid. Ask the operator of this server for a new one.")
        if row.revoked is not None:
            raise InvalidToken("The token was revoked. Ask the operator of this server for a new one.")
        if row.expires <= now:
            raise InvalidToken("The token has expired. Ask the operator of this server for a new one.")
        return str(row.owner)

    def revoke(self, identifier: str) -> None:
        """Revoke a token by the identifier that `list` shows."""
        with self._database.transaction() as connection:
            changed = connection.execute(
                sa.update(TOKENS)
                .where(TOKENS.c.id == identifier, TOKENS.c.revoked.is_(None))
                .values(revoked=self._database.now(connection))
            ).rowcount
        if not changed:
            raise TouchstoneError(f'There is no valid token "{identifier[:20]}"; `touchstone tokens list` shows all.')

    def list(self) -> list[TokenInfo]:
        """Return all tokens, the oldest first."""
        with self._database.transaction(reading=True) as connection:
            rows = connection.execute(sa.select(TOKENS).order_by(TOKENS.c.created))
            return [TokenInfo(row.id, row.owner, row.scope, row.created, row.expires, row.revoked) for row in rows]


def hash_token(token: str) -> str:
    """Return the hash under which a token is stored; tokens are random, so it needs no salt."""
    return hashlib.sha256(token.encode()).hexdigest()
