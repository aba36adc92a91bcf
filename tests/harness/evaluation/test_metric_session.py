"""What a metric is given, in which order, and how its answers are read."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import NotApplicable
from harness.base.units import Unit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.metric_session import UNION_CELLS, UNION_TOLERANCE, MetricSession, connected_pairs, fits_union
from harness.evaluation.score_scale import ScoreScale
from harness.models.registry import MODELS
from harness.sandbox.faults import Fault
from harness.sandbox.limits import Limits
from harness.submission.submission import Entry

pytestmark = pytest.mark.sandbox

CORPORA = [["one text", "another text"], ["a third", "a fourth", "a fifth"], ["the last"]]


def asked(worker_slot: WorkerSlot, entry: Entry, unit: Unit, inputs: InputEncoder) -> MetricSession:
    return MetricSession(entry, unit, inputs, worker_slot.start, None, Limits(seconds_per_unit=20))


def test_the_order_of_asking_is_not_the_order_of_the_task(worker_slot, unit, inputs, entry_of):
    entry = entry_of("order", "calls = 0\ndef distance(p, q):\n    global calls\n    calls += 1\n    return float(calls)\n")
    pairs = [(i, j) for i in range(3) for j in range(3)]
    metric = asked(worker_slot, entry, unit, inputs)
    first, second = metric.corpus_distances(CORPORA, pairs), metric.corpus_distances(CORPORA, pairs, order=1)
    assert sorted(first) == [float(n) for n in range(1, 10)]
    assert first != sorted(first)
    assert np.argsort(first).tolist() != np.argsort(second).tolist()


def test_prepare_is_called_once_a_corpus_and_takes_its_place(worker_slot, unit, inputs, entry_of):
    entry = entry_of("prepared", """
count = 0
def prepare(corpus):
    global count
    count += 1
    return len(corpus)
def distance(p, q):
    assert count == 3
    return float(10 * p + q)
""")
    assert asked(worker_slot, entry, unit, inputs).corpus_distances(CORPORA, [(0, 1), (1, 2), (2, 0)]) == [23.0, 31.0, 12.0]


def test_a_text_metric_is_lifted_the_same_with_and_without_a_matrix(worker_slot, unit, inputs, entry_of):
    body = "def similarity(a, b): return [len(set(x) & set(y)) / len(set(x) | set(y)) for x, y in zip(a, b)]\n"
    matrix = "def matrix(a, b): return [similarity([x] * len(b), b) for x in a]\n"
    header = {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"}
    pairs = [(0, 1), (1, 0), (1, 2), (1, 1)]
    without = asked(worker_slot, entry_of("without", body, **header), unit, inputs).corpus_distances(CORPORA, pairs)
    with_it = asked(worker_slot, entry_of("with_it", body + matrix, **header), unit, inputs).corpus_distances(CORPORA, pairs)
    assert without == with_it
    assert without[3] == 0.0
    assert without[0] == without[1] > 0


SHARED_WORDS = """
asked = 0
def similarity(a, b): return [len(set(x) & set(y)) / len(set(x) | set(y)) for x, y in zip(a, b)]
def matrix(a, b):
    global asked
    asked += 1
    return [similarity([x] * len(b), b) for x in a]
