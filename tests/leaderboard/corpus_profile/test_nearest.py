"""The pruned search finds what the full matrix of word lists has, in every cell that matters."""

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


def full(a, b) -> np.ndarray:
    """Every pair of lists of words, without any trick."""
    return np.array([[Levenshtein.distance(x, y) / max(len(x), len(y), 1) for y in ([*map(str.lower, t.split())] for t in b)]
                     for x in ([*map(str.lower, t.split())] for t in a)])


def agree(a, b) -> None:
    matrix, found = full(a, b), WordIndex(b).nearest(a)
    assert found.distances == pytest.approx(matrix.min(axis=1), abs=1e-12)
    for place, row in enumerate(found.rows):
        assert (matrix[place].min() == 1) if row < 0 else (matrix[place, row] == pytest.approx(found.distances[place]))


TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "A"]), max_size=7).map(" ".join)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=6), st.lists(TEXT, min_size=1, max_size=8))
def test_of_any_texts(a, b):
    agree(a, b)


def test_of_sentences_and_of_noisy_copies():
    texts = data.load_corpus("made_kitchen")
    agree(texts[:100], data.load_corpus("made_weather")[:150])
    agree(texts[:150], texts[100:300])
    agree(insert_fault(CorpusFault.EDA_NOISE, texts[:150], 0.5, FaultMaterial((), ()), 1), texts[:200])


@pytest.mark.parametrize(("text", "distance", "row"), [     # by hand, among three texts
    ("the cat sat", 0.0, 0),
    ("The cat SAT", 0.0, 0),
    ("a cat sat", 1 / 3, 0),
    ("the dog", 1 / 2, 1),                                  # one word of two: the dog runs has three words, one too many
    ("nothing alike whatsoever", 1.0, -1),
    ("", 1.0, -1),
])
def test_by_hand(text, distance, row):
    found = WordIndex(["the cat sat", "the wolf", "the dog runs home today"]).nearest([text])
    assert (found.distances[0], found.rows[0]) == (pytest.approx(distance), row)
    assert found.similarities[0] == pytest.approx(1 / (1 + distance))


def test_empty_texts_are_each_others_nearest():
    found = WordIndex(["a", ""]).nearest(["", "b"])
    assert found.distances.tolist() == [0.0, 1.0]
    assert found.rows.tolist() == [1, -1]


def test_the_submission_says_the_same():
    a, b = data.load_corpus("made_kitchen")[:80], data.load_corpus("made_trains")[:30] + data.load_corpus("made_kitchen")[100:160]
    precision = WordIndex(b).nearest(a).similarities.mean()
    recall = WordIndex(a).nearest(b).similarities.mean()
    assert Direct("syntactic_f1")(list(a), list(b)) == pytest.approx(2 * precision * recall / (precision + recall))
