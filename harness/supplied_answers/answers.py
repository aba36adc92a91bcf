"""Read answers that were computed elsewhere and store them as outcomes of an entry that is marked as claimed."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base.errors import TouchstoneError, printable
from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.suite import Suite
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Status
from harness.results.provenance import current_provenance
from harness.results.store import Store
from harness.sandbox.faults import Fault, FaultKind
from harness.sandbox.limits import Limits
from harness.submission.header import read_header
from harness.submission.submission import Entry, Submission
from harness.supplied_answers.questions import AnsweringSlot, collect_questions, question_id, text_units

LINE_BYTES = 100_000
EXAMPLE = ('{"name": "my_judge", "title": "My judge", "summary": "...", "returns": "similarity", "range": [0, 10], '
           '"license": "Apache-2.0"}')
FIELDS = ("name", "title", "summary", "returns", "range", "license", "symmetric", "repeatable", "paper", "authors", "year",
          "trained_on")


@dataclass
class SuppliedAnswers:
    """The answers of a file: the entry that they are attributed to, and a score by question."""

    entry: Entry
    scores: dict[str, float]

    def answer(self, a: str, b: str) -> float:
        """Return the score of a question; questions that depend on earlier answers may have none."""
        score = self.scores.get(question_id(a, b))
        if score is None:
            raise Fault(FaultKind.RAISED, "asks a question that has no answer in the file")
        return score


@dataclass
class ClaimSummary:
    """What was stored."""

    entry: Entry
    units: Counter[str] = field(default_factory=Counter)        # by task
    failures: list[str] = field(default_factory=list)


def read_answers(path: Path) -> SuppliedAnswers:
    """Read a file of JSON lines: the metric, then one line with `id` and `score` per question."""
    scores: dict[str, float] = {}
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            first = file.readline(LINE_BYTES)
            metric = parse_line(first, path, 1)
            for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES), b""), start=2):
                identifier, score = parse_answer(line, path, number)
                if identifier in scores:
                    raise TouchstoneError(f"{path}, line {number}: the question {identifier} is answered twice; remove one line.")
                scores[identifier] = score
    except OSError as error:
        raise TouchstoneError(f"{path}: the file cannot be read ({error.strerror}).") from None
    for identifier in sorted(scores):
        digest.update(f"{identifier} {scores[identifier]!r}\n".encode())
    return SuppliedAnswers(make_entry(metric, digest.hexdigest(), path), scores)


def parse_line(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """Return the JSON object of a line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise TouchstoneError(f"{path}, line {number}: each line must be a JSON object; the first describes the metric, such as "
                              f"{EXAMPLE}, and each other line is an answer, such as {{\"id\": \"...\", \"score\": 7.5}}.")
    return value


def parse_answer(line: bytes, path: Path, number: int) -> tuple[str, float]:
    """Return the question and the score of a line."""
    answer = parse_line(line, path, number)
    identifier, score = answer.get("id"), answer.get("score")
    if not isinstance(identifier, str):
        raise TouchstoneError(f"{path}, line {number}: the answer has no `id`; copy it from the line of the question.")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise TouchstoneError(f"{path}, line {number}: `score` must be a finite number, not {printable(json.dumps(score), 40)}.")
    return identifier, float(score)


def make_entry(metric: dict[str, Any], digest: str, path: Path) -> Entry:
    """Return the entry that the first line describes; its header holds the hash of the answers."""
    unknown = sorted(metric.keys() - set(FIELDS))
    if unknown:
        raise TouchstoneError(f"{path}, line 1: `{printable(unknown[0], 40)}` is not a field of a metric. The fields: "
                              f"{', '.join(FIELDS)}.")
    bounds = metric.get("range")
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise TouchstoneError(f"{path}, line 1: the metric needs a `range` such as [0, 10], with null for an open end.")
    low, high = (unbounded if end is None else json.dumps(end) for end, unbounded in zip(bounds, ("-inf", "inf"), strict=True))
    lines = [f"{name} = {json.dumps(metric[name])}" for name in metric if name != "range"]
    block = ["[tool.touchstone]", *lines, f"range = [{low}, {high}]", 'kind = "text"', 'input = "texts"', "lift = false",
             f'supplied_answers = "{digest}"']
    source = "".join(f"{line}\n" for line in ("# /// script", *(f"# {line}" for line in block), "# ///")).encode()
    return Submission(path.name, source, read_header(source, f"{path.name}, line 1")).entries[0]


def store_answers(supplied: SuppliedAnswers, suite: Suite, only: Sequence[str], store: Path | str,
                  progress: Progress) -> ClaimSummary:
    """Check the answers against the questions of the suite and store the outcome of every test unit.

    Raises:
        TouchstoneError: An answer belongs to no question of the suite, or a question has no answer.
    """
    check_complete(supplied, suite, only, progress)
    entry, summary = supplied.entry, ClaimSummary(supplied.entry)
    units = text_units(suite, only)
    slot, inputs = AnsweringSlot(supplied.answer), InputEncoder(VectorCache(suite.model.name, cache_folder()))
    results = Store(store)
    try:
        with results.writing():
            results.save_entries([entry])
            results.save_units(task_unit.unit for task_unit in units)
            run = results.begin_run(current_provenance(("answers supplied",), Limits(), {}, suite.name, suite.fingerprint))
            for task_unit in units:
                outcome = slot.run_unit(entry, task_unit, inputs)
                if outcome.status is Status.FAILED:
                    summary.failures.append(f"{task_unit.unit.task}: {outcome.failure}")
                summary.units[task_unit.unit.task] += 1
                results.save_outcome(outcome, run)
            results.end_runs([run])
    finally:
        results.close()
    return summary


def check_complete(supplied: SuppliedAnswers, suite: Suite, only: Sequence[str], progress: Progress) -> None:
    """Raise unless the file answers exactly the questions of the tasks."""
    unanswered: Counter[str] = Counter()
    example, ids = "", set()
    for question in collect_questions(suite, only, progress):
        ids.add(question.id)
        if question.id not in supplied.scores:
            unanswered[question.task] += 1
            example = example or question.id
    others = sorted(supplied.scores.keys() - ids)
    tasks = f"the tasks {', '.join(only)} of suite {suite.name}" if only else f"suite {suite.name}"
    if others:
        raise TouchstoneError(f"{len(others):,} of {len(supplied.scores):,} answers belong to no question of {tasks}, for "
                              f"example {printable(others[0], 40)}; write the questions with the same --suite and --only.")
    if unanswered:
        counts = ", ".join(f"{count:,} of {task}" for task, count in unanswered.items())
        raise TouchstoneError(f"{sum(unanswered.values()):,} questions of {tasks} have no answer ({counts}), for example "
                              f"{example}; answer them, or name the tasks that are complete with --only.")
