"""How long work tells that it is under way.  The engine speaks to this interface; the command line draws it."""

from __future__ import annotations

from typing import Protocol


class Stage(Protocol):
    """One piece of work with a known size."""

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        """Some of it is done; `left` is the time left in seconds where the worker knows better than the average."""
    def close(self) -> None: ...


class Progress(Protocol):
    def stage(self, title: str, total: int, unit: str) -> Stage: ...
    def say(self, sentence: str) -> None: ...


class NoProgress:
    """Says nothing: for notebooks and tests."""

    def stage(self, title: str, total: int, unit: str) -> NoProgress:
        return self

    def say(self, sentence: str) -> None:
        """Nobody listens."""

    def advance(self, amount: int = 1, left: float | None = None, note: str = "") -> None:
        """Nobody looks."""

    def close(self) -> None:
        """Nothing is open."""