"""
COUNTED = SHARED_WORDS + "def matrix(a, b):\n    global asked\n    asked += 1\n    return [[float(asked)] * len(b) for _ in a]\n"
TEXT_RANGE = {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"}
MIXED = [[f"{'ab'[text < number]} {text % 5} {number * text}" for text in range(3 + number % 2)] for number in range(12)]
ALL_PAIRS = [(i, j) for j in range(12) for i in range(j)]


def test_a_collection_is_one_matrix_with_the_answers_of_single_pairs(worker_slot, unit, inputs, entry_of):
    metric = asked(worker_slot, entry_of("shared", SHARED_WORDS, **TEXT_RANGE), unit, inputs)
    alone = [metric.corpus_distances(MIXED, [pair])[0] for pair in ALL_PAIRS]
    assert metric.corpus_distances(MIXED, ALL_PAIRS) == pytest.approx(alone, rel=0, abs=UNION_TOLERANCE)
    two_collections = [*ALL_PAIRS, *((i + 12, j + 12) for j in range(12) for i in range(j))]
    assert metric.corpus_distances(MIXED * 2, two_collections) == pytest.approx(alone * 2, rel=0, abs=UNION_TOLERANCE)
    assert len(set(alone)) > 10


def test_only_a_collection_of_many_pairs_is_asked_at_once_and_never_for_its_time(worker_slot, unit, inputs, entry_of):
    entry = entry_of("counted", COUNTED, kind="text", returns="similarity")
    assert asked(worker_slot, entry, unit, inputs).corpus_distances(MIXED, ALL_PAIRS) == [-1.0] * len(ALL_PAIRS)
    star = [(0, j) for j in range(1, 12)]
    assert sorted(asked(worker_slot, entry, unit, inputs).corpus_distances(MIXED, star)) == [-float(n) for n in range(11, 0, -1)]
    timed = asked(worker_slot, entry, unit, inputs)
    timed.time_corpora(MIXED, ALL_PAIRS)
    assert timed.corpus_distances(MIXED, [(0, 1)]) == [-float(len(ALL_PAIRS) + 1)]


def test_a_number_that_is_not_finite_matters_only_where_it_was_asked_for(worker_slot, unit, inputs, entry_of):
    body = "def similarity(a, b): return [0.5] * len(a)\ndef matrix(a, b): return [[float('nan') if x == y else 0.5 for y in b] for x in a]\n"
    metric = asked(worker_slot, entry_of("diagonal", body, **TEXT_RANGE), unit, inputs)
    collections = [[f"{number} {text}" for text in range(3)] for number in range(12)]
    assert metric.corpus_distances(collections, ALL_PAIRS) == [0.5] * len(ALL_PAIRS)
    with pytest.raises(Fault, match="every answer must be finite"):
        metric.corpus_distances(collections, [*ALL_PAIRS, (3, 3)])


def test_a_union_is_neither_large_nor_mostly_unasked():
    assert fits_union([10] * 12, [(10, 10)] * 71)
    assert not fits_union([10] * 12, [(10, 10)] * 60)
    side = int(UNION_CELLS ** 0.5)
    assert fits_union([side], [(side, side)])
    assert not fits_union([side + 1], [(side + 1, side + 1)])


def test_pairs_without_a_common_corpus_are_apart():
    pairs = [(0, 1), (2, 3), (4, 4), (3, 5), (1, 6), (5, 2)]
    assert sorted(map(sorted, connected_pairs(pairs, range(6)))) == [[0, 4], [1, 3, 5], [2]]
    assert sorted(map(sorted, connected_pairs(pairs, [1, 5]))) == [[1, 5]]


def test_fit_sees_the_two_corpora_of_the_call(worker_slot, unit, inputs, entry_of):
    entry = entry_of("fitted", """
known = 0
def fit(texts):
    global known
    known = len(texts)
