"""Edits that keep the meaning of a text, by the kind of edit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tasks.common.negation import match_case
from tasks.phenomena.meaning_changes import AUXILIARIES, NEGATIVE, PRONOUNS, Kind, Rule, is_statement, place_after_auxiliary
from tasks.phenomena.words import Edit, Half, Words, exchanges, listed_words, plain_words, read_sections

LIST = "kept.txt"
DETERMINER = re.compile(
    "the|a|an|his|her|my|thy|your|our|their|in|of|by|with|for|to|unto|from|on|upon|all|every|no|these|those|between"
)
CLOSING = frozenset({",", ";", ":", ".", "!", "?", ""})
CONJUNCTIONS = frozenset({"and", "or", "nor"})
SPEECH = listed_words("speech")
CONNECTIVES = listed_words("connectives")

CLAUSE_OPENERS = frozenset({"then", "and", "now", "but", "also", "thus", "so", "therefore"})
MOVABLE = frozenset({"also", "surely", "therefore", "indeed", "truly", "verily", "certainly"})
FINITE = listed_words("finite")
FIRST_WORDS = listed_words("first words")
FUNCTION_WORDS = CONNECTIVES | NEGATIVE | AUXILIARIES | PRONOUNS | listed_words("function words")
CAPITALIZED = listed_words("capitalized")
FRONTED = listed_words("fronted")
NOUN_MARKS = listed_words("noun marks")
SUBORDINATING = listed_words("subordinating")


def substitute(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield the exchange of a word for a synonym, another spelling, its modern form, or a number in words for digits."""
    listed = exchanges(LIST, "substitution", half)
    for index, word in enumerate(words.lower):
        for exchange in listed.get(word, ()):
            if exchange.fits(words, index):
                yield words.exchange(f"{exchange.old} > {exchange.new}", {index: exchange.new})


