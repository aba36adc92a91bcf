"""What is measured: one file a task, listed here; the suites that fix their parameters; the data they rest on."""

from __future__ import annotations

from typing import Any

from harness.task import Task
from tasks.alignment import Alignment
from tasks.axioms import Axioms
from tasks.clustering import Clustering
from tasks.convergence import Convergence
from tasks.diagnostics import Diagnostics
from tasks.distributionality import Distributionality
from tasks.fine_tuning import FineTuning
from tasks.human_ordering import HumanOrdering
from tasks.known_similarity import KnownSimilarity
from tasks.local_perturbation import LocalPerturbation
from tasks.retrieval import Retrieval
from tasks.robustness import Robustness
from tasks.sensitivity import Sensitivity
from tasks.timing import Timing

TASKS: dict[str, Task[Any]] = {task.name: task for task in (
    KnownSimilarity(), FineTuning(), Diagnostics(), Convergence(), Timing(), Axioms(), Distributionality(), LocalPerturbation(),
    Alignment(), Robustness(), Sensitivity(), Clustering(), Retrieval(), HumanOrdering())}
