"""What goes wrong, said so that a person can mend it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TouchstoneError(Exception):
    """One sentence: what is wrong, where, what to do.  The command line prints it and leaves with exit code 2."""


class ModelNotFetched(TouchstoneError):
    """A model that is known, but not here; the sentence says how it comes here."""

    def __init__(self, model: str, sentence: str) -> None:
        super().__init__(sentence)
        self.model = model


class NotApplicable(Exception):
    """This metric cannot be asked this question (its kind, its cost); that is no failure and no score."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean "energy"?` when one of the known words is close, else an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f' Did you mean "{close[0]}"?' if close else ""


def printable(text: str, limit: int = 500) -> str:
    """The text on one line, without control or invisible characters, at most `limit` of them: safe in a terminal."""
    head = text[: limit + 1]
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(head.split()))
    return shown if len(text) <= limit else shown[: limit - 1] + "…"


def format_bytes(bytes_: float) -> str:
    """A size as people say it: 412 kB, 32 MB."""
    for unit in ("bytes", "kB", "MB"):
        if bytes_ < 1000:
            return f"{bytes_:.0f} {unit}"
        bytes_ /= 1000
    return f"{bytes_:.1f} GB"
