"""Negation of English texts by rules: every verb group with an auxiliary verb is negated once.

What is negated already stays as it is. The rules know questions, contractions, `do` and `have` as main verbs, and nouns and names
that look like auxiliary verbs.
"""

from __future__ import annotations

import itertools
import re

TOKEN = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}-]\w+)*|[^\w\s]")
CONTRACTED = {"is": "isn't", "are": "aren't", "was": "wasn't", "were": "weren't", "has": "hasn't", "have": "haven't",
              "had": "hadn't", "do": "don't", "does": "doesn't", "did": "didn't", "can": "can't", "could": "couldn't",
              "will": "won't", "would": "wouldn't", "shall": "shan't", "should": "shouldn't", "might": "mightn't",
              "must": "mustn't"}
AUXILIARIES = frozenset({*CONTRACTED, "am", "may"})
NEGATED = frozenset({*CONTRACTED.values(), "cannot", "ain't"})
NEGATIVES = frozenset({"not", "never", "no", "nothing", "nobody", "none", "neither", "nor"})
MAIN = {"do": "do not do", "does": "does not do", "did": "did not do",
        "have": "do not have", "has": "does not have", "had": "did not have"}
SHORT = {"s": "is", "re": "are", "m": "am", "ve": "have", "ll": "will", "d": "would"}
QUESTION_WORDS = frozenset({"what", "who", "whom", "which", "when", "where", "why", "how"})
SUBJECTS = frozenset({"i", "he", "she", "we", "they"})      # never objects, so an auxiliary verb before them is inverted
PRONOUNS = SUBJECTS | {"you", "it", "that", "there", "this", "here", "what", "who"}         # before 's, 're, 'm, 've, 'll, 'd
STARTS = frozenset(".!?:;\"()[]\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}")
DETERMINER = re.compile("an?|the|my|your|his|its|our|their|no|some|any")                    # without "her": "I told her I will"
OBJECT = re.compile(                        # after `do` as a main verb
    rf"{DETERMINER.pattern}|\d+|it|that|this|these|those|her|him|me|us|them|so|what|all|much|more|many|most|something|anything|"
    "everything|both|one|two|well|better|best|business|research|work")
ADVERB = re.compile(r"also|already|always|ever|even|just|often|now|once|still|then|thus|yet|\w{3,}ly")
GROUP = frozenset({"not", "never", "have", "had", "has", "do", "does", "did", "be", "been", "being"})
UNCHANGED = re.compile("become|come|cut|cost|hit|hurt|let|overcome|put|read|run|set|shut|spread")      # also infinitives
PARTICIPLE = re.compile(
    r"\w{2,}[^e\W]ed|\w+(?:aken|itten|oken|osen|own|orn|ought|aught)|been|begun|built|done|driven|eaten|fallen|felt|forgotten|found|"
    "given|gone|got|gotten|had|heard|held|hidden|kept|laid|led|left|lost|made|meant|met|paid|proven|ridden|risen|said|seen|sent|"
    f"slept|sold|spent|stood|sung|swum|told|understood|won|{UNCHANGED.pattern}")
NAMES = frozenset({"may", "will"})          # if capitalized in a statement
CLAUSE = 7                                  # words of a question in which an infinitive or a negation is looked for


def negate(text: str) -> str:
    """Return the text after negation of every verb group with an auxiliary verb and no negation."""
    matches = list(TOKEN.finditer(text))
    original = [match[0].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for match in matches]
    words = [word.lower() for word in original]
    changed: dict[int, str] = {}
    index = 0
    while index < len(words):
        start = index
        index += 1
        pronoun, verb, tail = split_auxiliary(original, words, start)
        if not verb and words[start] not in NEGATED:
            continue
        end = group_end(words, index)
        follower = following(words, index)
        inverted = not pronoun and not tail and is_inverted(words, start)
        clause = list(itertools.takewhile(lambda word: word not in STARTS, words[index:index + CLAUSE])) if inverted else []
        if not verb or NEGATIVES & {*words[max(0, start - 1):end + 1], follower, *clause}:
            index = end
        elif inverted or pronoun.lower() in QUESTION_WORDS:
            if verb in CONTRACTED:
                changed[start] = f"{pronoun} {CONTRACTED[verb]}".lstrip()
            elif index < len(words):
                changed[index] = f"{original[index]} not"
            index += next((number for number, word in enumerate(clause, 1) if word in ("do", "have")), 0)
        elif not pronoun and is_main_verb(verb, words[index] if index < len(words) else "", follower):
            changed[start] = MAIN[verb]
        else:
            changed[start] = f"{pronoun} {'cannot' if verb == 'can' else f'{verb} not'}{tail}".lstrip()
            index = end
    pieces, position = [], 0
    for number, match in enumerate(matches):
        if number in changed:
            pieces += [text[position:match.start()], match_case(match[0], changed[number])]
            position = match.end()
    return "".join([*pieces, text[position:]])


