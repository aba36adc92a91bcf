"""Questions made from texts of a user, and what metrics answer."""

from __future__ import annotations

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.submission.selection import select_entries
from leaderboard.own_data.texts import (
    SHARES,
    choose_by_texts,
    contrast_triples,
    paraphrase_triples,
    replacement_pairs,
    report_on_texts,
    robustness_triples,
)
from tasks.data.loading import load_corpus

BRIDGES = [f"The {place} bridge is built over {count} rivers and will be open to {people}." for place in
           ("old", "new", "long", "small") for count in ("two", "three", "many") for people in ("drivers", "everyone", "boats")]


def test_edits_keep_or_change_the_meaning_of_the_same_text():
    triples, counts = contrast_triples(BRIDGES[:6])
    assert triples
    assert sum(counts.values()) == len(triples)
    for anchor, same, changed in triples:
        assert anchor in BRIDGES
        assert len({anchor, same, changed}) == 3


def test_typing_errors_and_replacements():
    for anchor, typed, changed in robustness_triples(BRIDGES[:6]):
        assert len({anchor, typed, changed}) == 3
    pairs = replacement_pairs(BRIDGES[:6])
    assert len(pairs) == 6 * len(SHARES)
    text = BRIDGES[0].split()
    kept = [sum(word == other for word, other in zip(reversed(text), reversed(copy.split()), strict=False)) for _, copy in pairs[:4]]
    assert kept == sorted(kept, reverse=True)


def test_paraphrases_and_the_nearest_other_text():
    triples = paraphrase_triples(BRIDGES[:12])
    assert triples
    for anchor, paraphrase, other in triples:
        words = [set(text.lower().split()) for text in (anchor, other)]
        assert len({anchor, paraphrase, other}) == 3
        assert len(words[0] & words[1]) >= len(words[0]) - 2         # the bridges differ in three words, the nearest in one
        assert other in BRIDGES


def test_a_metric_that_compares_lengths_is_not_recommended():
    entries = [entry for entry in select_entries(["levenshtein", "length_difference", "constant"], SUBMISSIONS)
               if entry.variant is None]
    choice = choose_by_texts(load_corpus("boolq_questions")[:150], "questions", entries, NoProgress())
    rows = {row.name: row for row in choice.rows}
    assert rows["levenshtein"].sensitivity.value > 0.95
    assert rows["constant"].contrast.value == rows["constant"].robustness.value == 0.5       # ties count one half
    assert rows["constant"].score == 0
    report = report_on_texts(choice)
    assert report.summary[0].startswith("Recommended: levenshtein")


def test_too_few_texts_are_refused():
    with pytest.raises(TouchstoneError, match="has 1 different texts of at least 4 words"):
        choose_by_texts([*["one two three four"] * 30, "too short"], "my.txt", [], NoProgress())
