"""Negation by rules: every expected text is written by hand."""

from __future__ import annotations

import pytest

from tasks.common.negation import negate

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("text", "expected"), [
    ("Is it?", "Isn't it?"),                                    # and not "Is not it?"
    ("They would've gone.", "They would not have gone."),       # and not "would not gone"
    ("He'd gone.", "He had not gone."),
    ("May 5 was warm.", "May 5 was not warm."),                 # and not "May not 5"
    ("They will do it.", "They will not do it."),               # and not "will not do not it"
    ("They will not do it.", "They will not do it."),           # and not "will do not it"
    ("He had had enough.", "He had not had enough."),           # and not "had not had not"
])
def test_texts_that_earlier_rules_made_ungrammatical(text, expected):
    assert negate(text) == expected


@pytest.mark.parametrize("text", [
    "It isn't raining and we aren't cold.", "They won't come; she can't; you shan't.", "We cannot see it.", "The gate was not shut.",
    "He has never been there.", "The lights did not burn.", "Doesn't she know? Don't ask.", "It isn\N{RIGHT SINGLE QUOTATION MARK}t far.",
    "It's not cold.", "Is he not here?", "She has no boat.", "Never have I seen it.", "They'll never do it.",
    "Why has the boat still not come?", "There would be no rain."])
def test_what_is_negated_stays_negated(text):
    assert negate(text) == text


@pytest.mark.parametrize(("text", "expected"), [
    ("He can swim.", "He cannot swim."),
    ("She should have called.", "She should not have called."),
    ("It has often been said.", "It has not often been said."),
    ("THE GATE IS SHUT.", "THE GATE IS NOT SHUT."),
    ("I am ill.", "I am not ill."),
    ("It's cold, they're late, I've slept, we'll see.", "It is not cold, they are not late, I have not slept, we will not see."),
    ("It's been cold.", "It has not been cold."), ("He'd go.", "He would not go."), ("He'd walked.", "He had not walked."),
    ("It was late, but we cannot and did stay.", "It was not late, but we cannot and did not stay."),
])
def test_statements(text, expected):
    assert negate(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("Must we go? We must.", "Mustn't we go? We must not."), ("Am I late?", "Am I not late?"), ("May I come?", "May I not come?"),
    ("Why is the boat here?", "Why isn't the boat here?"), ("What do you want?", "What don't you want?"),
    ("What's he doing?", "What isn't he doing?"), ("Had I known, I would stay.", "Hadn't I known, I would not stay."),
    ("He asked: will it rain?", "He asked: won't it rain?"), ("It came, is it lost?", "It came, isn't it lost?"),
    ("Does the box still have a label? It has.", "Doesn't the box still have a label? It has not.")])
def test_questions(text, expected):
    assert negate(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("I do it.", "I do not do it."), ("She does the rest.", "She does not do the rest."), ("He did 5 of them.", "He did not do 5 of them."),
    ("She has a boat.", "She does not have a boat."), ("They have to go.", "They do not have to go."), ("We had lunch.", "We did not have lunch."),
    ("Do it again.", "Do not do it again."), ("We have come.", "We have not come."), ("We do know.", "We do not know."),
    ("They know, as we do.", "They know, as we do not.")])
def test_do_and_have_as_main_verbs(text, expected):
    assert negate(text) == expected


@pytest.mark.parametrize("text", [
    "In May, Will Smith ran.", "We met on 3 May.", "The will of the people, the might of the sea.", "A can of a must-see.", "To have and to do.",
    "At 10 am it rained.", "The harbour's lights burn.", "This island lists mists.", "", " \n", "..."])
def test_what_only_looks_like_an_auxiliary_verb_is_unchanged(text):
    assert negate(text) == text


def test_white_space_is_kept():
    assert negate("  It is\n\tlate.  ") == "  It is not\n\tlate.  "
