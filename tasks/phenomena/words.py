"""The words of a text, edits of a text, and the word lists, split into a public and a private half."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from tasks.common.negation import match_case

Half = Literal["public", "private"]
HALVES: tuple[Half, ...] = ("public", "private")

LISTS = Path(__file__).parent / "lists"
WORD = re.compile(r"\w+(?:['\N{RIGHT SINGLE QUOTATION MARK}-]\w+)*|[^\w\s]")
CONTEXT = 4  # words on either side that conditions can see


@dataclass(frozen=True)
class Words:
    """A text with its words and punctuation marks."""

    text: str

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Start and end of each word."""
        return [match.span() for match in WORD.finditer(self.text)]

    @cached_property
    def original(self) -> list[str]:
        """The words as they are written."""
        return [self.text[start:end] for start, end in self.spans]

    @cached_property
    def lower(self) -> list[str]:
        """The words in lower case."""
        return [word.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'") for word in self.original]

    @cached_property
    def present(self) -> frozenset[str]:
        """The different words in lower case."""
        return frozenset(self.lower)

    def __len__(self) -> int:
        return len(self.spans)

    def before(self, index: int) -> str:
        """Return the words before an index joined by spaces; "<" is the start of the text."""
        return " ".join([*(["<"] if index <= CONTEXT else []), *self.lower[max(0, index - CONTEXT) : index]])

    def after(self, index: int) -> str:
        """Return the words after an index joined by spaces; ">" is the end of the text."""
        following = self.lower[index + 1 : index + 1 + CONTEXT]
        return " ".join([*following, *([">"] if len(following) < CONTEXT else [])])

    def next_to(self, index: int, step: int = 1) -> str:
        """Return the neighbouring word in lower case, or an empty string."""
        return self.lower[index + step] if 0 <= index + step < len(self) else ""

    def is_unique(self, index: int) -> bool:
        """Return whether the word occurs once."""
        return self.lower.count(self.lower[index]) == 1

    def exchange(self, entry: str, changes: Mapping[int, str]) -> Edit:
        """Return the edit that replaces words, each in the case of the replaced word."""
        return Edit(
            entry, tuple((*self.spans[index], match_case(self.original[index], word)) for index, word in sorted(changes.items()))
        )


class Edit(NamedTuple):
    """An edit of a text: the entry of a list behind it, and (start, end, replacement) of each changed span."""

    entry: str
    splices: tuple[tuple[int, int, str], ...]

    def apply(self, text: str) -> str:
        """Return the edited text."""
        for start, end, replacement in reversed(self.splices):
            text = text[:start] + replacement + text[end:]
        return text

    def joined(self, other: Edit) -> Edit | None:
        """Return both edits in one, or None if they overlap."""
        splices = sorted(self.splices + other.splices)
        apart = all(first[1] < second[0] for first, second in itertools.pairwise(splices))
        return Edit(self.entry, tuple(splices)) if apart else None

    @property
    def position(self) -> int:
        """The first changed character."""
        return self.splices[0][0]


def takes_an(word: str) -> bool:
    """Return whether a word takes the article "an"."""
    return word.lower().startswith(("a", "e", "i", "o", "u", "hour", "honest")) and not word.lower().startswith(
        ("one", "eu", "us")
    )


def half_of(entry: str) -> Half:
    """Return the half of the lists that an entry belongs to, by its sha256."""
    return "public" if hashlib.sha256(f"l{entry}".encode()).digest()[0] % 2 else "private"


@dataclass(frozen=True)
class Exchange:
    """A word for another one, with conditions on the words before and after it."""

    old: str
    new: str
    entry: str
    unless_before: re.Pattern[str] | None = None
    unless_after: re.Pattern[str] | None = None
    if_before: re.Pattern[str] | None = None
    if_after: re.Pattern[str] | None = None

    def fits(self, words: Words, index: int) -> bool:
        """Return whether the word at the index may be replaced: both words occur nowhere else, and the context fits."""
        if not words.is_unique(index) or self.new in words.present or (words.original[index] != words.lower[index] and index):
            return False
        article = words.next_to(index, -1)
        if article in ("a", "an") and takes_an(self.old) != takes_an(self.new):
            return False
        before, after = words.before(index), words.after(index)
        return not (
            (self.unless_before and self.unless_before.search(before))
            or (self.unless_after and self.unless_after.match(after))
            or (self.if_before and not self.if_before.search(before))
            or (self.if_after and not self.if_after.match(after))
        )


def parse_exchange(line: str) -> Iterator[Exchange]:
    """Return the exchanges of a line such as "good / evil -after:things|tidings"."""
    old, sign, new, *conditions = line.split()
    patterns: dict[str, re.Pattern[str]] = {}
    for condition in conditions:
        name, _, pattern = condition.partition(":")
        pattern = pattern.replace("_", " ")
        patterns[name] = re.compile(rf"(?:^| )(?:{pattern})$" if name[1:] == "before" else rf"(?:{pattern})(?= |$)")
    entry = " ".join(sorted((old, new)))
    for x, y in ((old, new), (new, old)) if sign == "/" else ((old, new),):
        yield Exchange(
            x, y, entry, patterns.get("-before"), patterns.get("-after"), patterns.get("+before"), patterns.get("+after")
        )


@lru_cache(maxsize=8)
def read_sections(name: str) -> dict[str, list[str]]:
    """Return the lines of a list file by section."""
    sections: dict[str, list[str]] = {}
    for line in (LISTS / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    return sections


@lru_cache(maxsize=64)
def exchanges(name: str, section: str, half: Half) -> Mapping[str, Sequence[Exchange]]:
    """Return the exchanges of a section in one half, by the word that they replace."""
    by_word: dict[str, list[Exchange]] = defaultdict(list)
    for line in read_sections(name)[section]:
        for exchange in parse_exchange(line):
            if half_of(exchange.entry) == half:
                by_word[exchange.old].append(exchange)
    return by_word


@lru_cache(maxsize=64)
def plain_words(name: str, section: str, half: Half | None = None) -> tuple[str, ...]:
    """Return the words of a section, of one half unless it is None."""
    return tuple(
        word for line in read_sections(name)[section] for word in line.split() if half in (None, half_of(f"{section}: {word}"))
    )


def listed_words(section: str) -> frozenset[str]:
    """Return the words of a section of the list of context words."""
    return frozenset(plain_words("context.txt", section))


@lru_cache(maxsize=64)
def classes(section: str, half: Half) -> Mapping[str, Sequence[Sequence[str]]]:
    """Return the classes that each word of a section belongs to; a class has the words of one half."""
    by_word: dict[str, list[Sequence[str]]] = defaultdict(list)
    for line in read_sections("classes.txt")[section]:
        members = [word for word in line.split() if half_of(word) == half]
        for word in members:
            by_word[word].append(members)
    return by_word