def similarity(a, b): return [known / 100] * len(a)
""", kind="text", returns="similarity", range="[0.0, 1.0]")
    assert asked(worker_slot, entry, unit, inputs).corpus_distances(CORPORA, [(0, 1), (0, 2)]) == pytest.approx([0.95, 0.97])


def test_a_million_pairs_without_a_matrix_do_not_apply(worker_slot, unit, inputs, entry_of):
    entry = entry_of("slow", "def similarity(a, b): return [0.0] * len(a)\n", kind="text", returns="similarity")
    with pytest.raises(NotApplicable, match="matrix"):
        asked(worker_slot, entry, unit, inputs).corpus_distances([["a"] * 1001, ["b"] * 1000], [(0, 1)])


@pytest.mark.parametrize("answer", ["float('nan')", "float('inf')", "-float('inf')", "np.float32('nan')"])
def test_an_answer_that_is_not_finite_fails_the_unit(worker_slot, unit, inputs, entry_of, answer):
    entry = entry_of("not_finite", f"import numpy as np\ndef distance(p, q): return {answer}\n")
    with pytest.raises(Fault, match="every answer must be finite"):
        asked(worker_slot, entry, unit, inputs).corpus_distances(CORPORA, [(0, 1)])


def test_parameters_reach_the_functions_that_take_them(worker_slot, unit, inputs, write):
    from harness.submission.submission import load_submission

    path = write("family", "def prepare(corpus, k=1): return k\ndef distance(p, q, k=1, *, scale=1.0): return scale * (100 * p + 10 * q + k)\n")
    path.write_text(path.read_text().replace("# ///\nimport", "# ///\n").replace(
        '# license = "Apache-2.0"\n', '# license = "Apache-2.0"\n# [[tool.touchstone.variants]]\n# name = "k=3"\n'
        "# parameters = { k = 3, scale = 2.0 }\n# [[tool.touchstone.variants]]\n# name = \"typo\"\n# parameters = { kk = 3 }\n"))
    default, variant, typo = load_submission(path).entries
    assert asked(worker_slot, default, unit, inputs).corpus_distances(CORPORA, [(0, 1)]) == [111.0]
    assert asked(worker_slot, variant, unit, inputs).corpus_distances(CORPORA, [(0, 1)]) == [666.0]
    with pytest.raises(Fault, match="no function takes the parameter kk"):
        asked(worker_slot, typo, unit, inputs).corpus_distances(CORPORA, [(0, 1)])


def test_models_are_given_as_folders(worker_slot, unit, inputs, write):
    from harness.submission.submission import load_submission

    path = write("with_model", "import os\ndef setup(models):\n    global files\n    files = os.listdir(models['minilm'])\n"
                               "def distance(p, q): return float('model.safetensors' in files)\n")
    path.write_text(path.read_text().replace("# license", '# models = ["minilm"]\n# license'))
    assert asked(worker_slot, load_submission(path).entries[0], unit, inputs).corpus_distances(CORPORA, [(0, 1)]) == [1.0]


def test_tokens_are_the_models_own_without_special_or_padding_tokens(inputs, entry_of):
    from transformers import AutoTokenizer

    theirs = AutoTokenizer.from_pretrained(str(MODELS["minilm"].path()))
    texts = ["Unaffable queries!", "", "naïve 中文 text", "long " * 400]
    assert inputs.of(texts, entry_of("any", "def distance(p, q): return 0\n", input="tokens")) == [theirs.tokenize(text) for text in texts]


def test_scale():
    answers = np.array([0.0, 0.25])
    assert ScoreScale("distance", None, 1.0).as_distance(answers).tolist() == [0.0, 0.25]
    assert ScoreScale("similarity", None, 1.0).as_distance(answers).tolist() == [1.0, 0.75]
    assert ScoreScale("similarity", None, None).as_distance(answers).tolist() == [0.0, -0.25]


COUNTING = """
fits = 0
def fit(texts):
    global fits
    fits += 1
def similarity(a, b): return [float(fits)] * len(a)
"""
TEXT = {"kind": "text", "returns": "similarity"}


def test_a_worker_is_fitted_anew_only_on_another_collection(worker_slot, unit, inputs, entry_of):
    metric = asked(worker_slot, entry_of("counting", COUNTING, **TEXT), unit, inputs)

    def fits(*collection: str) -> float:
        return metric.pair_scores(["a"], ["b"], 0, collection)[0]
    assert [fits("x"), fits("x"), fits("x", "y"), fits("x")] == [1.0, 1.0, 2.0, 3.0]
    metric.corpus_distances(CORPORA, [(0, 1)])                 # lifted, it is fitted on two corpora
    assert fits("x") == 5.0


def test_a_fit_draws_the_same_whatever_was_asked_before(worker_slot, unit, inputs, entry_of):
    entry = entry_of("drawing", "import random\ndef fit(texts):\n    global drawn\n    drawn = random.random()\n"
                                "def similarity(a, b): return [drawn] * len(a)\n", **TEXT)
    first, second = (asked(worker_slot, entry, unit, inputs) for _ in range(2))
    alone = first.pair_scores(["a"], ["b"], 0, ["x"])
    second.pair_scores(["a"], ["b"], 7, ["y"])
    assert second.pair_scores(["a"], ["b"], 9, ["x"]) == alone
    assert second.pair_scores(["a"], ["b"], 9, ["y"]) != alone


def test_pairs_asked_alone_are_asked_one_a_call_of_a_fresh_worker_after_its_fit(worker_slot, unit, inputs, entry_of):
    entry = entry_of("watching", """
seen, collection = [], 0
def fit(texts):
    global collection
    collection = len(texts)
def similarity(a, b):
    seen.append(len(a))
    return [100.0 * collection + 10 * max(seen) + len(x) for x in a]
""", **TEXT)
    metric = asked(worker_slot, entry, unit, inputs)
    a = ["1", "22", "333"]
    assert metric.pair_scores(a, a, 0, ["x", "y"]) == [231.0, 232.0, 233.0]
    assert metric.recheck_pairs(a, a, 0, ["x", "y"], [2, 0]) == [(213.0, 213.0), (211.0, 211.0)]
