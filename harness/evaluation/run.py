"""One run of a suite, from the entries to the store: what `touchstone run` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.base.paths import cache_folder
from harness.base.progress import Progress
from harness.environments.environment import prepare
from harness.evaluation.executor import Conditions
from harness.evaluation.loop import Tally, execute, plan
from harness.models.archive_fetching import fetch_named
from harness.models.vector_cache import EmbeddingCache
from harness.results.outcomes import Status
from harness.results.provenance import provenance
from harness.results.store import Store
from harness.sandbox.layers import Limits
from harness.sandbox.probe import confine
from harness.submission.submission import Entry
from tasks.data import loading as data
from tasks.suite_files import Suite


def run_suite(entries: Sequence[Entry], suite: Suite, path: Path | str, *, only: Sequence[str] = (), again: bool = False,
              retry: bool = False, trust: bool = False, limits: Limits | None = None, jobs: int = 1,
              progress: Progress) -> Tally:
    """Asks the entries what the store has no outcome of, and stores what becomes of each unit."""
    questions = suite.of(only)
    store = Store(path)
    try:
        with store.writing():
            asking = plan(entries, questions, store, again=again, retry=retry)
            store.note_entries(entries)
            tally = Tally()
            if asking:
                for name in sorted({source.name for _, question in asking for source in question.unit.data}):
                    data.load(name, progress)
                limits = limits or Limits()
                fetch_named([entry for entry, _ in asking], progress)
                environments, refused = prepare([entry for entry, _ in asking], limits, progress, refresh=again)
                conditions = Conditions(confine(trust), limits, environments)
                store.note_units(question.unit for question in questions)
                run = store.begin_run(provenance(conditions, suite.name, suite.fingerprint))
                tally = execute([one for one in asking if one[0].digest in environments], store, run,
                                EmbeddingCache(suite.model.name, cache_folder()), conditions, jobs, progress)
                tally.refused = refused
                store.end_run(run)
            asked = {(question.unit.id, entry.digest) for question in questions for entry in entries}
            tally.failed_in_store = len(asked & store.done([Status.FAILED]))
            return tally
    finally:
        store.close()
