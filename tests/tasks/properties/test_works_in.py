"""In which languages a metric works: what passes, what fails, and how texts are edited."""

from __future__ import annotations

import dataclasses
import random
import unicodedata

import pytest

from harness.base.errors import TouchstoneError
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.score_scale import ScoreScale
from harness.results.outcomes import Status
from tasks.data.sources.multilingual import LANGUAGES
from tasks.properties import works_in
from tasks.properties.works_in import (
    LanguageAnswers,
    Settings,
    SpellingAnswers,
    WorksIn,
    edit_text,
    is_right_to_left,
    split_units,
    text_triples,
)

TASK = WorksIn()
SIMILARITY = ScoreScale("similarity", 0.0, 1.0)
# Words of hand-picked syllables; the texts mean nothing.
SYLLABLES = {"ne": "नि पा ली मा को छ हो र यो त्यो दिन घर जल", "ja": "あ い う 日 本 語 山 川 花 木 水 火 が ぎ", "vi": "một hai ba bốn năm sáu ảnh học đường"}
JACCARD = ("def similarity(a, b):\n    sets = [(set(x.split()), set(y.split())) for x, y in zip(a, b)]\n"
           "    return [len(x & y) / max(1, len(x | y)) for x, y in sets]\n")
LATIN_ONLY = JACCARD.replace("x.split()", "re.findall('[a-z]+', x)").replace("y.split()", "re.findall('[a-z]+', y)").replace(
    "def", "import re\ndef", 1)
LETTERS = JACCARD.replace("x.split()", "zip(x, x[1:])").replace("y.split()", "zip(y, y[1:])")
TEXT = {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"}


def texts_of(language: str) -> tuple[str, ...]:
    rng = random.Random(language)
    syllables = SYLLABLES[language].split()
    joint = " " if LANGUAGES[language].spaces else ""
    return tuple(joint.join("".join(rng.choices(syllables, k=2)) for _ in range(rng.randrange(12, 16))) for _ in range(40))


@pytest.fixture
def units(context, monkeypatch):
    """The units of three languages, whose texts are made here."""
    monkeypatch.setattr(works_in, "load_corpus", lambda name: texts_of(name.removeprefix("udhr_")))
    text_triples.cache_clear()
    works_in.corpus_triples.cache_clear()
    local = dataclasses.replace(context, fingerprint={f"udhr_{code}": "0" * 64 for code in SYLLABLES})
    return {unit.parameters["language"]: unit for unit in TASK.units(Settings(languages=tuple(SYLLABLES), trials=24), local)}


@pytest.fixture
def run(units, worker_slot, inputs, entry_of):
    """Return a function that returns the measures of a metric in a language."""
    def run_language(language: str, body: str, **header: str) -> dict[str, float | None]:
        outcome = worker_slot.run_unit(entry_of("metric", body, **header), TaskUnit(TASK, units[language]), inputs)
        assert outcome.status is Status.ANSWERED, outcome.failure
        return dict(TASK.measure(units[language], outcome.observation).values)
    return run_language


@pytest.mark.sandbox
def test_a_metric_that_deletes_all_letters_but_latin_ones_fails(run):
    assert run("vi", JACCARD, **TEXT)["vietnamese"] == 1
    measures = run("ne", LATIN_ONLY, **TEXT)
    assert measures["nepali"] == measures["languages"] == measures["identity"] == 0
    assert measures["edited_nearer"] == 0.5             # ties


@pytest.mark.sandbox
def test_a_metric_of_words_fails_without_spaces_and_one_of_letters_works(run):
    words, letters = (run("ja", body, **TEXT) for body in (JACCARD, LETTERS))
    assert words["identity"] == 1
    assert words["edited_nearer"] == 0.5
    assert words["without_spaces"] == words["japanese"] == 0
    assert letters["without_spaces"] == letters["japanese"] == 1
    assert "without_spaces" not in run("ne", LETTERS, **TEXT)


@pytest.mark.sandbox
def test_decomposed_texts(run):
    normalising = LETTERS.replace("zip(x, x[1:])", "unicodedata.normalize('NFC', x)").replace(
        "zip(y, y[1:])", "unicodedata.normalize('NFC', y)").replace("def", "import unicodedata\ndef", 1)
    assert run("vi", normalising, **TEXT)["canonical_equivalence"] == 1
    assert run("vi", LETTERS, **TEXT)["canonical_equivalence"] == 0


@pytest.mark.sandbox
def test_a_corpus_metric(run):
    overlap = "def distance(p, q): return 1 - len(set(p) & set(q)) / len(set(p) | set(q))\n"
    assert run("ja", overlap)["japanese"] == 1
    assert run("ja", "def distance(p, q): return 1.0\n")["japanese"] == 0


@pytest.mark.sandbox
def test_a_metric_that_raises_in_a_language_does_not_work_in_it(run):
    measures = run("ne", "def similarity(a, b): return [float(x.encode('ascii') == y.encode('ascii')) for x, y in zip(a, b)]\n",
                   **TEXT)
    assert measures["nepali"] == measures["identity"] == measures["edited_nearer"] == 0


@pytest.mark.unit
def test_measures_by_hand(units):
    answers = LanguageAnswers((1.0, 1.0), (0.5, 0.2), (0.2, 0.2), (SpellingAnswers("decomposed", (1,), (0.1,), (0.2,)),), SIMILARITY)
    values = TASK.measure(units["ne"], answers).values
    assert values == {"identity": 1.0, "edited_nearer": 0.75, "decomposed": 0.0, "canonical_equivalence": 1.0, "languages": 0.0, "nepali": 0.0}


@pytest.mark.unit
def test_vectors_are_computed_for_every_text_that_is_compared(units):
    for unit in units.values():
        announced = set(TASK.texts(unit))
        for triple in (*text_triples(unit), *works_in.corpus_triples(unit)):
            assert {*triple.own, *triple.edited, *triple.other} <= announced
            assert {unicodedata.normalize("NFD", text) for text in triple.own} <= announced


@pytest.mark.unit
def test_how_texts_are_edited():
    assert edit_text("a b c d e f g h i j", "1 2 3 4", True) == "a b c 4 e f g h i 2"
    assert edit_text("あいうえおかき", "123", False) == "あいう1おかき"
    assert split_units("कि ख", False) == ["कि", " ", "ख"]        # a vowel sign stays with its letter
    assert is_right_to_left("(1) سلام")
    assert not is_right_to_left("123")


@pytest.mark.unit
def test_an_unknown_language(context):
    with pytest.raises(TouchstoneError, match='no language "nepali"'):
        next(TASK.units(Settings(languages=("nepali",), trials=2), context))
