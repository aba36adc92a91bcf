"""Faults of generated corpora, inserted into a copy of a corpus at a given strength.

The functions are pure: they depend on texts and a seed only. Strength 0 changes nothing. With the same seed, the changes at a
smaller strength are contained in those at a larger one. The balanced form of a fault keeps the length of every text.
"""

from __future__ import annotations

import enum
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.common.thesaurus import SYNONYMS

MODES = 20                                  # one in so many texts is a mode that others collapse to
FEWEST_WORDS = 10                           # size of the vocabulary at full strength


class CorpusFault(enum.StrEnum):
    """A fault of generated corpora."""

    MODE_COLLAPSE = "mode_collapse"
    PLAGIARISM = "plagiarism"
    EDA_NOISE = "eda_noise"
    CONTAMINATION = "contamination"
    WORD_SALAD = "word_salad"
    VOCABULARY_SHRINK = "vocabulary_shrink"


FAULT_DESCRIPTIONS: Mapping[CorpusFault, str] = {
    CorpusFault.MODE_COLLAPSE: "texts replaced by copies of a few",
    CorpusFault.PLAGIARISM: "texts replaced by copies of training texts",
    CorpusFault.EDA_NOISE: "words replaced by synonyms, inserted, swapped, deleted",
    CorpusFault.CONTAMINATION: "texts replaced by those of another domain",
    CorpusFault.WORD_SALAD: "texts replaced by equally many random words",
    CorpusFault.VOCABULARY_SHRINK: "the rarest words replaced by more frequent ones",
}


@dataclass(frozen=True)
class FaultMaterial:
    """Other texts that faults are made of: at least as many as there are texts."""

    train: Sequence[str]
    elsewhere: Sequence[str]                # of another domain


def insert_fault(fault: CorpusFault, texts: Sequence[str], strength: float, material: FaultMaterial, seed: int) -> list[str]:
    """Return a copy of the texts with the fault."""
    return FAULTS[fault](texts, strength, material, np.random.default_rng(seed))


def replace_share(texts: Sequence[str], by: Sequence[str], strength: float, rng: np.random.Generator) -> list[str]:
    """Return the texts with a share of them replaced by the texts at the same index in `by`."""
    rows = set(rng.permutation(len(texts))[:round(strength * len(texts))].tolist())
    return [by[row] if row in rows else text for row, text in enumerate(texts)]


