"""A submission service for the tests: files to upload, and clocks that are moved by changing what is stored."""

from __future__ import annotations

import sqlalchemy as sa

from leaderboard.service.database import EVENTS, SUBMISSIONS, ServiceDatabase
from tests.support.submissions import HEADER

BODY = "def distance(p, q): return float(abs(sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q)))\n"


def make_file(name: str, body: str = BODY) -> bytes:
    """Return a valid corpus metric."""
    return (HEADER.format(name=name, kind="corpus", input="texts", returns="distance", range="[0.0, inf]") + body).encode()


def age(database: ServiceDatabase, seconds: float) -> None:
    """Let everything stored appear older."""
    with database.transaction() as connection:
        for table, columns in ((SUBMISSIONS, ("created", "changed", "leased_until")), (EVENTS, ("time",))):
            connection.execute(sa.update(table).values({name: table.c[name] - seconds for name in columns}))
