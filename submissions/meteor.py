# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "meteor"
# title = "METEOR"
# summary = "How many of the words of the texts match, as they are, by stem or by WordNet, less a penalty for scattered matches."
# kind = "text"
# input = "texts"
# returns = "similarity"
# range = [0.0, 1.0]
# lift = false
# symmetric = false
# models = ["wordnet"]
# paper = "https://aclanthology.org/W05-0909/"
# authors = ["Banerjee", "Lavie"]
# year = 2005
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { published = true }
# summary = "As in Yamshchikov et al. 2020, with NLTK up to 3.6.2: words that matched by stem can match again by WordNet."
# ///
"""NLTK's `single_meteor_score` with its defaults, of lower-cased words split at white space; the second text is the hypothesis.

Alpha 0.9, beta 3, gamma 0.5; stems of NLTK's Porter stemmer, synonyms of WordNet 3.0.  Both are here in short, since to import
NLTK takes each worker longer than a thousand answers; stems and synonyms are those of NLTK 3.10.  Up to 3.6.2 a
mistake leaves the words that matched by stem among those to match by synonyms.  Then a few values exceed 1, and count as 1 here.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

ALPHA, BETA, GAMMA = 0.9, 3, 0.5
Numbered = list[tuple[int, str]]            # words with their places
Matches = list[tuple[int, int]]             # places in the hypothesis and in the reference


def setup(models: dict[str, str]) -> None:
    global wordnet
    wordnet = WordNet(Path(models["wordnet"]))
    synonyms.cache_clear()


def similarity(a: list[str], b: list[str], published: bool = False) -> list[float]:
    return [meteor(x.lower().split(), y.lower().split(), published) for x, y in zip(a, b, strict=True)]


def meteor(reference: Sequence[str], hypothesis: Sequence[str], published: bool) -> float:
    matches = align(list(enumerate(hypothesis)), list(enumerate(reference)), published)
    return float(score(np.array(len(matches)), np.array(chunks(matches)), np.array(len(reference)), np.array(len(hypothesis))))


def score(matches: np.ndarray, chunks: np.ndarray, reference: np.ndarray, hypothesis: np.ndarray) -> np.ndarray:
    """pr/(alpha p + (1 - alpha) r), less the penalty, of precision m/h and recall m/r; 0 without a match."""
    mean = matches / np.maximum(ALPHA * reference + (1 - ALPHA) * hypothesis, ALPHA / 2)
    return np.minimum(1, mean * (1 - GAMMA * (chunks / np.maximum(1, matches)) ** BETA))


def align(hypothesis: Numbered, reference: Numbered, published: bool) -> Matches:
    """First equal words, then equal stems, then synonyms; in order of the hypothesis."""
    exact, hypothesis, reference = match(hypothesis, reference)
    by_stem, left, left_there = match([(i, stem(word)) for i, word in hypothesis], [(j, stem(word)) for j, word in reference])
    if not published:                       # NLTK goes on with the stems
        hypothesis, reference = left, left_there
    return sorted(exact + by_stem + match_synonyms(hypothesis, reference), key=lambda pair: pair[0])


def match(hypothesis: Numbered, reference: Numbered) -> tuple[Matches, Numbered, Numbered]:
    """Equal words, both from the end; and what is left of either."""
    places = places_of(reference)
    found = {i: places[word].pop() for i, word in reversed(hypothesis) if places.get(word)}
    taken = set(found.values())
    return (list(found.items()), [pair for pair in hypothesis if pair[0] not in found],
            [pair for pair in reference if pair[0] not in taken])


def match_synonyms(hypothesis: Numbered, reference: Numbered) -> Matches:
    """Each word, from the end, with the last word left of the reference that is one of its synonyms."""
    places, found = places_of(reference), []
    for i, word in reversed(hypothesis):
        fitting = [synonym for synonym in synonyms(word) if places.get(synonym)]
        if fitting:
            found.append((i, places[max(fitting, key=lambda synonym: places[synonym][-1])].pop()))
    return found


def places_of(words: Numbered) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, word in words:
        places.setdefault(word, []).append(place)
    return places


def chunks(matches: Matches) -> int:
    """Runs of matches that are neighbours in both texts."""
    return 1 + sum(other != (i + 1, j + 1) for (i, j), other in pairwise(matches))


# ---- all pairs at once ----------------------------------------------------------------------------------------------------

class Labels:
    """The words, or the stems, of all references as numbers, and where each occurs."""

    def __init__(self, references: list[list[str]]) -> None:
        self.numbers: dict[str, int] = {}
        self.table = np.full((len(references), max([1, *map(len, references)])), -1)
        for row, labels in zip(self.table, references, strict=True):
            row[:len(labels)] = [self.numbers.setdefault(label, len(self.numbers)) for label in labels]
        by_place = self.table.T.ravel()
        order = np.argsort(by_place, kind="stable")
        self._order = order[by_place[order] >= 0]           # by label, then by place
        self._starts = np.searchsorted(by_place[self._order], np.arange(len(self.numbers) + 1))
        self._related: dict[str, np.ndarray] = {}

    def related(self, label: str) -> tuple[np.ndarray, np.ndarray]:
        """Rows and places of a label's synonyms in the references, but for its own, the places rising."""
        if label not in self._related:
            here = [self.numbers[synonym] for synonym in synonyms(label) if synonym != label and synonym in self.numbers]
            parts = [self._order[self._starts[number]:self._starts[number + 1]] for number in here]
            self._related[label] = np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=int)
        places, rows = np.divmod(self._related[label], len(self.table))
        return rows, places

    def of(self, hypothesis: list[str]) -> np.ndarray:
        """A hypothesis' labels as numbers; those that no reference has are beyond."""
        unknown: dict[str, int] = {}
        return np.array([self.numbers.get(label, len(self.numbers) + unknown.setdefault(label, len(unknown)))
                         for label in hypothesis], dtype=int)


