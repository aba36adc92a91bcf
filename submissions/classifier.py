# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scikit-learn>=1.5"]
# [tool.touchstone]
# name = "classifier"
# title = "Classifier"
# summary = "F1 of a support vector machine that classifies held-out texts of the two corpora; mean of three splits."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = false
# license = "Apache-2.0"
#
# [[tool.touchstone.variants]]
# name = "published"
# parameters = { splits = 1 }
# summary = "As published: a single split."
# ///
"""CLASSIFIER of Kour et al. 2022: F1 of scikit-learn's `SVC` with default settings; the second corpus is the positive class.

The classifier is trained on four fifths of each corpus and evaluated on the rest. The authors split once; here the result is the
mean of three splits, with seeds 0 to 2. Kernels are computed from the inner products that `prepare` stores for each corpus.
"""

from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC

TRAINING_SHARE = 0.8


class Prepared(NamedTuple):
    rows: np.ndarray
    products: np.ndarray                    # inner products of all pairs of rows
    sums: np.ndarray                        # of the coordinates of each row


class Pooled(NamedTuple):
    squares: np.ndarray                     # squared norms of the rows
    distances: np.ndarray                   # squared distances of all pairs of rows
    sums: np.ndarray
    dimensions: int


def prepare(corpus: np.ndarray) -> Prepared:
    if not np.isfinite(corpus).all():
        raise ValueError("The classifier needs finite vectors.")
    rows = corpus.astype(np.float64)
    return Prepared(rows, rows @ rows.T, rows.sum(axis=1))


def distance(p: Prepared, q: Prepared, splits: int = 3) -> float:
    if min(len(p.rows), len(q.rows)) < 2:
        raise ValueError("The classifier needs at least two texts per corpus: one for training and one for testing.")
    pooled = pool(p, q)
    return float(np.mean([f1(pooled, len(p.rows), np.random.default_rng(seed)) for seed in range(splits)]))


def pool(p: Prepared, q: Prepared) -> Pooled:
    cross = p.rows @ q.rows.T
    distances = np.block([[p.products, cross], [cross.T, q.products]])
    squares = distances.diagonal().copy()
    distances *= -2
    distances += squares[:, None]
    distances += squares
    np.maximum(distances, 0, out=distances)
    return Pooled(squares, distances, np.concatenate([p.sums, q.sums]), p.rows.shape[1])


def f1(pooled: Pooled, size_p: int, rng: np.random.Generator) -> float:
    """Return 2 * true positives / (predicted positives + positives) on the test texts of a random split."""
    train_p, test_p = split(np.arange(size_p), rng)
    train_q, test_q = split(np.arange(size_p, len(pooled.squares)), rng)
    train, test = np.concatenate([train_p, train_q]), np.concatenate([test_q, test_p])
    gamma = scale(pooled, train)
    labels = np.repeat([0, 1], [len(train_p), len(train_q)])
    model = SVC(kernel="precomputed").fit(kernel(pooled, train, train, gamma), labels)
    positive = model.decision_function(kernel(pooled, test, train, gamma)) > 0
    return float(2 * positive[:len(test_q)].sum() / (positive.sum() + len(test_q)))


def scale(pooled: Pooled, train: np.ndarray) -> float:
    """Return gamma = "scale" of `SVC`: 1 / (dimensions * variance of all coordinates); 1 if all are equal."""
    mean = pooled.sums[train].mean() / pooled.dimensions
    variance = pooled.squares[train].mean() / pooled.dimensions - mean ** 2
    return 1 / (pooled.dimensions * variance) if variance > 1e-14 * mean ** 2 else 1.0       # smaller: rounding errors


def kernel(pooled: Pooled, a: np.ndarray, b: np.ndarray, gamma: float) -> np.ndarray:
    """Return exp(-gamma * squared distance) of the texts a and b."""
    values = pooled.distances[np.ix_(a, b)]
    values *= -gamma
    return np.exp(values, out=values)


def split(texts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shuffled = rng.permutation(texts)
    size = int(TRAINING_SHARE * len(texts))
    return shuffled[:size], shuffled[size:]
