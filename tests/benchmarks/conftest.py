"""What the benchmarks share: one processor, and a place to say what was measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

SAID = pytest.StashKey[list[str]]()


@pytest.fixture
def one_processor() -> Iterator[None]:
    """This thread, and the workers it starts, on one processor: as in a job of a run."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Says a measurement in the summary of the test run."""
    return request.config.stash.setdefault(SAID, []).append


def pytest_terminal_summary(terminalreporter, config) -> None:
    for sentence in config.stash.get(SAID, []):
        terminalreporter.write_line(f"measured: {sentence}")
