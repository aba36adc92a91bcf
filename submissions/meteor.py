# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2"]
# [tool.touchstone]
# name = "meteor"
# title = "METEOR"
# summary = "Weighted F-measure of words that match exactly, by stem or by synonym, reduced by a fragmentation penalty."
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
# summary = "As in Yamshchikov et al. 2020, with NLTK up to 3.6.2: words that match by stem can match again by WordNet."
# ///
"""NLTK's `single_meteor_score` with default settings, on lower-cased words split at white space (second text: hypothesis).

Alpha 0.9, beta 3, gamma 0.5; stems of NLTK's Porter stemmer, synonyms of WordNet 3.0. Both are implemented here, as in NLTK 3.10,
because importing NLTK takes a worker longer than a thousand scores. NLTK up to 3.6.2 does not remove words that match by stem
before it matches synonyms; a few scores then exceed 1 and become 1 here.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

ALPHA, BETA, GAMMA = 0.9, 3, 0.5
NumberedWords = list[tuple[int, str]]       # positions and words
Matches = list[tuple[int, int]]             # positions in the hypothesis and in the reference


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
    """Return pr/(alpha p + (1 - alpha) r) times 1 - penalty, for precision m/h and recall m/r; 0 without a match."""
    mean = matches / np.maximum(ALPHA * reference + (1 - ALPHA) * hypothesis, ALPHA / 2)
    return np.minimum(1, mean * (1 - GAMMA * (chunks / np.maximum(1, matches)) ** BETA))


def align(hypothesis: NumberedWords, reference: NumberedWords, published: bool) -> Matches:
    """Match equal words, then equal stems, then synonyms; return the matches in order of the hypothesis."""
    exact, hypothesis, reference = match(hypothesis, reference)
    by_stem, unmatched, unmatched_reference = match([(i, stem(word)) for i, word in hypothesis],
                                                    [(j, stem(word)) for j, word in reference])
    if not published:                       # NLTK matches the stems, not the words, with synonyms
        hypothesis, reference = unmatched, unmatched_reference
    return sorted(exact + by_stem + match_synonyms(hypothesis, reference), key=lambda pair: pair[0])


def match(hypothesis: NumberedWords, reference: NumberedWords) -> tuple[Matches, NumberedWords, NumberedWords]:
    """Return matches of equal words, both texts from the end, and the unmatched words of each text."""
    positions = positions_of(reference)
    matches = {i: positions[word].pop() for i, word in reversed(hypothesis) if positions.get(word)}
    matched = set(matches.values())
    return (list(matches.items()), [pair for pair in hypothesis if pair[0] not in matches],
            [pair for pair in reference if pair[0] not in matched])


def match_synonyms(hypothesis: NumberedWords, reference: NumberedWords) -> Matches:
    """Match each word, from the end, with the last unmatched word of the reference that is a synonym."""
    positions, matches = positions_of(reference), []
    for i, word in reversed(hypothesis):
        candidates = [synonym for synonym in synonyms(word) if positions.get(synonym)]
        if candidates:
            matches.append((i, positions[max(candidates, key=lambda synonym: positions[synonym][-1])].pop()))
    return matches


def positions_of(words: NumberedWords) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for position, word in words:
        positions.setdefault(word, []).append(position)
    return positions


def chunks(matches: Matches) -> int:
    """Return the number of runs of matches that are adjacent in both texts."""
    return 1 + sum(following != (i + 1, j + 1) for (i, j), following in pairwise(matches))


# ---- all pairs at once ----------------------------------------------------------------------------------------------------

class Labels:
    """The words, or the stems, of all references as numbers, with the positions of each."""

    def __init__(self, references: list[list[str]]) -> None:
        self.numbers: dict[str, int] = {}
        self.table = np.full((len(references), max([1, *map(len, references)])), -1)
        for row, labels in zip(self.table, references, strict=True):
            row[:len(labels)] = [self.numbers.setdefault(label, len(self.numbers)) for label in labels]
        by_position = self.table.T.ravel()
        order = np.argsort(by_position, kind="stable")
        self._order = order[by_position[order] >= 0]           # by label, then by position
        self._starts = np.searchsorted(by_position[self._order], np.arange(len(self.numbers) + 1))
        self._synonyms: dict[str, np.ndarray] = {}

    def synonym_positions(self, label: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and positions, in ascending order, of a label's synonyms other than itself in the references."""
        if label not in self._synonyms:
            numbers = [self.numbers[synonym] for synonym in synonyms(label) if synonym != label and synonym in self.numbers]
            parts = [self._order[self._starts[number]:self._starts[number + 1]] for number in numbers]
            self._synonyms[label] = np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=int)
        positions, rows = np.divmod(self._synonyms[label], len(self.table))
        return rows, positions

    def encode(self, hypothesis: list[str]) -> np.ndarray:
        """Return a hypothesis' labels as numbers; labels that occur in no reference get further numbers."""
        unknown: dict[str, int] = {}
        return np.array([self.numbers.get(label, len(self.numbers) + unknown.setdefault(label, len(unknown)))
                         for label in hypothesis], dtype=int)


