"""Time: what is measured, beside what, and that nothing runs beside it."""

from __future__ import annotations

import time

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.base.units import Unit
from harness.evaluation import executor as jobs
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.run import run_suite
from harness.results.outcomes import Status
from harness.submission.selection import select_entries
from tasks.properties.timing import COLLECTION, GROWTH, Settings, Times, Timing, reference_entry

TASK = Timing()
SETTINGS = Settings(pair=("made_weather", "made_trains"), k=4, n=10, sizes=(5, 10, 40), repetitions=2)


def test_the_measures_by_hand():
    collection, growth = (Unit("timing", 1, (what,), {}, (), None, 1) for what in (COLLECTION, GROWTH))
    assert TASK.measure(collection, Times(66, 3.0, (1.0, 9.0), (), ())).values == {"cost_in_chi": 3.0, "calls_per_second": 22.0}
    squared = tuple((n, 1e-7 * n ** 2) for n in (100, 200, 400))
    values = TASK.measure(growth, Times(0, 1.0, (0, 0), squared, (50_000_000, 50_000_000, 81_000_000))).values
    assert values == {"cost_exponent": pytest.approx(2), "peak_megabytes": 81.0}
    assert TASK.measure(growth, Times(0, 1.0, (0, 0), squared, (None, None, None))).values["peak_megabytes"] is None


def test_units_draw_texts_of_their_own(context):
    units = list(TASK.units(SETTINGS, context))
    assert [unit.stratum for unit in units] == [(COLLECTION,), (GROWTH,)] * 2
    (first, pairs), = TASK.portions(units[0])
    (second, _), = TASK.portions(units[2])
    assert [len(corpus) for corpus in first] == [10] * 4
    assert len(pairs) == 6
    assert first != second
    portions = TASK.portions(units[1])
    assert [(len(corpora), len(corpora[0]), pairs) for corpora, pairs in portions[1:]] == [
        (8, 10, [(0, 1), (2, 3), (4, 5), (6, 7)]), (2, 40, [(0, 1)])]
    everything = [tuple(corpus) for corpora, _ in portions for corpus in corpora]
    assert len(set(everything)) == len(everything)          # nothing is asked twice


def test_a_slower_metric_is_slower_and_preparing_counts(worker_slot: WorkerSlot, inputs, entry_of, context):
    units = list(TASK.units(SETTINGS, context))
    quick = entry_of("quick", "def distance(p, q): return 1.0\n")
    slow = entry_of("slow", "import time\ndef distance(p, q): time.sleep(0.005); return 1.0\n")
    preparing = entry_of("preparing", "import time\ndef prepare(p): time.sleep(0.02)\ndef distance(p, q): return 1.0\n")
    times = {}
    for entry in (quick, slow, preparing):
        outcome = worker_slot.run_unit(entry, TaskUnit(TASK, units[0]), inputs)
        assert outcome.status is Status.ANSWERED, outcome.failure
        times[entry.name] = outcome.observation
        assert outcome.seconds >= outcome.observation.seconds + sum(outcome.observation.reference)
        assert TASK.measure(units[0], outcome.observation).values["cost_in_chi"] > 0
    assert times["slow"].seconds >= 0.8 * 6 * 0.005          # six pairs; the way there and back, taken off, is longer on a busy machine
    assert times["preparing"].seconds >= 0.8 * 4 * 0.02      # four corpora
    assert times["quick"].seconds < times["slow"].seconds / 5


def test_memory_is_the_most_that_was_held_at_once(worker_slot: WorkerSlot, inputs, entry_of, context):
    """A metric that takes a megabyte a text, lets it go again, and calls itself a small one."""
    unit = list(TASK.units(SETTINGS, context))[1]
    modest = entry_of("modest", "def distance(p, q): return 1.0\n")
    hungry = entry_of("hungry", """
import ctypes
import numpy
def distance(p, q):
    ctypes.CDLL(None).prctl(15, b"VmHWM: 1 kB", 0, 0, 0)
    for _ in range(2):
        held = numpy.ones(1_000_000 // 8 * (len(p) + len(q)))
        del held
    return 1.0
""")
    peaks = {}
    for entry in (hungry, modest):                          # the greedy one first: the next has a process of its own
        outcome = worker_slot.run_unit(entry, TaskUnit(TASK, unit), inputs)
        assert outcome.status is Status.ANSWERED, outcome.failure
        peaks[entry.name] = outcome.observation.peaks
    assert 10 < peaks["modest"][0] / 1e6 < 200
    grown = [(more - less) / 1e6 for more, less in zip(peaks["hungry"], peaks["modest"], strict=True)]
    assert grown == pytest.approx([10, 20, 80], abs=6)      # sizes 5, 10, 40, two corpora each; the rest is the allocator's


def test_a_worker_at_hand_does_not_hand_on_its_peak(worker_slot: WorkerSlot, inputs, entry_of, context):
    """A metric is not billed in the growth for what it held in other units before."""
    unit = list(TASK.units(SETTINGS, context))[1]
    hungry_once = entry_of("hungry_at_40", """
import numpy
def distance(p, q):
    return float(len(numpy.ones(20_000_000 if len(p) == 40 else 1)) > 0)
""")
    first, second = (worker_slot.run_unit(hungry_once, TaskUnit(TASK, unit), inputs).observation.peaks for _ in range(2))
    assert first[-1] - first[0] > 150e6
    assert second[0] == pytest.approx(first[0], abs=6e6)


def test_the_way_to_the_worker_is_taken_off(worker_slot: WorkerSlot, inputs, entry_of, context):
    """The same 66 empty calls by the bare clock cost more than what is counted."""
    unit = next(TASK.units(Settings(pair=SETTINGS.pair, repetitions=1, sizes=(5, 10)), context))
    nothing = entry_of("nothing", "def distance(p, q): return 1.0\n")
    least = min(worker_slot.run_unit(nothing, TaskUnit(TASK, unit), inputs).observation.seconds for _ in range(12))     # some are undisturbed
    worker = worker_slot.start(entry_of("again", "def distance(p, q): return 1.0\n"))
    (corpora, pairs), = TASK.portions(unit)
    started = time.perf_counter()
    for handle, corpus in enumerate(corpora):
        worker.store_corpus(handle, corpus, 1)
    for pair in pairs:
        worker.call("distance", pair, 1)
    assert least < (time.perf_counter() - started) / 2
    worker.close()


def test_units_of_time_are_asked_with_nothing_beside_them(smoke, tmp_path, monkeypatch):
    intervals: list[tuple[float, float, bool]] = []
    ask = WorkerSlot.run_unit

    def noted(self, entry, question, inputs):
        started = time.monotonic()
        try:
            return ask(self, entry, question, inputs)
        finally:
            intervals.append((started, time.monotonic(), question.task.info.alone))
    monkeypatch.setattr(jobs.WorkerSlot, "run_unit", noted)
    tally = run_suite(select_entries(["chi", "jaccard", "zipf"], SUBMISSIONS), smoke, tmp_path / "s.sqlite", progress=NoProgress(), jobs=2)
    assert not tally.failures
    alone = [(start, end) for start, end, is_timed in intervals if is_timed]
    others = [(start, end) for start, end, is_timed in intervals if not is_timed]
    assert len(alone) >= 6
    assert any(a != b and a[0] < b[1] and b[0] < a[1] for a in others for b in others)       # the rest did run side by side
    assert not [1 for a in alone for b in alone + others if a != b and a[0] < b[1] and b[0] < a[1]]


def test_everything_is_timed_against_the_default_of_chi():
    assert reference_entry().name == "chi"
