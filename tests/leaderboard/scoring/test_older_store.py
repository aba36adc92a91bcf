"""A store written by an older version is read, resumed and ranked as that version did.

`store_976b391.tar.xz` was written by commit 976b391: `touchstone run chi energy jaccard random constant --suite smoke`, with the
last third of the outcomes deleted as if the run had been interrupted. `store_976b391.json` holds what that commit's
`touchstone show --json` printed for the complete store, without timings.  Tasks that have been observed in another way since then
are left out: their stored outcomes belong to test units that the suite no longer has.
"""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.paths import PROJECT
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.results.outcomes import Status
from harness.results.store import Store
from harness.submission.submission import current_digest, published_digest
from leaderboard.scoring.ranking import rank_suite
from tasks.registry import get_task
from tasks.suite_files import load_suite

DATA = PROJECT / "tests" / "support" / "data"
EXPECTED = json.loads((DATA / "store_976b391.json").read_text())
# Observe and measure version of that commit, of the tasks that are observed in another way since.
OBSERVED_THEN = {"known_similarity": (3, 1), "distributionality": (1, 1), "local_perturbation": (1, 1), "robustness": (1, 1),
                 "retrieval": (1, 1)}
# Measure version of that commit, of tasks whose stored observations are scored in another way since, if only for other ranges.
MEASURED_THEN = {"sensitivity": 1, "clustering": 1}
ENTRIES = ("chi", "energy", "jaccard", "random", "constant")


@pytest.fixture
def older_store(tmp_path: Path) -> Path:
    with tarfile.open(DATA / "store_976b391.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "store.sqlite"


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Return the suite without the tasks that have changed, after a check that only their versions tell it from the old one."""
    present = load_suite("smoke")
    with monkeypatch.context() as patch:
        for name, (observe_version, measure_version) in OBSERVED_THEN.items():
            task = get_task(name)
            patch.setattr(type(task), "info", replace(task.info, observe_version=observe_version, measure_version=measure_version))
        for name, measure_version in MEASURED_THEN.items():
            patch.setattr(type(get_task(name)), "info", replace(get_task(name).info, measure_version=measure_version))
        assert load_suite("smoke").fingerprint == EXPECTED["fingerprint"]
    return replace(present, task_units=tuple(question for question in present.task_units if question.task.name not in OBSERVED_THEN))


def test_an_older_store_is_read_resumed_and_ranked_identically(older_store, suite):
    ids = {question.unit.id for question in suite.task_units}
    before = Store(older_store, read_only=True)
    stored = before.completed()
    older = before.raw()
    before.close()
    assert len(stored) == len(older) == 200
    assert {digest for _, digest, *_ in older} <= {entry["digest"] for entry in EXPECTED["entries"]}

    summary = run_suite(ENTRIES, suite, older_store, jobs=2)
    assert summary.planned == summary.done
    assert summary.failed_in_store == 0
    after = Store(older_store, read_only=True)
    completed = after.completed([Status.ANSWERED, Status.NOT_APPLICABLE])
    assert stored < completed
    assert summary.planned == len(completed) - len(stored) < len([pair for pair in stored if pair[0] in ids]), "only what was missing is run"
    assert set(older) < set(after.raw()), "stored outcomes are kept as they are"

    rankings = rank_suite(after, suite)
    ranked = {(track, entry.scored.name): entry for track, ranking in rankings.items() for entry in ranking.places}
    changed = {get_task(name).info.track for name in OBSERVED_THEN if get_task(name).info.ranked}       # tracks with another overall score
    listed = [(entry["track"], entry["name"]) for entry in EXPECTED["entries"]]
    assert set(ranked) == set(listed)
    assert [key for key in ranked if key[0] not in changed] == [key for key in listed if key[0] not in changed]
    for entry in EXPECTED["entries"]:
        ranked_entry = ranked[entry["track"], entry["name"]]
        assert ranked_entry.scored.stored.digest == ranked_entry.scored.entry.digest == current_digest(entry["digest"])
        assert published_digest(ranked_entry.scored.entry.digest) == entry["digest"]
        if entry["track"] not in changed:
            assert ranked_entry.rank == entry["rank"]
            assert ranked_entry.scored.overall == pytest.approx(entry["overall"], abs=1e-9)
        for task, values in ((task, values) for task, values in entry["tasks"].items() if task not in OBSERVED_THEN):
            score = ranked_entry.scored.tasks[task].score
            assert (score and score.value) == pytest.approx(values["score"], abs=1e-9)
            for name, value in values["measures"].items():
                measured = ranked_entry.scored.tasks[task].measures.get(name)
                assert (measured and measured.value) == pytest.approx(value, abs=1e-9), (entry["name"], task, name)
