"""Text metrics give the numbers of the packages that are known for them, on the same texts; `matrix` those of the pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.chrf_score import sentence_chrf
from rank_bm25 import BM25Plus
from rapidfuzz.distance import Levenshtein
from rouge import Rouge
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu as smoothed_bleu
from sacrebleu.metrics import CHRF
from scipy import spatial
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from tests.support.corpora import Direct
from tests.support.sentences import ORDINARY, SENTENCES, A, B

ROUNDING = 1e-12                            # float64 of a few operations on small counts
SCORER = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)


def answers(metric: Direct, a: list[str], b: list[str]) -> np.ndarray:
    return np.array(metric.answer(a, b), dtype=float)


def agree(metric: Direct, theirs: Callable[[str, str], float], a: list[str] = A, b: list[str] = B, tolerance: float = ROUNDING) -> None:
    expected = [theirs(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(answers(metric, a, b), expected, rtol=0, atol=tolerance)
    assert np.ptp(expected) > 0.5           # a comparison of nothing but zeros would show nothing


@pytest.mark.parametrize(("name", "key"), [("rouge1", "rouge1"), ("rouge2", "rouge2"), ("rouge_l", "rougeL")])
def test_rouge_is_that_of_rouge_score(name, key):
    agree(Direct(name), lambda x, y: SCORER.score(x, y)[key].fmeasure)
    agree(Direct(name, recall=True), lambda x, y: SCORER.score(x, y)[key].recall)


def test_rouge_is_the_mean_of_those_of_rouge_score():
    agree(Direct("rouge"), lambda x, y: np.mean([SCORER.score(x, y)[key].fmeasure for key in ("rouge1", "rouge2")]))
    agree(Direct("rouge", recall=True), lambda x, y: np.mean([SCORER.score(x, y)[key].recall for key in ("rouge1", "rouge2")]))


@pytest.mark.parametrize(("name", "key"), [("rouge1", "rouge-1"), ("rouge2", "rouge-2"), ("rouge_l", "rouge-l")])
def test_published_rouge_is_that_of_the_package_rouge(name, key):
    """But for the 1e-8 that it adds to p + r, and the texts without a sentence, which it refuses."""
    package = Rouge(metrics=[key], stats=["f"])
    refused = [text for text in SENTENCES if not text.strip(".")]
    assert sorted(refused) == ["", "..."]
    agree(Direct(name, published=True), lambda x, y: 0.0 if x in refused or y in refused else package.get_scores(y, x)[0][key]["f"],
          tolerance=2e-8)


def test_bleu_is_that_of_nltk_and_0_where_that_is_next_to_0():
    def theirs(x: str, y: str) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")             # that there are no matches of some order
            found = float(sentence_bleu([x.split()], y.split()))
        assert found < 1e-70 or found > 1e-3
        return found if found > 1e-10 else 0.0

    agree(Direct("bleu"), theirs)


def test_sentence_bleu_is_that_of_sacrebleu():
    agree(Direct("bleu_sentence"), lambda x, y: smoothed_bleu(y, [x]).score / 100)


def test_chrf_is_that_of_sacrebleu():
    scorer = CHRF()
    agree(Direct("chrf"), lambda x, y: scorer.sentence_score(y, [x]).score / 100)


def test_published_chrf_is_that_of_nltk():
    """NLTK takes 1e-16 for an order that one of the texts has not; by itself it removes no more than the blank."""
    def theirs(x: str, y: str) -> float:
        return float(sentence_chrf("".join(x.split()), "".join(y.split())))

    agree(Direct("chrf", published=True), theirs)


def test_chrf_by_hand():
    """"ab" against "a b", white space removed, is the same text; sacreBLEU says 100 of it.  "abc" against "abd": orders 1 to 3 share
    2 of 3, 1 of 2 and 0 of 1, so precision and recall are 7/18."""
    assert answers(Direct("chrf"), ["ab", "abc"], ["a b", "abd"]) == pytest.approx([1, 7 / 18])


def test_levenshtein_is_that_of_rapidfuzz():
    def theirs(x: str, y: str) -> float:
        return 1 - Levenshtein.distance(x, y) / (len(x) + len(y)) if x or y else 1.0

    agree(Direct("levenshtein"), theirs)


@pytest.mark.parametrize(("name", "parameters", "pattern", "lower"), [
    ("jaccard", {}, r"\S+", False), ("word_overlap", {}, r"\S+", False), ("jaccard", {"lower": True}, r"\w+", True)])
def test_jaccard_is_that_of_scipy_on_counts_of_scikit_learn(name, parameters, pattern, lower):
    rows = CountVectorizer(token_pattern=pattern, lowercase=lower, binary=True).fit([*A, *B])
    x, y = (rows.transform(side).toarray().astype(bool) for side in (A, B))
    # Of two texts without words scipy says they do not differ: so do we.
    theirs = [1 - spatial.distance.jaccard(one, other) for one, other in zip(x, y, strict=True)]
    np.testing.assert_allclose(answers(Direct(name, **parameters), A, B), theirs, rtol=0, atol=ROUNDING)


def test_dice_is_that_of_scipy_on_bigrams_of_scikit_learn():
    rows = CountVectorizer(analyzer=lambda text: [text[i:i + 2] for i in range(len(text) - 1)], binary=True).fit([*A, *B])
    x, y = (rows.transform(side).toarray().astype(bool) for side in (A, B))
    has = [one.any() or other.any() for one, other in zip(x, y, strict=True)]
    ours = answers(Direct("dice_bigrams"), A, B)
    theirs = [1 - spatial.distance.dice(one, other) for one, other, some in zip(x, y, has, strict=True) if some]
    np.testing.assert_allclose(ours[has], theirs, rtol=0, atol=ROUNDING)
    assert ours[~np.array(has)].tolist() == [float(one == other) for one, other, some in zip(A, B, has, strict=True) if not some]


def test_inverse_jaccard_is_one_less_jaccard():
    np.testing.assert_allclose(answers(Direct("inverse_jaccard"), A, B), 1 - answers(Direct("jaccard"), A, B), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(("name", "parameters", "expected"), [
    ("length_of_candidate", {}, [0.0, 0.5]), ("length_of_candidate", {"shorter": True}, [1.0, 0.5]),
    ("one_side_only", {}, [0.0, 4 / 9]), ("one_side_only", {"statistic": "type_token_ratio"}, [0.0, 1 / 20])])
def test_controls_that_ignore_the_first_text(name, parameters, expected):
    candidates = ["", "word " * 20]         # 100 characters, a mean word of four
    for first in (["", ""], ["some text", "another"]):
        np.testing.assert_allclose(answers(Direct(name, **parameters), first, candidates), expected, rtol=0, atol=ROUNDING)


def test_containment_by_hand():
    """Of "a b" all words are in "B c A", of "a b c" two of three in "a b d e"; words without any are alike, but like no others."""
    ours = answers(Direct("containment"), ["a b", "a b c", "", "", "a, A."], ["B c A", "a b d e", "?", "a", "a b c"])
    assert ours == pytest.approx([1, 2 / 3, 1, 0, 1])


def test_tfidf_is_that_of_scikit_learn():
    metric = Direct("tfidf_cosine")
    metric.functions["fit"](list(ORDINARY))
    rows = TfidfVectorizer().fit(ORDINARY)
    theirs = rows.transform(A).multiply(rows.transform(B)).sum(axis=1)
    np.testing.assert_allclose(answers(metric, A, B), np.asarray(theirs).ravel(), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(metric.functions["matrix"](A, B), (rows.transform(A) @ rows.transform(B).T).toarray(), rtol=0, atol=ROUNDING)


class MatchedTerms(BM25Plus):
    """rank-bm25, with delta for the terms that a document has, and scores of any text, not of its own documents only."""

    def score(self, query: list[str], document: list[str]) -> float:
        k, length = self.k1, len(document)
        return sum(self.idf.get(term, 0) * (self.delta + document.count(term) * (k + 1) / (
            k * (1 - self.b + self.b * length / self.avgdl) + document.count(term))) for term in query if term in document)


def words(text: str) -> list[str]:
    import re

    return re.findall(r"\w+", text.lower())


def test_bm25_plus_is_that_of_rank_bm25_for_matched_terms():
    """Where every document has every term of the query, delta for matched terms is delta for all: then rank-bm25's own scores."""
    documents = [words(text) for text in ORDINARY]
    package, metric = MatchedTerms(documents), Direct("bm25_plus")
    metric.functions["fit"](list(ORDINARY))

    def theirs(x: str, y: str) -> float:
        whole = package.score(words(x), words(x))
        return min(1.0, package.score(words(x), words(y)) / whole) if whole else 0.0

    agree(metric, theirs)
    alike = ["red house by the sea", "the sea by the red red house", "by house the sea red and more"]
    again = Direct("bm25_plus")
    again.functions["fit"](alike)
    scores = BM25Plus([words(text) for text in alike]).get_scores(words(alike[0]))
    assert answers(again, alike[:1] * 3, alike) == pytest.approx(np.minimum(1, scores / scores[0]))


