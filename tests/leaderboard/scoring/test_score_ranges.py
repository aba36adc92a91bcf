"""The scale on which a metric reports its scores changes no score of the suite."""

from __future__ import annotations

import pytest

from harness.evaluation.run import run_suite
from harness.submission.submission import load_submission
from leaderboard.scoring.results import score_suite

TASKS = ["alignment", "robustness", "sensitivity", "clustering", "retrieval", "human_ordering"]
BODY = """
def shared(a, b):
    first, second = ({{text[i:i + 3] for i in range(len(text) - 2)}} for text in (a.lower(), b.lower()))
    return len(first & second) / len(first | second) if first or second else 1.0


def {returns}(a, b):
    return [{formula} for jaccard in map(shared, a, b)]
"""
SCALES = {
    "unit_scale": ("similarity", "[0.0, 1.0]", "jaccard"),
    "percent": ("similarity", "[0.0, 100.0]", "100 * jaccard"),
    "stars": ("similarity", "[1.0, 5.0]", "1 + 4 * jaccard"),
    "signed": ("similarity", "[-1.0, 1.0]", "2 * jaccard - 1"),
    "error_rate": ("distance", "[0.0, 100.0]", "100 - 100 * jaccard"),
    "shifted": ("distance", "[2.0, 4.0]", "4 - 2 * jaccard"),
}


@pytest.mark.sandbox
def test_linear_changes_of_scale_get_the_same_scores(write, smoke, tmp_path):
    entries = [load_submission(write(name, BODY.format(returns=returns, formula=formula), kind="text", returns=returns,
                                     range=bounds)).entries[0] for name, (returns, bounds, formula) in SCALES.items()]
    summary = run_suite(entries, smoke, tmp_path / "store.sqlite", only=TASKS, jobs=2)
    assert not summary.failures
    scores = {entry.name: {(task, measure): estimate.value for task in TASKS for measure, estimate in
                           {"score": entry.tasks[task].score, **entry.tasks[task].measures}.items() if estimate is not None}
              for entry in score_suite(tmp_path / "store.sqlite", smoke)}
    reference = scores.pop("unit_scale")
    assert reference["sensitivity", "score"] > 0.7
    assert len({value for (task, _), value in reference.items() if task == "clustering"}) > 2
    for name, values in scores.items():
        assert values == pytest.approx(reference, abs=1e-6), name
