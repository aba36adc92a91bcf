"""Räisä et al. 2025: the metrics beside prdc, the criteria on curves of known shape, and the table."""

from __future__ import annotations

import contextlib
import csv
import io

import numpy as np
import prdc.prdc as prdc
import pytest
import sklearn.metrics

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from leaderboard.papers import raisa2025
from leaderboard.papers.base import Options
from leaderboard.papers.published_tables import raisa2025_passes
from leaderboard.papers.raisa2025 import (
    CHUNK,
    CRITERIA,
    GRIDS,
    K_DENSITY,
    K_PRECISION,
    METRICS,
    Neighbourhoods,
    bell,
    close,
    compute_check,
    either,
    falls,
    falls_by,
    flat,
    judge_series,
    one_or_zero,
    rises,
    settles,
    summarise,
)
from tasks.corpus.synthetic_points import EXPERIMENTS

X = np.arange(-5.0, 6)


@pytest.fixture(scope="module")
def small():
    """Two repetitions of every check with 60 points, on three values: the ends and the middle."""
    with pytest.MonkeyPatch.context() as patch:
        for check, grid in GRIDS.items():
            patch.setitem(raisa2025.GRIDS, check, {dimensions: x[[0, len(x) // 2, -1]] for dimensions, x in grid.items() if dimensions < 64})
        return [series for check in CRITERIA for series in compute_check(check, 2, 60)]


@pytest.mark.parametrize(("sizes", "dimensions"), [((50, 80), 3), ((CHUNK + 50, 60), 20)])
def test_the_metrics_are_those_of_prdc(sizes, dimensions, monkeypatch):
    """Without ties, open and closed balls hold the same points; the second reference is handled in two parts."""
    real = sklearn.metrics.pairwise_distances
    monkeypatch.setattr(sklearn.metrics, "pairwise_distances", lambda *a, n_jobs, **named: real(*a, **named))
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=(sizes[0], dimensions)), rng.normal(0.5, 1.2, (sizes[1], dimensions))
    with contextlib.redirect_stdout(io.StringIO()):
        narrow, wide = prdc.compute_prdc(p, q, K_PRECISION), prdc.compute_prdc(p, q, K_DENSITY)
    found = dict(zip(METRICS, raisa2025.measure(Neighbourhoods.of(p), Neighbourhoods.of(q)), strict=True))
    assert found == pytest.approx({"precision": narrow["precision"], "recall": narrow["recall"], "density": wide["density"],
                                   "coverage": wide["coverage"]})


def test_balls_are_closed():
    """Equal points are in each other's balls of radius 0, which the authors' change to prdc is for."""
    points = np.repeat([[0.0], [1.0]], 10, axis=0)
    precision, recall, _, coverage = raisa2025.measure(Neighbourhoods.of(points), Neighbourhoods.of(points))
    assert (precision, recall, coverage) == (1, 1, 1)


def test_k_of_density_is_the_smallest_with_an_expected_coverage_of_95_percent():
    """Naeem et al. 2020, lemma 2: 1 - prod((n - i) / (2n - i)), i = 1..k, for n real and n generated points."""
    for n in (100, 1_000, 10_000):
        i = np.arange(1, 21)
        expected = 1 - np.cumprod((n - i) / (2 * n - i))
        assert 1 + np.argmax(expected > 0.95) == K_DENSITY


@pytest.mark.parametrize(("judge", "y", "verdict"), [
    (close(0, 1), np.exp(-X ** 2), True), (close(5, 1), np.exp(-X ** 2), False), (close(-np.inf, 0), np.exp(-X ** 2), True),
    (bell(0), np.exp(-X ** 2), True), (bell(3), np.exp(-X ** 2), False), (bell(0), np.full(11, 0.5), False),
    (rises, X / 10 + 0.5, True), (falls, X / 10 + 0.5, False), (falls, 0.5 - X / 10, True), (rises, np.abs(X) / 5, False),
    (falls_by(0.5), 0.5 - X / 10, True), (falls_by(0.5), np.r_[np.ones(10), 0.5], False),
    (flat, 0.5 + X / 1000, True), (flat, 0.5 + X / 10, False),
    (settles, np.r_[np.linspace(0, 1, 5), np.ones(6)], True), (settles, np.r_[np.ones(5), np.linspace(0, 1, 6)], False),
    (one_or_zero(5), np.ones(11), "high"), (one_or_zero(5), np.zeros(11), "low"), (one_or_zero(5), np.full(11, 0.5), False),
    (either(bell(0), rises), np.exp(-X ** 2), "low"), (either(bell(0), rises), X / 10 + 0.5, "high"),
    (either(bell(0), rises), np.zeros(11), False),
])
def test_criteria_on_curves_of_known_shape(judge, y, verdict):
    assert judge(X, y) == verdict


@pytest.mark.parametrize(("verdicts", "letter"), [
    ([True, True], "T"), ([True, False], "F"), (["low", True], "L"), (["high", "high"], "H"), (["low", "high"], "F"),
    (["high", False], "F")])
def test_a_metric_that_is_low_and_high_fails(verdicts, letter):
    assert summarise(verdicts) == letter


def test_published_verdicts_cover_every_check_and_desideratum():
    published = raisa2025_passes()
    assert set(published) == {(check, criterion.desideratum) for check, criteria in CRITERIA.items() for criterion in criteria}
    assert set(CRITERIA) == set(GRIDS) == set(EXPERIMENTS)
    assert all(set(passes) == set(METRICS) and set(passes.values()) <= set("TFLH") for passes in published.values())
    assert all(passes[metric] in "TF" for passes in published.values() for metric in ("precision", "density"))


def test_the_table_has_a_row_per_check_and_desideratum(small):
    findings = [finding for series in small for finding in judge_series(series)]
    table = raisa2025.build_table(findings)
    assert [tuple(row[:2]) for row in table.rows] == list(raisa2025_passes())
    assert all(row[2::2] == list(raisa2025_passes()[row[0], row[1]].values()) for row in table.rows)
    assert set(table.row_styles) == {number for number, row in enumerate(table.rows) if row[2::2] != row[3::2]}
    assert len(table.legend) == 1 + len(table.row_styles)
    records = list(csv.DictReader(io.StringIO(raisa2025.build_records(findings).to_csv())))
    assert len(records) == len(findings)
    assert all(0 <= float(record["lowest"]) <= float(record["highest"]) for record in records)


def test_equal_distributions_are_covered_and_distant_ones_are_not(small):
    """Coverage with k = 5 is .97 in expectation for equal distributions, and 0 at six standard deviations in one dimension."""
    series = next(curve for curve in small if curve.check == "mean_difference" and curve.dimensions == 1)
    first, equal, last = series.values["coverage"].mean(axis=0)
    assert equal > 0.85
    assert max(first, last) < 0.05
    for check in ("mean_difference", "pareto"):
        judged = {(finding.criterion.name, finding.metric): finding.verdict for series in small if series.check == check
                  for finding in judge_series(series)}
        assert judged["first", "coverage"] is judged["shape", "coverage"] is True


def test_leaving_out_repetitions_shows_how_certain_a_verdict_is():
    """The mean of 1, 1, 1 and .84 is .96, near 1; without one of the ones it is .947."""
    values = np.array([[1.0], [1.0], [1.0], [0.84]]) * np.exp(-X ** 2)
    series = raisa2025.Series("mean_difference", "", 1, X, dict.fromkeys(METRICS, values))
    stability = {finding.criterion.name: finding.stability for finding in judge_series(series)}
    assert stability == {"equal": 0.25, "first": 1, "last": 1, "shape": 1}


def test_one_check_is_reproduced_and_unknown_ones_are_refused(monkeypatch):
    monkeypatch.setattr(raisa2025, "REPETITIONS", 2)
    result = raisa2025.reproduce(Options("", NoProgress(), only=["mode_invention"]))
    (table,) = result.tables
    assert [row[1] for row in table.rows] == ["bounds", "property"]
    assert [row[2:8] for row in table.rows if row[1] == "property"] == [["T"] * 6]      # coverage is close to its bound
    with pytest.raises(TouchstoneError, match='The paper has no check "mode_inventoin".*mode_invention'):
        raisa2025.reproduce(Options("", NoProgress(), only=["mode_inventoin"]))
