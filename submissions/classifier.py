# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scikit-learn>=1.5"]
# [tool.touchstone]
# name = "classifier"
# title = "Classifier"
# summary = "F1 with which a support vector machine tells unseen texts of the two corpora apart, mean of three splits."
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
# summary = "As published: of one split alone."
# ///
"""CLASSIFIER of Kour et al. 2022: F1, the second corpus being the positive class, of scikit-learn's `SVC` with its defaults.

The classifier is trained on four fifths of each corpus and evaluated on the rest. The authors split once; here the mean of three
splits is returned, drawn from the seeds 0 to 2. Kernels are computed here from inner products that corpora share between pairs.
"""

from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC

LEARNT = 0.8


class Prepared(NamedTuple):
    rows: np.ndarray
    products: np.ndarray                    # of every row with every row
    sums: np.ndarray                        # of each row's coordinates


class Both(NamedTuple):
    squares: np.ndarray                     # of the rows' lengths
    distances: np.ndarray                   # squared, of every row from every row
    sums: np.ndarray
    coordinates: int


def prepare(corpus: np.ndarray) -> Prepared:
    if not np.isfinite(corpus).all():
        raise ValueError("The classifier needs finite vectors.")
    rows = corpus.astype(np.float64)
    return Prepared(rows, rows @ rows.T, rows.sum(axis=1))


def distance(p: Prepared, q: Prepared, splits: int = 3) -> float:
    if min(len(p.rows), len(q.rows)) < 2:
        raise ValueError("The classifier needs two texts or more of each corpus: one to learn from, one to judge.")
    both = together(p, q)
    return float(np.mean([f1(both, len(p.rows), np.random.default_rng(seed)) for seed in range(splits)]))


def together(p: Prepared, q: Prepared) -> Both:
    between = p.rows @ q.rows.T
    distances = np.block([[p.products, between], [between.T, q.products]])
    squares = distances.diagonal().copy()
    distances *= -2
    distances += squares[:, None]
    distances += squares
    np.maximum(distances, 0, out=distances)
    return Both(squares, distances, np.concatenate([p.sums, q.sums]), p.rows.shape[1])


def f1(both: Both, of_p: int, rng: np.random.Generator) -> float:
    """2 * hits / (texts called positive + positive texts)."""
    known_p, unseen_p = split(np.arange(of_p), rng)
    known_q, unseen_q = split(np.arange(of_p, len(both.squares)), rng)
    known, unseen = np.concatenate([known_p, known_q]), np.concatenate([unseen_q, unseen_p])
    gamma = scale(both, known)
    labels = np.repeat([0, 1], [len(known_p), len(known_q)])
    trained = SVC(kernel="precomputed").fit(kernel(both, known, known, gamma), labels)
    positive = trained.decision_function(kernel(both, unseen, known, gamma)) > 0
    return float(2 * positive[:len(unseen_q)].sum() / (positive.sum() + len(unseen_q)))


def scale(both: Both, known: np.ndarray) -> float:
    """What `SVC` calls gamma = "scale": 1 / (coordinates * variance of all of them); 1 where they are all equal."""
    mean = both.sums[known].mean() / both.coordinates
    variance = both.squares[known].mean() / both.coordinates - mean ** 2
    return 1 / (both.coordinates * variance) if variance > 1e-14 * mean ** 2 else 1.0       # less is rounding


def kernel(both: Both, a: np.ndarray, b: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma * squared distance) of the texts a and b."""
    values = both.distances[np.ix_(a, b)]
    values *= -gamma
    return np.exp(values, out=values)


def split(texts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shuffled = rng.permutation(texts)
    learnt = int(LEARNT * len(texts))
    return shuffled[:learnt], shuffled[learnt:]
