"""Sanity checks: the corpora are what each check says, and verdicts follow from curves of known shape."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.base.units import Source
from harness.evaluation.run import run_suite
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context
from harness.submission.selection import select_entries
from leaderboard.scoring.results import score_suite
from tasks.corpus.sanity import CheckAnswers, Sanity, Settings, judge
from tasks.corpus.sanity_checks import CHECKS, LONG, Deck, telegraphic
from tasks.data.loading import dataset_fingerprint
from tasks.suite_files import load_suite

TOPICS = ("made_weather", "made_kitchen")
SETTINGS = Settings(topics=" + ".join(TOPICS), documents="made_reports", elsewhere="made_trains", n=40, documents_n=8, repetitions=2)


@pytest.fixture(scope="module")
def corpora():
    """The corpora of the first repetition of every check, as pairs in the order of its values."""
    from tasks.corpus import sanity

    settings = SETTINGS.model_copy(update={"documents": "made_kitchen"})
    context = Context(3, Source("minilm", "0"), {name: dataset_fingerprint(name) for name in Sanity().datasets(settings)})
    drawn = {unit.parameters["check"]: sanity.draw_corpora(unit) for unit in Sanity().units(settings, context)
             if unit.parameters["repetition"] == 0}
    return {name: [(corpora_of.corpora[a], corpora_of.corpora[b]) for a, b in corpora_of.pairs] for name, corpora_of in drawn.items()}


def topic_of(text: str) -> str:
    from tasks.data.loading import load_corpus

    return next(name for name in (*TOPICS, "made_trains") if text in set(load_corpus(name)))


def shares(corpus) -> Counter:
    return Counter(map(topic_of, corpus))


def test_every_check_has_its_values_the_bands_and_the_other_domain(corpora):
    assert set(corpora) == set(CHECKS)
    for name, pairs in corpora.items():
        assert len(pairs) == len(CHECKS[name].x) + 4, name
        assert set(map(topic_of, pairs[-1][1])) == {"made_trains"}
        for a, b in pairs[-4:]:
            assert not set(a) & set(b)


def test_topics_disappear_and_appear(corpora):
    """Two topics of equal shares: dropping the second leaves 40 texts of the first; inventing one adds x of it."""
    labels = [topic_of(corpora["mode_dropping_sequential"][3][1][0])]
    assert shares(corpora["mode_dropping_sequential"][0][1]) == Counter(dict.fromkeys(TOPICS, 20))
    assert shares(corpora["mode_dropping_sequential"][3][1]) == Counter({labels[0]: 40})
    by_step = [shares(changed)[labels[0]] for _, changed in corpora["mode_dropping_simultaneous"][:5]]
    assert by_step == [20, 25, 30, 35, 40]
    invented = next(label for label in TOPICS if label not in shares(corpora["invention"][0][0]))
    assert [shares(changed)[invented] for _, changed in corpora["invention"][:4]] == [0, 4, 10, 20]


def test_outliers_are_long_and_few(corpora):
    counts = [sum(len(text) == LONG for text in changed) for _, changed in corpora["outliers"][:4]]
    assert counts == [0, 0, 1, 2]                       # of 40 texts: .4, .8 and 2, rounded


def test_duplication_and_sizes(corpora):
    once, twice, four_times = corpora["duplication"][:3]
    assert Counter(twice[0]) == Counter(dict.fromkeys(once[0], 2))
    assert Counter(four_times[1]) == Counter(dict.fromkeys(once[1], 4))
    assert [(len(a), len(b)) for a, b in corpora["sample_size"][:4]] == [(20, 20), (40, 40), (80, 80), (160, 160)]
    assert [(len(a), len(b)) for a, b in corpora["imbalance"][:3]] == [(40, 40), (28, 52), (16, 64)]
    assert [shares(b)["made_trains"] for _, b in corpora["sample_size"][:4]] == [5, 10, 20, 40]


def test_changes_of_documents(corpora):
    whole, *cut = [changed for _, changed in corpora["truncation"][:4]]
    for corpus, share in zip(cut, (0.25, 0.5, 0.75), strict=True):
        for text, rest in zip(whole, corpus, strict=True):
            assert text.startswith(rest)
            assert len(rest.split()) == max(1, round((1 - share) * len(text.split())))
    first, middle, last = [changed for _, changed in corpora["error_position"][:3]]
    for a, b, c in zip(first, middle, last, strict=True):
        words = [text.split() for text in (a, b, c)]
        third = len(words[0]) // 3
        assert words[1][:third] == words[2][:third]             # only the first differs there
        assert words[0][-third:] == words[1][-third:]           # and only the last there


def test_register_is_changed_and_topics_stay():
    assert telegraphic("Is the train from Leeds on time?") == "train leeds time"
    assert telegraphic("Who is it?") == "who is it"             # nothing else would be left


def test_a_deck_that_is_too_small_says_what_is_missing():
    deck = Deck({"a": ["x"] * 5, "b": ["y"] * 9}, np.random.default_rng(0))
    with pytest.raises(TouchstoneError, match='need 6 more texts of the topic "a", which has 5 left. Choose a smaller n'):
        deck.sample(12)


def answers(curve, same=(0.1, 0.11, 0.09), other=1.1, seed=0):
    """Three repetitions with a little noise."""
    rng = np.random.default_rng(seed)
    scale = ScoreScale("distance", 0.0, float("inf"))
    return [CheckAnswers(tuple((np.array(curve) + 0.001 * rng.normal(size=len(curve))).tolist()), same, other + 0.001 * rng.normal(), scale)
            for _ in range(3)]


@pytest.mark.parametrize(("name", "curve", "passed"), [
    ("mode_dropping_sequential", (0.1, 0.2, 0.3, 0.4), 1.0),
    ("mode_dropping_sequential", (0.4, 0.3, 0.2, 0.1), 0.0),            # falls
    ("mode_dropping_sequential", (0.1, 0.1, 0.101, 0.102), 0.0),        # rises, unnoticed
    ("duplication", (0.3, 0.35, 0.25), 1.0),                            # within 0.1 of a range of 1
    ("duplication", (0.3, 0.3, 0.45), 0.0),
    ("outliers", (0.1, 0.15, 0.2, 0.3), 1.0),
    ("outliers", (0.1, 0.15, 0.2, 2.0), 0.0),                           # explodes
    ("error_position", (0.3, 0.3, 0.3), 1.0),
    ("error_position", (0.1, 0.3, 0.3), 0.0),                           # blind at the beginning
])
def test_verdicts_on_curves_of_known_shape(name, curve, passed):
    assert judge(name, answers(curve)) == passed


def test_without_a_difference_between_domains_there_is_no_verdict():
    assert judge("duplication", answers((0.1, 0.1, 0.1), other=0.1)) is None
    assert judge("duplication", [*answers((0.1, 0.1, 0.1), same=(0.1, 0.1, 0.1), other=0.1, seed=1)]) is None


def test_similarities_are_read_as_distances():
    scale = ScoreScale("similarity", -float("inf"), 0.0)
    negated = [CheckAnswers(tuple(-value for value in answer.curve), tuple(-value for value in answer.same), -answer.other, scale)
               for answer in answers((0.1, 0.2, 0.3, 0.4))]
    assert judge("mode_dropping_sequential", negated) == 1.0


def test_unknown_checks_are_refused(smoke):
    context = Context(3, Source("minilm", "0"), dict.fromkeys(Sanity().datasets(SETTINGS), "0"))
    with pytest.raises(TouchstoneError, match='no check "mode_droping". The checks are'):
        list(Sanity().units(SETTINGS.model_copy(update={"checks": ("mode_droping",)}), context))


SMALL = """
title = "Sanity checks on synthetic texts"
seed = 5
model = "minilm"
[tasks.sanity]
topics = "made_weather + made_kitchen"
documents = "made_kitchen"
elsewhere = "made_trains"
n = 16
documents_n = 8
repetitions = 3
checks = ["mode_dropping_sequential", "duplication", "error_position"]
"""


def test_a_run_gives_verdicts_and_curves(tmp_path):
    """Jaccard distances of bags of words are unchanged by copies; a constant has no verdict."""
    (tmp_path / "sanity.toml").write_text(SMALL)
    suite = load_suite(str(tmp_path / "sanity.toml"))
    run_suite(select_entries(["jaccard", "constant"], SUBMISSIONS), suite, tmp_path / "store.sqlite", jobs=2, progress=NoProgress())
    scores = {entry.name: entry.tasks["sanity"] for entry in score_suite(tmp_path / "store.sqlite", suite)}
    jaccard, constant = scores["jaccard"], scores["constant"]
    assert jaccard.measures["duplication"].value == 1
    assert jaccard.measures["passed"].value == pytest.approx(
        np.mean([jaccard.measures[name].value for name in ("mode_dropping_sequential", "duplication", "error_position")]))
    assert "passed" not in constant.measures
    observations = [jaccard.observed[unit.id] for unit in suite.units(jaccard.task) if unit.stratum == ("duplication",)]
    (curve,) = jaccard.task.curves("duplication", observations)
    assert [x for x, *_ in curve.points] == [1, 2, 4]
    assert np.ptp([y for _, y, *_ in curve.points]) < 1e-4          # points have five digits
