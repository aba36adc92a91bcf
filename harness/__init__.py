"""The engine: load a submission, run it in a sandbox, and store its answers.

Imports nothing else of this project. The names below are the public API; everything else may change.
"""

from typing import TYPE_CHECKING

from harness.base.lazy import lazy_exports

if TYPE_CHECKING:
    from harness.base.errors import TouchstoneError as TouchstoneError
    from harness.base.progress import NoProgress as NoProgress
    from harness.base.progress import Progress as Progress
    from harness.evaluation.loop import RunInterrupted as RunInterrupted
    from harness.evaluation.loop import RunSummary as RunSummary
    from harness.evaluation.open_metric import OpenMetric as OpenMetric
    from harness.evaluation.open_metric import open_metric as open_metric
    from harness.evaluation.run import run_suite as run_suite
    from harness.evaluation.score_scale import ScoreScale as ScoreScale
    from harness.evaluation.suite import Suite as Suite
    from harness.evaluation.task import Task as Task
    from harness.results.store import Store as Store
    from harness.sandbox.limits import Limits as Limits
    from harness.submission.selection import select_entries as select_entries
    from harness.submission.submission import Entry as Entry
    from harness.submission.submission import load_submission as load_submission

_EXPORTS = {
    "Entry": "harness.submission.submission",
    "Limits": "harness.sandbox.limits",
    "NoProgress": "harness.base.progress",
    "OpenMetric": "harness.evaluation.open_metric",
    "Progress": "harness.base.progress",
    "RunInterrupted": "harness.evaluation.loop",
    "RunSummary": "harness.evaluation.loop",
    "ScoreScale": "harness.evaluation.score_scale",
    "Store": "harness.results.store",
    "Suite": "harness.evaluation.suite",
    "Task": "harness.evaluation.task",
    "TouchstoneError": "harness.base.errors",
    "load_submission": "harness.submission.submission",
    "open_metric": "harness.evaluation.open_metric",
    "run_suite": "harness.evaluation.run",
    "select_entries": "harness.submission.selection",
}

__all__ = [
    "Entry", "Limits", "NoProgress", "OpenMetric", "Progress", "RunInterrupted", "RunSummary", "ScoreScale", "Store",
    "Suite", "Task", "TouchstoneError", "load_submission", "open_metric", "run_suite", "select_entries",
]

__getattr__, __dir__ = lazy_exports(__name__, _EXPORTS)