def split_auxiliary(original: list[str], words: list[str], index: int) -> tuple[str, str, str]:
    """Return the pronoun before a contracted auxiliary verb, the verb in full, and " have" for "would've"; or ""."""
    stem, _, short = words[index].partition("'")
    if stem in PRONOUNS and short in SHORT:
        return original[index][:len(stem)], full_form(short, words, index + 1), ""
    if stem in AUXILIARIES and short == "ve":
        return "", stem, " have"
    is_verb = words[index] in AUXILIARIES and not is_noun_or_name(original, words, index)
    return "", words[index] if is_verb else "", ""


def is_noun_or_name(original: list[str], words: list[str], index: int) -> bool:
    """Return whether the word only looks like a finite auxiliary verb, as in "the will", "in May" or "to have"."""
    word, before, after = words[index], words[index - 1] if index else "", words[index + 1] if index + 1 < len(words) else ""
    if word == "am":
        return "i" not in (before, after)   # 10 am
    if before == "to" or (DETERMINER.fullmatch(before) and word in ("can", "do", "may", "might", "must", "will")):
        return True
    if word in NAMES and original[index].istitle():
        return not is_inverted(words, index) or (word == "may" and after not in PRONOUNS)
    return word == "may" and after.isdigit()


def full_form(short: str, words: list[str], index: int) -> str:
    """Return the auxiliary verb of a contraction before the word at the index."""
    follower = following(words, index)
    if short == "d" and (follower == "better" or (is_participle(follower) and not UNCHANGED.fullmatch(follower))):
        return "had"
    return "has" if short == "s" and follower in ("been", "had", "got", "become") else SHORT[short]


def following(words: list[str], index: int) -> str:
    """Return the first word from the index on that is no adverb, or an empty string."""
    return next((word for word in words[index:index + 4] if not is_adverb(word)), "")


def group_end(words: list[str], index: int) -> int:
    """Return the index after the negations, adverbs and further auxiliary verbs of a verb group."""
    while index < len(words) and (words[index] in GROUP or is_adverb(words[index])):
        index += 1
    return index


def is_inverted(words: list[str], index: int) -> bool:
    """Return whether the auxiliary verb precedes its subject: before "I" or "he", and at the start of a question or its tag."""
    before, after = words[index - 1] if index else "", words[index + 1] if index + 1 < len(words) else ""
    leads = not before or before in STARTS | QUESTION_WORDS or (before == "," and after in PRONOUNS)
    return after in SUBJECTS or (leads and next((word for word in words[index:] if word in ".!?"), "") == "?")


def is_main_verb(verb: str, after: str, follower: str) -> bool:
    """Return whether a form of `do` or `have` is the main verb, judged by the next word and the next that is no adverb."""
    if verb in ("do", "does", "did"):
        return OBJECT.fullmatch(after) is not None
    return verb in MAIN and follower[:1].isalnum() and follower not in ("better", "not") and not is_participle(follower)


def is_participle(word: str) -> bool:
    """Return whether a word looks like a past participle."""
    return PARTICIPLE.fullmatch(word) is not None


def is_adverb(word: str) -> bool:
    """Return whether a word looks like an adverb within a verb group."""
    return ADVERB.fullmatch(word) is not None


def match_case(original: str, word: str) -> str:
    """Return a word in capitals, or capitalized, if the original is."""
    if len(original) > 1 and original.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if original[:1].isupper() else word
