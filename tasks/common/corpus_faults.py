"""Faults of generated corpora, put into a copy of a corpus at a known strength: pure functions of texts and a seed.

Strength 0 changes nothing.  Of one seed, what is wrong at some strength is wrong at every larger one too.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.common.thesaurus import SYNONYMS

MODES = 20                                  # of so many texts one is a mode that others collapse to
FEWEST_WORDS = 10                           # what is left of a vocabulary that is shrunk to nothing


class CorpusFault(enum.StrEnum):
    MODE_COLLAPSE = "mode_collapse"
    PLAGIARISM = "plagiarism"
    EDA_NOISE = "eda_noise"
    CONTAMINATION = "contamination"
    WORD_SALAD = "word_salad"
    VOCABULARY_SHRINK = "vocabulary_shrink"


MEANING: Mapping[CorpusFault, str] = {
    CorpusFault.MODE_COLLAPSE: "texts replaced by copies of few",
    CorpusFault.PLAGIARISM: "texts replaced by copies of training texts",
    CorpusFault.EDA_NOISE: "words replaced by synonyms, inserted, swapped, deleted",
    CorpusFault.CONTAMINATION: "texts replaced by those of another domain",
    CorpusFault.WORD_SALAD: "texts replaced by as many words drawn from all",
    CorpusFault.VOCABULARY_SHRINK: "the rarest words replaced by commoner ones",
}


@dataclass(frozen=True)
class FaultMaterial:
    """What faults are made of, beside the texts themselves: at least as many as there are texts."""

    train: Sequence[str]
    elsewhere: Sequence[str]                # of another domain


def insert_fault(fault: CorpusFault, texts: Sequence[str], strength: float, material: FaultMaterial, seed: int) -> list[str]:
    """A copy of the texts with the fault in it."""
    return FAULTS[fault](texts, strength, material, np.random.default_rng(seed))


def replace_share(texts: Sequence[str], by: Sequence[str], strength: float, rng: np.random.Generator) -> list[str]:
    """A share of the texts, each replaced by what stands at its place."""
    rows = set(rng.permutation(len(texts))[:round(strength * len(texts))].tolist())
    return [by[row] if row in rows else text for row, text in enumerate(texts)]


def mode_collapse(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    modes = rng.choice(len(texts), max(1, len(texts) // MODES), replace=False)
    copies = [texts[mode] for mode in rng.choice(modes, len(texts))]
    return replace_share(texts, copies, strength, rng)


def plagiarism(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    copies = [material.train[row] for row in rng.choice(len(material.train), len(texts), replace=False)]
    return replace_share(texts, copies, strength, rng)


def contamination(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    others = [material.elsewhere[row] for row in rng.choice(len(material.elsewhere), len(texts), replace=False)]
    return replace_share(texts, others, strength, rng)


def word_salad(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    words = [word for text in texts for word in text.split()]
    salads = [" ".join(words[index] for index in rng.integers(len(words), size=len(text.split()))) for text in texts]
    return replace_share(texts, salads, strength, rng)


def vocabulary_shrink(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    """The commonest words stay; each other is one of these from here on, drawn as often as they occur."""
    counts = Counter(word for text in texts for word in text.split())
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    kept_count = max(min(FEWEST_WORDS, len(ordered)), round((1 - strength) * len(ordered)))
    cumulative_counts = np.cumsum([counts[word] for word in ordered])
    draws = rng.random(len(ordered))        # one draw a word, so that it does not depend on the strength
    replacement = {word: ordered[int(np.searchsorted(cumulative_counts, draws[row] * cumulative_counts[kept_count - 1], side="right"))] if row >= kept_count else word
                   for row, word in enumerate(ordered)}
    return [" ".join(replacement[word] for word in text.split()) if changes_text(text, replacement) else text for text in texts]


def changes_text(text: str, replacement: Mapping[str, str]) -> bool:
    return any(replacement[word] != word for word in text.split())


def eda_noise(texts: Sequence[str], strength: float, material: FaultMaterial, rng: np.random.Generator) -> list[str]:
    seeds = rng.integers(1 << 62, size=len(texts))
    return [eda(text, strength, np.random.default_rng(int(seed))) for text, seed in zip(texts, seeds, strict=True)]


def eda(text: str, strength: float, rng: np.random.Generator) -> str:
    """Noise by the operations of easy data augmentation: each word meets each of the four with a quarter of the strength."""
    return edit_text(text, rng.random((4, len(text.split()))) < strength / 4, rng)


def augment_text(text: str, rng: np.random.Generator, share: float = 0.1) -> str:
    """Easy data augmentation as its authors do it (Wei and Zou 2019): one operation, to a tenth of the words, to one at least."""
    count = len(text.split())
    selected = np.zeros((4, count), dtype=bool)
    selected[rng.integers(4), rng.choice(count, max(1, int(share * count)), replace=False)] = True
    return edit_text(text, selected, rng)


def edit_text(text: str, selected: np.ndarray, rng: np.random.Generator) -> str:
    """The text after the operations that its words meet, 4 x words.

    A synonym replaces it, where our small thesaurus knows one; it changes places with another; it is deleted, unless it is the
    last that is left; a synonym of it, or else itself, is inserted somewhere.
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
    CorpusFault.CONTAMINATION: contamination, CorpusFault.WORD_SALAD: word_salad, CorpusFault.VOCABULARY_SHRINK: vocabulary_shrink}
