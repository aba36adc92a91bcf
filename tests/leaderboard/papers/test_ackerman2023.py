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
    # section 2: PR and DC with k = 2, 5 and 15
    assert {f"{family}_{k}" for family in ("PR", "DC") for k in (2, 5, 15)} <= {name for name, _ in ackerman2023.METRICS.values()}


@pytest.mark.parametrize(("published", "share", "agrees"), [
    ("ENERGY", 1.0, True), ("ENERGY", 0.9, True), ("ENERGY", 0.8, False), ("AHD", 0.0, True), ("AHD", 0.2, False)])
def test_a_class_needs_nine_in_ten_redraws(published, share, agrees):
    comparison = compare("X", published, nearer_energy=share)
    assert comparison.agrees == agrees
    (summary,) = ackerman2023.summarize_classes([comparison])
    assert summary.startswith(f"{int(agrees)} of 1 metrics other than the prototypes are in their published class")
    assert "Near neither prototype (both deviations above 0.25): X." in summary
    assert rows_of(comparison)["X"]["as in paper"] == ("yes" if agrees else "no")
    records = list(csv.DictReader(io.StringIO(ackerman2023.build_records([comparison]).to_csv())))
    assert {record["measure"]: float(record["mean"]) for record in records}["deviation_ahd"] == 0.4


def compare(metric: str, published: str, **values: float) -> Comparison:
    measures = estimates(deviation_energy=0.3, deviation_ahd=0.4, distributionality=0.57, last_is_lowest=1.0, **values)
    return Comparison(metric, published, measures, frozenset({"distributionality"}))


def rows_of(*comparisons: Comparison) -> dict[str, dict[str, str]]:
    table = ackerman2023.build_table(comparisons)
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_the_prototypes_do_not_count_as_agreeing():
    comparisons = [compare("ENERGY", "ENERGY", nearer_energy=1.0), compare("AHD", "AHD", nearer_energy=0.0), compare("FID", "ENERGY", nearer_energy=1.0)]
    (summary,) = ackerman2023.summarize_classes(comparisons)
    assert summary.startswith("1 of 1 metrics other than the prototypes")
    assert [(row["as in paper"], row["95% CI"]) for row in rows_of(*comparisons).values()] == [("by definition", ""), ("by definition", ""), ("yes", "0.57 to 0.57")]


def test_what_is_unknown_and_what_was_not_run_are_told_apart():
    unknown = Comparison("PR_15", "ENERGY", estimates(locality=0.7), frozenset({"distributionality", "local_perturbation"}))
    not_run = Comparison("FID", "ENERGY", estimates(locality=0.3), frozenset({"local_perturbation"}))
    rows = rows_of(unknown, not_run, compare("X", "ENERGY"))
    assert [rows[name]["distributionality"] for name in ("PR_15", "FID")] == ["unknown", "not run"]
    assert [rows[name]["locality"] for name in ("PR_15", "FID", "X")] == ["0.70", "0.30", "not run"]
    assert "Class unknown, since all distances are equal in most redraws: PR_15." in ackerman2023.summarize_classes([unknown, not_run])[0]
    assert ackerman2023.summarize_classes([not_run]) == []
    findings, = ackerman2023.judge_findings([unknown, not_run])
    assert findings.rows[2][1] == "PR_2 not run, PR_5 not run, PR_15 0.70 (0.70 to 0.70)"
    assert ackerman2023.judge_findings([compare("X", "ENERGY")]) == []


# Section 2 of the paper: FID reacts late, IRPR early, PR and DC the sooner the smaller k.
@pytest.mark.parametrize(("fid", "irpr", "pr", "half_width", "verdicts"), [
    (0.3, 0.8, (0.9, 0.8, 0.7), 0.05, ["yes", "yes", "yes"]), (0.3, 0.8, (0.9, 0.8, 0.7), 0.15, ["yes", "yes", "unclear"]),
    (0.6, 0.2, (0.9, 0.6, 0.7), 0.05, ["no", "no", "no"]), (0.48, 0.55, (0.75, 0.8, 0.9), 0.1, ["unclear", "unclear", "unclear"]),
    (0.3, 0.8, (0.7, 0.8, None), 0.05, ["yes", "yes", ""])])
def test_findings_on_local_perturbation_are_judged(fid, irpr, pr, half_width, verdicts):
    def make_comparison(metric: str, locality: float | None) -> Comparison:
        measures = {} if locality is None else {"locality": Estimate(locality, locality - half_width, locality + half_width, 20)}
        return Comparison(metric, "ENERGY", measures, frozenset({"local_perturbation"}))
    comparisons = [make_comparison(*item) for item in zip(("FID", "IRPR", "PR_2", "PR_5", "PR_15"), (fid, irpr, *pr), strict=True)]
    findings, = ackerman2023.judge_findings(comparisons)
    assert [row[2] for row in findings.rows[:3]] == verdicts
    assert findings.rows[2][1].endswith("unknown") == (pr[-1] is None)
    assert findings.rows[3] == ["DC reacts the sooner the smaller k", "DC_2 not run, DC_5 not run, DC_15 not run", ""]
    assert ackerman2023.judge_order([Estimate(0.9, None, None, 3), Estimate(0.1, None, None, 3)]) == "unclear"


def test_classes_are_read_from_the_store(smoke, tmp_path):
    """On smoke's tasks of the same names: ENERGY and AHD agree with themselves."""
    path = tmp_path / "store.sqlite"
    run_suite(select_entries(["energy", "ahd"], SUBMISSIONS), smoke, path, progress=NoProgress(), jobs=2,
              only=["distributionality", "local_perturbation"])
    comparisons = {comparison.metric: comparison for comparison in ackerman2023.compare_classes(Store(path, read_only=True), smoke)}
    assert (comparisons["ENERGY"].nearer_energy, comparisons["AHD"].nearer_energy) == (1.0, 0.0)
    assert all(comparison.agrees and comparison.tasks == {"distributionality", "local_perturbation"} for comparison in comparisons.values())
