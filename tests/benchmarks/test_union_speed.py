"""A lifted text metric on one unit of known similarity: one matrix of the collection against one matrix for each pair."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation import metric_session
from harness.evaluation.assignment import Conditions
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.metric_session import UNION_TOLERANCE, MetricSession
from harness.models.package_index import fetch_models
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.selection import select_entries
from tasks.common.mixtures import draw_mixtures, separated_pairs
from tests.benchmarks.test_text_metric_speed import made
from tests.support.processes import descendants, processor_seconds

pytestmark = [pytest.mark.benchmark, pytest.mark.usefixtures("one_processor")]


@pytest.mark.parametrize(("name", "least"), [
    ("bleu_sentence", 2.0), ("rouge1", 2.0), ("chrf", 1.0), ("dice_bigrams", 1.5), ("levenshtein", 0.6),
    pytest.param("cosine_glove", 1.5, marks=pytest.mark.network)])
@pytest.mark.parametrize("directions", [1, 2])
def test_one_matrix_of_a_collection(name, least, directions, unit, inputs, report, monkeypatch):
    """Processor seconds of the coordinator and the worker, the worker's start not included."""
    entry = select_entries([name], SUBMISSIONS)[0]
    fetch_models(entry.header.models, NoProgress())
    corpora = draw_mixtures("a", made(1200, 1), "b", made(1200, 2), 12, 100, np.random.default_rng(1))
    forward = separated_pairs(12)
    pairs = [*forward, *((j, i) for i, j in forward[:5 if directions == 1 else None])]
    answers, seconds = [], []
    for by_union in (True, False):
        if not by_union:
            monkeypatch.setattr(metric_session, "fits_union", lambda *_: False)
        worker_slot = WorkerSlot(Conditions(probe_sandbox()))
        metric = MetricSession(entry, unit, inputs, worker_slot.start, None, Limits())
        metric.start()
        metric.corpus_distances([texts[:2] for texts in corpora], pairs)      # its first call imports what it needs
        processes = descendants(os.getpid())
        before = time.process_time() + processor_seconds(processes)
        answers.append(np.array(metric.corpus_distances(corpora, pairs)))
        seconds.append(time.process_time() + processor_seconds(processes) - before)
        metric.stop_worker()
        worker_slot.close()
    difference = float(np.abs(answers[0] - answers[1]).max())
    ratio = seconds[1] / seconds[0]
    report(f"{name}, {len(pairs)} pairs of 12 x 100 texts: {seconds[1]:.2f} processor seconds pair by pair, {seconds[0]:.2f} as one "
           f"matrix, {ratio:.1f} times (at least {least:g}), largest difference {difference:.0e}")
    assert difference <= UNION_TOLERANCE
    assert ratio >= least
