"""Corpus metrics give the numbers of the packages that are known for them, on the same arrays."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from itertools import chain

import numpy as np
import prdc.prdc as prdc
import pytest
import sklearn.metrics
from nltk.metrics.distance import edit_distance
from scipy import linalg, spatial, stats
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from tests.support.corpora import PAIRS_OF_EMBEDDINGS, PAIRS_OF_TOKENS, Direct, like_embeddings, on_a_grid, with_duplicates

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


ROWS_OF_PRDC = {
    **PAIRS_OF_EMBEDDINGS,
    "ties": (on_a_grid(60, 3, 1), on_a_grid(60, 3, 2)),
    "ties, unequal sizes": (on_a_grid(80, 2, 3), on_a_grid(30, 2, 4)),
    "ties and duplicates": (with_duplicates(on_a_grid(40, 4, 5)), on_a_grid(40, 4, 6)),
    "a lump of equal rows": (np.concatenate([np.ones((20, 3), np.float32), on_a_grid(20, 3, 7)]), on_a_grid(40, 3, 8)),
    "identical corpora with ties": (on_a_grid(40, 3, 9), on_a_grid(40, 3, 9)),
    "one row more than it needs": (like_embeddings(7, 16, 1), like_embeddings(17, 16, 2)),
}


@pytest.fixture
def one_job(monkeypatch):
    """prdc asks scikit-learn for eight jobs, which cost seconds and change no number."""
    real = sklearn.metrics.pairwise_distances
    monkeypatch.setattr(sklearn.metrics, "pairwise_distances", lambda *a, n_jobs, **named: real(*a, **named))


def harmonic(a: float, b: float) -> float:
    return stats.hmean([a, b]) if a > 0 and b > 0 else 0.0


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, (p, q) in ROWS_OF_PRDC.items() for k in (2, 5, 15)
                                         if min(len(p), len(q)) >= k + 2])                 # prdc needs as many
def test_precision_recall_density_coverage_are_those_of_prdc_in_every_cell(name, k, one_job):
    p, q = ROWS_OF_PRDC[name]
    pr, dc = Direct("pr", k=k), Direct("dc", k=k)
    theirs = prdc.compute_pairwise_distance(p, q)
    for metric in (pr, dc):
        a, b = metric.prepare(p), metric.prepare(q)
        ours = metric.module.euclidean(a.rows, a.squares, b.rows, b.squares)
        of_p, of_q = (prdc.compute_nearest_neighbour_distances(rows, k) for rows in (p, q))
        assert np.array_equal(ours < a.radii[:, None], theirs < of_p[:, None])
        assert np.array_equal(ours < b.radii[None, :], theirs < of_q[None, :])
    with contextlib.redirect_stdout(io.StringIO()):
        found = prdc.compute_prdc(p, q, k)
    assert pr(p, q) == pytest.approx(1 - harmonic(found["precision"], found["recall"]), abs=ROUNDING)
    assert dc(p, q) == pytest.approx(1 - harmonic(min(1, found["density"]), found["coverage"]), abs=ROUNDING)


@EMBEDDINGS
def test_mauve_is_that_of_mauve_text(p, q):
    import mauve

    # The same clusters make the same histograms, and those the same area but for rounding.
    assert Direct("mauve")(p, q) == pytest.approx(mauve.compute_mauve(p, q).mauve, abs=ROUNDING)


def test_mauve_of_equal_histograms_is_1_where_that_of_mauve_text_depends_on_the_sorting():
    import mauve

    p = like_embeddings(20, 32, 1)
    theirs = mauve.compute_mauve(p, p)
    assert np.array_equal(theirs.p_hist, theirs.q_hist)
    assert theirs.mauve == pytest.approx(0.75) or theirs.mauve == pytest.approx(1)     # the machine's sorting decides
    assert Direct("mauve")(p, p) == pytest.approx(1, abs=ROUNDING)


def test_mauve_of_one_text_each_is_that_of_mauve_text():
    import mauve

    p, q = like_embeddings(1, 16, 1), like_embeddings(1, 16, 2)
    assert Direct("mauve")(p, q) == pytest.approx(mauve.compute_mauve(p, q).mauve, abs=ROUNDING)


@EMBEDDINGS
def test_classifier_is_the_f1_of_scikit_learn(p, q):
    found = []
    for seed in range(3):                   # the seeds that the submission states
        rng = np.random.default_rng(seed)
        of_p, of_q = rng.permutation(len(p)), rng.permutation(len(q))
        m, n = int(0.8 * len(p)), int(0.8 * len(q))
        machine = SVC(random_state=1).fit(np.concatenate([p[of_p[:m]], q[of_q[:n]]]), [0] * m + [1] * n)
        judged = machine.predict(np.concatenate([p[of_p[m:]], q[of_q[n:]]]))
        found.append(sklearn.metrics.f1_score([0] * (len(p) - m) + [1] * (len(q) - n), judged))
    assert Direct("classifier")(p, q) == pytest.approx(np.mean(found), abs=ROUNDING)
    assert Direct("classifier", splits=1)(p, q) == pytest.approx(found[0], abs=ROUNDING)


@EMBEDDINGS
def test_medoid_is_the_cosine_distance_of_scipy(p, q):
    means = [rows.astype(float).mean(axis=0) for rows in (p, q)]
    assert Direct("medoid")(p, q) == pytest.approx(spatial.distance.cosine(*means), abs=ROUNDING)


@EMBEDDINGS
@pytest.mark.parametrize("bandwidth", [1.0, 0.5])
def test_mmd_is_that_of_the_kernel_of_scikit_learn(p, q, bandwidth):
    def mean_kernel(x, y):
        return rbf_kernel(x.astype(float), y.astype(float), gamma=1 / (2 * bandwidth ** 2)).mean()

    theirs = mean_kernel(p, p) + mean_kernel(q, q) - 2 * mean_kernel(p, q)
    # The rows are of unit length to float32's precision only, 1e-7; the submission makes that exact.
    assert Direct("mmd", bandwidth=bandwidth)(p, q) == pytest.approx(theirs, abs=1e-6)


@EMBEDDINGS
def test_kid_is_that_of_the_kernel_of_scikit_learn(p, q):
    def mean_kernel(x, y):
        kernel = polynomial_kernel(x.astype(float), y.astype(float), degree=3, coef0=1)
        return kernel.mean() if x is not y else kernel[~np.eye(len(x), dtype=bool)].mean()

    assert Direct("kid")(p, q) == pytest.approx(mean_kernel(p, p) + mean_kernel(q, q) - 2 * mean_kernel(p, q), abs=ROUNDING)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("name", ["unequal sizes", "more rows than columns"])       # no ties: scikit-learn breaks them by place
def test_neighbours_vote_as_in_scikit_learn(name, k):
    p, q = PAIRS_OF_EMBEDDINGS[name]
    rows, labels = np.concatenate([p, q]).astype(float), [0] * len(p) + [1] * len(q)
    judged = cross_val_predict(KNeighborsClassifier(k), rows, labels, cv=LeaveOneOut())
    assert Direct("c2st_knn", k=k)(p, q) == pytest.approx(sklearn.metrics.balanced_accuracy_score(labels, judged), abs=ROUNDING)


@EMBEDDINGS
def test_sliced_wasserstein_is_that_of_scipy_along_each_direction(p, q):
    directions = np.random.default_rng(0).normal(size=(p.shape[1], 200))               # as the submission states
    directions /= np.linalg.norm(directions, axis=0)
    theirs = np.mean([stats.wasserstein_distance(p @ one, q @ one) for one in directions.T])
    assert Direct("sliced_wasserstein")(p, q) == pytest.approx(theirs, abs=ROUNDING)


def angles(x, y):
    """scipy's cosine distances as angles; up to 0.005 counts as none."""
    found = np.arccos(np.clip(1 - spatial.distance.cdist(x.astype(float), y.astype(float), "cosine"), -1, 1)) / np.pi
    return np.where(found <= 0.005, 0, found)


