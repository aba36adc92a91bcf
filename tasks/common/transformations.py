"""Transformations of texts: superficial changes, changes of meaning, and insertion, removal and replacement of tokens.

The functions are pure; randomness comes from the generator passed by the caller. They return None for texts that they cannot
change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from tasks.common.negation import negate

CAPITALS = 0.25                             # of the letters
EVERY = 10                                  # one in so many characters is deleted, not counting spaces
DIGITS = str.maketrans("oieOIE", "013013")              # the paper names only o -> 0
HARD_DIGITS = str.maketrans("oleastOLEAST", "013457013457")

Transformation = Callable[[str, np.random.Generator], str | None]


# ---- superficial changes -------------------------------------------------------------------------------------------------

def capitalize_letters(text: str, rng: np.random.Generator) -> str | None:
    """Turn a random quarter of the letters into capitals."""
    letters = [index for index, character in enumerate(text) if character.isalpha()]
    if not letters:
        return None
    raised = set(rng.choice(letters, max(1, round(CAPITALS * len(letters))), replace=False).tolist())
    return unless_equal(text, "".join(letter.upper() if index in raised else letter for index, letter in enumerate(text)))


def delete_letters(text: str, _: np.random.Generator) -> str | None:
    """Delete every tenth character that is not white space."""
    kept, counted = [], 0
    for character in text:
        counted += not character.isspace()
        if character.isspace() or counted % EVERY:
            kept.append(character)
    return unless_equal(text, "".join(kept))


def replace_digits(text: str, _: np.random.Generator) -> str | None:
    """Replace o, i, e by 0, 1, 3."""
    return unless_equal(text, text.translate(DIGITS))


def replace_more_digits(text: str, _: np.random.Generator) -> str | None:
    """Replace o, l, e, a, s, t by 0, 1, 3, 4, 5, 7."""
    return unless_equal(text, text.translate(HARD_DIGITS))


# ---- changes of meaning --------------------------------------------------------------------------------------------------

def negate_verbs(text: str, _: np.random.Generator) -> str | None:
    """Negate every verb group with an auxiliary verb; a text without one to negate is prefixed by "It is not true that"."""
    changed = negate(text)
    if changed != text:
        return changed
    return f"It is not true that {text[:1].lower()}{text[1:]}" if text.strip() else None


def shuffle_sentences(text: str, rng: np.random.Generator) -> str | None:
    """Shuffle the sentences."""
    return shuffle_parts(re.split(r"(?<=[.!?])\s+", text.strip()), rng)


def shuffle_words(text: str, rng: np.random.Generator) -> str | None:
    """Shuffle the words."""
    return shuffle_parts(text.split(), rng)


def shuffle_parts(parts: Sequence[str], rng: np.random.Generator) -> str | None:
    """Return the parts in another order, or None if there is none."""
    if len(set(parts)) < 2:
        return None
    while True:
        order = [parts[index] for index in rng.permutation(len(parts))]
        if order != list(parts):
            return " ".join(order)


def unless_equal(text: str, changed: str) -> str | None:
    """Return the changed text, or None if it equals the text."""
    return None if changed == text else changed


SUPERFICIAL: dict[str, Transformation] = {"capitals": capitalize_letters, "deleted_letters": delete_letters,
                                          "digits": replace_digits}
SEMANTIC: dict[str, Transformation] = {
    "negation": negate_verbs, "shuffled_sentences": shuffle_sentences, "shuffled_words": shuffle_words}
HARD_SUPERFICIAL: dict[str, Transformation] = {"hard_digits": replace_more_digits}


# ---- changes of length ---------------------------------------------------------------------------------------------------

POSITIONS = ("begin", "middle", "end")


def count_tokens(share: float, tokens: Sequence[str]) -> int:
    """Return k = max(1, round(x n))."""
    return max(1, round(share * len(tokens)))


def insert_tokens(tokens: Sequence[str], share: float, position: str, needle: Sequence[str]) -> str:
    """Insert k tokens of the needle before, in the middle of (n//2), or after the tokens."""
    start = {"begin": 0, "middle": len(tokens) // 2, "end": len(tokens)}[position]
    return " ".join([*tokens[:start], *needle[:count_tokens(share, tokens)], *tokens[start:]])


def remove_tokens(tokens: Sequence[str], share: float, position: str) -> str:
    """Remove k tokens at the beginning, in the middle ((n - k)//2), or at the end."""
    k = count_tokens(share, tokens)
    start = start_index(len(tokens), k, position)
    return " ".join([*tokens[:start], *tokens[start + k:]])


def replace_tokens(tokens: Sequence[str], share: float, position: str, needle: Sequence[str]) -> str:
    """Replace k tokens by as many of the needle; the length is unchanged."""
    k = count_tokens(share, tokens)
    start = start_index(len(tokens), k, position)
    return " ".join([*tokens[:start], *needle[:k], *tokens[start + k:]])


def start_index(count: int, k: int, position: str) -> int:
    """Return the index of the first of k tokens to change."""
    return {"begin": 0, "middle": (count - k) // 2, "end": count - k}[position]
