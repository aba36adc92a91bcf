"""Faults of generated corpora, inserted into a copy of a corpus at a given strength.

The functions are pure: they depend on texts and a seed only. Strength 0 changes nothing. With the same seed, the changes at a
smaller strength are contained in those at a larger one.
"""

from __future__ import annotations

import enum
from collections import Counter
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


FAULTS: Mapping[CorpusFault, Callable[[Sequence[str], float, FaultMaterial, np.random.Generator], list[str]]] = {
    CorpusFault.MODE_COLLAPSE: mode_collapse, CorpusFault.PLAGIARISM: plagiarism, CorpusFault.EDA_NOISE: eda_noise,
    CorpusFault.CONTAMINATION: contamination, CorpusFault.WORD_SALAD: word_salad,
    CorpusFault.VOCABULARY_SHRINK: vocabulary_shrink}
