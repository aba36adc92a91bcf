"""Rules for edits: what they change on sentences written for these tests, and what they leave alone."""

from __future__ import annotations

import pytest

from tasks.phenomena.meaning_changes import PHENOMENA, Kind
from tasks.phenomena.paraphrases import KEEPING
from tasks.phenomena.words import HALVES, Edit, Words, half_of, parse_exchange, read_sections, takes_an


def changed(phenomenon: str, text: str) -> set[str]:
    """The edits by either half of the lists."""
    return {edit.apply(text) for half in HALVES for edit in PHENOMENA[phenomenon].rule(Words(text), half, 1)}


def kept(kind: Kind, text: str) -> set[str]:
    return {edit.apply(text) for half in HALVES for edit in KEEPING[kind](Words(text), half, 1)}


@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_the_rule_of_each_phenomenon_makes_its_example(phenomenon):
    before, after = PHENOMENA[phenomenon].example
    assert after in {edit.apply(before) for half in HALVES for seed in range(60) for edit in PHENOMENA[phenomenon].rule(Words(before), half, seed)}


@pytest.mark.parametrize(("phenomenon", "text", "reason"), [
    ("negation_added", "Is the bridge open now?", "a question"),
    ("negation_added", "The bridge was not built in a year.", "negated already"),
    ("negation_added", "When the bridge was built, he left.", "a temporal clause"),
    ("negation_removed", "Did the guards not see the thief?", "a question"),
    ("negation_removed", "The guards did not see any thief.", "any"),
    ("antonym", "They came with good tidings to us.", "an idiom"),
    ("antonym", "A rich man and a rich woman sat there.", "twice"),
    ("number", "They paid 1,500 crowns for it.", "a part of a number"),
    ("number", "The S7 leaves in the morning.", "a part of a word"),
    ("gender", "The boy gave it to his sister.", "two words with a sex"),
    ("gender", "They met Darius the king on the road.", "beside a name"),
    ("kind", "They shall bear the load alone.", "a verb"),
    ("modality", "He sent it that they might read it.", "a purpose"),
    ("measure", "They washed their feet in it.", "not counted"),
    ("person", "They saw Simon Peter at the door.", "a part of a name"),
    ("word_order", "Peter and Thomas went to the lake.", "a coordination"),
])
def test_what_a_rule_leaves_alone(phenomenon, text, reason):
    assert changed(phenomenon, text) == set(), reason


def test_articles_fit_the_words_after_them():
    assert takes_an("hour")
    assert not takes_an("one")
    assert "They waited for a hour." not in changed("measure", "They waited for a day.")


@pytest.mark.parametrize(("kind", "text", "expected"), [
    (Kind.SUBSTITUTION, "He went unto the city.", "He went to the city."),
    (Kind.SUBSTITUTION, "It is a new colour of paint.", "It is a new color of paint."),
    (Kind.INSERTION, "The bridge was built in a year.", "The bridge was truly built in a year."),
    (Kind.INSERTION, "The bridge fell.", "Indeed the bridge fell."),
    (Kind.ORDER, "They sold the corn and the wine.", "They sold the wine and the corn."),
    (Kind.ORDER, "Then said Peter unto them, Go.", "Then Peter said unto them, Go."),
    (Kind.ORDER, "They went with Peter to the lake.", "To the lake they went with Peter."),
])
def test_edits_that_keep_the_meaning(kind, text, expected):
    assert expected in kept(kind, text)


@pytest.mark.parametrize(("kind", "text"), [
    (Kind.SUBSTITUTION, "He spoke of Colour, the old song."),                                  # a name
    (Kind.SUBSTITUTION, "They went unto him, and returned to us."),                        # "to" is there already
    (Kind.INSERTION, "Has the bridge been built?"),
    (Kind.ORDER, "He took the bed, and walked."),
])
def test_texts_without_an_edit_that_keeps_the_meaning(kind, text):
    assert kept(kind, text) == set()


def test_edits_keep_capitals_and_are_applied_from_the_end():
    assert Edit("x", ((0, 1, "Two"), (2, 5, "b"))).apply("A cat sat") == "Two b sat"
    assert Edit("x", ((0, 1, "B"),)).joined(Edit("y", ((0, 3, "C"),))) is None
    assert "Few ships came." in changed("quantifier", "Many ships came.")


def test_every_entry_is_in_exactly_one_half():
    for name in ("changed.txt", "kept.txt"):
        for section, lines in read_sections(name).items():
            entries = [exchange.entry for line in lines if ">" in line or "/" in line for exchange in parse_exchange(line)]
            halves = {half: sum(half_of(entry) == half for entry in entries) for half in HALVES}
            assert sum(halves.values()) == len(entries)
            assert not entries or min(halves.values()) >= len(entries) / 5, section


def test_both_directions_of_an_exchange_are_in_one_half():
    first, second = parse_exchange("rich / poor")
    assert (first.old, second.old) == ("rich", "poor")
    assert half_of(first.entry) == half_of(second.entry)
