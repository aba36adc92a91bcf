"""Utility: the draws, the classifier, the score by hand, and controls that learn nothing from lengths or from one corpus."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.units import Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.results.outcomes import Status
from harness.submission.submission import load_submission
from tasks.corpus import utility
from tasks.corpus.utility import (
    CandidateAnswers,
    Settings,
    SourceSettings,
    Utility,
    draw_candidates,
    measure_accuracies,
    share_out,
    write_long,
)
from tasks.data.loading import load_corpus
from tasks.generators.ngrams import NGrams

TASK = Utility()
N, CHARACTERS = 40, 30
BY_LABEL = {f"{name}:{half}": load_corpus(f"made_{name}")[half::2] for name in ("weather", "trains") for half in (0, 1)}


@pytest.fixture
def drawn_unit(context, monkeypatch) -> Unit:
    """A unit of four made labels, two of which have the same vocabulary."""
    labelled = [(text if label.endswith("0") else text.swapcase()[::-1], label.replace(":", "")) for label, texts in BY_LABEL.items() for text in texts]
    monkeypatch.setattr(utility, "sample_labelled", lambda name, seed: labelled)
    draw_candidates.cache_clear()
    source = SourceSettings(name="made_weather + made_trains", elsewhere="made_kitchen", characters=CHARACTERS)
    yield next(TASK.units(Settings(sources=(source,), n=N, repetitions=1), context))
    draw_candidates.cache_clear()


def test_all_corpora_have_texts_of_one_number_and_one_length(drawn_unit):
    drawn = draw_candidates(drawn_unit)
    assert len(drawn.candidates) >= 20
    assert {len(texts) for texts, _ in drawn.candidates} | {len(texts) for texts in drawn.targets} == {N}
    assert {len(text) for text in TASK.texts(drawn_unit)} == {CHARACTERS}
    assert np.shape(drawn.accuracies) == (2, len(drawn.candidates))


def test_targets_have_other_labels_and_no_text_of_an_unchanged_candidate(drawn_unit):
    drawn = draw_candidates(drawn_unit)
    first, second = map(set, drawn.targets)
    assert not first & second
    (texts, labels), (other_texts, other_labels) = [candidate for candidate in drawn.candidates if len(set(candidate[1])) == 2]
    assert not set(labels) & set(other_labels)
    assert not (first | second) & {*texts, *other_texts}
    pool, held_out = utility.split_by_label("made", 1, CHARACTERS, N, np.random.default_rng(1))
    for label, own in pool.items():
        cut = {text[:CHARACTERS] for text in own}
        assert len(cut) == len(own)
        assert not cut & set(held_out[label])


def test_the_classifier_knows_the_labels_that_it_has_seen(drawn_unit):
    drawn = draw_candidates(drawn_unit)
    accuracies = np.array(drawn.accuracies)
    for (_, labels), of_candidate in zip(drawn.candidates, accuracies.T, strict=True):
        if len(set(labels)) == 2:
            assert sorted(of_candidate > 0.5) == [False, True]
            assert of_candidate.min() == 0
    assert accuracies.max() > 0.9


def test_the_classifier_by_hand():
    texts, labels = ["red apple", "red cherry", "blue sky", "blue sea"], ["r", "r", "b", "b"]
    targets = [{"r": ["red sky", "red red"], "b": ["blue apple", "red"]}, {"b": ["blue"]}]
    assert measure_accuracies([(texts, labels), (texts, labels[::-1])], targets) == ((0.75, 0.25), (1.0, 0.0))


def test_the_measures_by_hand():
    distances = np.array([[1, 2, 3, 4], [4, 1, 2, 3.0]])
    accuracies = np.array([[0.9, 0.5, 0.7, 0.1], [0.2, 0.3, 0.9, 0.4]])
    answers = CandidateAnswers(tuple(map(tuple, distances)), tuple(map(tuple, accuracies)), ScoreScale("distance"))
    unit = Unit("utility", 1, ("a",), {}, (), None, 1)
    measured = TASK.measure(unit, answers)
    assert measured.values["between_targets"] == pytest.approx(stats.spearmanr([3, -1, -1, -1], [0.7, 0.2, -0.2, -0.3]).statistic)
    within = [stats.spearmanr(-a, b).statistic for a, b in zip(distances, accuracies, strict=True)]
    assert measured.score == pytest.approx(np.mean(within))
    assert measured.values["regret_1"] == pytest.approx((0 + 0.6) / 2)          # the nearest: .9 of .9, and .3 of .9
    assert measured.values["regret_3"] == pytest.approx((0 + 0) / 2)
    assert (measured.values["chosen"], measured.values["best"], measured.values["mean"]) == pytest.approx((0.6, 0.9, 0.5))
    similarities = CandidateAnswers(tuple(map(tuple, 5 - distances)), answers.accuracies, ScoreScale("similarity", None, 5.0))
    assert TASK.measure(unit, similarities).score == pytest.approx(measured.score)


def test_a_statistic_of_lengths_is_unknown_and_one_of_the_candidate_tells_no_targets_apart(drawn_unit):
    drawn = draw_candidates(drawn_unit)
    def measure(statistic):
        distances = (tuple(float(statistic(texts)) for texts, _ in drawn.candidates),) * 2
        return TASK.measure(drawn_unit, CandidateAnswers(distances, drawn.accuracies, ScoreScale("distance")))
    assert measure(lambda texts: sum(map(len, texts))).score is None
    vocabulary = measure(lambda texts: len({word for text in texts for word in text.split()}))
    assert vocabulary.values["between_targets"] is None
    assert abs(vocabulary.score) < 0.5


def test_random_distances_score_chance_on_average(drawn_unit):
    drawn, rng = draw_candidates(drawn_unit), np.random.default_rng(1)
    scores = [TASK.measure(drawn_unit, CandidateAnswers(tuple(map(tuple, rng.random((2, len(drawn.candidates))))), drawn.accuracies, ScoreScale("distance"))).score
              for _ in range(300)]
    assert abs(np.mean(scores)) < 3 * np.std(scores) / np.sqrt(300)


def test_real_metrics_are_asked_and_see_no_label(drawn_unit, worker_slot, inputs):
    outcome = worker_slot.run_unit(load_submission(SUBMISSIONS / "chi.py").entries[0], TaskUnit(TASK, drawn_unit), inputs)
    assert outcome.status is Status.ANSWERED
    assert np.shape(outcome.observation.distances) == np.shape(outcome.observation.accuracies)
    assert TASK.measure(drawn_unit, outcome.observation).score > 0.3


@pytest.mark.parametrize(("total", "parts", "main", "expected"), [(10, 3, 0.0, [4, 3, 3]), (10, 2, 0.8, [8, 2]), (0, 2, 0.0, [0, 0]), (7, 1, 0.8, [7])])
def test_shares(total, parts, main, expected):
    assert share_out(total, parts, main) == expected


def test_generated_texts_have_the_length():
    assert {len(write_long(NGrams(["a b", "c d"], 2), 20, np.random.default_rng(seed))) for seed in range(20)} == {20}


def test_sources_that_are_too_small(context, drawn_unit):
    def texts(**more):
        source = {"name": "made_weather + made_trains", "elsewhere": "made_kitchen", "characters": CHARACTERS} | more
        return TASK.texts(next(TASK.units(Settings(sources=(SourceSettings(**source),), n=N, repetitions=1), context)))
    with pytest.raises(TouchstoneError, match=r'needs 4 labels with 80 different texts of at least 500 characters each; "made_weather \+ made_trains" has 0'):
        texts(characters=500)
