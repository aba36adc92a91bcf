"""The five tasks of text metrics: measures by hand, chance, what is asked, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context
from harness.results.outcomes import Status
from harness.sandbox.faults import FaultKind
from harness.submission.selection import select_entries
from tasks.common.correlations import weighted_correlations, weighted_means
from tasks.common.sampling import batch_ranges, sample_collection, sample_documents, sample_labelled
from tasks.data.loading import dataset_fingerprint
from tasks.registry import TASKS
from tasks.text import alignment, clustering, retrieval, robustness, sensitivity
from tests.support.text_answers import SIMILARITY, TEXT, clustered, under, unit

DISTANCE = ScoreScale("distance", 0.0, None)


def test_statistics_under_counts_are_those_of_the_repeated_data():
    rng = np.random.default_rng(3)
    x, y, times = rng.normal(size=12), rng.normal(size=12), rng.integers(0, 3, (5, 12)).astype(float)
    for row, r, m in zip(times, weighted_correlations(x, y, times), weighted_means(x, times), strict=True):
        again = np.repeat(np.arange(12), row.astype(int))
        assert r == pytest.approx(stats.pearsonr(x[again], y[again]).statistic)
        assert m == pytest.approx(x[again].mean())
    assert np.isnan(weighted_correlations(np.full(12, 0.1), y, times)).all()                   # a constant has no correlation


# ---- alignment ----------------------------------------------------------------------------------------------------------

def ratings(*answers: float, people=(1.0, 2.0, 3.0, 4.0)) -> alignment.AlignmentAnswers:
    return alignment.AlignmentAnswers((0, 0, 1, 1), answers, (), {"overall": people}, (), ((9, 0),) * 4, SIMILARITY, ())


def choices(first, second, chosen, words=((9, 9),) * 4) -> alignment.AlignmentAnswers:
    return alignment.AlignmentAnswers((0, 0, 1, 1), first, second, {}, chosen, words, SIMILARITY, ())


AXIS = unit("alignment", "r", kind="axis", start=0, stop=2, documents=2)
COMPARED = unit("alignment", "c", kind="comparisons", start=0, stop=2, documents=2)


def test_alignment_by_hand():
    # r of (.1, .2, .3, .6) with 1..4: cov 0.8/3... by scipy; accuracy: right, tie, wrong, right
    observations = ratings(0.1, 0.2, 0.3, 0.6), choices((0.5, 0.5, 0.9, 0.1), (0.2, 0.5, 0.1, 0.4), (0, 1, 1, 1))
    values = under(TASKS["alignment"], [AXIS, COMPARED], observations)
    r = stats.pearsonr([0.1, 0.2, 0.3, 0.6], [1, 2, 3, 4]).statistic
    assert values["pearson_overall"] == pytest.approx(r)
    assert values["spearman_overall"] == pytest.approx(1)
    assert values["accuracy"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    # the second chosen 3 times; guessed 0, 1/2, 0, 1
    assert values["precision"] == pytest.approx(1.0)
    assert values["recall"] == pytest.approx(1.5 / 3)
    assert values["f1"] == pytest.approx(2 / 3)
    assert values["score"] == pytest.approx(((1 + r) / 2 + 0.625) / 2)


def test_alignment_at_near_length_leaves_the_others_out():
    observation = choices((0.5, 0.5, 0.9, 0.9), (0.2, 0.6, 0.1, 0.1), (0, 1, 1, 1), ((10, 11), (10, 10), (10, 12), (30, 10)))
    assert under(TASKS["alignment"], [COMPARED], [observation])["accuracy_at_near_length"] == pytest.approx(1.0)     # of the first two


def test_a_constant_has_no_correlation_and_is_scored_as_chance():
    values = under(TASKS["alignment"], [AXIS, COMPARED], [ratings(*[0.5] * 4), choices((0.5,) * 4, (0.5,) * 4, (0, 1, 0, 1))])
    assert values["score"] == pytest.approx(0.5)
    assert np.isnan(values["pearson_overall"])


def test_a_failed_unit_of_alignment_counts_as_zero_for_its_documents():
    other = unit("alignment", "r", kind="axis", start=2, stop=4, documents=4)
    values = under(TASKS["alignment"], [AXIS, other, COMPARED], [ratings(1, 2, 3, 4), None, choices((1.0,) * 4, (0.0,) * 4, (0,) * 4)])
    assert values["score"] == pytest.approx((0.5 * 1 + 0.5 * 0 + 1) / 2)


# ---- robustness ---------------------------------------------------------------------------------------------------------

def order(*values: float | None) -> tuple[float | None, ...]:
    """Itself, the summary, three superficial changes, three of meaning, hard digits."""
    return values


PERFECT = order(1.0, 0.5, 0.9, 0.8, 0.7, 0.1, 0.2, 0.3, 0.6)
LEXICAL = order(1.0, 0.1, 0.9, 0.8, 0.7, 0.9, 1.0, 1.0, 0.05)            # sees letters alone
EQUAL = order(*[0.5] * 9)
SINGLE = order(1.0, 0.5, 0.9, 0.8, 0.7, 0.1, None, 0.3, 0.6)             # of one sentence


def transformed(*rows, scale=SIMILARITY) -> robustness.RobustnessAnswers:
    return robustness.RobustnessAnswers(tuple(range(len(rows))), rows, (False,) * len(rows), scale, ())


def test_robustness_by_hand():
    values = under(TASKS["robustness"], [unit("robustness", start=0, stop=4)], [transformed(PERFECT, LEXICAL, EQUAL, SINGLE)])
    assert values["superficial_over_semantic"] == pytest.approx(1 / 3)
    assert values["summary_over_semantic"] == pytest.approx(1 / 3)
    assert values["superficial_over_summary"] == pytest.approx(2 / 3)
    assert values["superficial_over_summary_hard"] == pytest.approx(1 / 3)       # hard digits fall below the summary
    assert values["not_applicable"] == pytest.approx(1 / 4)                      # said, and not counted
    assert values["score"] == pytest.approx(4 / 9)


def test_a_distance_is_read_the_other_way_round():
    rows = [tuple(1 - value for value in PERFECT)]
    assert under(TASKS["robustness"], [unit("robustness", start=0, stop=1)], [transformed(*rows, scale=DISTANCE)])["score"] == 1


def test_a_random_order_scores_what_is_declared():
    rows = np.random.default_rng(4).random((20_000, 9))
    measures = robustness.measure_orders(transformed(*map(tuple, rows.tolist())))
    score = np.mean([measures[name].mean() for name in robustness.SHARES])
    assert TASKS["robustness"].info.chance == pytest.approx(0.1833, abs=1e-4)          # (.05 + .25 + .25)/3
    assert score == pytest.approx(TASKS["robustness"].info.chance, abs=0.006)


# ---- sensitivity --------------------------------------------------------------------------------------------------------

def similar(*rows: np.ndarray) -> sensitivity.SensitivityAnswers:
    return sensitivity.SensitivityAnswers(tuple(range(len(rows))), (1.0,) * len(rows), tuple(map(tuple, rows)),
                                          ((False,) * len(sensitivity.CONDITIONS),) * len(rows), SIMILARITY, ())


def values_of(row: np.ndarray) -> dict[str, float]:
    return under(TASKS["sensitivity"], [unit("sensitivity", start=0, stop=1)], [similar(row)])


def test_the_ideal_scores_1_and_constants_as_computed_by_hand():
    assert values_of(sensitivity.IDEAL)["score"] == pytest.approx(1)
    # Ideals .975 .95 .875 .75 .5 and .95 .9 .75 .5: mean |.9 - ideal| = 1.3/9, of the best, .875, 1.275/9.
    assert values_of(np.full(39, 0.9))["changed_length"] == pytest.approx(1 - 1.3 / 9)
    assert values_of(np.full(39, 0.875))["changed_length"] == pytest.approx(1 - 1.275 / 9)
    # At constant length .95 .9 .75 .5: mean |.875 - ideal| = (.075 + .025 + .125 + .375)/4.
    assert values_of(np.full(39, 0.875))["constant_length"] == pytest.approx(1 - 0.6 / 4)


def test_chance_is_the_best_constant():
    scores = [values_of(np.full(39, value))["score"] for value in np.linspace(0, 1, 101)]
    assert TASKS["sensitivity"].info.chance == pytest.approx(max(*scores, (1 - 1.275 / 9 + 1 - 0.6 / 4) / 2))


def test_what_reads_lengths_alone_is_near_perfect_as_published_and_seen_at_constant_length():
    row = np.array([1 / (1 + c.size) if c.kind == "insertion" else 1 - c.size if c.kind == "removal" else 1.0 for c in sensitivity.CONDITIONS])
    values = values_of(row)
    assert values["changed_length"] > 0.97
    assert values["constant_length"] == pytest.approx(1 - (0.05 + 0.1 + 0.25 + 0.5) / 4)
    assert values["removal"] == pytest.approx(1)


# ---- clustering ---------------------------------------------------------------------------------------------------------

def blocks(labels: np.ndarray, inside: float = 0.9, outside: float = 0.1) -> np.ndarray:
    return np.where(labels[:, None] == labels[None, :], inside, outside)


def test_blocks_are_found_by_every_linkage():
    labels = np.random.default_rng(5).integers(0, 3, 40)
    values = clustered(blocks(labels), labels)
    assert (values.score, values.values["usmb"], values.values["complete"], values.values["ward"]) == pytest.approx((1, 1, 1, 1))
    assert clustered(1 / blocks(labels), labels, DISTANCE).score == pytest.approx(1)


def test_as_many_clusters_as_labels_even_among_ties():
    labels = np.repeat([0, 1, 2, 3], 5)
    assert len(set(clustering.cluster_texts(np.ones((20, 20)), "average", 4).tolist())) == 4
    predicted = clustering.cluster_texts(blocks(labels), "average", 4)
    assert all(len(set(predicted[labels == label])) == 1 for label in range(4))


def test_clusters_are_those_of_scikit_learn():
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(6)
    raw = rng.random((30, 30))
    similarity = clustering.symmetrize(clustering.ScoreMatrix(raw, (0,) * 30, SIMILARITY, ()))
    for how in ("average", "complete"):
        theirs = AgglomerativeClustering(4, metric="precomputed", linkage=how).fit_predict(1 - similarity)
        assert adjusted_rand_score(theirs, clustering.cluster_texts(similarity, how, 4)) == 1
    theirs = AgglomerativeClustering(4, linkage="ward").fit_predict(similarity)
    assert adjusted_rand_score(theirs, clustering.cluster_texts(similarity, "ward", 4)) == 1


def test_a_constant_is_unknown_and_chance_information_is_0_where_v_measure_rewards_it():
    labels = np.random.default_rng(7).integers(0, 20, 300)
    assert clustered(np.full((300, 300), 0.5), labels).score is None
    values = clustered(np.random.default_rng(8).random((300, 300)), labels)
    assert abs(values.score) < 0.05
    assert values.values["v_measure_of_chance"] > 0.2


def test_samples_are_disjoint_and_have_enough_texts_of_each_label():
    drawn = clustering.draw_samples("made_weather + made_kitchen + made_trains", 3, 3, 60, 10)
    texts = [text for sample in drawn for text, _ in sample]
    assert len(texts) == len(set(texts)) == 180
    assert all(sum(label == name for _, label in sample) >= 10 for sample in drawn for name in {label for _, label in sample})
    with pytest.raises(TouchstoneError, match="needs two labels with 700 texts"):
        clustering.draw_samples("made_weather + made_kitchen", 3, 1, 1400, 700)


# ---- retrieval ----------------------------------------------------------------------------------------------------------

def searched(answers, *relevant) -> retrieval.RetrievalScores:
    return retrieval.RetrievalScores(np.array(answers, dtype=float), tuple(map(tuple, relevant)), SIMILARITY, ())


def test_found_over_n_with_ties_in_expectation():
    # one relevant on top; two relevant, one of the first two; three tied for two places, one of them relevant; all tied
    observation = searched([[0.9, 0.1, 0.2, 0.3], [0.9, 0.8, 0.7, 0.1], [0.9, 0.5, 0.5, 0.5], [0.5] * 4], [0], [0, 2], [0, 1], [1])
    assert retrieval.precision_at_n(observation).tolist() == pytest.approx([1.0, 0.5, (1 + 1 / 3) / 2, 1 / 4])
    assert retrieval.expected_precision(observation).tolist() == [1 / 4, 1 / 2, 1 / 2, 1 / 4]


def test_a_constant_finds_n_of_all_and_no_more():
    observation = searched(np.zeros((3, 20)), [0], [3, 4], [5])
    units = [unit("retrieval", condition=condition, queries=3) for condition in retrieval.CONDITIONS]
    values = under(TASKS["retrieval"], units, [observation] * len(units))
    assert values["score"] == pytest.approx(np.mean([1 / 20, 2 / 20, 1 / 20]))
    assert values["score"] == pytest.approx(TASKS["retrieval"].chance(units, [observation] * len(units)))
    assert np.isnan(values["retention"])                     # what is chance has nothing to retain


def test_retention_is_augmented_over_original_where_that_is_told_from_chance():
    good = searched(np.eye(12), *[[i] for i in range(12)])
    half = searched(np.eye(12) * (np.arange(12) % 2)[:, None] - np.eye(12) * (np.arange(12) % 2 == 0)[:, None], *[[i] for i in range(12)])
    units = [unit("retrieval", condition=condition, queries=12) for condition in retrieval.CONDITIONS]
    values = under(TASKS["retrieval"], units, [good, *[half] * 8])
    assert (values["original"], values["score"], values["retention"]) == pytest.approx((1, 0.5, 0.5))


def test_added_copies_compete_with_the_originals():
    """Two documents, the first one relevant, n = 1; by hand, for the original, three semantic and five other copies of each."""
    def search(first: float, second: float = 0.0) -> retrieval.RetrievalScores:
        return searched([[first, second]] * 12, *[[0]] * 12)
    units = [unit("retrieval", condition=condition, queries=12) for condition in retrieval.CONDITIONS]
    def measure(**scores: float) -> dict[str, float]:
        values = under(TASKS["retrieval"], units, [search(scores.get(condition, 0.1)) for condition in retrieval.CONDITIONS])
        return {name: values[name] for name in ("original", "with_semantic_copies", "with_all_copies", "retention_with_semantic_copies",
                                                "retention_with_all_copies", "retention")}
    below = measure(original=0.9)                               # no copy reaches the original
    assert set(below.values()) == {1.0}
    assert list(measure(original=0.9, negation=0.95).values()) == [1, 0, 0, 0, 0, 1]
    assert list(measure(original=0.9, digits=0.95).values()) == [1, 1, 0, 1, 0, 1]
    # a copy that the change leaves as it is ties with its original
    assert list(measure(original=0.9, shuffled_sentences=0.9).values()) == [1, 0.5, 0.5, 0.5, 0.5, 1]


def test_without_all_conditions_nothing_is_known_of_copies():
    perfect = searched(np.eye(12), *[[i] for i in range(12)])
    conditions = retrieval.CONDITIONS[:3]
    values = under(TASKS["retrieval"], [unit("retrieval", condition=condition, queries=12) for condition in conditions], [perfect] * 3)
    assert (values["score"], values["retention"]) == (1, 1)
    assert np.isnan([values["with_semantic_copies"], values["retention_with_all_copies"]]).all()


def test_queries_without_a_relevant_document_in_the_sample_are_not_asked():
    collection = sample_collection("made_questions", 1, 20, 50)
    assert len(collection.texts) == 20
    assert 0 < len(collection.queries) < 16
    assert (collection.relevant.sum(axis=1) > 0).all()


def test_a_query_counts_in_all_conditions_alike():
    units = [unit("retrieval", condition=condition, queries=5) for condition in retrieval.CONDITIONS]
    assert len(TASKS["retrieval"].clusters(units)) == 5


# ---- samples ------------------------------------------------------------------------------------------------------------

def test_samples_depend_on_the_seed_and_are_the_same_for_all_tasks():
    assert sample_documents("made_reports", 1) == sample_documents("made_reports", 1) != sample_documents("made_reports", 2)
    assert set(sample_documents("made_reports", 1)) == set(sample_documents("made_reports", 2))
    assert list(batch_ranges(7, 3)) == [(0, 3), (3, 6), (6, 7)]


def test_what_a_dataset_cannot_give_is_refused_in_a_sentence():
    with pytest.raises(TouchstoneError, match="has no labels"):
        sample_labelled("made_weather", 1)
    with pytest.raises(TouchstoneError, match='"made_weather" has the kind corpus'):
        sample_collection("made_weather", 1, 5, 5)
    with pytest.raises(TouchstoneError, match="have no summaries"):
        robustness.document_variants(unit("robustness", "made_weather", start=0, stop=2))


def test_a_dataset_that_is_smaller_than_planned_leaves_places_empty(worker_slot, inputs, smoke):
    settings = TASKS["robustness"].settings_type.model_validate({"datasets": ("made_reports",), "documents": 80, "batch": 10})
    context = Context(1, smoke.model, {"made_reports": dataset_fingerprint("made_reports")})
    last = list(TASKS["robustness"].units(settings, context))[-1]
    outcome = worker_slot.run_unit(select_entries(["exact_match"], SUBMISSIONS)[0], TaskUnit(TASKS["robustness"], last), inputs)
    assert outcome.status is Status.ANSWERED
    assert outcome.observation.places == (70, 71)


# ---- asked for real -----------------------------------------------------------------------------------------------------

USMB_TASKS = ("alignment", "robustness", "sensitivity", "clustering", "retrieval")


def of_smoke(smoke, task: str) -> list[TaskUnit]:
    return [question for question in smoke.task_units if question.task.name == task]


@pytest.mark.parametrize("task", USMB_TASKS)
def test_answers_are_the_same_with_and_without_a_matrix_and_however_pairs_are_mixed(task, worker_slot, inputs, smoke, entry_of):
    question = of_smoke(smoke, task)[0]
    alone = entry_of("words", "def similarity(a, b): return [len(set(x.split()) & set(y.split())) / max(1, len(set(x.split()) | "
                     "set(y.split()))) for x, y in zip(a, b)]\n", **TEXT)
    with_matrix = select_entries(["jaccard"], SUBMISSIONS)[0]
    first, second = (worker_slot.run_unit(entry, question, inputs).observation for entry in (alone, with_matrix))
    ours, theirs = (question.task.measure(question.unit, observation) for observation in (first, second))
    assert ours.score == pytest.approx(theirs.score)
    assert ours.values == pytest.approx(theirs.values)
    assert not ours.marks
    assert len(first.rechecked) == 3


@pytest.mark.parametrize("task", USMB_TASKS)
def test_a_score_that_depends_on_its_batch_is_marked(task, worker_slot, inputs, smoke, entry_of):
    entry = entry_of("ranked_in_its_batch", "import numpy as np\ndef similarity(a, b):\n    raw = np.array([len(set(x) & set(y)) for x, y in zip(a, b)], "
                     "float)\n    return (raw - raw.min()) / max(1e-9, np.ptp(raw))\n", **TEXT)
    question = of_smoke(smoke, task)[0]
    outcome = worker_slot.run_unit(entry, question, inputs)
    assert "context-dependent" in question.task.measure(question.unit, outcome.observation).marks


@pytest.mark.parametrize("task", USMB_TASKS)
def test_one_answer_that_is_no_number_fails_the_unit(task, worker_slot, inputs, smoke, entry_of):
    body = "import numpy as np\ndef similarity(a, b):\n    found = np.ones(len(a))\n    found[-1] = np.nan\n    return found\n"
    matrix = "def matrix(a, b):\n    found = np.ones((len(a), len(b)))\n    found[-1, 0] = np.nan\n    return found\n"
    outcome = worker_slot.run_unit(entry_of("nan", body + matrix, **TEXT), of_smoke(smoke, task)[0], inputs)
    assert outcome.status is Status.FAILED
    assert (outcome.failure.kind, "finite" in outcome.failure.sentence) == (FaultKind.FORM.value, True)


def test_unmixed_a_call_holds_one_condition_of_all_documents(worker_slot, inputs, smoke, entry_of):
    counting = entry_of("counting_pairs", "def similarity(a, b): return [len(a) + len(y) / 1e6 for y in b]\n", **{**TEXT, "range": "[0.0, inf]"})
    for task, names in (("robustness", ("made_reports",)), ("sensitivity", ("made_reports", "made_kitchen"))):
        settings = TASKS[task].settings_type.model_validate({"datasets": names, "documents": 4, "batch": 4, "mixed": False})
        context = Context(1, smoke.model, {name: dataset_fingerprint(name) for name in names})
        question = TaskUnit(TASKS[task], next(iter(TASKS[task].units(settings, context))))
        outcome = worker_slot.run_unit(counting, question, inputs)
        assert outcome.status is Status.ANSWERED, outcome.failure
        assert {int(value) for row in outcome.observation.answers for value in row} == {4}


def test_every_text_a_metric_is_shown_was_embedded_before(worker_slot, inputs, smoke):
    for task in USMB_TASKS:
        for question in of_smoke(smoke, task):
            outcome = worker_slot.run_unit(select_entries(["cosine"], SUBMISSIONS)[0], question, inputs)
            assert outcome.status is Status.ANSWERED, outcome.failure


@pytest.mark.parametrize(("task", "settings"), [
    ("alignment", {"axis": (("made_ratings", 40),), "comparisons": (("made_choices", 40),), "batch": 10}),
    ("robustness", {"datasets": ("made_reports",), "documents": 90, "batch": 10}),
    ("sensitivity", {"datasets": ("made_reports", "made_kitchen"), "documents": 80, "batch": 5})])
def test_a_unit_without_a_document_says_nothing_and_harms_nothing(task, settings, worker_slot, inputs, smoke):
    names = ("made_ratings", "made_choices", "made_reports", "made_kitchen")
    context = Context(1, smoke.model, {name: dataset_fingerprint(name) for name in names})
    units = [unit for unit in TASKS[task].units(TASKS[task].settings_type.model_validate(settings), context) if unit.stratum[-1] != "made_kitchen"]
    empty = [unit for unit in units if unit.parameters["start"] >= (24 if task == "alignment" else 72)] or units[-1:]
    entry, = select_entries(["exact_match"], SUBMISSIONS)
    nothing = empty[-1]
    outcome = worker_slot.run_unit(entry, TaskUnit(TASKS[task], nothing), inputs)
    assert outcome.status is Status.ANSWERED, outcome.failure
    assert outcome.observation.places == ()
    assert TASKS[task].measure(nothing, outcome.observation).score is None
    other = next(unit for unit in units if unit.stratum == nothing.stratum and unit.parameters["start"] == 0)
    full = worker_slot.run_unit(entry, TaskUnit(TASKS[task], other), inputs).observation
    alone, beside = (under(TASKS[task], mine, observations)["score"] for mine, observations in (([other], [full]), ([other, nothing], [full, outcome.observation])))
    assert alone == pytest.approx(beside)
