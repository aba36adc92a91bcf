"""Families: submissions of one owner that are near variants of each other."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Iterable

LENGTH = 4                                  # tokens of a shingle
SIMILAR = 0.7                               # Jaccard similarity from which two files are variants
LAYOUT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


def shingles(source: bytes) -> frozenset[tuple[str, ...]]:
    """Return the sequences of tokens of a Python file, without comments and layout; numbers and strings count as equal.

    Names count as equal too unless they follow a dot, so that a file with renamed variables is still a variant.
    """
    tokens: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source.decode(errors="replace")).readline):
            if token.type in LAYOUT:
                continue
            plain = token.type == tokenize.NAME and not keyword.iskeyword(token.string) and tokens[-1:] != ["."]
            tokens.append("name" if plain else "value" if token.type in (tokenize.NUMBER, tokenize.STRING) else token.string)
    except (tokenize.TokenError, SyntaxError):
        return frozenset()
    return frozenset(zip(*(tokens[start:] for start in range(LENGTH)), strict=False))


def similarity(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> float:
    """Return the Jaccard similarity of two files; 0 if one of them has no tokens."""
    return len(a & b) / len(a | b) if a and b else 0.0


def find_family(name: str, source: bytes, others: Iterable[tuple[str, str, bytes]]) -> str | None:
    """Return the family of a submission among the (family, name, source) of others of its owner, or None.

    A version under the same name belongs to its family; otherwise the most similar file counts.
    """
    own, best = shingles(source), (SIMILAR, "")
    for family, other_name, other in others:
        if other_name == name:
            return family
        best = max(best, (similarity(own, shingles(other)), family), key=lambda pair: pair[0])
    return best[1] or None