def mode_collapse(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """Replace texts by copies of a few of them."""
    modes = rng.choice(len(texts), max(1, len(texts) // MODES), replace=False)
    copies = [texts[mode] for mode in rng.choice(modes, len(texts))]
    return replace_share(texts, copies, strength, rng)


def plagiarism(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """Replace texts by copies of training texts."""
    copies = [material.train[row] for row in rng.choice(len(material.train), len(texts), replace=False)]
    return replace_share(texts, copies, strength, rng)


def contamination(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """Replace texts by texts of another domain."""
    others = [material.elsewhere[row] for row in rng.choice(len(material.elsewhere), len(texts), replace=False)]
    return replace_share(texts, others, strength, rng)


def word_salad(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """Replace texts by equally long sequences of words drawn from all texts."""
    words = [word for text in texts for word in text.split()]
    salads = [" ".join(words[index] for index in rng.integers(len(words), size=len(text.split()))) for text in texts]
    return replace_share(texts, salads, strength, rng)


def vocabulary_shrink(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """Keep the most frequent words; replace every other word by one of them, drawn by frequency."""
    counts = Counter(word for text in texts for word in text.split())
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    kept_count = max(min(FEWEST_WORDS, len(ordered)), round((1 - strength) * len(ordered)))
    cumulative_counts = np.cumsum([counts[word] for word in ordered])
    draws = rng.random(len(ordered))        # one draw per word, independent of the strength
    indices = np.searchsorted(cumulative_counts, draws * cumulative_counts[kept_count - 1], side="right")
    replacement = {word: ordered[indices[row]] if row >= kept_count else word for row, word in enumerate(ordered)}
    return [" ".join(replacement[word] for word in text.split()) if changes_text(text, replacement) else text for text in texts]


def changes_text(text: str, replacement: Mapping[str, str]) -> bool:
    """Return whether the replacement changes a word of the text."""
    return any(replacement[word] != word for word in text.split())


def eda_noise(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """Apply the operations of easy data augmentation to every text."""
    seeds = rng.integers(1 << 62, size=len(texts))
    return [eda(text, strength, np.random.default_rng(int(seed))) for text, seed in zip(texts, seeds, strict=True)]


def eda(text: str, strength: float, rng: np.random.Generator) -> str:
    """Apply the operations of easy data augmentation to a text, each of them to each word with a quarter of the strength."""
    return edit_text(text, rng.random((4, len(text.split()))) < strength / 4, rng)


def edit_text(text: str, selected: np.ndarray, rng: np.random.Generator) -> str:
    """Return the text after the operations selected for its words.

    The rows of `selected` (4 x words) are: replace the word by a synonym, if the thesaurus has one; swap it with another word;
    delete it, unless it is the last one left; insert a synonym of it, or the word itself, at a random position.
    """
    words = text.split()
    count = len(words)
    choice, positions = rng.random(count), rng.random((2, count))
    if not selected.any():
        return text

    def synonym(word: str, draw: float) -> str:
        candidates = SYNONYMS.get(word.lower(), (word,))
        return candidates[int(draw * len(candidates))]

    replaced_words = [synonym(word, choice[i]) if selected[0, i] else word for i, word in enumerate(words)]
    for i in np.flatnonzero(selected[1]).tolist():
        j = int(positions[0, i] * count)
        replaced_words[i], replaced_words[j] = replaced_words[j], replaced_words[i]
    remaining = [word for i, word in enumerate(replaced_words) if not selected[2, i]] or replaced_words[:1]
    for i in np.flatnonzero(selected[3]).tolist():
        remaining.insert(int(positions[1, i] * (len(remaining) + 1)), synonym(words[i], choice[i]))
    return " ".join(remaining)


def insert_balanced_fault(fault: CorpusFault, texts: Sequence[str], strength: float, partners: Sequence[str],
                          seed: int) -> list[str]:
    """Return a copy of the texts with the fault, every text as long as before; a partner is a text of another domain."""
    rng = np.random.default_rng(seed)
    match fault:
        case CorpusFault.MODE_COLLAPSE:
            return replace_share(texts, modes_of_lengths(texts, rng), strength, rng)
        case CorpusFault.CONTAMINATION:
            return replace_share(texts, partners, strength, rng)
        case CorpusFault.WORD_SALAD:
            pool = words_by_length(texts)
            salads = [" ".join(draw_word(pool, word, rng.random()) for word in text.split(" ")) for text in texts]
            return replace_share(texts, salads, strength, rng)
        case CorpusFault.EDA_NOISE:
            pool = words_by_length(texts)
            return [balanced_eda(text, strength, pool, rng.spawn(1)[0]) for text in texts]
        case CorpusFault.VOCABULARY_SHRINK:
            return shrink_vocabulary_by_length(texts, strength, rng)
        case CorpusFault.PLAGIARISM:
            raise ValueError("plagiarism has no balanced form")


def words_by_length(texts: Sequence[str]) -> dict[int, list[str]]:
    """Return all words by their number of characters, a word as often as it occurs."""
    words = defaultdict(list)
    for text in texts:
        for word in text.split(" "):        # no other white space, so that joined words are as long as the text
            words[len(word)].append(word)
    return words


def draw_word(pool: Mapping[int, Sequence[str]], word: str, draw: float) -> str:
    """Return a word as long as the given one; `draw` is between 0 and 1."""
    candidates = pool[len(word)]
    return candidates[int(draw * len(candidates))]


def modes_of_lengths(texts: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Return for each text the mode of its length: a random text of that length."""
    mode = {len(texts[row]): texts[row] for row in rng.permutation(len(texts))}
    return [mode[len(text)] for text in texts]


def shrink_vocabulary_by_length(texts: Sequence[str], strength: float, rng: np.random.Generator) -> list[str]:
    """Keep the most frequent words; replace every other word by one of them of the same length, drawn by frequency."""
    replacement: dict[str, str] = {}
    for _, words in sorted(words_by_length(texts).items()):
        ordered = sorted(counts := Counter(words), key=lambda word: (-counts[word], word))
        cumulative_counts = np.cumsum([counts[word] for word in ordered])
        kept_count = max(1, round((1 - strength) * len(ordered)))
        draws = rng.random(len(ordered)) * cumulative_counts[kept_count - 1]
        indices = np.searchsorted(cumulative_counts, draws, side="right").tolist()
        replacement |= {word: ordered[indices[row]] if row >= kept_count else word for row, word in enumerate(ordered)}
    return [" ".join(replacement[word] for word in text.split(" ")) for text in texts]


def balanced_eda(text: str, strength: float, pool: Mapping[int, Sequence[str]], rng: np.random.Generator) -> str:
    """Apply two operations to words of a text, each of them to each word with half of the strength.

    A word is replaced by a synonym of the same length, or if the thesaurus has none by a word of the corpus, or it changes places
    with another word.
    """
    words = text.split(" ")
    selected, choice, positions = rng.random((2, len(words))) < strength / 2, rng.random(len(words)), rng.random(len(words))
    for i in np.flatnonzero(selected[0]).tolist():
        synonyms = [word for word in SYNONYMS.get(words[i].lower(), ()) if len(word) == len(words[i])]
        words[i] = draw_word({len(words[i]): synonyms} if synonyms else pool, words[i], choice[i])
    for i in np.flatnonzero(selected[1]).tolist():
        j = int(positions[i] * len(words))
        words[i], words[j] = words[j], words[i]
    return " ".join(words)


FAULTS: Mapping[CorpusFault, Callable[[Sequence[str], float, FaultMaterial, np.random.Generator], list[str]]] = {
    CorpusFault.MODE_COLLAPSE: mode_collapse, CorpusFault.PLAGIARISM: plagiarism, CorpusFault.EDA_NOISE: eda_noise,
    CorpusFault.CONTAMINATION: contamination, CorpusFault.WORD_SALAD: word_salad,
    CorpusFault.VOCABULARY_SHRINK: vocabulary_shrink}
