"""A suite of many short test units, and a run of it on a cluster that reports its time and its memory."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from harness.base.units import Unit
from harness.evaluation.assignment import TaskUnit
from harness.evaluation.cluster.executor import Cluster
from harness.evaluation.cluster.node import Requirements
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.run import run_suite
from harness.evaluation.suite import Suite
from harness.evaluation.task import Task, TaskInfo
from harness.submission.submission import load_submission
from tasks.common.base import TaskSettings
from tasks.suite_files import load_suite
from tests.support.submissions import HEADER


@dataclass(frozen=True)
class Trial:
    """One answer."""

    value: float


class Trials(Task[Trial]):
    """One call of the metric."""

    name: ClassVar[str] = "trials"
    settings_type: ClassVar[type[TaskSettings]] = TaskSettings
    observation_type: ClassVar[type[Any]] = Trial
    info: ClassVar[TaskInfo] = TaskInfo(title="Trials", short="tr", score="value", chance=0.0, worst=0.0, unit="trial", strata=(),
                                        observe_version=1, measure_version=1, ranked=False)

    def texts(self, unit: Unit) -> Iterable[str]:
        return ["text", str(unit.parameters["number"])]

    def observe(self, unit: Unit, metric: MetricSession) -> Trial:
        return Trial(metric.corpus_distances([["text"], [str(unit.parameters["number"])]], [(0, 1)])[0])


def made_suite(count: int) -> Suite:
    """Return a suite with so many test units."""
    model = load_suite("smoke").model
    return Suite("made", "Made", model, tuple(
        TaskUnit(Trials(), Unit("trials", 1, (), {"number": number}, (), model, number)) for number in range(count)))


def made_fingerprint(count: int) -> str:
    return made_suite(count).fingerprint


def main(folder: str, address: str, entries: int, units: int, seconds: float) -> None:
    """Run entries that take so many seconds per test unit, and print what that took as JSON."""
    paths = []
    for number in range(entries):
        paths.append(Path(folder) / f"made_{number}.py")
        body = f"import time\ndef distance(p, q):\n    time.sleep({seconds})\n    return {number}.0\n"
        paths[-1].write_text(HEADER.format(name=f"made_{number}", kind="corpus", input="texts", returns="distance", range="[0.0, inf]") + body)
    suite = made_suite(units)
    cluster = Cluster(address, Requirements(partial(made_fingerprint, units), suite.fingerprint))
    started = time.monotonic()
    summary = run_suite([load_submission(path).entries[0] for path in paths], suite, Path(folder) / "store.sqlite",
                        make_executor=cluster.executor)
    taken = time.monotonic() - started
    cluster.close()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"answered": summary.answered, "seconds": taken, "processor": usage.ru_utime + usage.ru_stime,
                      "peak": usage.ru_maxrss // 1000}))
