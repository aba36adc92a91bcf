"""The registry of tasks."""

from __future__ import annotations

from typing import Any

from harness.base.errors import TouchstoneError, did_you_mean
from harness.evaluation.task import Task
from tasks.corpus.convergence import Convergence
from tasks.corpus.diagnostics import Diagnostics
from tasks.corpus.distributionality import Distributionality
from tasks.corpus.fine_tuning import FineTuning
from tasks.corpus.known_similarity import KnownSimilarity
from tasks.corpus.local_perturbation import LocalPerturbation
from tasks.properties.axioms import Axioms
from tasks.properties.timing import Timing
from tasks.text.alignment import Alignment
from tasks.text.clustering import Clustering
from tasks.text.human_ordering import HumanOrdering
from tasks.text.retrieval import Retrieval
from tasks.text.robustness import Robustness
from tasks.text.sensitivity import Sensitivity

TASKS: dict[str, Task[Any]] = {task.name: task for task in (
    KnownSimilarity(), FineTuning(), Diagnostics(), Convergence(), Timing(), Axioms(), Distributionality(), LocalPerturbation(),
    Alignment(), Robustness(), Sensitivity(), Clustering(), Retrieval(), HumanOrdering())}


def list_tasks() -> list[str]:
    """Return the names of all tasks."""
    return list(TASKS)


def get_task(name: str) -> Task[Any]:
    """Return a task of the registry."""
    if name not in TASKS:
        raise TouchstoneError(f'There is no task "{name}".{did_you_mean(name, TASKS)} The tasks are {", ".join(TASKS)}.')
    return TASKS[name]
