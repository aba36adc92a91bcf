"""A metric that breaks one axiom is found out on that axiom, and one that breaks none on none."""

from __future__ import annotations

import pytest

from harness.base.paths import SUBMISSIONS, cache_folder
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.input_encoder import InputEncoder
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Status
from harness.submission.selection import select_entries
from tasks.properties.axioms import AXIOMS, Axioms, Settings, find_worst_cases

TASK = Axioms()


@pytest.fixture
def examined(worker_slot, context, inputs):
    """The shares of trials passed, and the worst cases, of an entry on one unit."""
    unit = next(TASK.units(Settings(trials=1), context))

    def examine(entry):
        cache = VectorCache("minilm", cache_folder())
        from tests.support.submissions import embed_for
        embed_for([TaskUnit(TASK, unit)], entry, cache)
        outcome = worker_slot.run_unit(entry, TaskUnit(TASK, unit), InputEncoder(cache))
        assert outcome.status is Status.ANSWERED, outcome.failure
        return TASK.measure(unit, outcome.observation).values, find_worst_cases([outcome.observation])
    return examine


CORPUS_BODIES = {
    None: "def distance(p, q): return abs(sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q))",
    "repeatable": "import os\ndef distance(p, q): return float(p != q) and os.urandom(1)[0] / 256 + 1",
    "symmetric": "def distance(p, q): return max(0.0, sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q))",
    "identity": "def distance(p, q): return 1.0",
    "within_range": "def distance(p, q): return -abs(sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q))",
    "triangle": "def distance(p, q): return (sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q)) ** 2",
    "duplication": "def distance(p, q): return abs(sum(map(len, p)) - sum(map(len, q)))",
    "order_of_texts": "def distance(p, q): return float(abs(len(p[0]) - len(q[0])))",
    "finite_when_awkward": "def distance(p, q): return abs(1 / min(map(len, p)) - 1 / min(map(len, q)))",
    "company": "seen = []\ndef prepare(p):\n    seen.append(p)\n    return p\n"
               "def distance(p, q): return float(p != q) and float(len({tuple(x) for x in seen}))",
}


@pytest.mark.parametrize("broken", CORPUS_BODIES)
def test_a_corpus_metric_that_breaks_an_axiom(broken, examined, entry_of):
    shares, worst = examined(entry_of("metric", CORPUS_BODIES[broken] + "\n"))
    if broken is None:
        assert all(share == 1 for share in shares.values() if share is not None)
        assert worst == {}
    else:
        assert shares[broken] < 1
        assert broken in worst


TEXT_BODIES = {
    None: "def similarity(a, b): return [float(x == y) for x, y in zip(a, b)]",
    "repeatable": "import os\ndef similarity(a, b): return [float(x == y) or os.urandom(1)[0] / 256 for x, y in zip(a, b)]",
    "order_of_calls": "n = 0\ndef similarity(a, b):\n    global n\n    n += 1\n    return [float(x == y) or 1 / (1 + n) for x, y in zip(a, b)]",
    "company": "def similarity(a, b): return [float(x == y) or 1 / len(a) for x, y in zip(a, b)]",
    "equal_inputs": "def similarity(a, b): return [float(x == y) or float(i < len(a) / 2) / 2 for i, (x, y) in enumerate(zip(a, b))]",
    "symmetric": "def similarity(a, b): return [float(x == y) or float(x < y) / 2 for x, y in zip(a, b)]",
    "identity": "def similarity(a, b): return [float(x != y) for x, y in zip(a, b)]",
    "within_range": "def similarity(a, b): return [float(x == y) * 2 for x, y in zip(a, b)]",
    "finite_when_awkward": "def similarity(a, b): return [float(x == y) / len(x) * len(y) for x, y in zip(a, b)]",
    "matrix_agrees": "import numpy as np\ndef similarity(a, b): return [float(x == y) for x, y in zip(a, b)]\n"
                     "def matrix(a, b): return np.full((len(a), len(b)), .5)",
}


@pytest.mark.parametrize("broken", TEXT_BODIES)
def test_a_text_metric_that_breaks_an_axiom(broken, examined, entry_of):
    entry = entry_of("metric", TEXT_BODIES[broken] + "\n", kind="text", returns="similarity", range="[0.0, 1.0]")
    shares, worst = examined(entry)
    if broken is None:
        assert all(share == 1 for share in shares.values() if share is not None)
    else:
        assert shares[broken] < 1
        assert broken in worst


def test_a_crash_costs_its_trial_and_no_other(examined, entry_of):
    body = "import os\ndef distance(p, q):\n    if '' in p: os._exit(3)\n    return abs(sum(map(len, p)) / len(p) - sum(map(len, q)) / len(q))\n"
    shares, worst = examined(entry_of("metric", body))
    assert shares["finite_when_awkward"] == pytest.approx(7 / 9)
    assert "ended with exit code 3" in worst["finite_when_awkward"].trial.fault
    assert all(share == 1 for name, share in shares.items() if share is not None and name != "finite_when_awkward")


@pytest.mark.parametrize("name", ["energy", "ahd", "irpr", "cosine", "jaccard", "levenshtein", "tfidf_cosine", "containment"])
def test_the_projects_own_metrics_hold_what_their_headers_claim(name, examined):
    entry = select_entries([name], SUBMISSIONS)[0]
    shares, _ = examined(entry)
    for axiom in ("repeatable", "order_of_calls", "company", "equal_inputs", "within_range", "identity", "finite_when_awkward"):
        assert shares[axiom] == 1, axiom
    assert (shares["symmetric"] == 1) == entry.header.symmetric
    assert shares["matrix_agrees"] in (None, 1)
    assert set(shares) == set(AXIOMS)
