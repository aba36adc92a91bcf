"""What a difference means, by hand and on the published answers."""

from __future__ import annotations

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.evaluation.score_scale import ScoreScale
from leaderboard.own_data.differences import (
    Curve,
    all_thresholds,
    calibration_error_of_curves,
    compare_distances,
    explain_difference,
    fit_curve,
    needed_difference,
    thresholds_by_domain,
)
from leaderboard.publishing.answers import published_results
from leaderboard.publishing.release import read_release
from leaderboard.scoring.results import Results
from tasks.corpus.known_similarity import MixtureDistances
from tasks.suite_files import load_suite


@pytest.fixture(scope="module")
def results():
    suite = load_suite("core")
    return Results(suite, None, published_results(read_release(None), suite))


def test_differences_of_distances_from_one_corpus_whose_separations_differ():
    """Three corpora: d01 = 1, d02 = 3, d12 = 0.5. From 0: d02 - d01 = 2, real. From 2: d02 - d12 = 2.5, real. From 1 none."""
    answers = MixtureDistances(3, (1.0, 3.0, 0.5), (1.0, 3.0, 0.5), 3, ScoreScale("distance"), ())
    differences, order = compare_distances(answers)
    assert sorted(differences) == [2.0, 2.5]
    assert order.tolist() == [1, 1]
    differences, order = compare_distances(MixtureDistances(3, (3.0, 1.0, 1.0), (), 3, ScoreScale("distance"), ()))
    assert dict(zip(differences.tolist(), order.tolist(), strict=True)) == {2.0: 0, 0.0: 0.5}


def test_the_curve_recovers_a_logistic_probability():
    rng, x = np.random.default_rng(1), np.random.default_rng(2).exponential(1, 40_000)
    order = (rng.random(40_000) < Curve(1.0, 0.4, 0.9).probability(x)).astype(float)
    found = fit_curve(x, order)
    grid = np.array([0.0, 0.1, 0.5, 1, 2, 4])
    assert found.probability(grid) == pytest.approx(Curve(1.0, 0.4, 0.9).probability(grid), abs=0.02)
    assert found.probability(0.0) == 0.5


def test_the_curve_never_falls():
    x = np.linspace(0.01, 1, 500)
    curve = fit_curve(x, (x < 0.5).astype(float))
    assert (np.diff(curve.probability(x)) >= 0).all()


def test_the_calibration_error_is_that_of_sources_that_are_left_out():
    rng = np.random.default_rng(3)

    def source(slope: float):
        x = rng.exponential(1, 20_000)
        return x, (rng.random(20_000) < Curve(1.0, 0.0, slope).probability(x)).astype(float)
    assert calibration_error_of_curves({"a": source(1), "b": source(1), "c": source(1)}) < 0.01
    assert calibration_error_of_curves({"a": source(0.1), "b": source(4)}) > 0.1


def test_the_needed_difference():
    curve = Curve(1.0, 0.0, 1.0)
    assert needed_difference(curve, 0.75, 10) == pytest.approx(np.log(3), rel=0.01)
    assert needed_difference(curve, 0.95, 1) is None


@pytest.mark.parametrize(("name", "kind"), [("energy", "corpus"), ("cosine", "text")])
def test_larger_differences_are_more_probable(results, name, kind):
    small, large = (explain_difference(name, x, 100, results) for x in (0.001, -0.02))
    assert 0.5 < small.probability < large.probability <= 1
    assert (large.kind, large.difference) == (kind, 0.02)
    assert len(large.sources) >= 2
    assert " differ by 0.02, " in large.sentence
    assert f"with a probability of {large.probability:.0%}" in large.sentence
    assert (large.low is None) == (kind == "corpus")


def test_a_text_metric_is_lifted_to_corpora_on_request(results):
    lifted = explain_difference("jaccard", 0.02, 100, results, corpora=True)
    assert lifted.kind == "corpus"
    assert "sms and tweets" in lifted.sources
    assert explain_difference("jaccard", 0.02, 100, results).kind == "text"


def test_doubtful_answers_are_marked(results):
    far = explain_difference("bleu", 0.8, 100, results)
    assert any("No difference this large is expected" in note for note in far.notes)
    assert any("calibration error" in note for note in far.notes) == (far.calibration_error > 0.03)
    assert any("nearest to 500" in note for note in explain_difference("energy", 0.1, 500, results).notes)


def test_more_pairs_make_the_same_difference_more_probable(results):
    one, many = (explain_difference("cosine", 0.05, size, results).probability for size in (1, 200))
    assert many > one + 0.1


@pytest.mark.parametrize(("name", "difference", "size", "message"), [
    ("enrgy", 1, 100, 'Did you mean "energy"'), ("energy", 0, 100, "other than 0"), ("energy", float("nan"), 100, "other than 0"),
    ("energy", 1, 0, "1 to 1,000")])
def test_wrong_questions_are_refused(results, name, difference, size, message):
    with pytest.raises(TouchstoneError, match=message):
        explain_difference(name, difference, size, results)


def test_a_metric_that_was_not_measured_beforehand_is_explained_by_its_answers(results):
    """BERTScore needs a model that the table was made without."""
    meaning = explain_difference("bertscore", 0.05, 100, results)
    assert meaning.sources == ("sts_benchmark", "lee")
    assert 0.5 < meaning.low <= meaning.probability <= meaning.high <= 1


def test_a_changed_file_of_a_known_name_is_explained_by_its_answers(results, tmp_path, monkeypatch):
    monkeypatch.setattr("leaderboard.own_data.differences.SUBMISSIONS", tmp_path)
    (tmp_path / "chrf.py").write_text("changed")
    assert explain_difference("chrf", 0.05, 10, results).sources == ("sts_benchmark", "lee")


def test_all_thresholds_are_in_one_table(results):
    table = all_thresholds(results)
    assert {"cosine", "bertscore", "levenshtein"} <= {item.metric for item in table}
    assert "constant" not in {item.metric for item in table}
    assert [item for item in table if item.metric == "cosine"] == thresholds_by_domain("cosine", results)


def test_thresholds_by_domain(results):
    thresholds = thresholds_by_domain("cosine", results)
    assert {"stsb", "lee", "summeval", "paralex, also random"} <= {item.dataset for item in thresholds}
    by_share = {item.false_alarms: item.value for item in thresholds if item.dataset == "lee"}
    assert by_share[0.01] > by_share[0.05] > by_share[0.10]
    distances = {item.false_alarms: item.value for item in thresholds_by_domain("pos_distance", results) if item.dataset == "lee"}
    assert distances[0.01] < distances[0.10]            # of a distance, fewer false alarms need a smaller value
    with pytest.raises(TouchstoneError, match="compares corpora"):
        thresholds_by_domain("energy", results)
