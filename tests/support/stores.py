"""Stores with a few outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.base.paths import SUBMISSIONS
from harness.base.units import Source, Unit
from harness.results.outcomes import Outcome, Status
from harness.results.provenance import current_provenance
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.selection import select_entries


def filled(store: Store):
    (entry,) = select_entries(["energy"], SUBMISSIONS)
    run = store.begin_run(current_provenance(probe_sandbox().layers, Limits(), {}, "smoke", "f" * 64))
    store.save_entries([entry])
    store.save_units([UNIT])
    store.save_outcome(Outcome(UNIT.id, entry.digest, Status.ANSWERED, observation(), None, 0.5), run)
    return entry, run

UNIT = Unit("toy", 1, ("a",), {"k": 3}, (Source("x", "f"),), Source("minilm", "g"), 7)


def observation() -> Observation:
    rng = np.random.default_rng(1)
    return Observation(tuple(rng.random(50).tolist()), "word", rng.random((40, 30)).astype(np.float32))


@dataclass(frozen=True)
class Observation:
    numbers: tuple[float, ...]
    words: str
    matrix: np.ndarray
    nothing: float | None = None
