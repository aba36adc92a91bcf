"""What corpus metrics say at the edges: one text, few texts, equal texts, no tokens, zero vectors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.submission.submission import load_submission
from tests.support.corpora import PAIRS_OF_EMBEDDINGS, PAIRS_OF_TOKENS, Direct, like_embeddings, tokens, with_duplicates

OF_EMBEDDINGS = ("ahd", "c2st_knn", "classifier", "dc", "energy", "fid", "irpr", "kid", "mauve", "medoid", "mmd", "pr",
                 "semantic_f1", "sliced_wasserstein")
OF_TOKENS = ("chi", "self_bleu", "vocabulary_jsd", "zipf")
OF_TEXTS = ("syntactic_f1",)
ENTRIES = [entry for name in (*OF_EMBEDDINGS, *OF_TOKENS, *OF_TEXTS) for entry in load_submission(SUBMISSIONS / f"{name}.py").entries]
EVERY = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
NEEDS_TWO = ("fid", "kid", "classifier", "self_bleu")


def direct(entry):
    return Direct(entry.header.name, **entry.parameters)


def pairs_for(entry):
    if entry.header.input == "texts":
        return {name: tuple([" ".join(text) for text in corpus] for corpus in pair) for name, pair in PAIRS_OF_TOKENS.items()}
    return PAIRS_OF_TOKENS if entry.header.input == "tokens" else PAIRS_OF_EMBEDDINGS


@EVERY
def test_answers_are_finite_within_the_declared_range_and_symmetric_where_claimed(entry):
    metric, (low, high) = direct(entry), entry.header.range
    for name, (p, q) in pairs_for(entry).items():
        there, back = metric(p, q), metric(q, p)
        assert math.isfinite(there), name
        assert low <= there <= high, name
        if entry.header.symmetric:
            assert there == pytest.approx(back, abs=1e-6), name             # a float32 product is not that of the transposes


# Of classifier, KID and neighbours' votes it is no axiom that identical corpora are 0 apart; their docstrings say so.
@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.header.name not in ("classifier", "kid", "c2st_knn", "pr", "dc")],
                         ids=lambda entry: entry.name)
def test_identical_corpora_are_alike(entry):
    metric = direct(entry)
    p, q = pairs_for(entry)["identical corpora"]
    assert metric(p, q) == pytest.approx(0 if entry.header.returns == "distance" else 1, abs=1e-6)


@pytest.mark.parametrize("name", ["pr", "dc"])
def test_identical_corpora_lie_in_each_others_neighbourhoods(name):
    p, q = PAIRS_OF_EMBEDDINGS["identical corpora"]
    assert Direct(name)(p, q) == 0
    assert Direct(name)(p[:1], q[:1]) == 1                                  # a single text has no neighbours, and no ball


def test_identical_corpora_where_that_is_not_zero():
    p, q = PAIRS_OF_EMBEDDINGS["identical corpora"]
    assert Direct("kid")(p, q) < 0
    assert Direct("c2st_knn")(p, q) < 0.5
    assert Direct("c2st_knn", k=1)(p, q) == 0                               # the nearest is always the twin in the other corpus


@EVERY
def test_one_text(entry):
    metric = direct(entry)
    if entry.header.input == "tokens":
        one, other, many = [["a", "b"]], [["a", "c", "c"]], tokens(20, 30, 1)
    elif entry.header.input == "texts":
        one, other, many = ["a b"], ["a c c"], [" ".join(text) for text in tokens(20, 30, 1)]
    else:
        one, other, many = like_embeddings(1, 16, 1), like_embeddings(1, 16, 2), like_embeddings(20, 16, 3)
    for p, q in itertools.permutations((one, other, many), 2):
        if entry.header.name in NEEDS_TWO:
            with pytest.raises(ValueError, match="at least two texts per corpus"):
                metric(p, q)
        else:
            assert math.isfinite(metric(p, q))


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.header.input == "embeddings"], ids=lambda entry: entry.name)
def test_zero_vectors_and_equal_rows_are_answered(entry):
    metric, rows = direct(entry), like_embeddings(20, 16, 1)
    zeros, mixed = np.zeros((10, 16), np.float32), np.concatenate([np.zeros((3, 16), np.float32), rows])
    lump = np.repeat(rows[:1], 30, axis=0)
    for p, q in itertools.product((rows, zeros, mixed, lump, with_duplicates(rows)), repeat=2):
        assert math.isfinite(metric(p, q))


@pytest.mark.parametrize("name", OF_TOKENS)
def test_corpora_without_any_tokens(name):
    metric, nothing, something = Direct(name), [[], [], []], tokens(20, 30, 1)
    assert metric(nothing, nothing) == 0
    assert metric(nothing, [[]] * 5) == 0
    if name == "chi":
        for p, q in ((nothing, something), (something, nothing)):
            with pytest.raises(ValueError, match="one corpus has none of the compared tokens"):
                metric(p, q)
    else:
        assert math.isfinite(metric(nothing, something))


def test_tokens_of_nothing_and_something_share_nothing():
    assert Direct("vocabulary_jsd")([[]], [["a"]]) == 1
    assert Direct("vocabulary_jsd")([["a", "b"]], [["c"]]) == 1


# By hand, on a line: the neighbourhoods of {0, 1} reach 1 far, those of {0.5, 3} reach 2.5.  Of {0.5, 3} only 0.5 is near {0, 1}:
# precision 1/2, recall 1, so 1 - 2/3.  0.5 lies in both balls, 3 in none: density (2 + 0)/2 over k, coverage 1.
LINE = np.array([[0], [1]], np.float32), np.array([[0.5], [3]], np.float32)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_of_k_texts_or_fewer_all_others_are_neighbours(k):
    assert Direct("pr", k=k)(*LINE) == pytest.approx(1 / 3)
    assert Direct("dc", k=k)(*LINE) == 0


def test_balls_are_open():
    """{0, 1} and {2}: 1 is exactly as far from 2 as its ball reaches."""
    p, q = np.array([[0], [1]], np.float32), np.array([[2], [9]], np.float32)
    assert Direct("dc", k=1)(p, q) == 1


@pytest.mark.parametrize(("p", "q", "expected"), [     # by hand: squared difference of means + (difference of deviations) squared
    ([-1, 1], [2, 4], 9), ([-1, 1], [-2, 2], 2), ([0, 0], [3, 3], 9), ([5, 7, 9], [5, 7, 9], 0)])
def test_fid_on_a_line(p, q, expected):
    p, q = (np.array(side, np.float32)[:, None] for side in (p, q))
    assert Direct("fid")(p, q) == pytest.approx(expected, abs=1e-9)


def test_fid_is_the_same_by_either_form_of_the_root():
    """Rows beyond the number of dimensions are folded together; of 384 dimensions, twenty that vary."""
    p, q = like_embeddings(90, 20, 1), like_embeddings(70, 20, 2)
    wide = [np.pad(rows, ((0, 0), (0, 364))) for rows in (p, q)]
    assert Direct("fid")(p, q) == pytest.approx(Direct("fid")(*wide), abs=1e-9)


def test_chi_by_hand():
    """(a a b) and (a b b): all expected counts are 1.5, so 4 * 0.25 / 1.5, with one degree of freedom."""
    assert Direct("chi")([["a", "a", "b"]], [["a", "b", "b"]]) == pytest.approx(2 / 3)


def test_chi_takes_the_first_of_the_alphabet_of_equally_common_tokens():
    """a is commonest; of b, c and d, twice each, b and c are taken: the counts are then (2 2 0) and (2 0 2), chi-squared 4."""
    p, q = [["a", "a", "b", "b", "d"]], [["d", "c", "c", "a", "a"]]
    assert Direct("chi", commonest=3)(p, q) == pytest.approx(4 / 2)
    assert Direct("chi", commonest=3)(q, p) == pytest.approx(4 / 2)


def test_chi_where_nothing_could_differ():
    assert Direct("chi")([["a", "a"]], [["a"]]) == 0


def test_zipf_by_hand():
    """Frequencies 4, 2, 1; the last is left out.  log 2 lies at 10/15 to the nearest 1/15: slope -(log 2)/(2/3)."""
    assert Direct("zipf").prepare([list("aaaabbc")]) == pytest.approx(-1.5 * math.log(2))
    assert Direct("zipf").prepare([list("ab")]) == 0                        # one rank alone has no slope


def test_sliced_wasserstein_of_repeated_corpora_is_the_same():
    p, q = like_embeddings(20, 16, 1), like_embeddings(30, 16, 2)
    assert Direct("sliced_wasserstein")(np.repeat(p, 3, axis=0), q) == pytest.approx(Direct("sliced_wasserstein")(p, q))


def test_medoid_without_a_direction():
    up, down = np.ones((1, 4), np.float32), -np.ones((1, 4), np.float32)
    balanced = np.concatenate([up, down])
    assert Direct("medoid")(up, down) == pytest.approx(2)
    assert Direct("medoid")(balanced, balanced) == 0
    assert Direct("medoid")(balanced, up) == Direct("medoid")(up, balanced) == 1


def test_neighbours_that_are_equally_far_all_vote():
    """0 has its own 1 and the other's -1 equally near: half right.  1's nearest is 0: right.  -1's nearest is 0: wrong."""
    p, q = np.array([[0], [1]], np.float32), np.array([[-1]], np.float32)
    assert Direct("c2st_knn", k=1)(p, q) == pytest.approx(((0.5 + 1) / 2 + 0) / 2)