def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    """The same for all pairs: each hypothesis is aligned with all references at once."""
    references, hypotheses = ([text.lower().split() for text in side] for side in (a, b))
    words, stems = Labels(references), Labels([[stem(word) for word in one] for one in references])
    sizes = np.array([len(one) for one in references])
    return np.array([score(*align_all(one, words, stems, published), sizes, np.array(len(one))) for one in hypotheses]).T


def align_all(hypothesis: list[str], words: Labels, stems: Labels, published: bool) -> tuple[np.ndarray, np.ndarray]:
    """How many matches a hypothesis has with each reference, and how many chunks; as `align` does it."""
    roots = [stem(word) for word in hypothesis]
    free = np.ones((len(words.table), len(hypothesis)), dtype=bool), words.table >= 0
    exact = equal(words.of(hypothesis), words.table, *free)
    after_exact = left(exact, *free)
    by_stem = equal(stems.of(roots), stems.table, *after_exact)
    again = related(hypothesis, words, *after_exact) if published else related(roots, stems, *left(by_stem, *after_exact))
    found = np.maximum(exact, by_stem)
    first, last = np.where(found >= 0, found, again), np.where(again >= 0, again, found)
    neighbours = (last[:, :-1] >= 0) & (first[:, 1:] >= 0) & (first[:, 1:] == last[:, :-1] + 1)
    matches = (found >= 0).sum(axis=1) + (again >= 0).sum(axis=1)
    return matches, matches - neighbours.sum(axis=1)


