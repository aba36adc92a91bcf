"""Ackerman et al. 2023: classes and shapes of the paper's metrics."""

from __future__ import annotations

import csv
import io

import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.papers import ackerman2023
from leaderboard.papers.ackerman2023 import Comparison
from leaderboard.scoring.estimates import Estimate


def estimates(**values: float) -> dict[str, Estimate]:
    return {name: Estimate(value, value, value, 10) for name, value in values.items()}


def test_every_metric_of_the_paper_is_a_submission():
    assert {entry.name for entry in ackerman2023.paper_entries()} == set(ackerman2023.METRICS)
    # the paper's finding: only IRPR, besides AHD itself, is nearer to AHD
    assert [name for name, nearer_energy in ackerman2023.METRICS.values() if not nearer_energy] == ["AHD", "IRPR"]


@pytest.mark.parametrize(("published", "share", "agrees"), [
    ("ENERGY", 1.0, True), ("ENERGY", 0.9, True), ("ENERGY", 0.8, False), ("AHD", 0.0, True), ("AHD", 0.2, False)])
def test_a_class_needs_nine_in_ten_redraws(published, share, agrees):
    measures = estimates(deviation_energy=0.3, deviation_ahd=0.4, distributionality=0.57, last_is_lowest=1.0)
    comparison = Comparison("X", published, share, measures)
    assert comparison.agrees == agrees
    assert ackerman2023.summarize([comparison]).startswith(f"{int(agrees)} of 1 metrics are in their published class")
    assert "Near neither prototype (both deviations above 0.25): X." in ackerman2023.summarize([comparison])
    assert ackerman2023.build_table([comparison]).to_markdown().count("|") == 3 * (len(ackerman2023.COLUMNS) + 1)
    records = list(csv.DictReader(io.StringIO(ackerman2023.build_records([comparison]).to_csv())))
    assert {record["measure"]: float(record["mean"]) for record in records}["deviation_ahd"] == 0.4


def test_classes_are_read_from_the_store(smoke, tmp_path):
    """On smoke's tasks of the same names: ENERGY and AHD agree with themselves."""
    path = tmp_path / "store.sqlite"
    run_suite(select_entries(["energy", "ahd"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["distributionality", "local_perturbation"])
    comparisons = {comparison.metric: comparison for comparison in ackerman2023.compare_classes(Store(path, read_only=True), smoke)}
    assert (comparisons["ENERGY"].nearer_energy, comparisons["AHD"].nearer_energy) == (1.0, 0.0)
    assert all(comparison.agrees for comparison in comparisons.values())