def test_self_bleu_by_hand():
    """Two equal texts repeat each other whole: 1.  Two without a token in common: 0."""
    assert Direct("self_bleu").prepare([list("abcde")] * 2) == pytest.approx(1)
    assert Direct("self_bleu").prepare([list("abcde"), list("vwxyz")]) == 0


def test_splits_of_the_classifier_are_averaged():
    p, q = like_embeddings(40, 16, 1), like_embeddings(40, 16, 2)
    assert Direct("classifier")(p, p + np.float32(3)) == 1                  # far apart
    assert Direct("classifier")(p, q) == Direct("classifier")(p, q)


@pytest.mark.parametrize("factor", [1e-100, 1e-8, 1e8])
def test_the_classifier_does_not_depend_on_the_scale_of_the_vectors(factor):
    p, q = like_embeddings(60, 32, 1, 0.8).astype(float), like_embeddings(60, 32, 2, 0.8).astype(float)
    answer = Direct("classifier")(p, q)
    assert 0.6 < answer < 0.9                                               # neither chance nor certainty
    assert Direct("classifier")(p * factor, q * factor) == answer           # gamma = "scale" of scikit-learn's SVC


def test_semantic_f1_by_hand():
    """Cosines of (1 0) with (1 0) and (-1 0): 1 and, cut off, 0.  Precision 1, recall 1/2."""
    p, q = np.array([[1, 0]], np.float32), np.array([[2, 0], [-1, 0]], np.float32)
    assert Direct("semantic_f1")(p, q) == pytest.approx(2 / 3)
    assert Direct("semantic_f1")(p, -p) == 0


def test_syntactic_f1_by_hand():
    """One of three words differs: 1/(1 + 1/3).  Nothing in common: 1/2.  Nothing at all on both sides: 1."""
    assert Direct("syntactic_f1")(["The cat sat"], ["the dog sat"]) == pytest.approx(3 / 4)
    assert Direct("syntactic_f1")(["a b"], ["c"]) == 0.5
    assert Direct("syntactic_f1")([""], [""]) == 1
    assert Direct("syntactic_f1")([""], ["a b"]) == 0.5


def test_syntactic_f1_of_more_texts_than_are_compared_at_once():
    texts = [f"{i % 7} {i % 11} {i % 13}" for i in range(1200)]
    assert Direct("syntactic_f1")(texts, texts[:600]) == Direct("syntactic_f1")(texts[:600], texts)
