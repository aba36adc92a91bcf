"""Edits that change the meaning of a text, by phenomenon."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from harness.base.hashing import seed_of
from tasks.common.negation import is_participle
from tasks.phenomena.words import HALVES, Edit, Half, Words, classes, exchanges, half_of, listed_words, plain_words, takes_an

CANDIDATES = 4  # substitutes of a word that has a whole class of them
LONGER = 2  # characters by which a substitute may differ
NEGATIVE = listed_words("negative")
SEXED_PRONOUNS = frozenset({"he", "him", "his", "himself", "she", "her", "hers", "herself"})
SEXED = listed_words("sexed")
FEMALE = listed_words("female")
AUXILIARIES = listed_words("auxiliaries")
PERFECT = frozenset({"hath", "have", "had", "has"})
PRONOUNS = listed_words("pronouns")
DETERMINERS = listed_words("determiners")
UNIT_OF = re.compile(
    r"(?:^| )(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|threescore|hundred|"
    r"thousand|million|many|few|several|half an|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\w+teenth|"
    r"\w+tieth)$"
)
PREPOSITIONS = listed_words("prepositions")
ALSO_VERBS = listed_words("also verbs")
ACTING = listed_words("acting")
TIMES = listed_words("times")
MOMENTS = frozenset({"morning", "evening", "noon", "midnight"})
ACTIONS = listed_words("actions")
RELATED = listed_words("related")
NOT_HEADS = listed_words("not heads")
CONNECTIVE_STARTS = frozenset({"and", "but", "for", "then", "now", "so", "the", "o", "wherefore", "therefore", "also"})
TEMPORAL = frozenset({"when", "after", "while", "as", "though", "since", "until", "till"})
ALIKE = listed_words("alike")  # two of these exchanged may mean the same as before
AGENTS = frozenset({"God", "Jesus", "Christ", "Jehovah", "Satan"})
POLAR = listed_words("polar")
AFTER_NOT = listed_words("after not")
VERBS_BEFORE_NOT = AUXILIARIES | listed_words("verbs before not")
AFTER_INTRANSITIVE = listed_words("after intransitive")
INTRANSITIVE = listed_words("intransitive")
CLAUSE_MARKS = listed_words("clause marks")
ENDS = listed_words("ends")


class Kind(StrEnum):
    """What an edit does to the words of a text; both edits that are compared are of one kind."""

    SUBSTITUTION = "substitution"
    INSERTION = "insertion"
    ORDER = "order"


Rule = Callable[[Words, Half, int], Iterator[Edit]]


@dataclass(frozen=True)
class Phenomenon:
    """A way in which an edit changes the meaning, with one example."""

    kind: Kind
    rule: Rule
    description: str
    example: tuple[str, str]


def is_statement(words: Words) -> bool:
    """Return whether a text has no question mark."""
    return "?" not in words.present


def exchange_listed(words: Words, half: Half, seed: int, section: str) -> Iterator[Edit]:
    """Yield the exchanges of a section of the list."""
    listed = exchanges("changed.txt", section, half)
    for index, word in enumerate(words.lower):
        for exchange in listed.get(word, ()):
            if exchange.fits(words, index):
                yield words.exchange(f"{exchange.old} > {exchange.new}", {index: exchange.new})


def exchange_quantifier(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield another quantifier, unless the text has a negation other than the quantifier itself."""
    negative = words.present & NEGATIVE
    for edit in exchange_listed(words, half, seed, "quantifier"):
        if is_statement(words) and not negative - {edit.entry.split()[0]}:
            yield edit


