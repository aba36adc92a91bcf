"""The pruned search finds the minima of the full matrix of word edit distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from leaderboard.corpus_profile.nearest import WordIndex
from tasks.common.corpus_faults import CorpusFault, FaultMaterial, insert_fault
from tasks.data import loading as data
from tests.support.corpora import Direct

pytestmark = pytest.mark.unit


def full_matrix(a, b) -> np.ndarray:
    """Return the distances of all pairs of texts."""
    return np.array([[Levenshtein.distance(x, y) / max(len(x), len(y), 1) for y in ([*map(str.lower, t.split())] for t in b)]
                     for x in ([*map(str.lower, t.split())] for t in a)])


def assert_exact(a, b) -> None:
    matrix, nearest = full_matrix(a, b), WordIndex(b).nearest(a)
    assert nearest.distances == pytest.approx(matrix.min(axis=1), abs=1e-12)
    for number, row in enumerate(nearest.rows):
        assert (matrix[number].min() == 1) if row < 0 else (matrix[number, row] == pytest.approx(nearest.distances[number]))


TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "A"]), max_size=7).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=6), st.lists(TEXT, min_size=1, max_size=8))
def test_arbitrary_texts(a, b):
    assert_exact(a, b)


def test_sentences_and_noisy_copies():
    texts = data.load_corpus("made_kitchen")
    assert_exact(texts[:100], data.load_corpus("made_weather")[:150])
    assert_exact(texts[:150], texts[100:300])
    assert_exact(insert_fault(CorpusFault.EDA_NOISE, texts[:150], 0.5, FaultMaterial((), ()), 1), texts[:200])


@pytest.mark.parametrize(("text", "distance", "row"), [     # by hand, among three texts
    ("the cat sat", 0.0, 0),
    ("The cat SAT", 0.0, 0),
    ("a cat sat", 1 / 3, 0),
    ("the dog", 1 / 2, 1),                                  # one word of two: the dog runs has three words, one too many
    ("nothing alike whatsoever", 1.0, -1),
    ("", 1.0, -1),
])
def test_by_hand(text, distance, row):
    nearest = WordIndex(["the cat sat", "the wolf", "the dog runs home today"]).nearest([text])
    assert (nearest.distances[0], nearest.rows[0]) == (pytest.approx(distance), row)
    assert nearest.similarities[0] == pytest.approx(1 / (1 + distance))


def test_empty_texts_are_each_others_nearest():
    nearest = WordIndex(["a", ""]).nearest(["", "b"])
    assert nearest.distances.tolist() == [0.0, 1.0]
    assert nearest.rows.tolist() == [1, -1]


def test_the_submission_agrees():
    a, b = data.load_corpus("made_kitchen")[:80], data.load_corpus("made_trains")[:30] + data.load_corpus("made_kitchen")[100:160]
    precision = WordIndex(b).nearest(a).similarities.mean()
    recall = WordIndex(a).nearest(b).similarities.mean()
    assert Direct("syntactic_f1")(list(a), list(b)) == pytest.approx(2 * precision * recall / (precision + recall))
