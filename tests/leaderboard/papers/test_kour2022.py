"""Kour et al. 2022: the table as printed, noise units by hand, and a run on synthetic texts."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.results.store import Store
from harness.submission.selection import select_entries
from leaderboard.papers import kour2022
from leaderboard.papers import kour2022_findings as findings
from leaderboard.papers.base import Options
from leaderboard.papers.kour2022 import (
    EXPLANATIONS,
    FINE_TUNING,
    MEASURES,
    METRICS,
    PAIR,
    SECOND_PAIR,
    SUITE,
    Cell,
    Difference,
    Sample,
    build_records,
    build_second_table,
    build_table,
    compare_cells,
    compare_means,
    load_suites,
    paper_entries,
    published_means,
    reproduce,
    summarize,
)
from leaderboard.papers.published_tables import kour2022_rerun, kour2022_table3
from leaderboard.scoring.estimates import Estimate
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
    assert {explanation.metric for explanation in EXPLANATIONS} <= set(METRICS)
    assert set().union(*(explanation.measures for explanation in EXPLANATIONS)) <= set(MEASURES)


def test_noise_units_by_hand():
    # sqrt((.1^2 + .2^2)/2 (1/25 + 1/25)) = .0447; (1 - 1.3)/.0447
    difference = compare_means(Sample(1.0, 0.1, 25), Sample(1.3, 0.2, 25))
    assert (difference.units, difference.freedom) == (pytest.approx(-6.708, abs=1e-3), 48)
    assert compare_means(Sample(1.0, 0.1, 25), None) is compare_means(Sample(1.0, None, 1), Sample(1.3, 0.2, 25)) is None
    assert compare_means(Sample(1.0, 0.0, 25), Sample(1.3, 0.0, 25)) is None
    # a mean of 5 repetitions with the standard deviation of 25: -.3/sqrt(.025 (1/25 + 1/5))
    published = compare_means(Sample(1.0, 0.1, 25), Sample(1.3, 0.2, 5, 25))
    assert (published.units, published.freedom) == (pytest.approx(-3.873, abs=1e-3), 48)


# 3 standard deviations of a normal distribution leave .00135 on a side; so does 6.4 with 4 degrees of freedom, and 19.2 with 2 (tables of t:
# .001 is at 7.17 and 22.3, .0025 at 5.60 and 14.1).
@pytest.mark.parametrize(("units", "freedom", "exceeds"), [
    (3.1, 1000, True), (2.9, 1000, False), (-3.1, 1000, True), (7.2, 4, True), (5.5, 4, False), (22.4, 2, True), (14.0, 2, False)])
def test_the_limit_is_wider_with_few_repetitions(units, freedom, exceeds):
    difference = Difference(units, freedom)
    assert difference.exceeds_noise == exceeds
    assert str(difference).endswith("*") == exceeds


def test_equal_means_of_three_repetitions_are_rarely_marked():
    """A normal distribution exceeds 3 standard deviations in .27% of cases; of 2,000, that is at most .62% but for 3 standard errors."""
    rng = np.random.default_rng(1)
    def draw(repetitions: int) -> Sample:
        values = rng.normal(size=repetitions)
        return Sample(values.mean(), values.std(ddof=1), repetitions)
    assert np.mean([compare_means(draw(3), draw(25)).exceeds_noise for _ in range(2000)]) < 0.0062


def make_cell(metric: str, measure: str, ours: float, rerun: float = 0.5, published: float = 0.5) -> Cell:
    return Cell(metric, 7, measure, Sample(published, None, 5), Sample(rerun, 0.1, 25), Sample(ours, 0.1, 25))


def test_cells_that_deviate_are_marked_and_explained():
    cells = [make_cell("fid", "accuracy_tree", 0.5), make_cell("fid", "monotonicity", 0.9), make_cell("energy", "linearity_r", 0.9)]
    assert [bool(cell.note) for cell in cells] == [False, False, True]
    assert summarize(cells).startswith("1 of 3 cells (33%) lie within 3 noise units")
    assert "marked *, 1 have no known cause. 1 of 3 cells (33%) lie within 3 noise units of the published number" in summarize(cells)
    assert build_table(cells).to_markdown().count("*") == 2 * 2 + 1     # two cells, each with two differences, and the legend
    records = list(csv.DictReader(io.StringIO(build_records({PAIR: cells}).to_csv())))
    assert [float(record["mean"]) for record in records] == [0.5, 0.9, 0.9]


@pytest.mark.parametrize(("cell", "is_explained"), [
    (make_cell("energy", "linearity_r", 0.9), True),
    (make_cell("energy", "accuracy_tree", 0.9), False),                     # a square root changes no order
    (make_cell("energy", "linearity_r", 0.5, published=0.9), False),        # explains the difference from the re-run only
    (make_cell("irpr", "imbalance_robustness_unnormalised", 0.9, rerun=0.9), True),
    (make_cell("irpr", "size_robustness", 0.9), False),
    (make_cell("zipf[published]", "linearity_r", 0.9), False), (make_cell("mauve", "linearity_r", 0.9), False)])
def test_an_explanation_applies_only_to_the_cells_that_it_explains(cell, is_explained):
    assert bool(cell.note) == is_explained


def test_findings_hold_in_the_published_table():
    """The text of the paper about its own table, and ranks of our numbers under a stand-in."""
    published = [published_means(pair) for pair in (PAIR, SECOND_PAIR)]
    table = findings.judge_table3([("first", published[0], published[0]), ("second", published[1], {})])
    assert all(row[2] == "yes" for row in table.rows)
    assert {row[3] for row in table.rows if row[1] == "first"} == {"yes"}
    assert {row[3] for row in table.rows if row[1] == "second"} == {"not run"}
    inverted = {key: -mean for key, mean in published[1].items()}
    assert [row[3] for row in findings.judge_table3([("", published[0], inverted), ("", published[1], inverted)]).rows] == ["no"] * 8


def test_ranks_of_the_second_pair():
    """Published A of (atis, yahoo), k = 7, in table 3: MAUVE .999, FID .967, PR .722."""
    published = published_means(SECOND_PAIR)
    cells = [Cell(name, 7, "accuracy_tree", Sample(published[METRICS[name][0], 7, "accuracy_tree"], None, 5), None, Sample(ours, 0.1, 25))
             for name, ours in (("fid", 0.8), ("pr", 0.9), ("mauve", 0.95))]
    cells.append(Cell("energy", 7, "accuracy_tree", None, None, Sample(0.99, 0.1, 25)))
    table = build_second_table(cells)
    assert [(row[0], row[-2], row[-1]) for row in table.rows] == [("fid", 2, 3), ("pr", 3, 2), ("mauve", 1, 1)]
    assert "accuracy_tree (k=7) 0.50." in table.legend[0]                   # Spearman of (2, 3, 1) and (3, 2, 1)


def estimates(**values: float) -> dict[str, Estimate]:
    return {name: Estimate(value, None, None, 2) for name, value in values.items()}


def test_run_times_are_multiples_of_that_of_chi():
    """Table 3, T(d) in hundreds of calls, k = 12: CHI 3.29, MAUVE .071, PR .031."""
    costs = {"CHI": estimates(c=2.0)["c"], "PR": estimates(c=4.0)["c"], "MAUVE": estimates(c=20.0)["c"]}
    table = findings.compare_costs(costs, PAIR)
    assert "Here MAUVE is slowest, because" in table.legend[0]
    assert "Here PR is slowest. Seconds" in findings.compare_costs(costs | {"PR": estimates(c=30.0)["c"]}, PAIR).legend[0]
    assert table.rows == [["CHI", "329", "1.0", "1.0", "1", "1"], ["MAUVE", "7", "46.3", "10.0", "2", "3"], ["PR", "3", "106.1", "2.0", "3", "2"]]


def test_findings_of_section_5_are_judged():
    curves = {"CHI": estimates(ifc_monotonicity=0.4, ifc_gap=1), "FID": estimates(ifc_monotonicity=0.9, ifc_gap=5),
              "IRPR": estimates(ifc_monotonicity=0.8, ifc_gap=3), "ZIPF": estimates(ifc_monotonicity=-0.5, ifc_gap=9)}
    verdicts = findings.judge_training({"a": curves, "b": curves | {"FID": estimates(ifc_monotonicity=0.1, ifc_gap=1), "ZIPF": {}}})[1]
    assert [row[1:] for row in verdicts.rows] == [["yes", "yes"], ["yes", "no"], ["yes", "no"], ["yes", "unknown"]]


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A mirror with synthetic texts under the names of three datasets."""
    monkeypatch.setenv("TOUCHSTONE_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    for name, domain in (("banking77", "weather"), ("clinc150", "trains"), ("atis", "kitchen")):
        (tmp_path / "mirror" / name).mkdir(parents=True)
        synthetic.make_corpus(domain).to_parquet(tmp_path / "mirror" / name / "data.parquet")


def test_what_needs_absent_data_is_named_and_the_rest_is_run(mirror, tmp_path):
    suites, absent = load_suites(Options(str(tmp_path / "store.sqlite"), NoProgress(), only=("known_similarity",)))
    assert list(suites) == [SUITE]
    assert [reason.split(" cannot be")[0] for reason in absent] == ['The dataset "nf_cats" (the repository of NF-CATS)']
    with pytest.raises(TouchstoneError, match='has no task "timings".* It has known_similarity, convergence, timing'):
        reproduce(Options(str(tmp_path / "store.sqlite"), NoProgress(), only=("timings",)))


def test_a_task_that_is_requested_needs_its_data(monkeypatch, mirror, tmp_path):
    def refuse(name: str, overrides: object = None) -> object:
        if name == FINE_TUNING:
            raise TouchstoneError("There is no dataset.")
        return load_suite(name, overrides)
    monkeypatch.setattr(kour2022, "load_suite", refuse)
    with pytest.raises(TouchstoneError, match=r"There is no dataset\."):
        load_suites(Options(str(tmp_path / "store.sqlite"), NoProgress(), only=("fine_tuning",)))


def test_distances_in_the_direction_of_the_authors_code(mirror, tmp_path):
    """On synthetic texts under the two names: only d(c_i, c_j) is compared, where c_1 consists of banking77."""
    suite, store = load_suite(SUITE, {"known_similarity": {"repetitions": 2}}), tmp_path / "store.sqlite"
    tally = run_suite(select_entries(["chi"], SUBMISSIONS), suite, store, only=["known_similarity"], progress=NoProgress())
    assert (tally.answered, tally.failures) == (4 * 2, [])
    cells = {(cell.k, cell.measure): cell for cell in compare_cells(Store(store, read_only=True), suite)}
    assert {cell.metric for cell in cells.values()} == {"chi[published]"}
    assert {k for k, _ in cells} == {7, 12}
    stored = next(entry for entry in Store(store, read_only=True).entries() if entry.entry.name == "chi[published]")
    task = suite.tasks[0]
    outcomes = Store(store, read_only=True).outcomes(stored.digest, suite.observation_types)
    units = [unit for unit in suite.units(task) if unit.parameters["k"] == 7]
    assert {unit.parameters["source_a"] for unit in units} == {"banking77"}
    expected = [measure_distances(np.array(outcomes[unit.id].observation.forward), 7)["accuracy_tree"] for unit in units]
    assert cells[7, "accuracy_tree"].ours == Sample(np.mean(expected), pytest.approx(np.std(expected, ddof=1)), 2)
    assert cells[7, "accuracy_tree"].published.mean == 0.945
