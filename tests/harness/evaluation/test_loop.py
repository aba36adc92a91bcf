"""The run loop: what a metric does wrong costs its own unit, and stopping anywhere loses nothing."""

from __future__ import annotations

import random
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.loop import plan_run
from harness.evaluation.run import run_suite
from harness.results.outcomes import Status
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.submission.selection import select_entries
from harness.submission.submission import load_submission
from leaderboard.scoring.results import score_suite
from tasks.suite_files import load_suite
from tests.support.processes import alive, descendants
from tests.support.runs import SAME, SLOW, killed_and_resumed, start, stored

pytestmark = pytest.mark.sandbox

HONEST = ["word_overlap", "length_difference"]


def run(entries, smoke, path, **more):
    return run_suite(entries, smoke, path, jobs=2, progress=NoProgress(), **{"limits": Limits(seconds_per_unit=8), "only": SAME, **more})


def rows(path: Path, digests) -> list:
    return [row for row in Store(path, read_only=True).raw() if row[1] in digests]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> list:
    """The observations of the honest metrics when nobody else is there."""
    path = tmp_path_factory.mktemp("undisturbed") / "store.sqlite"
    run(select_entries(HONEST, SUBMISSIONS), load_suite("smoke"), path)
    return Store(path, read_only=True).raw()


BAD = {
    "raises": ("raise ValueError('no')", "raised ValueError: no"),
    "nan": ("return float('nan')", "answered nan"),
    "inf": ("return float('inf')", "answered inf"),
    "none": ("return None", "returned None"),
    "string": ("return 'near'", "returned str"),
    "shape": ("import numpy; return numpy.ones(3)", "shape (3,)"),
    "exits": ("import sys; sys.exit(5)", "exit code 5"),
    "dies": ("import os; os._exit(6)", "exit code 6"),
    "segfaults": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "prints": ("print('x' * 3_000_000); return 1.0", None),
}


@pytest.mark.parametrize("bad", BAD)
def test_what_one_metric_does_wrong_changes_nobody_elses_numbers(bad, write, smoke, tmp_path, undisturbed):
    body, sentence = BAD[bad]
    culprit = load_submission(write("culprit", f"def distance(p, q):\n    {body}\n")).entries[0]
    honest = select_entries(HONEST, SUBMISSIONS)
    path = tmp_path / "store.sqlite"
    tally = run([honest[0], culprit, *honest[1:]], smoke, path, only=["known_similarity"])
    assert tally.planned == tally.done
    failed = [failure for name, _, failure in tally.failures if name == "culprit"]
    assert len(failed) == (3 if sentence else 0)
    assert all(sentence in str(failure) for failure in failed)
    assert {name for name, _, _ in tally.failures} <= {"culprit"}
    digests = {entry.digest for entry in honest}
    asked = {row[0] for row in rows(path, digests)}
    assert rows(path, digests) == [row for row in undisturbed if row[0] in asked]


def test_a_hanging_metric_costs_its_own_time_and_is_given_up(write, smoke, tmp_path, undisturbed):
    culprit = load_submission(write("culprit", "def distance(p, q):\n    while True: pass\n")).entries[0]
    honest = select_entries(HONEST, SUBMISSIONS)
    path = tmp_path / "store.sqlite"
    limits = Limits(seconds_per_unit=1, failures_in_a_row=2)
    tally = run([culprit, *honest], smoke, path, limits=limits)
    kinds = sorted(failure.kind for name, _, failure in tally.failures if name == "culprit")
    assert "out of time" in kinds
    assert len(kinds) == 5
    assert rows(path, {entry.digest for entry in honest}) == undisturbed


def test_giving_up_is_recorded_with_its_reason(write, smoke, tmp_path):
    culprit = load_submission(write("culprit", "def distance(p, q):\n    while True: pass\n")).entries[0]
    tally = run_suite([culprit], smoke, tmp_path / "s.sqlite", only=["known_similarity"], jobs=1, progress=NoProgress(),
                      limits=Limits(seconds_per_unit=0.5, failures_in_a_row=2))
    assert [failure.kind for _, _, failure in tally.failures] == ["out of time", "out of time", "given up"]
    assert "the metric timed out on 2 consecutive test units" in str(tally.failures[-1][2])


@pytest.mark.parametrize("body", [
    "import time\ntime.sleep(600)\ndef distance(p, q): return 1.0\n",
    "import signal\nfor number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)\n"
    "def distance(p, q):\n    while True: pass\n"], ids=["hangs at import", "ignores signals"])
