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

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

ALPHA, BETA, GAMMA = 0.9, 3, 0.5
Numbered = list[tuple[int, str]]            # words with their places
Matches = list[tuple[int, int]]             # places in the hypothesis and in the reference
CELLS = 1_000_000                           # of an array at a time: hypotheses x references x words
VOCABULARY = 8_000                          # beyond, all pairs are done one by one


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

def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    """The same for all pairs: each word of many hypotheses finds its place in all references."""
    texts = [[text.lower().split() for text in side] for side in (a, b)]
    stems = [[[stem(word) for word in words] for words in side] for side in texts]
    words, roots = numbered(*texts), numbered(*stems)
    vocabulary = words[2] if published else roots[2]
    if len(vocabulary) > VOCABULARY:
        return np.array([[meteor(x, y, published) for y in texts[1]] for x in texts[0]])
    related = relations(vocabulary)
    step = max(1, CELLS // words[0].size)
    parts = [place((words[0], words[1][part]), (roots[0], roots[1][part]), related, published)
             for part in (slice(start, start + step) for start in range(0, len(b), step))]
    matches, chunks = (np.concatenate(side) for side in zip(*parts, strict=True))
    sizes = [np.array([len(one) for one in side]) for side in texts]
    return score(matches, chunks, sizes[0][None, :], sizes[1][:, None]).T


def place(words: tuple[np.ndarray, np.ndarray], roots: tuple[np.ndarray, np.ndarray], related: np.ndarray,
          published: bool) -> tuple[np.ndarray, np.ndarray]:
    """How many matches each hypothesis has with each reference, and how many chunks; as `align` does it."""
    shape = len(words[1]), len(words[0])
    found, free = np.full((*shape, words[1].shape[1]), -1), np.ones((*shape, words[0].shape[1]), dtype=bool)
    again = np.full_like(found, -1)
    take(lambda i: words[0][None] == words[1][:, i, None, None], free, found, found)
    exact, left = found.copy(), free.copy()
    take(lambda i: roots[0][None] == roots[1][:, i, None, None], free, found, found)
    if published:
        take(lambda i: related[words[1][:, i, None, None], words[0][None]], left, exact, again)
    else:
        take(lambda i: related[roots[1][:, i, None, None], roots[0][None]], free, found, found)
    first, last = np.where(found >= 0, found, again), np.where(again >= 0, again, found)
    neighbours = (last[:, :, :-1] >= 0) & (first[:, :, 1:] >= 0) & (first[:, :, 1:] == last[:, :, :-1] - 1)     # from the end
    matches = (found >= 0).sum(axis=2) + (again >= 0).sum(axis=2)
    return matches, matches - neighbours.sum(axis=2)


def take(fitting: Callable[[int], np.ndarray], free: np.ndarray, taken: np.ndarray, found: np.ndarray) -> None:
    """Each word of the hypotheses that has no place yet, from the last one, takes the last free one that fits."""
    for i in reversed(range(found.shape[2])):
        fits = fitting(i) & free & (taken[:, :, i] < 0)[:, :, None]
        at = fits.argmax(axis=2)
        row, column = np.nonzero(np.take_along_axis(fits, at[:, :, None], axis=2)[:, :, 0])
        found[row, column, i] = at[row, column]
        free[row, column, at[row, column]] = False


def numbered(references: list[list[str]], hypotheses: list[list[str]]) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """The words as numbers, a row a text, the references' from the end; past a text's words -1 or -2, which are no word's."""
    numbers: dict[str, int] = {}
    tables = []
    for texts, past in ((references, -1), (hypotheses, -2)):
        table = np.full((len(texts), max([1, *map(len, texts)])), past)
        for row, words in zip(table, texts, strict=True):
            row[:len(words)] = [numbers.setdefault(word, len(numbers)) for word in words][::-1 if texts is references else 1]
        tables.append(table)
    return tables[0], tables[1], numbers


def relations(numbers: dict[str, int]) -> np.ndarray:
    """Whether the word of the column is among the synonyms of the row's; the last two are no words'."""
    related = np.zeros((len(numbers) + 2, len(numbers) + 2), dtype=bool)
    for word, row in numbers.items():
        related[row, [numbers[synonym] for synonym in synonyms(word) if synonym in numbers]] = True
    return related


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
