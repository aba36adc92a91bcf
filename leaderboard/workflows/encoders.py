"""Encoder sensitivity: how much the answers of a metric depend on the embedding model."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.evaluation.task import Task
from harness.models.package_index import fetch_models
from harness.models.vector_composition import SUITE_VECTORS, TOKEN_VECTORS
from harness.submission.submission import Entry
from leaderboard.scoring.results import score_suite
from leaderboard.scoring.scores import TaskScore
from tasks.suite_files import load_suite


@dataclass(frozen=True)
class EncoderRow:
    """A metric on a task with several embedding models."""

    metric: str
    task: str
    scores: Mapping[str, float | None]      # by model; None: not applicable
    correlation: float | None               # mean over pairs of models; None: no test unit was answered with two of them
    lowest: float | None                    # of a pair of models


def compare_encoders(entries: Iterable[Entry], suite: str, models: Sequence[str], store: Path | str, only: Iterable[str],
                     jobs: int | None, progress: Progress) -> list[EncoderRow]:
    """Run entries on a suite with each model, and return their scores and the rank correlations of their answers.

    Args:
        entries: Metrics that take vectors of the suite's model; variants with models of their own are left out.
        suite: Name or path of a suite.
        models: At least two embedding models.
        store: The results store.
        only: Names of tasks; default: all whose answers are questions to be compared (`Task.answers`).
        jobs: Number of metrics that run at the same time.
        progress: Receives messages and progress.
    """
    chosen = [entry for entry in entries if entry.takes_vectors and entry.vectors in (SUITE_VECTORS, TOKEN_VECTORS)]
    if not chosen:
        raise TouchstoneError("None of these metrics takes vectors of the suite's model, so the embedding model does not matter; "
                              'name a metric with `input = "embeddings"`, such as cosine or energy.')
    if len(set(models)) < 2:
        raise TouchstoneError("--models needs at least two different models, such as minilm,mpnet.")
    fetch_models(models, progress)
    suites = {model: load_suite(suite, model=model) for model in dict.fromkeys(models)}
    first = next(iter(suites.values()))
    comparable = [task for task in first.tasks if type(task).answers is not Task.answers]
    tasks = [task for task in comparable if not only or task.name in only]
    for name in only:
        if name not in {task.name for task in comparable}:
            raise TouchstoneError(f'The answers to "{name}" cannot be compared between models. The tasks of the suite {suite} '
                                  f"whose answers can: {', '.join(task.name for task in comparable) or 'none'}.")
    scored: dict[str, dict[str, dict[str, TaskScore]]] = {}
    for model, read in suites.items():
        run_suite(chosen, read, store, only=[task.name for task in tasks], jobs=jobs, progress=progress)
        for result in score_suite(store, read):
            scored.setdefault(result.entry.digest, {}).setdefault(model, {}).update(result.tasks)
    return [describe_row(entry, task, scored[entry.digest], suites) for entry in chosen for task in tasks if task.accepts(entry)]


def describe_row(entry: Entry, task: Task[Any], scored: Mapping[str, Mapping[str, TaskScore]],
                 suites: Mapping[str, Suite]) -> EncoderRow:
    """Return the scores of an entry on a task and the rank correlations of its answers."""
    results = {model: scored[model].get(task.name) for model in suites}
    scores = {model: result.score.value if result is not None and result.score is not None else None
              for model, result in results.items()}
    answers = {model: [None if (observation := result.observed.get(unit.id)) is None else task.answers(observation)
                       for unit in suites[model].units(task)] for model, result in results.items() if result is not None}
    pairs = [correlate_answers(a, b) for a, b in itertools.combinations(answers.values(), 2)]
    values = [value for value in pairs if value is not None]
    return EncoderRow(entry.name, task.name, scores, float(np.mean(values)) if values else None, min(values, default=None))


def correlate_answers(a: Sequence[np.ndarray | None], b: Sequence[np.ndarray | None]) -> float | None:
    """Return the mean over test units of the Spearman correlation of answers; units with constant answers do not count."""
    correlations = [float(spearmanr(x, y).statistic) for x, y in zip(a, b, strict=True)
                    if x is not None and y is not None and np.ptp(x) and np.ptp(y)]
    return float(np.mean(correlations)) if correlations else None
