"""What real collections hold sooner or later: no summary, one sentence, a document without a word, a label of one, needles that are too long."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.task import Context
from harness.results.outcomes import Outcome, Status
from harness.submission.selection import load_available
from harness.submission.submission import Entry
from leaderboard.ensembles.training_tables import robustness_table
from tasks.common.sampling import ComparedSummaries, Document, RatedDocument
from tasks.common.transformations import POSITIONS, insert_tokens, replace_tokens
from tasks.data.loading import dataset_fingerprint
from tasks.registry import TASKS
from tasks.text import alignment, clustering, human_ordering, robustness, sensitivity
from tests.support.text_answers import TEXT, clustered, under

LONG = "The train leaves in the morning. It is not late. Nobody waits for it in the rain."
OTHER = "Bread is baked of flour. The dough was not left to rest. It goes into the oven later."
STRANGE = (Document(LONG, "A train leaves."), Document(OTHER, ""), Document("Only one sentence here.", "One."), Document("", ""),
           Document("?!", "..."))
ENTRIES = [entry for submission in load_available(SUBMISSIONS) for entry in submission.entries[:1]
           if entry.header.kind == "text" and entry.header.input == "texts" and not entry.header.models]


@pytest.fixture(params=ENTRIES, ids=lambda entry: entry.name)
def entry(request) -> Entry:
    return request.param


@pytest.fixture
def strange(monkeypatch):
    """The documents of every dataset are these."""
    for task in (robustness, sensitivity):
        monkeypatch.setattr(task, "sample_documents", lambda name, seed: STRANGE)
    kept = (sensitivity.sample_needles, sensitivity.document_variants, robustness.document_variants)        # a test may put something else there
    for function in kept:
        function.cache_clear()
    yield
    for function in kept:
        function.cache_clear()


def first_unit(task: str, smoke, **settings):
    names = ("made_reports", "made_kitchen", "made_ratings", "made_choices")
    context = Context(1, smoke.model, {name: dataset_fingerprint(name) for name in names})
    return list(TASKS[task].units(TASKS[task].settings_type.model_validate(settings), context))


def ask(task: str, unit, entry: Entry, worker_slot, inputs) -> Outcome:
    return worker_slot.run_unit(entry, TaskUnit(TASKS[task], unit), inputs)


@pytest.mark.usefixtures("strange")
def test_robustness_of_empty_summaries_and_single_sentences(entry, worker_slot, inputs, smoke):
    """Answered by every metric; what has no other order of sentences is not applicable, counted as such, and in no share."""
    unit, = first_unit("robustness", smoke, datasets=("made_reports",), documents=5, batch=5)
    outcome = ask("robustness", unit, entry, worker_slot, inputs)
    assert outcome.status is Status.ANSWERED, outcome.failure
    rows = outcome.observation.answers
    shuffled = robustness.CONDITIONS.index("shuffled_sentences")
    assert [row[shuffled] is None for row in rows] == [False, False, True, True, True]
    assert all(value is None or np.isfinite(value) for row in rows for value in row)
    values = under(TASKS["robustness"], [unit], [outcome.observation])
    assert values["not_applicable"] == pytest.approx(3 / 5)
    whole = robustness.measure_orders(outcome.observation)["superficial_over_semantic"]
    assert np.isfinite(whole).tolist() == [True, True, False, False, False]
    assert values["superficial_over_semantic"] == pytest.approx(np.nanmean(whole))


@pytest.mark.usefixtures("strange")
def test_an_ensemble_leaves_out_what_is_not_applicable(worker_slot, inputs, smoke, entry_of):
    unit, = first_unit("robustness", smoke, datasets=("made_reports",), documents=5, batch=5)
    lengths = entry_of("lengths", "def similarity(a, b): return [1 / (1 + abs(len(x) - len(y))) for x, y in zip(a, b)]\n", **TEXT)
    observation = ask("robustness", unit, lengths, worker_slot, inputs).observation
    table = robustness_table(("lengths",), [(unit, [observation])])
    assert len(table.names) == 2            # of five documents
    assert np.isfinite(table.answers).all()


@pytest.mark.usefixtures("strange")
def test_sensitivity_of_documents_without_a_word(entry, worker_slot, inputs, smoke):
    unit = first_unit("sensitivity", smoke, datasets=("made_reports", "made_kitchen"), documents=5, batch=5)[0]
    outcome = ask("sensitivity", unit, entry, worker_slot, inputs)
    assert outcome.status is Status.ANSWERED, outcome.failure
    assert np.isfinite(outcome.observation.answers).all()
    assert 0 <= under(TASKS["sensitivity"], [unit], [outcome.observation])["score"] <= 1


def test_a_needle_longer_than_the_document_is_cut_and_one_that_is_shorter_goes_round():
    long_needle = [str(number) for number in range(100)]
    for position in POSITIONS:
        assert len(insert_tokens(["a", "b"], 1.0, position, long_needle).split()) == 4
        assert sorted(replace_tokens(["a", "b"], 0.5, position, long_needle).split()) in (["0", "a"], ["0", "b"])


@pytest.mark.usefixtures("strange")
def test_a_needle_of_few_texts_is_repeated_until_it_is_long_enough(monkeypatch, smoke):
    monkeypatch.setattr(sensitivity, "sample_needles", lambda name, seed: ("straw", "hay"))
    unit = first_unit("sensitivity", smoke, datasets=("made_reports", "made_kitchen"), documents=5, batch=5)[0]
    text, forms = sensitivity.document_variants(unit)[0]
    twice = forms[sensitivity.CONDITIONS.index((sensitivity.INSERTION, 1.0, "end"))]
    assert len(twice.split()) == 2 * len(text.split())
    assert set(twice.removeprefix(text).split()) == {"straw", "hay"}


def test_alignment_with_empty_summaries(entry, worker_slot, inputs, smoke, monkeypatch):
    people = {"overall": (1.0, 5.0, 3.0)}
    monkeypatch.setattr(alignment, "sample_rated", lambda name, seed: (RatedDocument(LONG, ("", "A train leaves.", "..."), people), RatedDocument("", ("", "a", "b"), people)))
    monkeypatch.setattr(alignment, "sample_compared", lambda name, seed: (ComparedSummaries(LONG, (("", "A train leaves."), ("", "")), (1, 0)),))
    units = first_unit("alignment", smoke, axis=(("made_ratings", 2),), comparisons=(("made_choices", 2),), batch=2)
    observations = []
    for unit in units:
        outcome = ask("alignment", unit, entry, worker_slot, inputs)
        assert outcome.status is Status.ANSWERED, outcome.failure
        observations.append(outcome.observation)
    assert np.isfinite(np.concatenate([[*observation.first, *observation.second] for observation in observations])).all()
    if entry.name != "random":
        assert observations[-1].first[1] == observations[-1].second[1]      # two empty summaries are a tie
    values = under(TASKS["alignment"], units, observations)
    assert values["accuracy"] in (0, 0.25, 0.5, 0.75, 1)
    assert 0 <= values["score"] <= 1


def test_a_label_of_one_is_not_asked_for(monkeypatch):
    texts = [(f"{label} {number}", label) for label, count in (("a", 12), ("b", 12), ("alone", 1)) for number in range(count)]
    monkeypatch.setattr(clustering, "sample_labelled", lambda name, seed: tuple(texts))
    clustering.draw_samples.cache_clear()
    drawn, = clustering.draw_samples("x", 1, 1, 20, 10)
    clustering.draw_samples.cache_clear()
    assert {label for _, label in drawn} == {"a", "b"}
    assert len(drawn) == 20


def test_labels_of_one_member_each_can_be_scored_all_the_same():
    """Not that a suite would draw them: five texts, two of one label and three alone, found as they are."""
    labels = (0, 0, 1, 2, 3)
    similarity = np.where(np.equal.outer(labels, labels), 0.9, 0.1)
    assert clustered(similarity, labels).score == pytest.approx(1)
    assert clustered(similarity, (0, 1, 2, 3, 4)).score is not None


def test_a_pair_that_is_no_number_fails_the_unit_of_human_ordering_too(worker_slot, inputs, smoke, entry_of):
    question = next(item for item in smoke.task_units if item.task.name == human_ordering.HumanOrdering.name)
    entry = entry_of("nan", "import numpy as np\ndef similarity(a, b):\n    found = np.ones(len(a))\n    found[0] = np.nan\n    return found\n", **TEXT)
    outcome = worker_slot.run_unit(entry, question, inputs)
    assert outcome.status is Status.FAILED
    assert "finite" in outcome.failure.sentence
