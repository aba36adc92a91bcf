"""`touchstone explain`: the classes of rated pairs, the place of a value in them, and what is said where there are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.evaluation.score_scale import ScoreScale
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.report.rated_pairs import KEPT, class_of, less_alike, share_below
from leaderboard.scoring.results import Results
from leaderboard.workflows import explain as explaining
from leaderboard.workflows.explain import explain, place_value
from tasks.text.human_ordering import PARALLEL, RANDOM, RatedAnswers, read_pairs
from tests.support.command import touchstone

TASK = "human_ordering"


@pytest.mark.parametrize(("kind", "rating", "of"), [
    (PARALLEL, 5.0, "paraphrase"), (PARALLEL, 4.0, "paraphrase"), (PARALLEL, 3.9, "related"), (PARALLEL, 2.0, "related"),
    (PARALLEL, 1.9, None), (PARALLEL, 1.0, None), (PARALLEL, 0.9, "random"), (RANDOM, 4.5, "random")])
def test_classes(kind, rating, of):
    assert class_of(kind, rating) == of


def test_ties_count_one_half():
    assert share_below(np.array([1.0, 2.0, 2.0, 3.0]), 2.0) == 0.5
    assert share_below(np.array([1.0, 2.0]), 9.0) == 1


def rated(answers: list[float], human: list[float]) -> RatedAnswers:
    return RatedAnswers(tuple(range(len(answers))), tuple(answers), tuple(human), tuple(() for _ in answers), ScoreScale("similarity", None, None), ())


def entry(name: str):
    return select_entries([name], SUBMISSIONS)[0]


def test_the_place_of_a_value_by_hand():
    """20 random pairs at 0, .01, ...; 20 paraphrases at .8, .81, ...; ratings of 0 to 1 and of 0 to 5 are the same."""
    answers = [k / 100 for k in range(20)] + [0.8 + k / 100 for k in range(20)] + [0.5] * 5
    human = [0.0] * 20 + [5.0] * 20 + [2.5] * 5
    for highest in (5.0, 1.0):
        found = place_value(entry("jaccard"), 0.895, [("made", PARALLEL, rated(answers, [one * highest / 5 for one in human]))])
        random, related, paraphrase = found.places
        assert (random.pairs, random.percentile) == (20, 100)
        assert (paraphrase.pairs, paraphrase.percentile) == (20, 50)
        assert paraphrase.quantiles["50"] == pytest.approx(0.895)
        assert (related.pairs, related.percentile, related.quantiles) == (5, None, {})     # too few to be spoken of
        assert found.told_apart == 1
        assert found.sentence.endswith("such a score is most typical of a paraphrase pair.")
    # of a distance, less alike means larger
    turned = place_value(entry("wmd"), 0.0, [("made", PARALLEL, rated([1 - one for one in answers], human))])
    assert turned.places[0].percentile == 100
    assert turned.told_apart == 1


def test_a_metric_that_sees_nothing_is_said_to_see_nothing():
    found = place_value(entry("constant"), 0.5, [("made", PARALLEL, rated([0.5] * 50, [0.0] * 25 + [5.0] * 25))])
    assert found.told_apart == 0.5
    assert "not informative" in found.sentence
    few = place_value(entry("constant"), 0.5, [("made", PARALLEL, rated([0.5] * 4, [0.0, 1.0, 2.0, 5.0]))])
    assert "too few pairs" in few.sentence


@pytest.fixture(scope="module")
def path(smoke, tmp_path_factory):
    path = tmp_path_factory.mktemp("explaining") / "store.sqlite"
    run_suite(select_entries(["jaccard", "cosine", "tfidf_cosine"], SUBMISSIONS), smoke, path, only=[TASK], jobs=2, progress=NoProgress())
    return path


def test_from_a_store(smoke, path):
    store = Store(path, read_only=True)
    same = explain("jaccard", "the sky over the valley", "the sky over the valley", smoke, store, NoProgress())
    assert same.value == 1
    assert same.datasets == {"made_likeness": sum(len(pairs) for pairs in read_pairs("made_likeness").values())}
    assert sum(one.pairs for one in same.places) <= same.datasets["made_likeness"]
    assert same.places[0].percentile == 100
    other = explain("jaccard", "one thing", "quite another", smoke, store, NoProgress())
    assert other.value == 0
    for name in ("cosine", "tfidf_cosine"):         # of vectors; fitted on the pairs and these texts
        assert explain(name, "xylophone", "xylophone", smoke, store, NoProgress()).value == pytest.approx(1)


def test_what_is_not_there_is_said(smoke, path):
    store = Store(path, read_only=True)
    with pytest.raises(TouchstoneError, match=r'no results of "levenshtein".*touchstone run levenshtein --suite smoke --only human_ordering'):
        explain("levenshtein", "a", "b", smoke, store, NoProgress())
    with pytest.raises(TouchstoneError, match='Did you mean "cosine"'):
        explaining.stored_answers("cosin", Results(smoke, store))


def test_the_command(path):
    words = ("explain", "jaccard", "the sky [over] it", "the sky", "--suite", "smoke", "--store", path)
    told = json.loads(touchstone(*words, "--json").stdout)
    assert told["value"] == 0.5
    assert [one["of"] for one in told["places"]] == ["random", "related", "paraphrase"]
    shown = touchstone(*words, environment={"COLUMNS": "160"})
    assert shown.returncode == 0
    assert told["sentence"] in shown.stdout
    assert "made_likeness" in shown.stdout
    refused = touchstone("explain", "energy", "a", "b", "--suite", "smoke", "--store", path)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(("value", "sign", "expected"), [
    (-1, 1, 0), (11, 1, 100), (5, 1, 50), (5, -1, 50), (2.5, 1, 25), (2.5, -1, 75)])
def test_a_place_among_kept_percentiles_is_in_proportion(value, sign, expected):
    """By hand: of values spread evenly from 0 to 10, a value of x is above 10 x percent."""
    assert less_alike(value, (KEPT / 10).tolist(), sign) == pytest.approx(expected)


@pytest.mark.parametrize(("value", "expected"), [(0.0, 25), (0.3, 50), (1.0, 75), (1 / 3, 50)])
def test_ties_among_kept_percentiles_count_half(value, expected):
    """By hand: half of a class has 0, half has 1."""
    assert less_alike(value, [0.0] * 25 + [0.5] + [1.0] * 25, 1) == pytest.approx(expected, abs=1.5)
