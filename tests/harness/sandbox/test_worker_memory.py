"""The truth never enters a worker: its memory is scanned from outside for labels, ratings, identifiers and seeds while it answers."""

from __future__ import annotations

import os
import signal
import struct
import threading
import time
from collections.abc import Iterator, Mapping

import pytest

from harness.base.paths import cache_folder
from harness.evaluation.assignment import Conditions, TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Status
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from tasks.data.loading import add_dataset, remove_dataset
from tasks.suite_files import load_suite
from tests.support.processes import descendants, is_other_program, read_memory

pytestmark = [pytest.mark.sandbox, pytest.mark.skipif(os.getuid() != 0, reason="only root may read the memory of a worker")]
PLANTED = "a value that the worker computes"
RATINGS = [struct.unpack("<d", struct.pack("<Q", 0x4001_2345_6789_0000 + 7919 * row))[0] for row in range(40)]        # 2.14...
LABELS = ["topic-qzvx-left", "topic-qzvx-right"]
BODY = """
import time
truth = [bytes.fromhex(text) for text in {truth!r}]
def similarity(a, b):
    if len(a) > 3:                      # not when single pairs are scored again
        planted = {planted!r}[::-1]
        time.sleep(2)
    return [len(set(x) & set(y)) / len(set(x) | set(y)) for x, y in zip(a, b)]
"""


@pytest.fixture
def suite(tmp_path):
    rows = [f'"the {row}th cat sat on mat {row * row}","a {row}th dog lay on rug {row * 3}",{rating!r},judges-qzvx'
            for row, rating in enumerate(RATINGS)]
    (tmp_path / "rated.csv").write_text("\n".join(["text_a,text_b,score,group", *rows]))
    (tmp_path / "topics.csv").write_text("\n".join(["text,label", *(f"post {row} about {row * row},{LABELS[row % 2]}" for row in range(40))]))
    add_dataset("rated_qzvx", tmp_path / "rated.csv", "pairs")
    add_dataset("topics_qzvx", tmp_path / "topics.csv", "labelled")
    (tmp_path / "hidden.toml").write_text("""title = "Hidden"
seed = 3141592653589793238
model = "minilm"
[tasks.human_ordering]
datasets = ["rated_qzvx"]
pairs = 40
batch = 40
[tasks.clustering]
datasets = ["topics_qzvx"]
texts = 20
samples = 1
of_a_label = 10
""")
    yield load_suite(str(tmp_path / "hidden.toml"))
    for name in ("rated_qzvx", "topics_qzvx"):
        remove_dataset(name)


@pytest.fixture
def slot() -> Iterator[WorkerSlot]:
    slot = WorkerSlot(Conditions(probe_sandbox(), Limits(seconds_per_unit=120)))
    yield slot
    slot.close()


def truth_of(task_unit: TaskUnit) -> dict[str, bytes]:
    """Return what a worker must not know, in the forms in which a process can have it."""
    unit = task_unit.unit
    values = {"the unit's identifier": unit.id, "the dataset": unit.data[0].name, "the group": "judges-qzvx", "a label": LABELS[0],
              "a rating as text": repr(RATINGS[0]), "the task": f'"{task_unit.task.name}"'}
    truth = {name: value.encode() for name, value in values.items()} | {f"a rating, {row}": struct.pack("<d", RATINGS[row]) for row in (0, 20, 39)}
    for name, seed in (("the suite's seed", 3141592653589793238), ("the unit's seed", unit.seed)):
        digits = struct.pack("<2I", seed & (1 << 30) - 1, seed >> 30 & (1 << 30) - 1)          # as Python stores an int
        truth |= {f"{name} as text": str(seed).encode(), f"{name} as 8 bytes": struct.pack("<q", seed), f"{name} as an int": digits}
    return truth


def scan_while_answering(slot: WorkerSlot, entry, task_unit: TaskUnit, patterns: Mapping[str, bytes]) -> set[str]:
    """Return which patterns are in the memory of a process of the sandbox while the metric answers."""
    inputs = InputEncoder(VectorCache("minilm", cache_folder()))
    before, outcomes = descendants(os.getpid()), []
    thread = threading.Thread(target=lambda: outcomes.append(slot.run_unit(entry, task_unit, inputs)))
    thread.start()
    memories: list[bytes] = []
    while not any(PLANTED.encode() in region for region in memories):
        assert thread.is_alive(), outcomes
        processes = {process for process in descendants(os.getpid()) - before if is_other_program(process)}
        for number in (signal.SIGSTOP, signal.SIGCONT):             # reading takes longer than a metric should sleep
            for process in processes:
                os.kill(process, number)
            if number == signal.SIGSTOP:
                memories = [region for process in processes for region in read_memory(process)]
        time.sleep(0.2)
    thread.join()
    assert [outcome.status for outcome in outcomes] == [Status.ANSWERED], outcomes
    assert sum(map(len, memories)) > 10_000_000
    return {name for name, pattern in patterns.items() if any(pattern in region for region in memories)}


@pytest.mark.parametrize("task", ["human_ordering", "clustering"])
def test_the_truth_is_not_in_the_memory_of_a_worker(suite, slot, entry_of, task):
    """A control that is given the truth proves that the scan finds each form of it, and the texts that a metric must get."""
    (task_unit,) = (task_unit for task_unit in suite.task_units if task_unit.task.name == task)
    truth = truth_of(task_unit)
    text = next(iter(task_unit.task.texts(task_unit.unit)))
    patterns = {**truth, "a text": text.encode()}
    header = {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"}
    body = BODY.format(planted=PLANTED[::-1], truth=[])
    assert scan_while_answering(slot, entry_of("honest", body, **header), task_unit, patterns) == {"a text"}
    informed = BODY.format(planted=PLANTED[::-1], truth=[value.hex() for value in truth.values()])
    assert scan_while_answering(slot, entry_of("informed", informed, **header), task_unit, patterns) == patterns.keys()