def test_a_metric_that_hangs_everywhere_is_given_up_after_three_units_of_all_tasks(body, write, smoke, tmp_path):
    culprit = load_submission(write("culprit", body)).entries[0]
    tally = run_suite([culprit], smoke, tmp_path / "s.sqlite", jobs=1, progress=NoProgress(), limits=Limits(seconds_per_unit=0.5, seconds_to_start=1))
    kinds = [failure.kind for _, _, failure in tally.failures]
    assert len({task_unit.task.name for _, task_unit, _ in tally.failures}) > 3
    assert kinds == ["out of time"] * 3 + ["given up"] * (len(kinds) - 3)
    assert len(kinds) == tally.planned > 6


@pytest.mark.parametrize(("body", "sentence"), [
    ("import no_such_module\n", "raised ModuleNotFoundError"),
    ("def distance(p, q:\n", "raised SyntaxError"),
    ("def similarity(p, q): return 1.0\n", "could not be loaded: defines no function `distance`"),
    ("import os; os._exit(9)\n", "exit code 9"),
])
def test_a_file_that_cannot_be_loaded_fails_its_units(body, sentence, write, smoke, tmp_path):
    culprit = load_submission(write("culprit", body)).entries[0]
    tally = run([culprit], smoke, tmp_path / "store.sqlite")
    assert len(tally.failures) == tally.planned == 5
    assert all(sentence in str(failure) for _, _, failure in tally.failures)


def test_a_second_run_asks_nothing_and_retry_asks_what_failed(write, smoke, tmp_path):
    flag = tmp_path / "mended"
    culprit = load_submission(write("culprit", f"import os\ndef distance(p, q):\n    if not os.path.exists({str(flag)!r}): raise ValueError\n"
                                               "    return float(abs(len(p[0]) - len(q[0])))\n")).entries[0]
    path = tmp_path / "store.sqlite"
    first = run([culprit], smoke, path, trust=True)                 # in the sandbox it would not see the flag
    assert first.failed_in_store == len(first.failures) == 3        # the axioms catch what their trials raise
    flag.touch()
    assert run([culprit], smoke, path, trust=True).planned == 0
    second = run([culprit], smoke, path, retry_failed=True, trust=True)
    assert (second.planned, second.answered, second.failed_in_store) == (3, 3, 0)
    assert run([culprit], smoke, path, rerun=True, trust=True).planned == 5


def test_a_new_measure_version_runs_no_unit_and_changes_the_fingerprint(smoke, tmp_path, monkeypatch):
    entries = select_entries(["length_difference"], SUBMISSIONS)
    path = tmp_path / "store.sqlite"
    run(entries, smoke, path)
    task = smoke.tasks[0]
    monkeypatch.setattr(type(task), "info", replace(task.info, measure_version=task.info.measure_version + 1))
    changed = load_suite("smoke")
    assert changed.fingerprint != smoke.fingerprint
    assert plan_run(entries, changed.select(SAME), Store(path, read_only=True)) == []
    monkeypatch.setattr(type(task), "info", replace(task.info, observe_version=task.info.observe_version + 1))
    assert len(plan_run(entries, load_suite("smoke").select(SAME), Store(path, read_only=True))) == 3


SERIATION = """
# Remembers every corpus, orders them by their mean length, and answers by rank: no pairwise skill is needed.
seen = {}
def prepare(corpus):
    seen[tuple(corpus)] = sum(text.count("train") + text.count("platform") for text in corpus) / len(corpus)
    return tuple(corpus)
def distance(p, q):
    order = sorted(seen.values())
    return float(abs(order.index(seen[p]) - order.index(seen[q])))
"""


def test_a_metric_that_remembers_corpora_gains_by_it_and_is_caught(write, smoke, tmp_path):
    """The attack succeeds as far as the score goes; the fresh workers give it away."""
    cheat = load_submission(write("seriation", SERIATION)).entries[0]
    honest = select_entries(["word_overlap"], SUBMISSIONS)
    path = tmp_path / "store.sqlite"
    run([cheat, *honest], smoke, path, only=["known_similarity"])
    scored = {one.name: one for one in score_suite(Store(path, read_only=True), smoke)}
    cheated, fair = (scored[name].tasks["known_similarity"] for name in ("seriation", "word_overlap"))
    assert cheated.score.value > fair.score.value
    assert cheated.score.value > 0.95
    assert "context-dependent" in cheated.marks
    assert fair.marks == frozenset()


BATCH = """
def similarity(a, b): return [shared(x, y) for x, y in zip(a, b)]
def shared(x, y): return len(set(x) & set(y)) / max(1, len(set(x) | set(y)))
def matrix(a, b):
    common = set.intersection(*map(set, a))
    return [[shared(set(x) - common, set(y) - common) for y in b] for x in a]
"""


SAMPLING = """
import numpy as np
def similarity(a, b): return matrix(a, b).diagonal()
def matrix(a, b):
    score = np.array([[abs(x.count("train") - y.count("train")) < 0.5 for y in b] for x in a], float)
    return np.clip(score / 2 + 1e-4 * np.random.random_sample(score.shape), 0, 1)
"""


