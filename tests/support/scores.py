"""Scored entries made for tests."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from harness.base.units import Cluster, Source, Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.suite import Suite
from harness.evaluation.task import Measures, Task, TaskInfo
from harness.results.outcomes import Failure, Outcome, Status
from leaderboard.scoring.resampling import make_plans
from leaderboard.scoring.scores import Scored, score_task


def scored(name: str, noise: float, seed: int, failed: frozenset[int] = frozenset()) -> Scored:
    outcomes = answered(noise, seed, failed)
    entry = SimpleNamespace(name=name, variant=None, header=SimpleNamespace(control=False, name=name, kind="text", supplied_answers=None))
    tasks = {task.name: score_task(task, SUITE.units(task), outcomes, DRAWN[task.name]) for task in SUITE.tasks}
    return Scored(SimpleNamespace(entry=entry, digest=name), SUITE, tasks, "text")


def answered(noise: float, seed: int, failed: frozenset[int] = frozenset()) -> dict[str, Outcome]:
    """The outcomes of a metric that knows the truth up to some noise."""
    rng, outcomes = np.random.default_rng(seed), {}
    for place, unit in enumerate([*BATCHES, *SINGLES]):
        if "items" in unit.parameters:
            seen = Answers(tuple(truth(item) + noise * rng.normal() for item in unit.parameters["items"]))
        else:
            seen = Answers((0.5 - 0.05 * noise + 0.01 * rng.normal(),))
        wrong = Failure("raised", "it failed") if place in failed else None
        outcomes[unit.id] = Outcome(unit.id, "e", Status.FAILED if wrong else Status.ANSWERED, None if wrong else seen, wrong, 0.0)
    return outcomes


@dataclass(frozen=True)
class Answers:
    values: tuple[float, ...]


def truth(item: int) -> float:
    return float(np.random.default_rng(item).normal())


class Correlated(Task[Answers]):
    """A task whose score is a correlation over documents that several units share, by stratum."""

    name: ClassVar[str] = "correlated"
    info: ClassVar[TaskInfo] = TaskInfo("Correlated", "cor", "mean of 0.5(1 + r)", chance=0.5, worst=0.0, unit="document", strata=("set",),
                                        observe_version=1, measure_version=1, track="text")

    def measure(self, unit: Unit, seen: Answers) -> Measures:
        return Measures(float(np.mean(seen.values)), {"mean": float(np.mean(seen.values))})

    def clusters(self, units) -> list[Cluster]:
        return [Cluster(unit.stratum, str(item)) for unit in units for item in unit.parameters["items"]]

    def replicates(self, units, seen, counts) -> dict[str, np.ndarray]:
        found = []
        for stratum in dict.fromkeys(unit.stratum for unit in units):
            x, y, failed, column, columns = [], [], [], 0, []
            for unit, one in zip(units, seen, strict=True):
                for place, item in enumerate(unit.parameters["items"]):
                    if unit.stratum == stratum:
                        x.append(truth(item))
                        y.append(0.0 if one is None else one.values[place])
                        failed.append(one is None)
                        columns.append(column)
                    column += 1
            weights = counts[:, columns] * ~np.array(failed)
            share = (counts[:, columns] * np.array(failed)).sum(axis=1) / counts[:, columns].sum(axis=1)
            found.append((1 - share) * (1 + weighted_correlation(np.array(x), np.array(y), weights)) / 2)
        return {"score": np.mean(found, axis=0)}


class Plain(Task[Answers]):
    """A task of the same track whose score is a mean over its units."""

    name: ClassVar[str] = "plain"
    info: ClassVar[TaskInfo] = TaskInfo("Plain", "pl", "its value", chance=0.0, worst=0.0, unit="unit", strata=(), observe_version=1,
                                        measure_version=1, track="text")

    def measure(self, unit: Unit, seen: Answers) -> Measures:
        return Measures(seen.values[0], {})

MODEL = Source("none", "0")

BATCHES = [Unit("correlated", 1, (name,), {"items": list(range(start, start + 8))}, (), MODEL, start)
           for name, starts in (("one", range(0, 80, 8)), ("two", range(100, 140, 8))) for start in starts]

SINGLES = [Unit("plain", 1, ("all",), {"item": item}, (), MODEL, item) for item in range(12)]

SUITE = Suite("made", "Made", MODEL, (*(TaskUnit(Correlated(), unit) for unit in BATCHES), *(TaskUnit(Plain(), unit) for unit in SINGLES)))

DRAWN = make_plans(SUITE)


def weighted_correlation(x, y, weights) -> np.ndarray:
    whole = weights.sum(axis=1)
    mx, my = weights @ x / whole, weights @ y / whole
    return (weights @ (x * y) / whole - mx * my) / np.sqrt((weights @ x ** 2 / whole - mx ** 2) * (weights @ y ** 2 / whole - my ** 2))
