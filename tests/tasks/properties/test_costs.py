"""The time of a comparison: what counts, and what does not."""

from __future__ import annotations

import pytest

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.results.outcomes import Status
from tasks.properties.corpus_cost import CorpusCost
from tasks.properties.corpus_cost import Settings as CorpusSettings
from tasks.properties.costs import Cost
from tasks.properties.text_cost import Settings as TextSettings
from tasks.properties.text_cost import TextCost

SOURCES = ("made_weather", "made_trains")
TASKS = {"corpus": (CorpusCost(), CorpusSettings(pair=SOURCES, n=6, pairs=3, repetitions=2)),
         "text": (TextCost(), TextSettings(pair=SOURCES, pairs=20, repetitions=2))}
SCORES = "def similarity(a, b): return [1.0 for _ in a]\n"
QUICK = {"corpus": "def distance(p, q): return 1.0\n", "text": SCORES}
SLOW = {"corpus": "import time\ndef distance(p, q): time.sleep(0.02); return 1.0\n",
        "text": "import time\ndef similarity(a, b): time.sleep(0.01 * len(a)); return [1.0 for _ in a]\n"}


@pytest.fixture
def run(worker_slot: WorkerSlot, inputs, entry_of, context):
    """Return a function that runs a metric on the first unit of a task and returns its observation."""
    def run_first(kind: str, name: str, body: str, **header: str) -> Cost:
        task, settings = TASKS[kind]
        unit = next(task.units(settings, context))
        inputs.cache.fill(task.texts(unit), NoProgress(), 1)
        header |= {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"} if kind == "text" else {}
        outcome = worker_slot.run_unit(entry_of(name, body, **header), TaskUnit(task, unit), inputs)
        assert outcome.status is Status.ANSWERED, outcome.failure
        return outcome.observation
    return run_first


@pytest.mark.unit
@pytest.mark.parametrize("kind", TASKS)
def test_the_measures_by_hand(kind, context):
    task, settings = TASKS[kind]
    unit = next(task.units(settings, context))
    assert task.measure(unit, Cost(4, 0.2, 0.6)).values == {"milliseconds": pytest.approx(200), "milliseconds_with_vectors": pytest.approx(50)}


@pytest.mark.unit
@pytest.mark.parametrize("kind", TASKS)
def test_every_unit_draws_its_own_texts(kind, context):
    task, settings = TASKS[kind]
    first, second = (task.draw(unit) for unit in task.units(settings, context))
    assert first != second
    assert [len(texts) for texts in first] == [24 if kind == "corpus" else 21] * 2
    assert len({*first[0], *first[1]}) == len(first[0]) + len(first[1])


@pytest.mark.parametrize("kind", TASKS)
def test_a_slower_metric_costs_more(kind, run):
    quick, slow = (run(kind, name, body[kind]) for name, body in (("quick", QUICK), ("slow", SLOW)))
    assert slow.comparisons == {"corpus": 3, "text": 20}[kind]
    least = {"corpus": 3 * 0.02, "text": 20 * 0.01}[kind]
    assert least <= slow.seconds < least + 1                        # a sleep is never shorter
    assert quick.seconds < slow.seconds / 2
    assert quick.embedding == slow.embedding == 0


@pytest.mark.parametrize("kind", TASKS)
def test_what_is_initialised_once_does_not_count(kind, run):
    body = f"import time\nfirst = [True]\ndef wait():\n    if first: time.sleep(0.5); first.clear()\n{QUICK[kind]}"
    cost = run(kind, "lazy", body.replace(": return", ": wait(); return"))
    assert cost.seconds < 0.5


def test_fitting_counts(run):
    cost = run("text", "fitted", f"import time\ndef fit(texts): time.sleep(0.2)\n{SCORES}")
    assert 0.2 <= cost.seconds < 1


@pytest.mark.parametrize("kind", TASKS)
def test_embedding_is_timed_once_for_metrics_that_take_vectors(kind, run):
    """The model takes milliseconds for a text; the vectors in the cache do not make it faster."""
    first, second = (run(kind, name, QUICK[kind], input="embeddings") for name in ("first", "second"))
    assert first.embedding == second.embedding
    assert 1e-4 < first.embedding / {"corpus": 2 * 18, "text": 2 * 20}[kind] < 1


@pytest.mark.unit
def test_a_source_that_is_too_small_is_refused(context):
    task, settings = CorpusCost(), CorpusSettings(pair=SOURCES, n=10_000, pairs=1_000, repetitions=1)
    with pytest.raises(TouchstoneError, match=r'tasks.corpus_cost needs 10,010,000 texts of "made_weather", which has .* Choose smaller'):
        task.draw(next(task.units(settings, context)))