def matrix(a: list[str], b: list[str], published: bool = False) -> np.ndarray:
    """Return the scores of all pairs; each hypothesis is aligned with all references at once."""
    references, hypotheses = ([text.lower().split() for text in side] for side in (a, b))
    words, stems = Labels(references), Labels([[stem(word) for word in reference] for reference in references])
    sizes = np.array([len(reference) for reference in references])
    return np.array([score(*align_all(hypothesis, words, stems, published), sizes, np.array(len(hypothesis)))
                     for hypothesis in hypotheses]).T


def align_all(hypothesis: list[str], words: Labels, stems: Labels, published: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of matches and of chunks of a hypothesis with each reference, as from `align`."""
    roots = [stem(word) for word in hypothesis]
    unmatched = np.ones((len(words.table), len(hypothesis)), dtype=bool), words.table >= 0
    exact = match_all(words.encode(hypothesis), words.table, *unmatched)
    after_exact = remaining(exact, *unmatched)
    by_stem = match_all(stems.encode(roots), stems.table, *after_exact)
    by_synonym = (match_all_synonyms(hypothesis, words, *after_exact) if published
                  else match_all_synonyms(roots, stems, *remaining(by_stem, *after_exact)))
    direct = np.maximum(exact, by_stem)
    first, last = np.where(direct >= 0, direct, by_synonym), np.where(by_synonym >= 0, by_synonym, direct)
    adjacent = (last[:, :-1] >= 0) & (first[:, 1:] >= 0) & (first[:, 1:] == last[:, :-1] + 1)
    matches = (direct >= 0).sum(axis=1) + (by_synonym >= 0).sum(axis=1)
    return matches, matches - adjacent.sum(axis=1)


def remaining(matches: np.ndarray, unmatched: np.ndarray, unmatched_references: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the masks of unmatched words after these matches: of the hypothesis for each reference, and of the references."""
    rows, references = np.nonzero(matches >= 0)[0], unmatched_references.copy()
    references[rows, matches[matches >= 0]] = False
    return unmatched & (matches < 0), references


def match_all(labels: np.ndarray, table: np.ndarray, unmatched: np.ndarray, unmatched_references: np.ndarray) -> np.ndarray:
    """Return the positions from `match` in all references, or -1: equal unmatched labels match in order from the end."""
    kinds, group, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    starts = np.cumsum(sizes) - sizes
    order = np.lexsort((-np.arange(len(labels)), group))                # by group, from the end
    counts = np.cumsum(unmatched[:, order], axis=1)
    previous = (counts - unmatched[:, order])[:, starts]    # number of unmatched labels in previous groups
    slot = np.empty(unmatched.shape, dtype=int)             # start of the group plus number of later unmatched labels
    slot[:, order] = counts - unmatched[:, order] - previous[:, group[order]] + starts[group[order]]

    group_of = np.full(max(int(table.max()), int(labels.max(initial=0))) + 2, -1)       # the last: padding, -1
    group_of[kinds] = np.arange(len(kinds))
    rows, positions = np.nonzero(unmatched_references & (group_of[table] >= 0))
    groups = group_of[table[rows, positions]]
    key = rows * len(kinds) + groups
    by_key = np.lexsort((-positions, key))
    rows, positions, groups, key = rows[by_key], positions[by_key], groups[by_key], key[by_key]
    rank = np.arange(len(key)) - np.searchsorted(key, key)
    valid = rank < sizes[groups]
    matches = np.full(unmatched.shape, -1)
    matches[rows[valid], starts[groups[valid]] + rank[valid]] = positions[valid]
    return np.where(unmatched, np.take_along_axis(matches, slot, axis=1), -1)


def match_all_synonyms(
    labels: list[str], references: Labels, unmatched: np.ndarray, unmatched_references: np.ndarray
) -> np.ndarray:
    """Return the positions from `match_synonyms` in all references, or -1."""
    matches, available = np.full(unmatched.shape, -1), unmatched_references.copy()
    for i in reversed(range(len(labels))):
        rows, positions = references.synonym_positions(labels[i])
        valid = available[rows, positions] & unmatched[rows, i]
        rows, positions = rows[valid], positions[valid]
        matches[rows, i] = positions        # for repeated rows the last assignment, the largest position, remains
        available[rows, matches[rows, i]] = False
    return matches


# ---- WordNet -------------------------------------------------------------------------------------------------------------

# Ending replacements that may give a base form, by part of speech.
ENDINGS = {
    "noun": [("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")],
    "verb": [("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")],
    "adj": [("er", ""), ("est", ""), ("er", "e"), ("est", "e")],
    "adv": [],
}


class WordNet:
    """The files of the WordNet database: an index line lists the offsets of a lemma's synsets in the data file."""

    def __init__(self, folder: Path) -> None:
        self.index, self.data, self.exceptions = {}, {}, {}
        for part in ENDINGS:
            lines = (folder / f"index.{part}").read_text(encoding="utf-8").splitlines()
            self.index[part] = {line[:line.index(" ")]: line for line in lines if not line.startswith(" ")}
            self.data[part] = (folder / f"data.{part}").read_bytes()
            lines = (folder / f"{part}.exc").read_text(encoding="utf-8").splitlines()
            self.exceptions[part] = {line.split()[0]: line.split()[1:] for line in lines}

    def lemmas(self, word: str) -> set[str]:
        """Return the lemmas of all synsets of the word's base forms."""
        return {lemma for part in ENDINGS for form in self.forms(word, part) for lemma in self.lemmas_of_form(form, part)}

    def forms(self, word: str, part: str) -> list[str]:
        """Return those of the word and its base forms that are in the index."""
        irregular = self.exceptions[part].get(word)
        regular = [word[:-len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        return [form for form in [word, *(regular if irregular is None else irregular)] if form in self.index[part]]

    def lemmas_of_form(self, form: str, part: str) -> Iterable[str]:
        fields = self.index[part][form].split()
        for offset in fields[-int(fields[2]):]:
            data = self.data[part]
            synset = data[int(offset):data.index(b"\n", int(offset))].decode().split()
            yield from (lemma.partition("(")[0] for lemma in synset[4:4 + 2 * int(synset[3], 16):2])    # without "(a)", "(p)"


wordnet: WordNet


@lru_cache(maxsize=200_000)
def synonyms(word: str) -> frozenset[str]:
    """Return the word and all single-word lemmas that share a synset with it."""
    return frozenset({word, *(lemma for lemma in wordnet.lemmas(word) if "_" not in lemma)})


# ---- the Porter stemmer with NLTK's extensions -------------------------------------------------------------------------------

IRREGULAR = {"skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news", "innings": "inning",
             "inning": "inning", "outings": "outing", "outing": "outing", "cannings": "canning", "canning": "canning",
             "howe": "howe", "proceed": "proceed", "exceed": "exceed", "succeed": "succeed"}
# Only the first matching ending is considered; it is replaced if the rest of the word is long enough.
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
    word = replace_ending(replace_ending(without_alli(word), STEP2), STEP3)
    ending = next((ending for ending in STEP4 if word.endswith(ending)), "")
    rest = word.removesuffix(ending)
    if ending and measure(rest) > 1 and (ending != "ion" or rest[-1] in "st"):
        word = rest
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
    rest = next((word.removesuffix(ending) for ending in ("ed", "ing")
                 if word.endswith(ending) and "v" in shape(word.removesuffix(ending))), None)
    if rest is None:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and shape(rest)[-1] == "c":
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if measure(rest) == 1 and ends_short(rest) else rest


def without_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 and shape(word[:-1])[-1] == "c" else word


def without_alli(word: str) -> str:
    return without_alli(word[:-2]) if word.endswith("alli") and measure(word[:-4]) > 0 else word


def replace_ending(word: str, rules: list[tuple[str, str]]) -> str:
    for ending, replacement in rules:
        if word.endswith(ending):
            rest = word[:-3] if ending == "logi" else word.removesuffix(ending)     # the l of -logi belongs to the rest
            return word.removesuffix(ending) + replacement if measure(rest) > 0 else word
    return word


def shape(word: str) -> str:
    """Return "c" for each consonant and "v" for each vowel; y is a vowel after a consonant."""
    pattern = ""
    for letter in word:
        pattern += "v" if letter in "aeiou" or (letter == "y" and pattern.endswith("c")) else "c"
    return pattern


def measure(word: str) -> int:
    return shape(word).count("vc")


def ends_short(word: str) -> bool:
    """Return whether a word ends with consonant, vowel and consonant other than w, x, y, or is a vowel and a consonant."""
    return (shape(word).endswith("cvc") and word[-1] not in "wxy") or shape(word) == "vc"
