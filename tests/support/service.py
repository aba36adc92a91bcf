"""A submission service for the tests: files to upload, and clocks that are moved by changing what is stored."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from leaderboard.service.database import EVENTS, SUBMISSIONS, ServiceDatabase
from leaderboard.service.states import SubmittedPosition
from leaderboard.workflows.check import CheckSummary
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


def start_service(*words: str, lease: float = 3.0, prefix: Sequence[str] = (), **settings: float) -> subprocess.Popen[str]:
    """Start `touchstone runner` or `touchstone serve` in a process of its own."""
    named = {f"TOUCHSTONE_SERVICE_{name.upper()}": str(value) for name, value in {"lease_seconds": lease, "attempts": 1000, **settings}.items()}
    return subprocess.Popen([*prefix, sys.executable, "-m", "leaderboard", *words], env={**os.environ, **named}, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for a condition; fail if it does not come true."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)


def make_position(**changed) -> SubmittedPosition:
    """Return rank 2 of 7 corpus metrics."""
    return SubmittedPosition(**{
        "name": "mine", "track": "corpus", "rank": 2, "rank_interval": (1, 3), "of": 7, "not_ranked": None, "overall": None, "axis": "Overall",
        "unit": "0 is chance", "unseen": None, "unseen_level": 0.95, "better_than": (), "worse_than": (), "most_similar": (), "tasks": (), **changed})


def make_check(**changed) -> CheckSummary:
    """Return the report of a check without findings."""
    return CheckSummary(**{
        "name": "mine", "digest": "d", "sound": True, "inversion": None, "axioms": None, "worst": {}, "answers": None, "accuracy_on_made_texts": None,
        "texts": None, "calls_per_second": None, "seconds_on_core": None, "failures": [], "refusal": None, "refused": [], "advice": [], "seconds": 1.0,
        **changed})
