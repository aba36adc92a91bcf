"""Exceptions that the command line reports as one sentence, and helpers for their messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TouchstoneError(Exception):
    """An error of the user or the machine; the message says what is wrong, where, and how to fix it (exit code 2)."""


class ModelNotFetched(TouchstoneError):
    """A known model is not available locally; the message says how to get it."""

    def __init__(self, model: str, sentence: str) -> None:
        super().__init__(sentence)
        self.model = model


class NotApplicable(Exception):
    """A metric cannot be run on a test unit because of its kind or its cost; this is neither a failure nor a score."""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return ` Did you mean "energy"?` if a candidate is similar to the word, else an empty string."""
    close = difflib.get_close_matches(word, list(candidates), n=1)
    return f' Did you mean "{close[0]}"?' if close else ""


def printable(text: str, limit: int = 500) -> str:
    """Return the text on one line without control characters, at most `limit` characters long: safe for terminals."""
    head = text[: limit + 1]
    cleaned = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(head.split()))
    return cleaned if len(text) <= limit else cleaned[: limit - 1] + "…"


def format_bytes(bytes_: float) -> str:
    """Return a size in readable form, such as `412 kB` or `32 MB`."""
    for unit in ("bytes", "kB", "MB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:.1f} GB"
