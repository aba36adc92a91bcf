"""The registry of tasks: every task, by name."""

from __future__ import annotations

from typing import Any

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