def test_a_matrix_that_depends_on_its_other_texts_is_caught(write, smoke, tmp_path):
    """A whole collection is one matrix, the recheck in a fresh worker sees one pair; drawing a little is no such dependence."""
    text = {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"}
    batch, sampling = (load_submission(write(name, body, **text)).entries[0] for name, body in (("batch", BATCH), ("sampling", SAMPLING)))
    path = tmp_path / "store.sqlite"
    run([batch, sampling, *select_entries(["word_overlap", "rouge1"], SUBMISSIONS)], smoke, path, only=["known_similarity"])
    marks = {one.name: one.tasks["known_similarity"].marks for one in score_suite(Store(path, read_only=True), smoke)}
    assert marks == {"batch": {"context-dependent"}, "sampling": {"unrepeatable"}, "word_overlap": frozenset(), "rouge1": frozenset()}


def test_answering_by_the_order_of_calls_gains_nothing(write, smoke, tmp_path):
    counting = load_submission(write("counting", "n = 0\ndef distance(p, q):\n    global n\n    n += 1\n    return float(n)\n")).entries[0]
    path = tmp_path / "store.sqlite"
    run([counting], smoke, path, only=["known_similarity"])
    (scored,) = score_suite(Store(path, read_only=True), smoke)
    score = scored.tasks["known_similarity"]
    assert abs(score.score.value) < 0.6                 # three collections of ten pairs: chance, with its noise
    assert "context-dependent" in score.marks


# ---- stopped anywhere --------------------------------------------------------------------------------------------------



def test_kill_9_at_random_moments_loses_and_doubles_nothing(write, smoke, tmp_path):
    write("slow", SLOW, kind="text", returns="similarity", range="[0.0, 1.0]")
    words = [str(tmp_path / "slow.py"), "word_overlap", "length_difference", "levenshtein"]
    calm, rough = tmp_path / "calm.sqlite", tmp_path / "rough.sqlite"
    start(calm, *words).communicate()
    planned = stored(calm)
    assert planned == 4 * 5
    assert killed_and_resumed(rough, words, planned, 10, random.Random(1)) == 10
    assert Store(rough, read_only=True).raw() == Store(calm, read_only=True).raw()


def test_ctrl_c_while_texts_are_embedded_says_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    process = start(tmp_path / "store.sqlite", "energy")
    while "vector yet" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopped. 0 test units are stored, 5 are left; repeat the command to continue." in said
    assert "Traceback" not in said


@pytest.mark.parametrize(("sent", "interrupt"), [
    (signal.SIGINT, signal.SIG_DFL), (signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL), (signal.SIGTERM, signal.SIG_IGN)])
def test_a_signal_keeps_what_is_done_and_leaves_no_process(sent, interrupt, write, tmp_path):
    write("slow", SLOW.replace("0.01", "0.05"), kind="text", returns="similarity", range="[0.0, 1.0]")
    path = tmp_path / "store.sqlite"
    process = start(path, "word_overlap", str(tmp_path / "slow.py"), interrupt=interrupt)
    while not stored(path):
        assert process.poll() is None
        time.sleep(0.02)
    at_work = descendants(process.pid)
    assert len(at_work) >= 2
    process.send_signal(sent)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    done, left = (int(number) for number in re.search(r"Stopped\. (\d+) test units are stored, (\d+) are left", said).groups())
    assert done == stored(path)
    assert left > 0
    assert done + left == 10
    assert "Traceback" not in said
    time.sleep(0.5)                                     # the kernel clears up after the last of them
    assert not [one for one in at_work if alive(one)]
    again = start(path, "word_overlap", str(tmp_path / "slow.py"))
    again.communicate()
    assert again.returncode == 0
    assert stored(path) == 10


def test_two_runs_at_once_on_one_store_one_says_so(write, tmp_path):
    write("slow", SLOW.replace("0.01", "0.2"), kind="text", returns="similarity", range="[0.0, 1.0]")
    path = tmp_path / "store.sqlite"
    first = start(path, str(tmp_path / "slow.py"))
    while not path.with_suffix(".lock").exists() or not path.with_suffix(".lock").read_text():
        time.sleep(0.02)
    second = start(path, "word_overlap")
    _, said = second.communicate(timeout=60)
    assert first.poll() is None                         # it was still at work
    first.kill()
    first.communicate()
    assert second.returncode == 2
    assert re.search(rf"^touchstone: Another run is writing to .* \(process {first.pid}", said)
    assert said.count("\n") == 1


def test_outcomes_have_the_statuses_they_should(smoke, tmp_path):
    path = tmp_path / "store.sqlite"
    run(select_entries(["word_overlap"], SUBMISSIONS), smoke, path)
    assert {row[2] for row in Store(path, read_only=True).raw()} == {Status.ANSWERED.value}