def exchange_modal(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield another modal verb in a statement, not after "that" or "lest", which make it express a purpose."""
    if is_statement(words) and not words.present & {"if", "lest", "whether", "unless"}:
        for edit in exchange_listed(words, half, seed, "modality"):
            index = index_of(words, edit)
            purpose = {"that", "lest", "god", "o", "till", "until"} & set(words.lower[max(0, index - 6) : index])
            noun = words.next_to(index, -1) in DETERMINERS | {
                "of",
                "own",
                "good",
                "and",
                "with",
                "god's",
                "father's",
                ",",
                ".",
                ";",
                ":",
                "",
            }
            if not purpose and not noun and words.next_to(index)[:1].isalpha():
                yield edit


def exchange_gender(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield the other sex of the only word in the text that has one."""
    sexed = [word for word in words.lower if word.removesuffix("'s") in SEXED]
    if len(sexed) > 1:
        return
    pronouns = [word for word in words.lower if word in SEXED_PRONOUNS]
    for edit in exchange_listed(words, half, seed, "gender"):
        index = index_of(words, edit)
        word, before = words.lower[index], words.next_to(index, -1)
        named = is_beside_name(words, index)
        apart = (
            word.endswith("s")
            or word in ("men", "women", "brethren")
            or (
                word not in ("husband", "wife")
                and before in ("his", "her", "my", "thy")
                and not {"him", "himself"} & set(pronouns)
            )
        )
        alone = len(pronouns) == 1 and not sexed if word in SEXED_PRONOUNS else not pronouns
        if not named and (alone or (apart and word not in SEXED_PRONOUNS)):
            yield edit


def is_beside_name(words: Words, index: int) -> bool:
    """Return whether a name follows a word, or precedes it with at most a comma and a determiner between them."""
    before = index - 1
    while before >= 0 and (words.lower[before] == "," or words.lower[before] in DETERMINERS):
        before -= 1
    return any(
        words.original[position][:1].isupper() and words.original[position].lower() not in CONNECTIVE_STARTS
        for position in (before, index + 1)
        if 0 <= position < len(words) and position != index - 1
    )


def exchange_class(words: Words, half: Half, seed: int, section: str) -> Iterator[Edit]:
    """Yield other words of the same class and about the same length."""
    listed = classes(section, half)
    for index, word in enumerate(words.original):
        groups = listed.get(word, ())
        if not groups or not words.is_unique(index) or not is_free(words, index, section):
            continue
        members = [member for group in groups for member in group]
        start, article = seed_of(seed, word) % len(members), words.next_to(index, -1) in ("a", "an", "mine", "thine", "my", "thy")
        chosen = 0
        for member in members[start:] + members[:start]:
            if (
                abs(len(member) - len(word)) <= LONGER
                and member.lower() not in words.present
                and not (article and takes_an(member) != takes_an(word))
            ):
                start_, end = words.spans[index]
                yield Edit(f"{word} > {member}", ((start_, end, member),))
                chosen += 1
                if chosen == CANDIDATES:
                    break


def is_free(words: Words, index: int, section: str) -> bool:
    """Return whether a word of a class stands for itself there, and is no part of a name, a number or an idiom."""
    before, after = words.next_to(index, -1), words.next_to(index)
    capital = [words.original[other][:1].isupper() for other in (index - 1, index + 1) if 0 <= other < len(words)]
    if section in ("person", "place"):
        previous_capital = (
            index > 1
            and words.original[index - 1][:1].isupper()
            and before not in ("the", "and", "in", "o", "for", "but", "then")
        )
        next_capital = index + 1 < len(words) and words.original[index + 1][:1].isupper()
        return not (previous_capital or next_capital or after in ("'", "-") or before in ("-", "called", "named", "surnamed"))
    if section == "number":
        return not (
            before in ("a", "an", ",", "-", ".", "one", "$") or (after in (",", "-", ".") and words.next_to(index + 1).isdigit())
        )
    if section == "measure":
        counted = UNIT_OF.search(words.before(index)) or (
            words.lower[index] in TIMES
            and before in DETERMINERS - {"all"} | {"that", "same", "next", "last"}
            and not (before in ("this", "that") and words.next_to(index - 1, -1) in ("unto", "until", "to", "at", "till"))
            and after not in ("and", "by", "or", "unto", "to", "'")
        )
        return bool(counted) or words.lower[index] in MOMENTS or words.original[index].istitle()
    phrase = DETERMINERS | PREPOSITIONS
    noun = before in phrase or (words.lower[index] not in ALSO_VERBS and words.next_to(index - 1, -1) in phrase)
    return (noun or words.lower[index].endswith("ing") or words.lower[index] in ACTING) and (not any(capital) or index <= 1)


def exchange_number(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield other numbers, in words or in as many digits."""
    yield from exchange_class(words, half, seed, "number")
    for index, word in enumerate(words.lower):
        start, end = words.spans[index]
        alone = not (words.text[max(0, start - 1) : start] + words.text[end : end + 1]).strip(" ;:!?)(\"'")
        if word.isascii() and word.isdigit() and alone and words.is_unique(index) and half_of(word) == half and len(word) <= 4:
            for candidate in range(CANDIDATES):
                low = 10 ** (len(word) - 1) if len(word) > 1 else 2
                number = low + seed_of(seed, word, candidate) % (10 ** len(word) - low)
                if len(word) == 4 and word[:2] in ("19", "20"):  # a year
                    number = int(word[:2]) * 100 + number % 100
                if str(number) not in words.present:
                    yield Edit(f"{word} > {number}", ((start, end, str(number)),))


def add_negation(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield the text with a negation after its first auxiliary verb with a simple subject before it."""
    index = place_after_auxiliary(words)
    if index is not None and not words.present & NEGATIVE:
        start = words.spans[index][1]
        for negator in plain_words("changed.txt", "negative", half):
            yield Edit(f"{words.lower[index]} {negator}", ((start, start, f" {negator}"),))


def place_after_auxiliary(words: Words) -> int | None:
    """Return the index of the first auxiliary verb of a statement whose subject is a pronoun or a short noun phrase before it."""
    if not is_statement(words):
        return None
    for index, word in enumerate(words.lower):
        if word in TEMPORAL:
            return None
        if word not in AUXILIARIES or index == 0:
            continue
        before, before_that, after = words.lower[index - 1], words.next_to(index - 1, -1), words.next_to(index)
        is_name = words.original[index - 1][:1].isupper() and index > 1 and before.isalpha()
        subject = before in PRONOUNS or ((is_name or before_that in DETERMINERS) and before.isalpha() and before != "that")
        follows = after[:1].isalpha() and after not in PRONOUNS | {
            "thou",
            "me",
            "also",
            "so",
            "yet",
            "still",
            "now",
            "this",
            "that",
        }
        clear = (
            follows
            and (word not in PERFECT or is_participle(after))
            and not (word in ("is", "was") and after == "the" and is_name)
        )
        return index if subject and clear else None
    return None


def replace_negation(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield the text with an affirming word in the place of its only negation, after an auxiliary verb."""
    if not is_statement(words) or len([word for word in words.lower if word in NEGATIVE]) != 1:
        return
    for edit in exchange_listed(words, half, seed, "negation_removed"):
        index = index_of(words, edit)
        before, after = words.next_to(index, -1), words.next_to(index)
        adverb = words.lower[index] in ("not", "never")
        verb = (after.isalpha() and after not in AFTER_NOT and before in VERBS_BEFORE_NOT) or (
            after in AFTER_INTRANSITIVE and (before.endswith(("ed", "eth")) or before in INTRANSITIVE)
        )
        if before.isalpha() and not POLAR & set(words.lower[index + 1 :]) and (verb if adverb else before != "or"):
            yield edit


def index_of(words: Words, edit: Edit) -> int:
    """Return the index of the first word that an edit changes."""
    return next(number for number, (start, _) in enumerate(words.spans) if start == edit.position)


def swap_roles(words: Words, half: Half, seed: int) -> Iterator[Edit]:
    """Yield the text in which two names, or two nouns joined by "of" or by "from ... to", have changed places."""
    people = all_names(("person",)) | AGENTS
    names = all_names(("person", "place")) | AGENTS
    named = [
        index
        for index, word in enumerate(words.original)
        if word in names and words.is_unique(index) and is_free(words, index, "person")
    ]
    for first, second in itertools.pairwise(named):
        between = words.lower[first + 1 : second]
        acts = any(word in ACTIONS for word in between) and len(between) <= 10 and not set(between) & CLAUSE_MARKS
        if acts and (words.original[first] in people) == (words.original[second] in people):
            yield from swap(words, first, second, half)
    for index in range(1, len(words) - 3):
        if words.lower[index] == "the" and words.next_to(index + 1) == "of" and words.lower[index + 1] in RELATED:
            first, second = index - 1, index + 3
            if (
                all(
                    words.original[position].isalpha()
                    and words.original[position].istitle()
                    and words.is_unique(position)
                    and position
                    for position in (first, second)
                )
                and words.next_to(first, -1) not in ("of", "called", "king")
                and words.lower[first] not in NEGATIVE
            ):
                yield from swap(words, first, second, half)
    for index in range(1, len(words) - 2):
        if (
            words.next_to(index, -1) == "from"
            and words.lower[index + 1] in ("to", "unto")
            and all(words.original[position][:1].isupper() and words.is_unique(position) for position in (index, index + 2))
        ):
            yield from swap(words, index, index + 2, half)
    nouns = [index for index in range(1, len(words)) if is_plain_noun(words, index)]
    for first, second in itertools.combinations(nouns, 2):
        between, x, y = words.lower[first + 1 : second - 1], words.lower[first], words.lower[second]
        joined = not set(between) - {"and", "or", "nor", ",", "even"}
        if (
            not joined
            and len(between) <= 12
            and not set(between) & CLAUSE_MARKS
            and is_plural(x) == is_plural(y)
            and words.next_to(first - 1, -1) not in ("and", "or", ",")
            and (takes_an(x) == takes_an(y) or not {"a", "an"} & {words.lower[first - 1], words.lower[second - 1]})
            and all(words.lower[noun - 1] != "an" or takes_an(words.lower[noun]) for noun in (first, second))
        ):
            yield from swap(words, first, second, half)


def is_plural(noun: str) -> bool:
    """Return whether a noun looks like a plural."""
    return noun in ("people", "men", "women", "children", "brethren", "oxen", "feet") or (
        noun.endswith("s") and not noun.endswith("ss")
    )


def is_plain_noun(words: Words, index: int) -> bool:
    """Return whether a word is a noun with one determiner and nothing else before it and its phrase ends there."""
    word = words.lower[index]
    return (
        words.lower[index - 1] in ("the", "a", "an", "his", "her", "their", "my", "thy", "your", "our")
        and word.isalpha()
        and words.original[index] == word
        and word not in NOT_HEADS
        and len(word) > 2
        and not word.endswith(("est", "ing"))
        and words.next_to(index) in ENDS
        and words.is_unique(index)
    )


@lru_cache(maxsize=8)
def all_names(sections: tuple[str, ...]) -> frozenset[str]:
    """Return the names in the given classes of both halves."""
    return frozenset(name for section in sections for half in HALVES for name in classes(section, half))


def swap(words: Words, first: int, second: int, half: Half) -> Iterator[Edit]:
    """Yield the exchange of two words, if the pair of words is in the half."""
    x, y = words.original[first], words.original[second]
    entry = " ".join(sorted((x.lower(), y.lower())))
    if half_of(entry) == half and not {x.lower(), y.lower()} <= ALIKE:
        yield Edit(entry, ((*words.spans[first], y), (*words.spans[second], x)))


PHENOMENA: Mapping[str, Phenomenon] = {
    "negation_added": Phenomenon(
        Kind.INSERTION,
        add_negation,
        "a negation after the first auxiliary verb",
        ("The bridge was built in a year.", "The bridge was never built in a year."),
    ),
    "negation_removed": Phenomenon(
        Kind.SUBSTITUTION,
        replace_negation,
        "an affirming word in the place of the only negation",
        ("The guards did not see the thief.", "The guards did also see the thief."),
    ),
    "antonym": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_listed, section="antonym"),
        "an antonym",
        ("The town has a rich library.", "The town has a poor library."),
    ),
    "number": Phenomenon(Kind.SUBSTITUTION, exchange_number, "another number", ("It took four days.", "It took five days.")),
    "person": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_class, section="person"),
        "another person's name",
        ("Martha closed the shop.", "Naomi closed the shop."),
    ),
    "place": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_class, section="place"),
        "another place or people",
        ("The ship left for Cyprus.", "The ship left for Greece."),
    ),
    "kind": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_class, section="kind"),
        "another thing of the same kind",
        ("A horse stands by the gate.", "A donkey stands by the gate."),
    ),
    "gender": Phenomenon(
        Kind.SUBSTITUTION,
        exchange_gender,
        "the other sex of the only word that has one",
        ("The boy lost a shoe.", "The girl lost a shoe."),
    ),
    "relation": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_listed, section="relation"),
        "the opposite relation, direction or comparison",
        ("The keys lie above the letters.", "The keys lie below the letters."),
    ),
    "quantifier": Phenomenon(
        Kind.SUBSTITUTION,
        exchange_quantifier,
        "another quantifier",
        ("Many ships reached the port.", "Few ships reached the port."),
    ),
    "modality": Phenomenon(
        Kind.SUBSTITUTION, exchange_modal, "another modal verb", ("Guests must pay at once.", "Guests may pay at once.")
    ),
    "measure": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_class, section="measure"),
        "another unit of time or measure",
        ("The wall is forty cubits high.", "The wall is forty spans high."),
    ),
    "word_order": Phenomenon(
        Kind.ORDER,
        swap_roles,
        'two names, or the nouns of "the x of the y", exchanged',
        ("Peter followed Thomas to the lake.", "Thomas followed Peter to the lake."),
    ),
    "tense": Phenomenon(
        Kind.SUBSTITUTION,
        partial(exchange_listed, section="tense"),
        "another tense",
        ("The market is closed.", "The market was closed."),
    ),
}
