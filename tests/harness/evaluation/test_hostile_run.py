"""Three hundred hostile units in one run: it goes on, says why each failed, and nothing is left behind or changed."""

from __future__ import annotations

import gc
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.sandbox.cgroups import find_groups
from harness.sandbox.layers import library_folders
from harness.sandbox.probe import probe_sandbox
from harness.submission.selection import select_entries
from harness.submission.submission import load_submission
from tests.support.attacks import ATTACKS, ATTEMPTS, NARROW, ODDITIES, PRELUDE, filled
from tests.support.processes import descendants

pytestmark = pytest.mark.sandbox

HONEST = ["word_overlap", "length_difference"]
TASK = ["known_similarity"]
ENDS = r"^(could not be loaded: )?(raised|did not answer|was killed|ended with|broke the protocol|distance returned|answered|closed its channel)"


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def hostile(target: Path) -> dict[str, tuple[str, str]]:
    """Name: the submission's lines, and what the record must say.

    Beside so much other work the time for a unit may end an attempt before the limit it is after; that each limit is
    named is asserted in test_bounds, where it has time.
    """
    found = {}
    for body in ATTACKS.values():
        attack = PRELUDE.format(target=str(target), parent=os.getpid(), address=0, dns=9, body=indented(filled(body)))
        attack += "def distance(p, q):\n    if not attack(): raise RuntimeError('kept from it')\n    return 1.0\n"
        found[f"attack-{len(found)}"] = attack, ENDS
    for body, sentence, layer in ATTEMPTS.values():
        if layer is None or layer in probe_sandbox().layers:
            found[f"attempt-{len(found)}"] = f"def distance(p, q):\n{indented(body)}", f"{sentence}|{ENDS}"
    for module, body, _ in ODDITIES.values():
        found[f"oddity-{len(found)}"] = f"{module}def distance(p, q):\n{indented(body)}", ENDS
    return found


def left_behind() -> list[Path]:
    own = f"touchstone-{os.getpid()}-*"
    return [*Path(tempfile.gettempdir()).glob(own), *find_groups(own)]


def shared_memory() -> set[str]:
    """What lies there; PostgreSQL and the browser of other tests come and go meanwhile."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("PostgreSQL.", ".org.chromium.", ".com.google."))}


def test_three_hundred_hostile_units_change_nothing_and_leave_nothing(write, smoke, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "secret").write_text("of ours")
    culprits = hostile(target)
    honest = select_entries(HONEST, SUBMISSIONS)
    alone, together = tmp_path / "alone.sqlite", tmp_path / "together.sqlite"
    limits = replace(NARROW, seconds_per_unit=3.0, failures_in_a_row=2)
    run_suite(honest, smoke, alone, only=TASK, progress=NoProgress(), limits=limits)
    entries = [load_submission(write(name, body)).entries[0] for name, (body, _) in culprits.items()]
    entries[len(entries) // 2:0] = honest[:1]
    gc.collect()
    before = left_behind()
    descriptors, processes, shared = len(os.listdir("/proc/self/fd")), descendants(os.getpid()), shared_memory()
    written = {path: path.stat().st_mtime_ns for folder in library_folders() for path in Path(folder).iterdir()}

    tally = run_suite([*entries, *honest[1:]], smoke, together, only=TASK, progress=NoProgress(), limits=limits, jobs=2)

    assert tally.planned == tally.done == 3 * (len(culprits) + len(honest))
    assert len(tally.failures) == 3 * len(culprits)
    assert len(tally.failures) >= 300 or probe_sandbox().lacking
    for name, _, failure in tally.failures:
        expected = culprits[name][1]
        assert re.search(rf"{expected}|^was not run: the metric timed out on 2 consecutive", failure.sentence), (name, failure)
        assert failure.sentence.isprintable()
    digests = {entry.digest for entry in honest}
    assert [row for row in Store(together, read_only=True).raw() if row[1] in digests] == Store(alone, read_only=True).raw()
    gc.collect()
    assert descendants(os.getpid()) == processes
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert left_behind() == before
    assert shared_memory() <= shared
    assert list(target.iterdir()) == [target / "secret"]
    assert (target / "secret").read_text() == "of ours"
    assert not list(Path("/tmp").glob("touchstone-attack-*"))
    assert {path: path.stat().st_mtime_ns for folder in library_folders() for path in Path(folder).iterdir()} == written
