"""Answers of text metrics, made for tests of the tasks that score them."""

from __future__ import annotations

import numpy as np

from harness.base.units import Unit
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Measures
from leaderboard.scoring.resampling import Plan, resample, task_clusters
from tasks.common.consistency import RecheckedAnswer
from tasks.registry import TASKS
from tasks.text import clustering

SIMILARITY = ScoreScale("similarity", 0.0, 1.0)

TEXT = {"kind": "text", "returns": "similarity", "range": "[0.0, 1.0]"}


def unit(task: str, name: str = "x", **parameters) -> Unit:
    """One that is asked nothing."""
    stratum = (parameters["kind"], name) if "kind" in parameters else (name,)
    return Unit(task, 1, stratum, {"dataset": name, "sample": 1, **parameters}, (), None, 1)


def under(task, units, seen, draws: int = 200) -> dict[str, float]:
    """The values that come of all documents once each."""
    clusters = task_clusters(task, units)
    plan = Plan(clusters, lambda: np.ones((draws, len(clusters))))
    return {name: found.value for name, found in resample(task, units, seen, plan).items()}


def clustered(answers: np.ndarray, labels, scale=SIMILARITY) -> Measures:
    seen = clustering.ScoreMatrix(answers, tuple(labels), scale, (RecheckedAnswer((0, 0), 1.0, 1.0, 1.0),))
    return TASKS["clustering"].measure(unit("clustering"), seen)
