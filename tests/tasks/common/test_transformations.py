"""What is done to a text: every expected text is written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.common.transformations import (
    POSITIONS,
    capitalize_letters,
    delete_letters,
    insert_tokens,
    negate_verbs,
    remove_tokens,
    replace_digits,
    replace_more_digits,
    replace_tokens,
    shuffle_sentences,
    shuffle_words,
)

pytestmark = pytest.mark.unit


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize(("text", "expected"), [
    ("The ferry is late.", "The ferry is not late."),
    ("This island lists its mists.", "It is not true that this island lists its mists."),         # "is" inside words
    ("Gulls cry.", "It is not true that gulls cry."),
    ("The gate was not shut.", "It is not true that the gate was not shut."),
])
def test_negation(text, expected):
    assert negate_verbs(text, rng()) == expected


def test_negating_nothing_is_nothing():
    assert negate_verbs("   ", rng()) is None


def test_every_tenth_character_is_deleted_and_spaces_are_not_counted():
    #            1234 567890 -> the tenth is the last of "harbour"'s first six
    assert delete_letters("Over harbour and quay go the gulls", rng()) == "Over harbor and quay g the gulls"
    assert delete_letters("too short", rng()) is None


def test_letters_become_digits():
    assert replace_digits("One lion is here", rng()) == "0n3 l10n 1s h3r3"
    assert replace_more_digits("A lost sea tale", rng()) == "4 1057 534 7413"
    assert replace_digits("fly by", rng()) is None


def test_a_quarter_of_the_letters_become_capitals():
    text = "the slow boat crosses the wide bay at noon, and back"
    changed = capitalize_letters(text, rng())
    letters = sum(character.isalpha() for character in text)
    assert changed.lower() == text
    assert sum(character.isupper() for character in changed) == round(letters / 4)
    assert capitalize_letters("12, 34.", rng()) is None
    assert capitalize_letters("ALL OF IT", rng()) is None             # nothing to raise


def test_sentences_and_words_come_in_another_order_and_are_the_same():
    text = "One came. Two left! Did three stay? Four did."
    shuffled = shuffle_sentences(text, rng())
    assert shuffled != text
    assert sorted(shuffled.replace("! ", "!|").replace(". ", ".|").replace("? ", "?|").split("|")) == [
        "Did three stay?", "Four did.", "One came.", "Two left!"]
    assert shuffle_sentences("One came. Two left.", rng()) == "Two left. One came."
    assert sorted(shuffle_words(text, rng()).split()) == sorted(text.split())
    assert shuffle_words("a b", rng()) == "b a"


@pytest.mark.parametrize("text", ["Only one sentence, no more.", "", "Same. Same."])
def test_what_has_no_other_order_of_sentences_is_not_asked(text):
    assert shuffle_sentences(text, rng()) is None


TOKENS = ["a", "b", "c", "d", "e", "f", "g", "h"]
NEEDLE = ["1", "2", "3", "4", "5", "6", "7", "8"]


def test_insertion_at_the_begin_the_middle_and_the_end():
    assert [insert_tokens(TOKENS, 0.25, position, NEEDLE) for position in POSITIONS] == [
        "1 2 a b c d e f g h", "a b c d 1 2 e f g h", "a b c d e f g h 1 2"]
    assert insert_tokens(TOKENS, 1.0, "begin", NEEDLE) == "1 2 3 4 5 6 7 8 a b c d e f g h"


def test_removal_and_replacement_leave_the_other_tokens():
    assert [remove_tokens(TOKENS, 0.25, position) for position in POSITIONS] == ["c d e f g h", "a b c f g h", "a b c d e f"]
    assert [replace_tokens(TOKENS, 0.25, position, NEEDLE) for position in POSITIONS] == ["1 2 c d e f g h", "a b c 1 2 f g h", "a b c d e f 1 2"]


def test_at_least_one_token_is_changed():
    # k = max(1, round(0.05 * 8)) = 1; of seven tokens the middle one of one starts at (7 - 1)//2 = 3
    assert remove_tokens(TOKENS, 0.05, "end") == "a b c d e f g"
    assert remove_tokens(TOKENS[:7], 0.05, "middle") == "a b c e f g"
    assert remove_tokens(["a"], 0.5, "begin") == ""
