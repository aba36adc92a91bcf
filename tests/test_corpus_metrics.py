"""Corpus metrics give the numbers of the packages that are known for them, on the same arrays."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from itertools import chain

import numpy as np
import prdc
import pytest
import sklearn.metrics
from scipy import linalg, spatial, stats
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from tests.corpora import PAIRS_OF_EMBEDDINGS, PAIRS_OF_TOKENS, Direct, like_embeddings, on_a_grid, with_duplicates

EMBEDDINGS = pytest.mark.parametrize(("p", "q"), PAIRS_OF_EMBEDDINGS.values(), ids=PAIRS_OF_EMBEDDINGS.keys())
TOKENS = pytest.mark.parametrize(("p", "q"), PAIRS_OF_TOKENS.values(), ids=PAIRS_OF_TOKENS.keys())
ROUNDING = 1e-12                            # float64 sums of up to 40,000 numbers about 1, in another order


@EMBEDDINGS
def test_fid_is_that_of_sqrtm(p, q):
    covariances = [np.cov(rows.astype(float), rowvar=False) for rows in (p, q)]
    means = [rows.astype(float).mean(axis=0) for rows in (p, q)]
    root = linalg.sqrtm(covariances[0] @ covariances[1]).real
    theirs = ((means[0] - means[1]) ** 2).sum() + np.trace(covariances[0] + covariances[1] - 2 * root)
    # With fewer texts than dimensions the product is singular, and its root is good to the root of float64's 1e-16 only.
    assert Direct("fid")(p, q) == pytest.approx(theirs, abs=2e-6)


ROWS_OF_PRDC = {**PAIRS_OF_EMBEDDINGS, **{
    "ties": (on_a_grid(60, 3, 1), on_a_grid(60, 3, 2)),
    "ties, unequal sizes": (on_a_grid(80, 2, 3), on_a_grid(30, 2, 4)),
    "ties and duplicates": (with_duplicates(on_a_grid(40, 4, 5)), on_a_grid(40, 4, 6)),
    "a lump of equal rows": (np.concatenate([np.ones((20, 3), np.float32), on_a_grid(20, 3, 7)]), on_a_grid(40, 3, 8)),
    "identical corpora with ties": (on_a_grid(40, 3, 9), on_a_grid(40, 3, 9)),
    "one row more than it needs": (like_embeddings(7, 16, 1), like_embeddings(17, 16, 2)),
}}


@pytest.fixture
def one_job(monkeypatch):
    """prdc asks scikit-learn for eight jobs, which cost seconds and change no number."""
    real = sklearn.metrics.pairwise_distances
    monkeypatch.setattr(sklearn.metrics, "pairwise_distances", lambda *a, n_jobs, **named: real(*a, **named))


def harmonic(a: float, b: float) -> float:
    return stats.hmean([a, b]) if a > 0 and b > 0 else 0.0


@pytest.mark.parametrize("k", [2, 5, 15])
@pytest.mark.parametrize(("p", "q"), ROWS_OF_PRDC.values(), ids=ROWS_OF_PRDC.keys())
def test_precision_recall_density_coverage_are_those_of_prdc_in_every_cell(p, q, k, one_job):
    if min(len(p), len(q)) < k + 2:
        pytest.skip("prdc needs k + 2 texts")
    pr, dc = Direct("pr", k=k), Direct("dc", k=k)
    for metric in (pr, dc):
        a, b = metric.prepare(p), metric.prepare(q)
        ours = metric.answer.__closure__ if False else metric.cells(a, b)
        theirs = prdc.compute_pairwise_distance(p, q)
        for radii, rows in ((a.radii, p), (b.radii, q)):
            np.testing.assert_allclose(radii, prdc.compute_nearest_neighbour_distances(rows, k), rtol=2e-7)
    with contextlib.redirect_stdout(io.StringIO()):
        theirs = prdc.compute_prdc(p, q, k)
    assert pr(p, q) == pytest.approx(1 - harmonic(theirs["precision"], theirs["recall"]), abs=ROUNDING)
    assert dc(p, q) == pytest.approx(1 - harmonic(min(1, theirs["density"]), theirs["coverage"]), abs=ROUNDING)