def left(found: np.ndarray, free: np.ndarray, free_there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is free after these matches: of the hypothesis, beside each reference, and of the references."""
    rows, there = np.nonzero(found >= 0)[0], free_there.copy()
    there[rows, found[found >= 0]] = False
    return free & (found < 0), there


def equal(labels: np.ndarray, table: np.ndarray, free: np.ndarray, free_there: np.ndarray) -> np.ndarray:
    """`match` for all references: of equal labels the last free ones match, then those before them.  The place, or -1."""
    kinds, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    order = np.lexsort((-np.arange(len(labels)), group))                # group by group, from the end
    counted = np.cumsum(free[:, order], axis=1)
    before = (counted - free[:, order])[:, starts]          # all free ones of the groups before
    slot = np.empty(free.shape, dtype=int)                  # of a free label, after the start of its group: how many come later
    slot[:, order] = counted - free[:, order] - before[:, group[order]] + starts[group[order]]

    group_of = np.full(max(int(table.max()), int(labels.max(initial=0))) + 2, -1)       # the last for what is past a text's end
    group_of[kinds] = np.arange(len(kinds))
    rows, places = np.nonzero(free_there & (group_of[table] >= 0))
    groups = group_of[table[rows, places]]
    key = rows * len(kinds) + groups
    by_key = np.lexsort((-places, key))
    rows, places, groups, key = rows[by_key], places[by_key], groups[by_key], key[by_key]
    rank = np.arange(len(key)) - np.searchsorted(key, key)
    fits = rank < sizes[groups]
    taken = np.full(free.shape, -1)
    taken[rows[fits], starts[groups[fits]] + rank[fits]] = places[fits]
    return np.where(free, np.take_along_axis(taken, slot, axis=1), -1)


def related(labels: list[str], references: Labels, free: np.ndarray, free_there: np.ndarray) -> np.ndarray:
    """`match_synonyms` for all references: each label, from the end, takes the last free place of a synonym, or -1."""
    found, there = np.full(free.shape, -1), free_there.copy()
    for i in reversed(range(len(labels))):
        rows, places = references.related(labels[i])
        fits = there[rows, places] & free[rows, i]
        rows, places = rows[fits], places[fits]
        found[rows, i] = places             # of several the last stays, and places rise
        there[rows, found[rows, i]] = False
    return found


# ---- WordNet -------------------------------------------------------------------------------------------------------------

# By part of speech: endings that may be taken for others.
ENDINGS = {
    "noun": [("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")],
    "verb": [("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
    "adj": [("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
    "adv": [],
}


class WordNet:
    """The files of WordNet's database: an index line holds a lemma's offsets, at which the data file has a line a synset."""

    def __init__(self, folder: Path) -> None:
        self.index, self.data, self.exceptions = {}, {}, {}
        for part in ENDINGS:
            lines = (folder / f"index.{part}").read_text(encoding="utf-8").splitlines()
            self.index[part] = {line[:line.index(" ")]: line for line in lines if not line.startswith(" ")}
            self.data[part] = (folder / f"data.{part}").read_bytes()
            lines = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
            self.exceptions[part] = {line.split()[0]: line.split()[1:] for line in lines}

    def lemmas(self, word: str) -> set[str]:
        """Of all synsets of the word, in all its base forms."""
        return {lemma for part in ENDINGS for form in self.forms(word, part) for lemma in self.of_form(form, part)}

    def forms(self, word: str, part: str) -> list[str]:
        """The word and its base forms, as far as the index has them."""
        irregular = self.exceptions[part].get(word)
        regular = [word[:-len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        return [form for form in [word, *(regular if irregular is None else irregular)] if form in self.index[part]]

    def of_form(self, form: str, part: str) -> Iterable[str]:
        fields = self.index[part][form].split()
        for offset in fields[-int(fields[2]):]:
            data = self.data[part]
            synset = data[int(offset):data.index(b"\n", int(offset))].decode().split()
            yield from (lemma.partition("(")[0] for lemma in synset[4:4 + 2 * int(synset[3], 16):2])    # without "(a)", "(p)"


wordnet: WordNet


@lru_cache(maxsize=200_000)
def synonyms(word: str) -> frozenset[str]:
    """The word itself, and lemmas of one word that share a synset with it."""
    return frozenset({word, *(lemma for lemma in wordnet.lemmas(word) if "_" not in lemma)})


# ---- Porter's stemmer, as NLTK extends it ----------------------------------------------------------------------------------

IRREGULAR = {"skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
             "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
             "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed"}
# The first ending that a word has decides; it is replaced if enough is left of the word.
STEP2 = [("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
         ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"), ("ator", "ate"),
         ("alism", "al"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
         ("iveness", "ive"), ("fulli", "ful"), ("logi", "log")]
STEP3 = [("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", "")]
STEP4 = ["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous",
         "ive", "ize"]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    if word in IRREGULAR or len(word) <= 2:
        return IRREGULAR.get(word, word)
    word = without_y(without_ed_and_ing(without_plural(word)))
    word = replaced(replaced(without_alli(word), STEP2), STEP3)
    ending = next((ending for ending in STEP4 if word.endswith(ending)), "")
    left = word.removesuffix(ending)
    if ending and measure(left) > 1 and (ending != "ion" or left[-1] in "st"):
        word = left
    if word.endswith("e") and (measure(word[:-1]) > 1 or (measure(word[:-1]) == 1 and not ends_short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and measure(word[:-1]) > 1 else word


def without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-2] if word.endswith("sses") else word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def without_ed_and_ing(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if measure(word[:-3]) > 0 else word
    left = next((word.removesuffix(ending) for ending in ("ed", "ing")
                 if word.endswith(ending) and "v" in shape(word.removesuffix(ending))), None)
    if left is None:
        return word
    if left.endswith(("at", "bl", "iz")):
        return left + "e"
    if len(left) > 1 and left[-1] == left[-2] and shape(left)[-1] == "c":
        return left if left[-1] in "lsz" else left[:-1]
    return left + "e" if measure(left) == 1 and ends_short(left) else left


def without_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 and shape(word[:-1])[-1] == "c" else word


def without_alli(word: str) -> str:
    return without_alli(word[:-2]) if word.endswith("alli") and measure(word[:-4]) > 0 else word


def replaced(word: str, rules: list[tuple[str, str]]) -> str:
    for ending, other in rules:
        if word.endswith(ending):
            left = word[:-3] if ending == "logi" else word.removesuffix(ending)     # the l of -logi counts as left
            return word.removesuffix(ending) + other if measure(left) > 0 else word
    return word


def shape(word: str) -> str:
    """c for each consonant, v for each vowel; y is a vowel after a consonant."""
    shaped = ""
    for letter in word:
        shaped += "v" if letter in "aeiou" or (letter == "y" and shaped.endswith("c")) else "c"
    return shaped


def measure(word: str) -> int:
    return shape(word).count("vc")


def ends_short(word: str) -> bool:
    """Consonant, vowel, consonant but w, x and y; or nothing but vowel, consonant."""
    return (shape(word).endswith("cvc") and word[-1] not in "wxy") or shape(word) == "vc"
