"""Run entries on a suite and store every outcome."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

from harness.base.memory import limit_arenas, return_freed_memory
from harness.base.paths import SUBMISSIONS, cache_folder, default_store
from harness.base.progress import NoProgress, Progress
from harness.environments.environment import prepare_environments
from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import Executor
from harness.evaluation.loop import MakeExecutor, RunRecord, RunSummary, execute_run, plan_run
from harness.evaluation.suite import Suite
from harness.evaluation.time_left import PublishedTimes
from harness.models.package_index import fetch_models
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Status
from harness.results.provenance import current_provenance
from harness.results.store import Store
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.selection import select_entries
from harness.submission.submission import Entry

ARENAS = 2                                  # pools of freed memory, which each thread would have otherwise


def run_suite(entries: Iterable[Entry | str | Path], suite: Suite, store: Path | str | None = None, *, only: Iterable[str] = (),
              rerun: bool = False, retry_failed: bool = False, trust: bool = False, limits: Limits | None = None,
              jobs: int | None = None, progress: Progress | None = None, published: PublishedTimes | None = None,
              make_executor: MakeExecutor = Executor) -> RunSummary:
    """Run entries on a suite, store every outcome, and return a summary; stored outcomes are not computed again.

    Args:
        entries: Entries, names of submissions (`"energy"`, `"pr[k=5]"`), or paths of submission files.
        suite: What to run them on; see `tasks.load_suite`.
        store: Path or PostgreSQL address of the results store; default: `TOUCHSTONE_STORE`, or a file in the clone.
        only: Names of tasks; default: all tasks of the suite.
        rerun: Run everything again and rebuild environments.
        retry_failed: Run failed test units again.
        trust: Disable the sandbox, for code that you have reviewed.
        limits: Time, memory and other limits of each metric.
        jobs: Number of metrics that run at the same time; default: the number of processors.
        progress: Receives messages and progress; default: none.
        published: Times of published metrics, for estimates of the time left; see `Release.results`.
        make_executor: Returns the executor of the test units; default: threads of this process.

    Raises:
        TouchstoneError: An entry, a dataset, a model or the store cannot be used; the message says how to fix it.
        RunInterrupted: The user stopped the run; all completed outcomes are stored.
    """
    if importlib.util.find_spec("torch") is None:       # before anything is stored
        raise ModuleNotFoundError("Running metrics needs PyTorch.", name="torch")
    limit_arenas(ARENAS)
    limits = limits or Limits()
    progress = progress or NoProgress()
    selected = resolve_entries(entries)
    task_units = suite.select(only)
    results = Store(store or default_store())
    try:
        with results.writing():
            finished = results.finished_times()
            assignments = plan_run(selected, task_units, results, rerun=rerun, retry_failed=retry_failed)
            results.save_entries(selected)
            summary = RunSummary()
            if assignments:
                for name in sorted({source.name for _, task_unit in assignments for source in task_unit.unit.data}):
                    suite.load_dataset(name, progress)
                return_freed_memory()           # reading datasets needs more than they are
                fetch_models((name for entry, _ in assignments for name in entry.header.models), progress)
                environments, refused = prepare_environments([entry for entry, _ in assignments], limits, progress, refresh=rerun)
                conditions = Conditions(probe_sandbox(trust), limits, environments)
                results.save_units(task_unit.unit for task_unit in task_units)
                runs = RunRecord(results, current_provenance(conditions.confinement.layers, limits, conditions.locks, suite.name,
                                                             suite.fingerprint))
                runnable = [(entry, task_unit) for entry, task_unit in assignments if entry.digest in environments]
                with results.claiming(finished) as claims:
                    summary = execute_run(runnable, runs, VectorCache(suite.model.name, cache_folder()), conditions,
                                          jobs or len(os.sched_getaffinity(0)), progress, claims, published, make_executor)
                summary.refused = refused
                results.end_runs(runs.numbers.values())
            all_ids = {(task_unit.unit.id, entry.digest) for task_unit in task_units for entry in selected}
            summary.failed_in_store = len(all_ids & results.completed([Status.FAILED]))
            return summary
    finally:
        results.close()
        return_freed_memory()


def resolve_entries(entries: Iterable[Entry | str | Path]) -> list[Entry]:
    """Return the given entries, and the entries that names and paths select."""
    return [resolved for item in entries
            for resolved in ([item] if isinstance(item, Entry) else select_entries([str(item)], SUBMISSIONS))]
