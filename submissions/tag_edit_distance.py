# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "rapidfuzz>=3.9"]
# [tool.touchstone]
# name = "tag_edit_distance"
# title = "Edit distance of part-of-speech tags"
# summary = "Insertions, deletions and substitutions of words until both texts have the same sequence of parts of speech."
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
# summary = "Number of distinct nouns, in lower case, that only one of the two texts has."
# ///
"""Tags of Brill's rule-based tagger (1992) with the lexicon and the rules of the package pattern, as TextBlob carries them.

A listed word has its most frequent tag, another one NNP if it is capitalised, CD if it is a number, else NN as the rules of its
form change it; then the rules of the context change all.  Words are numbers, runs of letters and digits with apostrophes
inside, or single other characters; a text is one sentence.
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
KEPT = 50_000                               # texts whose tags are cached
Tagged = tuple[str, str]

lexicon: dict[str, str]
forms: list[list[str]]                      # rules of a word's form
contexts: list[tuple[str, str, str, str, str]]                 # of its context: tag or *, new tag, command, x, y


def setup(models: dict[str, str]) -> None:
    global lexicon, forms, contexts
    folder = Path(models["brill-tagger"])
    lexicon = {line[0]: line[1] for line in fields(folder / "lexicon.txt")}
    forms = fields(folder / "morphology.txt")
    contexts = [(old, new, command.lower(), x, y[0] if y else "") for old, new, command, x, *y in fields(folder / "context.txt")]
    rules_for.cache_clear()
    for kept in (tagged, tags, nouns_of):
        kept.cache_clear()


def fields(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith(";;;")]


def distance(a: list[str], b: list[str], nouns: bool = False) -> np.ndarray:
    if nouns:
        return np.array([len(nouns_of(x) ^ nouns_of(y)) for x, y in zip(a, b, strict=True)], dtype=float)
    return np.array([Levenshtein.distance(tags(x), tags(y)) for x, y in zip(a, b, strict=True)], dtype=float)


@lru_cache(KEPT)
def tags(text: str) -> tuple[str, ...]:
    return tuple(tag for _, tag in tagged(text))


@lru_cache(KEPT)
def nouns_of(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word, tag in tagged(text) if tag.startswith("NN"))


@lru_cache(KEPT)
def tagged(text: str) -> tuple[Tagged, ...]:
    words = WORD.findall(text)
    listed = [lexicon.get(word) or (lexicon.get(word.lower()) if index == 0 else None) for index, word in enumerate(words)]
    first = [tag or guess(words, index) for index, tag in enumerate(listed)]
    return tuple(zip(words, in_context(words, first), strict=True))


def guess(words: list[str], index: int) -> str:
    """Return the tag of an unknown word by its form and its neighbours."""
    word = words[index]
    if word.istitle():
        return "NNP"
    if NUMBER.fullmatch(word):
        return "CD"
    before, after = words[index - 1] if index else None, words[index + 1] if index + 1 < len(words) else None
    tag = "NN"
    for rule in forms:
        if rule[1] in COMMANDS:
            old, x, command = None, rule[0], rule[1]
        else:
            old, x, command = rule[0], rule[1], rule[2].removeprefix("f")
        if (old is None or old == tag) and has_form(word, command, x, before, after):
            tag = rule[-2]
    return tag


COMMANDS = frozenset({"char", "haspref", "hassuf", "addpref", "addsuf", "deletepref", "deletesuf", "goodleft", "goodright"})


def has_form(word: str, command: str, x: str, before: str | None, after: str | None) -> bool:
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
    return x == (after if command == "goodleft" else before)


def in_context(words: list[str], first: list[str]) -> list[str]:
    """Return the tags after the rules of the context, word by word: of those that fit a word's first tag the last counts."""
    around = [EDGE] * 3 + list(zip(words, first, strict=True)) + [EDGE] * 3
    for i in range(3, len(around) - 3):
        rules, last, tag = rules_for(around[i][1]), -1, around[i][1]
        for at, kind in rules.looked_at:
            for number, new, other in rules.by_cell.get((at, kind, around[i + at][kind]), ()):
                if number > last and (other is None or around[i + other.at][other.kind] == other.value):
                    last, tag = number, new
        around[i] = (around[i][0], tag)
    return [tag for _, tag in around[3:-3]]


class Cell(NamedTuple):
    """What stands at an offset from a word: kind 0 is a word, 1 its tag."""

    at: int
    kind: int
    value: str


class Rules(NamedTuple):
    """The rules that may change a tag: by a required cell, their number, the new tag and the other required cell."""

    by_cell: dict[tuple[int, int, str], list[tuple[int, str, Cell | None]]]
    looked_at: list[tuple[int, int]]


@lru_cache(None)
def rules_for(tag: str) -> Rules:
    by_cell: dict[tuple[int, int, str], list[tuple[int, str, Cell | None]]] = {}
    for number, (old, new, command, x, y) in enumerate(contexts):
        if old in (tag, "*"):
            for cell, other in cells_of(command, x, y):
                by_cell.setdefault(cell, []).append((number, new, other))
    return Rules(by_cell, sorted({(at, kind) for at, kind, _ in by_cell}))


def cells_of(command: str, x: str, y: str) -> list[tuple[Cell, Cell | None]]:
    """Return the cells that a rule requires: any of these, or both of a pair."""
    if command in PAIRS:
        at, kind, at_y, kind_y = PAIRS[command]
        return [(Cell(at, kind, x), Cell(at_y, kind_y, y))]
    kind = 1 if command.endswith("tag") else 0
    return [(Cell(at, kind, x), None) for at in PLACES.get(command, ())]


PLACES = {"prevtag": (-1,), "nexttag": (1,), "prev2tag": (-2,), "next2tag": (2,), "prev1or2tag": (-1, -2), "next1or2tag": (1, 2),
          "prev1or2or3tag": (-1, -2, -3), "next1or2or3tag": (1, 2, 3), "curwd": (0,), "prevwd": (-1,), "nextwd": (1,),
          "prev1or2wd": (-1, -2), "next1or2wd": (1, 2)}
# Places and kinds (0 a word, 1 its tag) of x and of y.
PAIRS = {"surroundtag": (-1, 1, 1, 1), "prevwdtag": (-1, 0, -1, 1), "nextwdtag": (1, 0, 1, 1), "wdprevtag": (-1, 1, 0, 0),
         "wdnexttag": (0, 0, 1, 1), "wdand2aft": (0, 0, 2, 0), "wdand2tagbfr": (-2, 1, 0, 0), "wdand2tagaft": (0, 0, 2, 1),
         "lbigram": (-1, 0, 0, 0), "rbigram": (0, 0, 1, 0), "prevbigram": (-2, 1, -1, 1), "nextbigram": (1, 1, 2, 1)}