@EMBEDDINGS
def test_energy_ahd_and_irpr_are_those_of_scipys_distances(p, q):
    across = angles(p, q)
    there, back = across.min(axis=1).mean(), across.min(axis=0).mean()
    # float32 cosines are good to 1e-7, and angles near 0.005, the smallest that count, to 60 times that, over pi.
    tolerance = {"abs": 5e-6}
    assert Direct("energy")(p, q) == pytest.approx(2 * across.mean() - angles(p, p).mean() - angles(q, q).mean(), **tolerance)
    assert Direct("ahd")(p, q) == pytest.approx((there + back) / 2, **tolerance)
    assert Direct("irpr")(p, q) == pytest.approx(harmonic(there, back), **tolerance)


@EMBEDDINGS
def test_semantic_f1_is_that_of_scipys_cosines(p, q):
    alike = np.clip(1 - spatial.distance.cdist(p.astype(float), q.astype(float), "cosine"), 0, 1)
    theirs = harmonic(alike.max(axis=1).mean(), alike.max(axis=0).mean())
    assert Direct("semantic_f1")(p, q) == pytest.approx(theirs, abs=1e-6)               # float32 products


@TOKENS
def test_syntactic_f1_is_that_of_nltks_edit_distance(p, q):
    """On token lists as words; NLTK's distance of two lists, one pair at a time."""
    p, q = p[:25], q[:25]
    alike = np.array([[1 / (1 + edit_distance(a, b) / max(len(a), len(b), 1)) for b in q] for a in p])
    theirs = harmonic(alike.max(axis=1).mean(), alike.max(axis=0).mean())
    assert Direct("syntactic_f1")([" ".join(text) for text in p], [" ".join(text) for text in q]) == pytest.approx(theirs, abs=ROUNDING)


