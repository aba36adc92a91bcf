"""Metrics that know words: METEOR on a small WordNet, word mover's distance and cosine on a few vectors, both made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score
from scipy import optimize, spatial

from tests.support.corpora import Direct
from tests.support.sentences import SENTENCES, A, B
from tests.support.wordnet import read_with_nltk, write_wordnet

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory) -> Path:
    return write_wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture
def reader(wordnet, monkeypatch) -> WordNetCorpusReader:
    return read_with_nltk(wordnet, monkeypatch)


WORDS = sorted({word.lower() for text in SENTENCES for word in text.split()} | {"men", "ran", "left", "flew", "better", "best", "boxes", "churches",
    "haven", "organisations", "faster", "fastest", "flies", "aged", "little", "domestic_dog", "going", "pursued", "oldest"})


def test_synonyms_are_those_of_nltk(wordnet, reader):
    ours = Direct("meteor", {"wordnet": str(wordnet)}).module
    found = {word: ours.synonyms(word) for word in WORDS}
    assert found == {word: {word, *(name for synset in reader.synsets(word) for name in synset.lemma_names() if "_" not in name)} for word in WORDS}
    assert {"harbor", "Haven"} < found["harbour"]
    assert found["ran"] == {"ran", "run", "go", "operate"}


ENDINGS = ("", "s", "es", "ies", "ied", "ed", "ing", "y", "ly", "eed", "sses", "ational", "tional", "izer", "ization", "alli", "fulli", "bli", "logi",
           "ousness", "icate", "ative", "ness", "ement", "ion", "sion", "ll", "e", "ying", "tting", "lling", "ating", "abling", "izing")


def test_stems_are_those_of_nltk(wordnet):
    ours, theirs = Direct("meteor", {"wordnet": str(wordnet)}).module, PorterStemmer()
    words = {*WORDS, *ours.IRREGULAR, *(word[:cut] + ending for word in WORDS for cut in (2, 3, 5, 9) for ending in ENDINGS)}
    assert len(words) > 5000
    assert [(word, ours.stem(word)) for word in words if ours.stem(word) != theirs.stem(word)] == []


def test_meteor_is_that_of_nltk(wordnet, reader):
    ours = Direct("meteor", {"wordnet": str(wordnet)}).answer(A, B)
    theirs = [single_meteor_score(x.split(), y.split(), wordnet=reader) for x, y in zip(A, B, strict=True)]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    assert len({round(value, 6) for value in theirs}) > 20


@pytest.mark.parametrize(("parameters", "expected"), [({}, 0.25 * 0.5), ({"published": True}, 0.5 * 0.5)])
def test_meteor_by_hand(parameters, expected, wordnet):
    """"dogs a b c" against "dog d e f": one match by stem, precision and recall 1/4, one chunk for one match, penalty 1/2.

    Up to NLTK 3.6.2 the same words match once more by WordNet: precision and recall 1/2, two chunks for two matches.
    """
    metric = Direct("meteor", {"wordnet": str(wordnet)}, **parameters)
    assert metric.answer(["dog d e f"], ["dogs a b c"]) == [pytest.approx(expected)]
    assert max(metric.answer(["dog boats mills gardens"], ["dogs boat mill garden"])) <= 1


@pytest.mark.parametrize("published", [False, True])
def test_matrix_of_meteor_is_the_pairs(published, wordnet):
    """Also of texts in which words come again, some of them as synonyms and by their stems."""
    metric = Direct("meteor", {"wordnet": str(wordnet)}, published=published)
    rng = np.random.default_rng(3)
    longer = [" ".join(rng.choice(WORDS, 60)) for _ in range(12)]
    a, b = [*SENTENCES, *longer, ""], ["dogs run fast and flew", "", *longer[:6], " ".join(longer), *SENTENCES[::-1]]
    pairs = metric.answer([x for x in a for _ in b], [y for _ in a for y in b])
    np.testing.assert_allclose(metric.functions["matrix"](a, b), np.reshape(pairs, (len(a), len(b))), rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def glove(tmp_path_factory) -> Path:
    """A folder in the form of the GloVe model: a vector for most words of the sentences."""
    folder = tmp_path_factory.mktemp("glove")
    words = sorted({word for text in SENTENCES for word in "".join(c if c.isalnum() else " " for c in text.lower()).split()})[::-1]
    words = [word for place, word in enumerate(words) if place % 7]
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    np.save(folder / "vectors.npy", np.random.default_rng(1).normal(size=(len(words), 8)).astype(np.float32))
    return folder


@pytest.mark.parametrize("centred", [False, True])
def test_wmd_is_the_linear_program(centred, glove):
    metric = Direct("wmd", {"glove-6b-50d": str(glove)}, centred=centred)
    metric.functions["fit"](list(SENTENCES))
    module = metric.module

    def theirs(x: str, y: str) -> float:
        p, q = module.bag(x), module.bag(y)
        if not p or not q:
            return 0.0 if not p and not q else 2.0
        costs = spatial.distance.cdist(*(module.unit(np.asarray(module.vectors[list(side)], dtype=float)) for side in (p, q)))
        sums = [np.kron(np.eye(len(p)), np.ones(len(q))), np.kron(np.ones(len(p)), np.eye(len(q)))]
        return float(optimize.linprog(costs.ravel(), A_eq=np.vstack(sums), b_eq=[*p.values(), *q.values()]).fun)

    a, b = A[:len(SENTENCES) * 4:3], B[:len(SENTENCES) * 4:3]
    expected = [theirs(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(metric.answer(a, b), expected, rtol=0, atol=1e-9)
    assert sum(0 < value < 2 for value in expected) > 20


def test_wmd_by_hand(glove, tmp_path):
    """Vectors along two axes: "cat" to "hat" is the root of 2; "cat hat" to "cat" moves half of it as far; word order does not count."""
    (tmp_path / "words.txt").write_text("cat\nhat\nthe\n")
    np.save(tmp_path / "vectors.npy", np.array([[2, 0], [0, 3], [1, 1]], np.float32))
    metric = Direct("wmd", {"glove-6b-50d": str(tmp_path)})
    found = metric.answer(["The cat.", "the cat, the HAT", "hat cat", "the", "the", "Unknown!"], ["hat", "cat", "a cat's hat", "of", "cat", "hat"])
    assert found == pytest.approx([2 ** 0.5, 2 ** 0.5 / 2, 0, 0, 2, 2])


@pytest.mark.parametrize("mean_only", [False, True])
def test_cosine_of_glove_is_that_of_scipy(mean_only, glove):
    """Fu et al. 2018: the concatenated minimum, maximum and mean of the word vectors."""
    metric = Direct("cosine_glove", {"glove-6b-50d": str(glove)}, mean_only=mean_only)
    def pool(words: list[np.ndarray]) -> np.ndarray:
        return np.mean(words, axis=0) if mean_only else np.r_[np.min(words, axis=0), np.max(words, axis=0), np.mean(words, axis=0)]

    rows = {word: row for row, word in enumerate((glove / "words.txt").read_text(encoding="utf-8").split())}
    vectors = np.load(glove / "vectors.npy").astype(float)

    def theirs(x: str, y: str) -> float:
        p, q = ([vectors[rows[word]] for word in metric.module.WORD.findall(text.lower()) if word in rows] for text in (x, y))
        return max(0.0, 1 - spatial.distance.cosine(pool(p), pool(q))) if p and q else float(x == y)

    expected = [theirs(x, y) for x, y in zip(A, B, strict=True)]
    np.testing.assert_allclose(metric.answer(A, B), expected, rtol=0, atol=1e-7)     # the vectors are of float32
    cross = metric.functions["matrix"](A[:30], B[:30])
    np.testing.assert_allclose(np.diag(cross), expected[:30], rtol=0, atol=1e-7)
