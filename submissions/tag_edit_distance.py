# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rapidfuzz>=3.9"]
# [tool.touchstone]
# name = "tag_edit_distance"
# title = "Edit distance of part-of-speech tags"
# summary = "Number of insertions, deletions and substitutions that make the texts' part-of-speech sequences equal."
# kind = "text"
# input = "texts"
# returns = "distance"
# range = [0.0, inf]
# lift = false
# symmetric = true
# models = ["brill-tagger"]
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "nouns"
# parameters = { nouns = true }
# summary = "Number of distinct lower-cased nouns that occur in only one of the two texts."
# ///
"""Edit distance of tags from Brill's tagger (1992) with the lexicon and rules of the package pattern, as included in TextBlob.

A word of the lexicon gets its most frequent tag; any other word gets NNP if it is capitalised, CD if it is a number, and else NN,
modified by the rules of word form. The context rules then modify all tags. Words are numbers, runs of letters and digits with
inner apostrophes, or other single characters; a text is one sentence.
"""

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

WORD = re.compile(r"\d+(?:[.,:/]\d+)+|\w+(?:['\u2019]\w+)*|[^\w\s]")
NUMBER = re.compile(r"[\d.,:/%$+-]*\d[\d.,:/%$+-]*")
EDGE = ("STAART", "STAART")
CACHE_SIZE = 50_000                         # texts whose tags are cached
Tagged = tuple[str, str]

lexicon: dict[str, str]
form_rules: list[list[str]]                 # rules of word form
context_rules: list[tuple[str, str, str, str, str]]       # old tag or *, new tag, command, x, y


def setup(models: dict[str, str]) -> None:
    global lexicon, form_rules, context_rules
    folder = Path(models["brill-tagger"])
    lexicon = {line[0]: line[1] for line in fields(folder / "lexicon.txt")}
    form_rules = fields(folder / "morphology.txt")
    context_rules = [(old, new, command.lower(), x, y[0] if y else "")
                     for old, new, command, x, *y in fields(folder / "context.txt")]
    rules_for.cache_clear()
    for cached in (tag_text, tags, nouns_of):
        cached.cache_clear()


def fields(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith(";;;")]


def distance(a: list[str], b: list[str], nouns: bool = False) -> np.ndarray:
    if nouns:
        return np.array([len(nouns_of(x) ^ nouns_of(y)) for x, y in zip(a, b, strict=True)], dtype=float)
    return np.array([Levenshtein.distance(tags(x), tags(y)) for x, y in zip(a, b, strict=True)], dtype=float)


@lru_cache(CACHE_SIZE)
def tags(text: str) -> tuple[str, ...]:
    return tuple(tag for _, tag in tag_text(text))


@lru_cache(CACHE_SIZE)
def nouns_of(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word, tag in tag_text(text) if tag.startswith("NN"))


@lru_cache(CACHE_SIZE)
def tag_text(text: str) -> tuple[Tagged, ...]:
    words = WORD.findall(text)
    lexicon_tags = [lexicon.get(word) or (lexicon.get(word.lower()) if index == 0 else None) for index, word in enumerate(words)]
    initial_tags = [tag or guess_tag(words, index) for index, tag in enumerate(lexicon_tags)]
    return tuple(zip(words, in_context(words, initial_tags), strict=True))


def guess_tag(words: list[str], index: int) -> str:
    """Return the tag of an unknown word by its form and its neighbours."""
    word = words[index]
    if word.istitle():
        return "NNP"
    if NUMBER.fullmatch(word):
        return "CD"
    previous, following = words[index - 1] if index else None, words[index + 1] if index + 1 < len(words) else None
    tag = "NN"
    for rule in form_rules:
        if rule[1] in COMMANDS:
            old, x, command = None, rule[0], rule[1]
        else:
            old, x, command = rule[0], rule[1], rule[2].removeprefix("f")
        if (old is None or old == tag) and has_form(word, command, x, previous, following):
            tag = rule[-2]
    return tag


