"""Kour et al. 2022: the table as printed, noise units by hand, and a run on synthetic texts."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.papers.kour2022 import (
    EXPLANATIONS,
    METRICS,
    PAIR,
    SUITE,
    Cell,
    Sample,
    build_records,
    build_table,
    compare_cells,
    noise_units,
    paper_entries,
    summarize,
)
from leaderboard.papers.published_tables import kour2022_rerun, kour2022_table3
from tasks.corpus.known_similarity import measure_distances
from tasks.data.sources import synthetic
from tasks.suite_files import load_suite


def test_the_published_table_is_as_printed():
    means = {(number.metric, number.k, number.measure): number.mean for number in kour2022_table3(PAIR)}
    # Kour et al. 2022, table 3, (clinc150, banking77): the rows CHI, k = 7, and FID, k = 12
    assert means["CHI", 7, "accuracy_tree"] == 0.945
    assert means["CHI", 7, "linearity_r"] == 0.81
    assert means["CHI", None, "imbalance_robustness_unnormalised"] == 0.994
    assert {metric for metric, _, _ in means} == {name for name, _ in METRICS.values() if name}
    assert {number.metric for number in kour2022_rerun(PAIR)} >= {name for _, name in METRICS.values()}


def test_every_metric_and_every_explanation_belongs_to_a_submission():
    assert {entry.name for entry in paper_entries()} == set(METRICS)
    assert {metric for metric, _ in EXPLANATIONS} <= set(METRICS)


def test_noise_units_by_hand():
    # sqrt(.1^2/25 + .2^2/25) = .0447; (1 - 1.3)/.0447
    assert noise_units(Sample(1.0, 0.1, 25), Sample(1.3, 0.2, 25)) == pytest.approx(-6.708, abs=1e-3)
    assert noise_units(Sample(1.0, 0.1, 25), None) is None
    assert noise_units(Sample(1.0, None, 1), Sample(1.3, 0.2, 25)) is None


def test_cells_that_deviate_are_marked_and_explained():
    def make_cell(metric: str, measure: str, ours: float) -> Cell:
        return Cell(metric, 7, measure, Sample(0.5, None, 5), Sample(0.5, 0.1, 25), Sample(ours, 0.1, 25))
    cells = [make_cell("fid", "accuracy_tree", 0.5), make_cell("fid", "monotonicity", 0.9), make_cell("energy", "linearity_r", 0.9)]
    assert [cell.deviates for cell in cells] == [False, True, True]
    assert [bool(cell.note) for cell in cells] == [False, False, True]
    assert summarize(cells).startswith("1 of 3 cells (33%) lie within 3 noise units")
    assert "marked *, 1 have no known cause" in summarize(cells)
    assert build_table(cells).to_markdown().count("*") == 2 * 2 + 1     # two cells, each with two differences, and the legend
    records = list(csv.DictReader(io.StringIO(build_records(cells).to_csv())))
    assert [float(record["mean"]) for record in records] == [0.5, 0.9, 0.9]


def test_distances_in_the_direction_of_the_authors_code(tmp_path, monkeypatch):
    """On synthetic texts under the two names: only d(c_i, c_j) is compared, where c_1 consists of banking77."""
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    for name, domain in (("banking77", "weather"), ("clinc150", "trains")):
        (tmp_path / "mirror" / name).mkdir(parents=True)
        synthetic.make_corpus(domain).to_parquet(tmp_path / "mirror" / name / "data.parquet")
    suite, store = load_suite(SUITE, {"known_similarity": {"repetitions": 2}}), tmp_path / "store.sqlite"
    tally = run_suite(select_entries(["chi"], SUBMISSIONS), suite, store, only=["known_similarity"], progress=NoProgress())
    assert (tally.answered, tally.failures) == (4 * 2, [])
    cells = {(cell.k, cell.measure): cell for cell in compare_cells(Store(store, read_only=True), suite)}
    assert {cell.metric for cell in cells.values()} == {"chi[published]"}
    assert {k for k, _ in cells} == {7, 12}
    stored = next(entry for entry in Store(store, read_only=True).entries() if entry.entry.name == "chi[published]")
    task = suite.tasks[0]
    outcomes = Store(store, read_only=True).outcomes(stored.digest, suite.forms)
    units = [unit for unit in suite.units(task) if unit.parameters["k"] == 7]
    assert {unit.parameters["source_a"] for unit in units} == {"banking77"}
    expected = [measure_distances(np.array(outcomes[unit.id].observation.forward), 7)["accuracy_tree"] for unit in units]
    assert cells[7, "accuracy_tree"].ours == Sample(np.mean(expected), pytest.approx(np.std(expected, ddof=1)), 2)
    assert cells[7, "accuracy_tree"].published.mean == 0.945