def test_published_bm25_plus_is_rank_bm25s_over_the_call_scaled():
    package = BM25Plus([text.split() for text in A])
    raw = np.array([package.get_scores(text.split())[place] for place, text in enumerate(B)])
    metric = Direct("bm25_plus", published=True)
    np.testing.assert_allclose(answers(metric, A, B), (raw - raw.min()) / np.ptp(raw), rtol=0, atol=ROUNDING)
    package = BM25Plus([text.split() for text in B])
    cross = np.array([package.get_scores(text.split()) for text in SENTENCES])
    np.testing.assert_allclose(metric.functions["matrix"](list(SENTENCES), B), (cross - cross.min()) / np.ptp(cross), rtol=0, atol=ROUNDING)
    alone = answers(metric, A[5:6], B[5:6])
    assert alone.tolist() == [0]            # no neighbour, no scale: what it depends on is gone


ENTRIES = [("jaccard", {}), ("jaccard", {"lower": True}), ("word_overlap", {}), ("levenshtein", {}), ("rouge", {}), ("rouge", {"recall": True}),
           *((name, parameters) for name in ("rouge1", "rouge2", "rouge_l")
             for parameters in ({}, {"recall": True}, {"published": True})),
           ("bleu", {}), ("bleu_sentence", {}), ("chrf", {}), ("chrf", {"published": True}), ("dice_bigrams", {}), ("containment", {}),
           ("tfidf_cosine", {}), ("bm25_plus", {}), ("inverse_jaccard", {}), ("length_of_candidate", {}), ("one_side_only", {})]


@pytest.mark.parametrize(("name", "parameters"), ENTRIES)
def test_matrix_is_the_pairs(name, parameters):
    metric = Direct(name, **parameters)
    if "fit" in metric.functions:
        metric.functions["fit"](list(ORDINARY))
    a, b = list(SENTENCES), list(SENTENCES[::2])
    pairs = answers(metric, [x for x in a for _ in b], [y for _ in a for y in b]).reshape(len(a), len(b))
    np.testing.assert_allclose(metric.functions["matrix"](a, b), pairs, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(metric.functions["matrix"](a, a)[:, ::2], pairs, rtol=0, atol=ROUNDING)
    assert np.array_equal(answers(metric, a[:1], a[3:4]), answers(metric, a, [*a[3:], *a[:3]])[:1])        # company changes nothing
    assert ((pairs >= 0) & (pairs <= 1)).all()
