"""The progress interface of long operations; the command line implements it."""

from __future__ import annotations

from typing import Protocol


class Stage(Protocol):
    """One operation of known size."""

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        """Report completed work; `left` is the remaining time in seconds if it is known better than by extrapolation."""

    def close(self) -> None:
        """End the stage."""


class Progress(Protocol):
    """Receives messages and stages."""

    def stage(self, title: str, total: int, unit: str) -> Stage:
        """Begin a stage of `total` units."""

    def say(self, sentence: str) -> None:
        """Show a message."""


class NoProgress:
    """Discard all progress, for notebooks and tests."""

    def stage(self, title: str, total: int, unit: str) -> NoProgress:
        """Return itself as the stage."""
        return self

    def say(self, sentence: str) -> None:
        """Discard the message."""

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        """Discard the progress."""

    def close(self) -> None:
        """Do nothing."""
