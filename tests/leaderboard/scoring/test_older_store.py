"""A store written by an older version is read, resumed and ranked as that version did.

`store_976b391.tar.xz` was written by commit 976b391: `touchstone run chi energy jaccard random constant --suite smoke`, with the
last third of the outcomes deleted as if the run had been interrupted. `store_976b391.json` holds what that commit's
`touchstone show --json` printed for the complete store, without timings.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from harness.base.paths import PROJECT
from harness.evaluation.run import run_suite
from harness.results.outcomes import Status
from harness.results.store import Store
from harness.submission.submission import current_digest, published_digest
from leaderboard.scoring.ranking import rank_suite
from tasks.suite_files import load_suite

DATA = PROJECT / "tests" / "support" / "data"
ENTRIES = ("chi", "energy", "jaccard", "random", "constant")


@pytest.fixture
def older_store(tmp_path: Path) -> Path:
    with tarfile.open(DATA / "store_976b391.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "store.sqlite"


def test_an_older_store_is_read_resumed_and_ranked_identically(older_store):
    expected, suite = json.loads((DATA / "store_976b391.json").read_text()), load_suite("smoke")
    before = Store(older_store, read_only=True)
    stored = before.completed()
    older = before.raw()
    before.close()
    assert len(stored) == len(older) == 200
    assert {unit for unit, *_ in older} <= {task_unit.unit.id for task_unit in suite.questions}
    assert {digest for _, digest, *_ in older} <= {entry["digest"] for entry in expected["entries"]}

    summary = run_suite(ENTRIES, suite, older_store, jobs=2)
    assert summary.planned == summary.done == 101, "only what was missing is run"
    assert summary.failed_in_store == 0
    after = Store(older_store, read_only=True)
    assert stored < after.completed([Status.ANSWERED, Status.NOT_APPLICABLE])
    assert set(older) < set(after.raw()), "stored outcomes are kept as they are"

    rankings = rank_suite(after, suite)
    ranked = {(track, entry.scored.name): entry for track, ranking in rankings.items() for entry in ranking.places}
    assert list(ranked) == [(entry["track"], entry["name"]) for entry in expected["entries"]]
    for entry in expected["entries"]:
        ranked_entry = ranked[entry["track"], entry["name"]]
        assert ranked_entry.scored.stored.digest == ranked_entry.scored.entry.digest == current_digest(entry["digest"])
        assert published_digest(ranked_entry.scored.entry.digest) == entry["digest"]
        assert ranked_entry.rank == entry["rank"]
        assert ranked_entry.scored.overall == pytest.approx(entry["overall"], abs=1e-9)
        for task, values in entry["tasks"].items():
            score = ranked_entry.scored.tasks[task].score
            assert (score and score.value) == pytest.approx(values["score"], abs=1e-9)
            for name, value in values["measures"].items():
                measured = ranked_entry.scored.tasks[task].measures.get(name)
                assert (measured and measured.value) == pytest.approx(value, abs=1e-9), (entry["name"], task, name)
