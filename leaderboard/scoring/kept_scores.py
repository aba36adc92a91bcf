"""Scores and tests as plain values, so that they are computed once: a store keeps them, and a release publishes scores."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from harness.base.hashing import code_digest, digest_of
from harness.base.units import Unit
from harness.evaluation.task import Task
from harness.results.outcomes import Failure
from leaderboard.scoring.estimates import Estimate
from leaderboard.scoring.resampling import Plan, Resampled
from leaderboard.scoring.scores import TaskScore
from leaderboard.scoring.significance import PairwiseTests

CODE = ("harness/evaluation", "tasks", "leaderboard/scoring")       # what turns observations into scores
PackedScore = dict[str, Any]                # a score, or a resampled statistic, as JSON values
Observations = Mapping[str, Any]            # by unit id
LIBRARIES = ("numpy", "scipy", "scikit-learn")


class LazyObservations(Mapping[str, Any]):
    """Observations by test unit, read from the results when they are first needed."""

    def __init__(self, load: Callable[[], Observations]) -> None:
        self._load = load

    @cached_property
    def _loaded(self) -> Observations:
        return self._load()

    def __getitem__(self, unit: str) -> Any:
        return self._loaded[unit]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)


class KeptTests:
    """Tests of all pairs by what they compare, as kept if nothing has changed since, or computed."""

    def __init__(self, load: Callable[[], Mapping[str, PackedScore]]) -> None:
        self._load = load
        self.unsaved: dict[str, PackedScore] = {}

    @cached_property
    def _kept(self) -> Mapping[str, PackedScore]:
        return self._load()

    def get(self, key: str, stamp: str, compute: Callable[[], PairwiseTests]) -> PairwiseTests:
        """Return the tests of a key; those that are kept have the same stamp."""
        kept = self.unsaved.get(key) or self._kept.get(key)
        if kept is None or kept["stamp"] != stamp:
            tests = compute()
            kept = self.unsaved[key] = {"stamp": stamp, "count": len(tests.p), "p": pack_array(tests.p),
                                        "difference": pack_array(tests.difference)}
        p, difference = (unpack_array(kept[name]).reshape(kept["count"], -1) for name in ("p", "difference"))
        return PairwiseTests(p, difference)


def pack_score(score: TaskScore, plan: Plan | None = None) -> PackedScore:
    """Return a score as JSON values, without the observations; the plan names the clusters that were resampled."""
    clusters = None if plan is None else name_clusters(plan)
    return {
        "score": None if score.score is None else pack_estimate(score.score),
        "measures": {name: pack_estimate(estimate) for name, estimate in score.measures.items()},
        "planned": score.planned, "asked": score.asked, "answered": score.answered,
        "failures": [asdict(failure) for failure in score.failures],
        "not_applicable": score.not_applicable, "marks": sorted(score.marks), "by_unit": dict(score.by_unit),
        "chance": score.chance,
        "answers": None if score.shared_answers is None else pack_array(score.shared_answers),
        "resampled": None if score.resampled is None else {**pack_resampled(score.resampled), "clusters": clusters},
        "axis_measures": {name: pack_resampled(resampled) for name, resampled in score.axis_measures.items()}}


def unpack_score(packed: PackedScore, task: Task[Any], observed: Observations) -> TaskScore:
    """Return the score from JSON values."""
    resampled, answers = packed["resampled"], packed["answers"]
    return TaskScore(
        task=task, score=None if packed["score"] is None else Estimate(*packed["score"]),
        measures={name: Estimate(*estimate) for name, estimate in packed["measures"].items()},
        planned=packed["planned"], asked=packed["asked"], answered=packed["answered"],
        failures=tuple(Failure(**{**failure, "places": tuple(failure["places"])}) for failure in packed["failures"]),
        not_applicable=packed["not_applicable"], marks=frozenset(packed["marks"]), observed=observed,
        by_unit=packed["by_unit"], chance=packed["chance"],
        resampled=None if resampled is None else unpack_resampled(resampled),
        axis_measures={name: unpack_resampled(values) for name, values in packed.get("axis_measures", {}).items()},
        shared_answers=None if answers is None else unpack_array(answers))


def pack_resampled(resampled: Resampled) -> PackedScore:
    """Return a resampled statistic as JSON values."""
    return {"value": resampled.value, "left_out": pack_array(resampled.left_out),
            "replicates": pack_array(resampled.replicates), "strata": resampled.strata.tolist()}


def unpack_resampled(packed: PackedScore) -> Resampled:
    """Return the statistic from JSON values."""
    return Resampled(packed["value"], unpack_array(packed["left_out"]), unpack_array(packed["replicates"]),
                     np.array(packed["strata"]))


def name_clusters(plan: Plan) -> str:
    """Return a digest of the names of a plan's clusters, in order."""
    return digest_of([[list(cluster.stratum), cluster.name] for cluster in plan.clusters])


def stamp_score(task: Task[Any], units: Sequence[Unit], finished: Mapping[str, str], *more: str) -> str:
    """Return a digest of everything that a score depends on: the outcomes by time, the versions, and the code."""
    answered = [[unit.id, finished.get(unit.id)] for unit in units]
    return digest_of([code_digest(CODE, LIBRARIES), task.info.measure_version, answered, *more])


def stamp_tests(suite: str, arrays: Iterable[np.ndarray]) -> str:
    """Return a digest of everything that tests of all pairs depend on: the arrays, the suite's fingerprint, and the code."""
    digest = hashlib.sha256(f"{code_digest(CODE, LIBRARIES)} {suite}".encode())
    for array in arrays:
        digest.update(repr((array.dtype, array.shape)).encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def pack_estimate(estimate: Estimate) -> list[float | int | None]:
    """Return an estimate as a list."""
    return [estimate.value, estimate.low, estimate.high, estimate.units]


def pack_array(array: np.ndarray) -> str:
    """Return an array as text, exactly; without its shape."""
    return base64.b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()


def unpack_array(text: str) -> np.ndarray:
    """Return the array that `pack_array` wrote, in one dimension."""
    return np.frombuffer(base64.b64decode(text), "<f8")