COMMANDS = frozenset({"char", "haspref", "hassuf", "addpref", "addsuf", "deletepref", "deletesuf", "goodleft", "goodright"})


def has_form(word: str, command: str, x: str, previous: str | None, following: str | None) -> bool:
    if command == "char":
        return x in word
    if command == "haspref":
        return word.startswith(x)
    if command == "hassuf":
        return word.endswith(x)
    if command in ("addpref", "addsuf"):
        return (x + word if command == "addpref" else word + x) in lexicon
    if command == "deletepref":
        return word.startswith(x) and word[len(x):] in lexicon
    if command == "deletesuf":
        return word.endswith(x) and word[:-len(x)] in lexicon
    return x == (following if command == "goodleft" else previous)


def in_context(words: list[str], initial_tags: list[str]) -> list[str]:
    """Apply the context rules word by word; of the rules that match a word's initial tag, the last one decides."""
    padded = [EDGE] * 3 + list(zip(words, initial_tags, strict=True)) + [EDGE] * 3
    for i in range(3, len(padded) - 3):
        rules, last, tag = rules_for(padded[i][1]), -1, padded[i][1]
        for offset, kind in rules.offsets:
            for number, new, second in rules.by_condition.get((offset, kind, padded[i + offset][kind]), ()):
                if number > last and (second is None or padded[i + second.offset][second.kind] == second.value):
                    last, tag = number, new
        padded[i] = (padded[i][0], tag)
    return [tag for _, tag in padded[3:-3]]


class Condition(NamedTuple):
    """A required word (kind 0) or tag (kind 1) at an offset from the current word."""

    offset: int
    kind: int
    value: str


class Rules(NamedTuple):
    """The rules that can change a tag: number, new tag and second condition by first condition; and all offsets and kinds."""

    by_condition: dict[tuple[int, int, str], list[tuple[int, str, Condition | None]]]
    offsets: list[tuple[int, int]]


@lru_cache(None)
def rules_for(tag: str) -> Rules:
    by_condition: dict[tuple[int, int, str], list[tuple[int, str, Condition | None]]] = {}
    for number, (old, new, command, x, y) in enumerate(context_rules):
        if old in (tag, "*"):
            for first, second in conditions_of(command, x, y):
                by_condition.setdefault(first, []).append((number, new, second))
    return Rules(by_condition, sorted({(offset, kind) for offset, kind, _ in by_condition}))


def conditions_of(command: str, x: str, y: str) -> list[tuple[Condition, Condition | None]]:
    """Return the alternative conditions of a rule; each is a single condition or a pair."""
    if command in PAIRS:
        offset, kind, offset_y, kind_y = PAIRS[command]
        return [(Condition(offset, kind, x), Condition(offset_y, kind_y, y))]
    kind = 1 if command.endswith("tag") else 0
    return [(Condition(offset, kind, x), None) for offset in OFFSETS.get(command, ())]


OFFSETS = {"prevtag": (-1,), "nexttag": (1,), "prev2tag": (-2,), "next2tag": (2,), "prev1or2tag": (-1, -2),
           "next1or2tag": (1, 2), "prev1or2or3tag": (-1, -2, -3), "next1or2or3tag": (1, 2, 3), "curwd": (0,), "prevwd": (-1,),
           "nextwd": (1,), "prev1or2wd": (-1, -2), "next1or2wd": (1, 2)}
# Offset and kind (0: word, 1: tag) of x, then of y.
PAIRS = {"surroundtag": (-1, 1, 1, 1), "prevwdtag": (-1, 0, -1, 1), "nextwdtag": (1, 0, 1, 1), "wdprevtag": (-1, 1, 0, 0),
         "wdnexttag": (0, 0, 1, 1), "wdand2aft": (0, 0, 2, 0), "wdand2tagbfr": (-2, 1, 0, 0), "wdand2tagaft": (0, 0, 2, 1),
         "lbigram": (-1, 0, 0, 0), "rbigram": (0, 0, 1, 0), "prevbigram": (-2, 1, -1, 1), "nextbigram": (1, 1, 2, 1)}
