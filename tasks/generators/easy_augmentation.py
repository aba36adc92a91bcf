"""Easy data augmentation with WordNet (Wei and Zou 2019), as in its authors' code with a strength of 10%.

A text is reduced to lower-case words of the letters a to z. Then one of four operations is applied: replace words other than stop
words by synonyms, insert synonyms, swap words, or delete words. The number of changes is 10% of the words, and at least one;
deletion removes each word with a probability of 10%, so it may leave a text unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

STRENGTH = 0.1
INSERTION_ATTEMPTS = 10                     # words of which a synonym is looked up before an insertion is given up
STOP_WORD_LIST = """
a about above after again against all am an and any are as at be because been before being below between both but by can did do
does doing don down during each few for from further had has have having he her here hers herself him himself his how i if in
into is it its itself just me more most my myself no nor not now of off on once only or other our ours ourselves out over own s
same she should so some such t than that the their theirs them themselves then there these they this those through to too under
until up very was we were what when where which while who whom why will with you your yours yourself yourselves
"""
STOP_WORDS = frozenset(STOP_WORD_LIST.split())
# By part of speech: endings that base forms may have instead.
ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


class WordNet:
    """The database files of WordNet: an index line holds the offsets of a word's synsets in the data file."""

    def __init__(self, folder: Path) -> None:
        self._index, self._data, self._irregular = {}, {}, {}
        for part in ENDINGS:
            lines = (folder / f"index.{part}").read_text(encoding="utf-8").splitlines()
            self._index[part] = {line[:line.index(" ")]: line for line in lines if not line.startswith(" ")}
            self._data[part] = (folder / f"data.{part}").read_bytes()
            lines = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
            self._irregular[part] = {line.split()[0]: line.split()[1:] for line in lines}
        self.synonyms = cache(self._synonyms)

    def _synonyms(self, word: str) -> tuple[str, ...]:
        """Return the other words and phrases of all synsets of a word, in lower case, without digits and marks, sorted."""
        lemmas = {re.sub("[^a-z ]", "", re.sub("[_-]", " ", lemma.lower())).strip()
                  for part in ENDINGS for form in self._base_forms(word, part) for lemma in self._lemmas(form, part)}
        return tuple(sorted(lemmas - {word, ""}))

    def _base_forms(self, word: str, part: str) -> list[str]:
        """Return the word and its base forms, as far as the index has them."""
        regular = [word.removesuffix(ending) + other for ending, other in ENDINGS[part] if word.endswith(ending)]
        return [form for form in (word, *self._irregular[part].get(word, regular)) if form in self._index[part]]

    def _lemmas(self, form: str, part: str) -> Iterator[str]:
        """Yield the lemmas of all synsets of a base form."""
        fields = self._index[part][form].split()
        data = self._data[part]
        for offset in map(int, fields[-int(fields[2]):]):
            synset = data[offset:data.index(b"\n", offset)].decode().split()
            yield from (lemma.partition("(")[0] for lemma in synset[4:4 + 2 * int(synset[3], 16):2])     # without "(a)"


def clean_words(text: str) -> list[str]:
    """Return the words in lower case without apostrophes; all other characters but a to z separate words."""
    return re.findall("[a-z]+", re.sub("['\N{RIGHT SINGLE QUOTATION MARK}]", "", text.lower()))


def augment_text(text: str, wordnet: WordNet, rng: np.random.Generator) -> str:
    """Return the words of a text after one random operation, or the text itself if it has no words."""
    words = clean_words(text)
    if not words:
        return text
    count = max(1, int(STRENGTH * len(words)))
    match rng.integers(4):
        case 0:
            words = replace_words(words, count, wordnet, rng)
        case 1:
            words = insert_synonyms(words, count, wordnet, rng)
        case 2:
            words = swap_words(words, count, rng)
        case _:
            words = delete_words(words, rng)
    return " ".join(words)


def replace_words(words: Sequence[str], count: int, wordnet: WordNet, rng: np.random.Generator) -> list[str]:
    """Replace every occurrence of up to `count` different words by a synonym."""
    candidates = sorted(word for word in set(words) - STOP_WORDS if wordnet.synonyms(word))
    replaced = {word: draw_synonym(word, wordnet, rng) for word in rng.permutation(candidates)[:count].tolist()}
    return [replaced.get(word, word) for word in words]


def insert_synonyms(words: Sequence[str], count: int, wordnet: WordNet, rng: np.random.Generator) -> list[str]:
    """Insert synonyms of random words before random words."""
    result = list(words)
    for _ in range(count):
        attempts = (result[index] for index in rng.integers(len(result), size=INSERTION_ATTEMPTS))
        word = next((word for word in attempts if wordnet.synonyms(word)), None)
        if word is not None:
            result.insert(int(rng.integers(len(result))), draw_synonym(word, wordnet, rng))
    return result


def swap_words(words: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    """Swap two words, `count` times."""
    result = list(words)
    for _ in range(count if len(result) > 1 else 0):
        i, j = rng.choice(len(result), 2, replace=False)
        result[i], result[j] = result[j], result[i]
    return result


def delete_words(words: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Delete each word with a probability of 10%; if none is left, return a random one."""
    kept = [word for word, draw in zip(words, rng.random(len(words)), strict=True) if draw >= STRENGTH]
    return kept or [words[int(rng.integers(len(words)))]]


def draw_synonym(word: str, wordnet: WordNet, rng: np.random.Generator) -> str:
    """Return a random synonym of a word that has one."""
    synonyms = wordnet.synonyms(word)
    return synonyms[rng.integers(len(synonyms))]