def insert(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield the insertion of a word that adds emphasis: at the start, or after the first auxiliary verb."""
    if words.lower[0] in FIRST_WORDS:
        end, first = words.spans[0][1], words.original[0]
        for word in plain_words(LIST, "first", half):
            yield Edit(f"{word} <", ((0, end, f"{match_case(first, word)} {first if first == 'I' else first.lower()}"),))
    index = place_after_auxiliary(words)
    if index is not None:
        position = words.spans[index][1]
        for word in plain_words(LIST, "affirmation", half):
            if word not in words.present:
                yield Edit(f"{word} after auxiliary", ((position, position, f" {word}"),))


def reorder(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield other orders of the same words: of a coordination, of "said" and its subject, of an adverb and its neighbour."""
    for index in range(1, len(words) - 1):
        if words.lower[index] in CONJUNCTIONS:
            yield from reorder_coordination(words, index)
    for index in range(len(words) - 1):
        before, verb, subject = words.next_to(index, -1), words.lower[index], words.original[index + 1]
        if (
            verb in SPEECH
            and subject[:1].isupper()
            and subject.isalpha()
            and subject not in ("I", "O")
            and words.next_to(index + 1) in ("unto", "to", ",", "in", "again", "and")
            and before in CLAUSE_OPENERS
        ):
            yield exchange_spans(words, "inversion", index, index + 1, index + 1, index + 2)
        if (
            verb in SPEECH
            and before == ","
            and words.next_to(index) == "the"
            and index + 2 < len(words)
            and words.next_to(index + 2) in CLOSING | {"of"}
            and words.next_to(index + 3) != "hosts"
            and index
        ):
            end = index + 5 if words.lower[index + 3 : index + 4] == ["of"] else index + 3
            if end <= len(words) and words.next_to(end - 1) in CLOSING:
                yield exchange_spans(words, "inversion", index, index + 1, index + 1, end)
        adverb, other = words.lower[index], words.lower[index + 1]
        pronoun = before in PRONOUNS
        if (
            pronoun
            and ((adverb in MOVABLE and other in AUXILIARIES) or (adverb in AUXILIARIES and other in MOVABLE))
            and words.next_to(index + 1).isalpha()
            and is_statement(words)
        ):
            yield exchange_spans(words, "adverb", index, index + 1, index + 1, index + 2)
        if (
            (adverb, other) in {("now", "therefore"), ("therefore", "now")}
            or (
                adverb == "therefore"
                and other in PRONOUNS
                and before in ("", ";", ":", ".", "and")
                and words.next_to(index + 1).isalpha()
            )
            or (
                adverb in PRONOUNS
                and other == "therefore"
                and before in ("", ";", ":", ".")
                and words.next_to(index + 1).isalpha()
            )
        ):
            yield exchange_spans(words, "adverb", index, index + 1, index + 1, index + 2)

    yield from front_phrase(words)


def front_phrase(words: Words) -> Iterator[Edit]:
    """Yield the text with a prepositional phrase from the end of a clause at the start of that clause."""
    starts = [0, *(index + 1 for index, word in enumerate(words.lower) if word in (";", ":", ".") and index + 1 < len(words))]
    for start in starts:
        subject = start + (words.lower[start] in ("and", "but", "for", "so", "then", "now", "therefore"))
        end = next((index for index in range(start, len(words)) if words.lower[index] in CLOSING), len(words))
        if subject + 2 >= end or not (
            words.lower[subject] in PRONOUNS
            or words.lower[subject] == "the"
            or (words.original[subject].istitle() and subject > start and words.lower[subject].isalpha())
        ):
            continue
        clause = words.lower[subject:end]
        for opening in range(end - 4, end - 1):
            phrase = words.lower[opening + 1 : end]
            if (
                opening >= subject + 2
                and words.lower[opening] in FRONTED
                and words.lower[opening - 1]
                not in FUNCTION_WORDS
                - {
                    "him",
                    "them",
                    "thee",
                    "you",
                    "out",
                    "down",
                    "away",
                    "forth",
                    "again",
                    "said",
                    "came",
                    "went",
                    "made",
                    "took",
                    "put",
                }
                and is_phrase(words, opening + 1, end)
                and not set(clause) & SUBORDINATING
                and not set(phrase) & {"this"}
            ):
                yield exchange_spans(words, "fronted", subject, opening, opening, end)
                break


def is_phrase(words: Words, start: int, end: int) -> bool:
    """Return whether the words are a noun with at most one determiner and one word before it, a name, or an object pronoun."""
    phrase = words.lower[start:end]
    if len(phrase) == 1:
        return (words.original[start][:1].isupper() and phrase[0].isalpha()) or phrase[0] in (
            "him",
            "them",
            "me",
            "us",
            "thee",
            "you",
        )
    return (
        phrase[0] in NOUN_MARKS
        and all(word.isalpha() and word not in FUNCTION_WORDS - {"lord", "god"} for word in phrase[1:])
        and len(phrase) <= 3
    )


def reorder_coordination(words: Words, index: int) -> Iterator[Edit]:
    """Yield the exchange of the phrases of equal form before and after a conjunction."""
    middle = index - 1 if words.lower[index - 1] == "," else index
    for length in range(1, 6):
        left, right, end = middle - length, index + 1, index + 1 + length
        if left < 0 or end > len(words):
            return
        shape = phrase_shape(words, left, middle)
        if shape is None or shape != phrase_shape(words, right, end) or words.next_to(left, -1) in CONJUNCTIONS | {","}:
            continue
        following = words.next_to(end - 1)
        bare = length == 1 or shape[0] == "Name"
        names = all(words.original[other][:1].isupper() and other for other in (left, right))
        akin = length == 1 and are_akin(words.original[left], words.original[right])
        determined = DETERMINER.fullmatch(words.next_to(left, -1)) is not None and middle == index
        closed = following in CLOSING and words.next_to(end) not in CONJUNCTIONS
        if (closed and (not bare or determined or names or akin)) or (
            bare and names and length == 1 and following in FINITE and left > 1
        ):
            yield exchange_spans(words, words.lower[index], left, middle, right, end)


def phrase_shape(words: Words, start: int, end: int) -> tuple[str, ...] | None:
    """Return the form of a noun phrase: its determiners and prepositions, "noun" and "Name"; None if it is no such phrase."""
    shape = []
    for position in range(start, end):
        word = words.lower[position]
        if DETERMINER.fullmatch(word):
            shape.append(word)
        elif is_noun_like(words, position):
            shape.append("Name" if words.original[position][:1].isupper() and position else "noun")
        else:
            return None
    content = [part in ("noun", "Name") for part in shape]
    relation = shape[:1] == ["Name"] and shape[1:3] == ["the", "noun"]
    plain = shape in (["noun"], ["Name"]) or (not content[0] and content[-1]) or relation
    adjacent = any(content[position] and content[position + 1] for position in range(len(content) - 1))
    return tuple(shape) if plain and content[-1] and not (adjacent and len(shape) > 3) else None


def are_akin(x: str, y: str) -> bool:
    """Return whether two words are in one class of the lists, whichever half."""
    return any(
        {x, y} <= set(line.split()) for section in ("kind", "place", "person") for line in read_sections("classes.txt")[section]
    )


def exchange_spans(words: Words, entry: str, left: int, middle: int, right: int, end: int) -> Edit:
    """Return the exchange of the words from `left` to `middle` and from `right` to `end`; a capital stays at the start."""
    first, last = words.spans[left][0], words.spans[end - 1][1]
    x, y = words.text[first : words.spans[middle - 1][1]], words.text[words.spans[right][0] : last]
    between = words.text[words.spans[middle - 1][1] : words.spans[right][0]]
    if words.text[first].isupper() and y[:1].islower() and (left == 0 or words.original[left] in CAPITALIZED):
        x, y = (x if x == "I" else x[:1].lower() + x[1:]), y[:1].upper() + y[1:]
    return Edit(entry, ((first, last, f"{y}{between}{x}"),))


def is_noun_like(words: Words, index: int) -> bool:
    """Return whether a word can be a noun: it consists of letters and is not a function word."""
    word = words.lower[index]
    return word.isalpha() and len(word) > 2 and words.is_unique(index) and word not in FUNCTION_WORDS


KEEPING: Mapping[Kind, Rule] = {Kind.SUBSTITUTION: substitute, Kind.INSERTION: insert, Kind.ORDER: reorder}
