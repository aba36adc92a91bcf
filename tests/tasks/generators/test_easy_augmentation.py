"""Easy data augmentation: synonyms as in NLTK's reader of WordNet, and each operation by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.generators.easy_augmentation import (
    STOP_WORDS,
    WordNet,
    augment_text,
    clean_words,
    delete_words,
    insert_synonyms,
    replace_words,
    swap_words,
)
from tests.support.sentences import SENTENCES
from tests.support.wordnet import read_with_nltk, write_wordnet

pytestmark = pytest.mark.unit
SEEDS = range(300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_wordnet(tmp_path_factory.mktemp("wordnet"))


@pytest.fixture(scope="module")
def wordnet(folder) -> WordNet:
    return WordNet(folder)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_synonyms_are_the_lemmas_that_nltk_reads(folder, wordnet, monkeypatch):
    reader = read_with_nltk(folder, monkeypatch)
    words = {word for text in SENTENCES for word in clean_words(text)} | {"men", "ran", "left", "better", "churches", "harbours", "aged", "fastest", "leaves"}
    for word in words:
        lemmas = {name.lower().replace("_", " ") for synset in reader.synsets(word) for name in synset.lemma_names()}
        assert set(wordnet.synonyms(word)) == lemmas - {word}
    # morning and forenoon, left -> leave, run in two synsets are read from the tables of the small WordNet
    assert wordnet.synonyms("mornings") == ("forenoon", "morning")
    assert wordnet.synonyms("left") == ("depart", "go away", "leave")
    assert wordnet.synonyms("gone") == wordnet.synonyms("unheard") == ()


def test_texts_are_reduced_to_letters():
    # as in the authors' code: apostrophes go, any other character but a letter becomes a blank
    assert clean_words("It's  a WELL-known, caf\N{LATIN SMALL LETTER E WITH ACUTE} (No. 10)!") == ["its", "a", "well", "known", "caf", "no"]
    assert clean_words("It\N{RIGHT SINGLE QUOTATION MARK}s 5:30") == ["its"]


def test_replacement_takes_no_stop_words_and_every_occurrence(wordnet):
    words = ["the", "dog", "and", "the", "dog", "left", "a", "garden"]
    changed = {tuple(replace_words(words, 1, wordnet, rng(seed))) for seed in SEEDS}
    # garden has no synonym; dog and leave have
    assert changed == {(*("the", "dog", "and", "the", "dog"), other, "a", "garden") for other in ("leave", "depart", "go away")} | {
        ("the", "domestic dog", "and", "the", "domestic dog", "left", "a", "garden")}
    assert replace_words(["the", "very", "garden"], 2, wordnet, rng(1)) == ["the", "very", "garden"]
    assert replace_words(["dog", "left"], 5, wordnet, rng(1))[0] == "domestic dog"


def test_insertion_keeps_all_words_and_adds_synonyms_before_them(wordnet):
    words = ["the", "dog", "left"]
    results = [insert_synonyms(words, 2, wordnet, rng(seed)) for seed in SEEDS]
    assert all(len(result) == 5 and result[-1] == "left" for result in results)         # never at the end
    assert {word for result in results for word in result} - set(words) >= {"domestic dog", "leave", "depart", "go away"}
    assert insert_synonyms(["garden"], 3, wordnet, rng(1)) == ["garden"]


def test_swaps_exchange_two_different_words():
    words = list("abcde")
    results = [swap_words(words, 1, rng(seed)) for seed in SEEDS]
    assert {sum(a != b for a, b in zip(words, result, strict=True)) for result in results} == {2}
    assert len({tuple(result) for result in results}) == 10                             # 5 x 4 / 2
    assert swap_words(["alone"], 3, rng(1)) == ["alone"]


def test_each_word_is_deleted_with_a_probability_of_a_tenth():
    words = [str(i) for i in range(20)]
    lengths = np.array([len(delete_words(words, rng(seed))) for seed in SEEDS])
    assert lengths.mean() == pytest.approx(18, abs=4 * (20 * 0.1 * 0.9 / len(SEEDS)) ** 0.5)      # binomial, four standard errors
    assert {tuple(delete_words(["a"], rng(seed))) for seed in SEEDS} == {("a",)}


def test_one_operation_is_applied_to_a_text(wordnet):
    text = "The dog left; a man ran to the old mill at 5!"                              # eleven words without the 5: one change
    words = clean_words(text)
    changed = [augment_text(text, wordnet, rng(seed)) for seed in SEEDS]
    assert changed == [augment_text(text, wordnet, rng(seed)) for seed in SEEDS]
    swapped = [result for result in changed if sorted(result.split()) == sorted(words) and result.split() != words]
    assert len(swapped) == pytest.approx(75, abs=4 * (300 * 0.25 * 0.75) ** 0.5)
    assert augment_text("5 \N{BULLET} 7", wordnet, rng(1)) == "5 \N{BULLET} 7"
    assert {"i", "don", "yourselves"} <= STOP_WORDS
