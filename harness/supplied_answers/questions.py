"""Collect the questions of a suite: the pairs of texts that a text metric without `matrix` is asked to score."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.hashing import digest_of
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.evaluation.assignment import Conditions, TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.suite import Suite
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Status
from harness.sandbox.layers import NO_SANDBOX
from harness.sandbox.limits import Limits
from harness.sandbox.worker_client import Worker
from harness.submission.header import Header
from harness.submission.submission import Entry, Submission

Answer = Callable[[str, str], float]
ID_CHARACTERS = 24
CANARY = "touchstone:canary:4c1d6d5e-6f0b-4b0e-9a55-4a2f0e6c7d38"      # in every written line of texts
NO_LIMIT = Limits(seconds_per_unit=86_400.0)
ANY_METRIC = Header(name="questions", title="Questions", summary="Collects questions.", kind="text", input="texts",
                    returns="similarity", range=(0.0, 1.0), license="Apache-2.0", lift=False)


class Question(NamedTuple):
    """A pair of texts to score; the first one is the document, reference or query."""

    id: str
    task: str                               # the first task that asks it
    first: str
    second: str


class AnsweringWorker(Worker):
    """What a session takes for a worker: it answers by calling a function in this process, and runs no code of a metric."""

    def __init__(self, answer: Answer, function: str) -> None:
        self._answer = answer
        self.functions = frozenset({function})
        self.fitted, self.alive, self.deadline, self.time_limit = None, True, 0.0, ""

    def call_array(self, function: str, arguments: Sequence[Any], shape: tuple[int, ...], seed: int) -> np.ndarray:
        """Return the answers for pairs of texts."""
        return np.array([self._answer(a, b) for a, b in zip(*arguments, strict=True)], dtype=float)

    def clear_corpora(self) -> None:
        """Do nothing: there are no corpora."""

    def close(self) -> None:
        """Do nothing: there is no process."""

    def peak_memory(self) -> int | None:
        """Return None: there is no process."""
        return None


class AnsweringSlot(WorkerSlot):
    """A slot whose workers answer by calling a function in this process."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(Conditions(NO_SANDBOX, NO_LIMIT))
        self._answer = answer

    def start(self, entry: Entry, until: float = math.inf) -> Worker:
        return AnsweringWorker(self._answer, entry.header.returns)


def text_units(suite: Suite, only: Sequence[str]) -> list[TaskUnit]:
    """Return the test units of the tasks of text metrics, without those that measure time."""
    return [task_unit for task_unit in suite.select(only)
            if task_unit.task.info.track == "text" and not task_unit.task.info.alone]


def question_id(first: str, second: str) -> str:
    """Return the identifier of a question: a hash of both texts."""
    return digest_of([first, second])[:ID_CHARACTERS]


def collect_questions(suite: Suite, only: Sequence[str], progress: Progress) -> Iterator[Question]:
    """Yield every pair of texts that the tasks ask for, once."""
    entry = Submission("questions", b"# /// script\n# ///", ANY_METRIC).entries[0]
    units = text_units(suite, only)
    collected: set[str] = set()
    fresh: list[Question] = []
    task = ""

    def answer(a: str, b: str) -> float:
        """Record a question; the answer is different for every pair, so that no task asks less than it may."""
        identifier = question_id(a, b)
        if identifier not in collected:
            collected.add(identifier)
            fresh.append(Question(identifier, task, a, b))
        return int.from_bytes(hashlib.blake2b(identifier.encode(), digest_size=4).digest()) / 2**32

    slot, inputs = AnsweringSlot(answer), InputEncoder(VectorCache(suite.model.name, cache_folder()))
    for name in sorted({source.name for task_unit in units for source in task_unit.unit.data}):
        suite.load_dataset(name, progress)
    stage = progress.stage("Collecting questions", len(units), "units")
    try:
        for task_unit in units:
            task = task_unit.unit.task
            outcome = slot.run_unit(entry, task_unit, inputs)
            if outcome.status is Status.FAILED:
                raise TouchstoneError(f"The questions of the task {task} cannot be collected: it {outcome.failure}.")
            yield from fresh
            fresh.clear()
            stage.advance()
    finally:
        stage.close()
