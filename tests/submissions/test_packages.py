"""Submissions that call a package give the package's own numbers, which are ours where the definitions agree."""

from __future__ import annotations

import numpy as np
import pytest
from nltk.translate.meteor_score import single_meteor_score
from rank_bm25 import BM25L, BM25Okapi, BM25Plus
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF, TER

from harness.models.registry import MODELS
from tests.support.corpora import PAIRS_OF_EMBEDDINGS, Direct, like_embeddings
from tests.support.sentences import ORDINARY
from tests.support.wordnet import read_with_nltk, write_wordnet

A, B = tuple(ORDINARY), tuple(ORDINARY[1:] + ORDINARY[:1])
CORPORA = [PAIRS_OF_EMBEDDINGS["as in the paper"], PAIRS_OF_EMBEDDINGS["unequal sizes"]]


@pytest.mark.parametrize(("ours", "settings", "theirs", "parameters", "scale"), [
    ("chrf", {}, "sacrebleu", {}, 100), ("bleu_sentence", {}, "sacrebleu", {"metric": "bleu"}, 100),
    ("rouge_l", {}, "rouge_score", {}, 1), ("rouge1", {}, "rouge_score", {"rouge": "rouge1"}, 1), ("rouge2", {}, "rouge_score", {"rouge": "rouge2"}, 1)])
def test_text_metrics_equal_ours(ours, settings, theirs, parameters, scale):
    values = Direct(theirs, **parameters).answer(A, B)
    assert np.ptp(values) > 0
    np.testing.assert_allclose(values / scale, Direct(ours, **settings).answer(A, B), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("name", "parameters", "score"), [
    ("sacrebleu", {"metric": "chrfpp"}, lambda x, y: CHRF(word_order=2).sentence_score(y, [x]).score),
    ("sacrebleu", {"metric": "bleu"}, lambda x, y: BLEU(effective_order=True).sentence_score(y, [x]).score),
    ("sacrebleu_ter", {}, lambda x, y: TER().sentence_score(y, [x]).score),
    ("rouge_score", {"rouge": "rougeLsum"}, lambda x, y: RougeScorer(["rougeLsum"]).score(x, y)["rougeLsum"].fmeasure),
    ("rouge_score", {"stemmer": True}, lambda x, y: RougeScorer(["rougeL"], use_stemmer=True).score(x, y)["rougeL"].fmeasure)])
def test_variants_are_those_of_the_package(name, parameters, score):
    assert list(Direct(name, **parameters).answer(A, B)) == [score(x, y) for x, y in zip(A, B, strict=True)]


@pytest.mark.parametrize(("name", "scorer"), [("BM25Plus", BM25Plus), ("BM25Okapi", BM25Okapi), ("BM25L", BM25L)])
def test_bm25_of_the_documents_it_is_fitted_on(name, scorer):
    metric = Direct("rank_bm25", scorer=name)
    metric.functions["fit"](B)
    package = scorer([text.split() for text in B])
    expected = np.array([package.get_scores(query.split()) for query in A])
    np.testing.assert_array_equal(metric.functions["matrix"](A, B), expected)
    np.testing.assert_array_equal(metric.answer(A, B), expected.diagonal())
    assert np.isfinite(metric.answer(["", "words that nobody fitted"], ["", ""])).all()
    metric.functions["fit"](["", ""])
    assert np.isfinite(metric.answer(A, B)).all()


def test_meteor_equals_ours_and_the_package(tmp_path, monkeypatch):
    folder = {"wordnet": str(write_wordnet(tmp_path))}
    theirs, reader = Direct("nltk_meteor", folder).answer(A, B), read_with_nltk(tmp_path, monkeypatch)
    assert list(theirs) == [single_meteor_score(x.split(), y.split(), wordnet=reader) for x, y in zip(A, B, strict=True)]
    np.testing.assert_allclose(theirs, Direct("meteor", folder).answer(A, B), rtol=0, atol=1e-9)


def test_bertscore_equals_ours():
    folder = {"minilm": str(MODELS["minilm"].path())}
    a, b = (*A, "", "a word"), (*B, "", "")
    np.testing.assert_allclose(Direct("bert_score", folder).answer(a, b), Direct("bertscore", folder).answer(a, b), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("p", "q"), CORPORA)
def test_corpus_metrics_equal_ours(p, q):
    assert 1 - Direct("prdc")(p, q) == pytest.approx(Direct("pr")(p, q), abs=1e-9)
    assert 1 - Direct("prdc", of="density coverage")(p, q) == pytest.approx(Direct("dc")(p, q), abs=1e-9)
    assert Direct("sklearn_c2st")(p, q) == pytest.approx(Direct("c2st_knn")(p, q), abs=1e-9)
    assert Direct("mauve_text")(p, q) == pytest.approx(Direct("mauve")(p, q), abs=1e-6)


def test_prdc_of_small_corpora():
    p = like_embeddings(4, 16, 1)
    assert 0 <= Direct("prdc")(p, p) <= 1
    with pytest.raises(ValueError, match="three texts"):
        Direct("prdc")(p[:2], p)
