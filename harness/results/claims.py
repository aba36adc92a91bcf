"""Claims of coordinators that share a PostgreSQL store, so that each test unit is run by one of them.

A claim is an advisory lock of the server: it needs no table, and it ends with the connection of a coordinator that dies.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import sqlalchemy as sa


Pair = tuple[str, str]                      # unit id, entry digest


class Claims(Protocol):
    """Claims of one run."""

    def take(self, pair: Pair) -> bool: ...
    def release(self, pair: Pair) -> None: ...


class SingleRun:
    """Claims where the store has one run at a time: every one is granted."""

    def take(self, pair: Pair) -> bool:
        return True

    def release(self, pair: Pair) -> None:
        """Do nothing."""


class AdvisoryLocks:
    """Claims on a PostgreSQL server, over a connection of their own."""

    def __init__(self, connection: sa.Connection, outcomes: sa.Table, finished: Mapping[Pair, str]) -> None:
        self._connection, self._outcomes, self._finished = connection, outcomes, finished
        self._lock = threading.Lock()       # threads share the connection

    def take(self, pair: Pair) -> bool:
        """Claim a pair; return False if another run holds it or has stored an outcome since this run was planned."""
        import sqlalchemy as sa

        table = self._outcomes
        query = sa.select(table.c.finished).where(table.c.unit_id == pair[0], table.c.entry_digest == pair[1])
        with self._lock:
            if not self._connection.execute(sa.select(sa.func.pg_try_advisory_lock(lock_number(pair)))).scalar_one():
                return False
            if self._connection.execute(query).scalar_one_or_none() == self._finished.get(pair):
                return True
        self.release(pair)
        return False

    def release(self, pair: Pair) -> None:
        """End a claim after its outcome is stored."""
        import sqlalchemy as sa

        with self._lock:
            self._connection.execute(sa.select(sa.func.pg_advisory_unlock(lock_number(pair))))


def lock_number(pair: Pair) -> int:
    """Return the number of a pair's lock, a signed integer of 64 bits."""
    return int.from_bytes(hashlib.blake2b("|".join(pair).encode(), digest_size=8).digest(), signed=True)