def table_of(p, q, commonest):
    """Counts of the tokens commonest in both, the first of the alphabet where equally common."""
    first, second = (Counter(chain.from_iterable(corpus)) for corpus in (p, q))
    chosen = sorted(first + second, key=lambda token: (-first[token] - second[token], token))[:commonest]
    return np.array([[counts[token] for token in chosen] for counts in (first, second)])


def between_marks(corpus):
    return [["[CLS]", *text, "[SEP]"] for text in corpus]


@TOKENS
@pytest.mark.parametrize("commonest", [5000, 100, 10])
def test_chi_is_that_of_scipys_contingency_table(p, q, commonest):
    theirs = stats.chi2_contingency(table_of(p, q, commonest), correction=False)
    ours = Direct("chi", commonest=commonest)(p, q)
    assert ours == pytest.approx(theirs.statistic / theirs.dof, abs=1e-10)              # statistics reach 1,000
    marked = stats.chi2_contingency(table_of(between_marks(p), between_marks(q), commonest), correction=False)
    assert Direct("chi", commonest=commonest, published=True)(p, q) == pytest.approx(
        stats.chi2.cdf(marked.statistic, 2 * marked.dof), abs=1e-10)


@TOKENS
def test_jensen_shannon_is_that_of_scipy(p, q):
    theirs = spatial.distance.jensenshannon(*table_of(p, q, None), base=2) ** 2
    # scipy takes a root, which near 0 leaves half of float64's digits of what is squared here.
    assert Direct("vocabulary_jsd")(p, q) == pytest.approx(theirs, abs=1e-12)


def test_zipf_slope_is_scipys_on_ranks_that_are_not_thinned():
    """Up to rank 15 the logs are further apart than 1/15: each rank counts, at its place to the nearest 1/15."""
    corpus = [[f"t{rank}"] * (200 // rank) for rank in range(1, 17)]
    ranks = np.arange(1, 16)                # without the last
    theirs = stats.linregress(np.round(15 * np.log(ranks)) / 15, np.log(200 // ranks)).slope
    assert Direct("zipf").prepare(corpus) == pytest.approx(theirs, abs=ROUNDING)


@TOKENS
def test_zipf_slope_is_scipys_on_thinned_ranks(p, q):
    def theirs(corpus):
        frequencies = [count for _, count in Counter(chain.from_iterable(corpus)).most_common()]
        points = {}
        for rank in range(1, min(len(frequencies), 5000)):
            points.setdefault(round(15 * np.log(rank)) / 15, np.log(frequencies[rank - 1]))
        return stats.linregress(list(points), list(points.values())).slope if len(points) > 1 else 0.0

    assert Direct("zipf")(p, q) == pytest.approx(abs(theirs(p) - theirs(q)), abs=ROUNDING)
    published = abs(theirs(between_marks(p)) - theirs(between_marks(q)))
    assert Direct("zipf", published=True)(p, q) == pytest.approx(published, abs=ROUNDING)


@TOKENS
def test_self_bleu_is_that_of_nltk(p, q):
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    def theirs(corpus):
        return np.mean([sentence_bleu(corpus[:i] + corpus[i + 1:], text, smoothing_function=SmoothingFunction().method1)
                        for i, text in enumerate(corpus)])

    metric = Direct("self_bleu")
    assert [metric.prepare(p), metric.prepare(q)] == pytest.approx([theirs(p), theirs(q)], abs=ROUNDING)
    assert metric(p, q) == pytest.approx(abs(theirs(p) - theirs(q)), abs=ROUNDING)
