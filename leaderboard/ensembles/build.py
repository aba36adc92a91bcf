"""Combine metrics of a store: learn ensembles, and measure what each metric adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.evaluation.suite import Suite
from harness.results.store import Store, open_store
from leaderboard.ensembles.learning import Ensemble, Reference, TrainingTable, ValueAdded, general, learn, value_added, without
from leaderboard.ensembles.training_tables import training_tables
from leaderboard.scoring.results import score_suite

FOREST_SPLITS, LINEAR_DRAWS = 5, 200        # forests take seconds per split: few splits, no resampling
MAX_FOREST_MEMBERS = 5                      # added values are measured with forests for at most so many metrics
MAX_ABLATIONS = 12


@dataclass(frozen=True)
class TaskEnsemble:
    """An ensemble on one task, evaluated on held-out groups."""

    learner: str
    splits: int
    ensemble: Ensemble
    added: dict[str, ValueAdded]            # by metric
    left_out: dict[str, float]              # score without a condition or dataset in learning, by its name
    leaves_of_10: float | None              # score of a forest with at least 10 pairs per leaf


@dataclass(frozen=True)
class EnsembleReport:
    """Ensembles of some metrics on every task, and one linear combination for all tasks together."""

    names: tuple[str, ...]
    tasks: dict[str, TaskEnsemble]
    general: dict[str, float]               # score of the common linear combination, by task


def build_ensemble(store: Store | Path | str, suite: Suite, names: Sequence[str], *, task: str | None = None,
                   splits: int = 20) -> EnsembleReport:
    """Learn ensembles of text metrics on some documents and evaluate them on others.

    Args:
        store: The results store, or its path or address.
        suite: The suite whose stored answers are used.
        names: Two or more names of text metrics with results in the store.
        task: Name of a training table (`"sensitivity"`, ...); default: all.
        splits: Number of random splits into training and held-out groups.
    """
    if len(set(names)) != len(names) or len(names) < 2:
        raise TouchstoneError("An ensemble needs two or more metrics; name each metric once.")
    scored = {entry.name: entry for entry in score_suite(open_store(store), suite)}
    for name in names:
        if name not in scored:
            raise TouchstoneError(f'The store has no results of "{name}" on the suite {suite.name}.{did_you_mean(name, scored)} '
                                  f"Run `touchstone run {name} --suite {suite.name}`.")
    tables = training_tables([scored[name] for name in names], task)
    return EnsembleReport(tuple(names), {table.task: ensemble_of_table(table, names, splits) for table in tables},
                          general(tables, splits) if len(tables) > 1 else {})


def ensemble_of_table(table: TrainingTable, names: Sequence[str], splits: int) -> TaskEnsemble:
    """Return the ensemble of one training table."""
    linear = table.learner == "linear"
    rounds, draws = (splits, LINEAR_DRAWS) if linear else (min(splits, FOREST_SPLITS), 0)
    measured = names if linear or len(names) <= MAX_FOREST_MEMBERS else ()
    added = {name: value_added(table, Reference(table.leaving_out(name), rounds, draws)) for name in measured}
    return TaskEnsemble("linear regression without intercept" if linear else "random forest", rounds, learn(table, rounds, draws),
                        added, scores_without(table) if linear else {},
                        None if linear else learn(table, rounds, learner="leaves").score)


def scores_without(table: TrainingTable) -> dict[str, float]:
    """Return the score without each condition and each dataset in learning, by its name."""
    scores: dict[str, float] = {}
    for what in ("condition", "dataset"):
        names = np.unique(getattr(table, what)).tolist()
        if 1 < len(names) <= MAX_ABLATIONS:
            scores |= {name: float(np.mean([without(table, what, name, seed).score for seed in range(FOREST_SPLITS)]))
                       for name in names}
    return scores
