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

It learns four fifths of each corpus and judges the rest.  The authors split once; here three splits are averaged, drawn from the
seeds 0 to 2.
"""

from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC

LEARNT = 0.8


class Prepared(NamedTuple):
    rows: np.ndarray
    products: np.ndarray                    # of every row with every row
    sums: np.ndarray                        # of each row's coordinates


def prepare(corpus: np.ndarray) -> Prepared:
    rows = corpus.astype(np.float64)
    return Prepared(rows, rows @ rows.T, rows.sum(axis=1))


def distance(p: Prepared, q: Prepared, splits: int = 3) -> float:
    if min(len(p.rows), len(q.rows)) < 2:
        raise ValueError("The classifier needs two texts or more of each corpus: one to learn from, one to judge.")
    between = p.rows @ q.rows.T
    products = np.block([[p.products, between], [between.T, q.products]])
    both = Prepared(np.concatenate([p.rows, q.rows]), products, np.concatenate([p.sums, q.sums]))
    return float(np.mean([f1(both, len(p.rows), np.random.default_rng(seed)) for seed in range(splits)]))


def f1(both: Prepared, of_p: int, rng: np.random.Generator) -> float:
    """2 * hits / (texts called positive + positive texts)."""
    known_p, unseen_p = split(np.arange(of_p), rng)
    known_q, unseen_q = split(np.arange(of_p, len(both.rows)), rng)
    known, unseen = np.concatenate([known_p, known_q]), np.concatenate([unseen_q, unseen_p])
    gamma = scale(both, known)
    machine = SVC(kernel="precomputed", random_state=1)
    machine.fit(kernel(both, known, known, gamma), np.repeat([0, 1], [len(known_p), len(known_q)]))
    positive = machine.predict(kernel(both, unseen, known, gamma))
    return float(2 * positive[:len(unseen_q)].sum() / (positive.sum() + len(unseen_q)))


def scale(both: Prepared, known: np.ndarray) -> float:
    """What `SVC` calls gamma = "scale": 1 / (coordinates * variance of all of them); 1 / coordinates where they are all equal."""
    coordinates = both.rows.shape[1]
    mean = both.sums[known].mean() / coordinates
    variance = both.products[known, known].mean() / coordinates - mean ** 2
    return 1 / (coordinates * (variance if variance > 1e-15 else 1.0))


def kernel(both: Prepared, a: np.ndarray, b: np.ndarray, gamma: float) -> np.ndarray:
    """exp(-gamma * squared distance) of the texts a and b."""
    squares = both.products.diagonal()
    return np.exp(-gamma * np.maximum(squares[a, None] + squares[None, b] - 2 * both.products[np.ix_(a, b)], 0))


def split(texts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shuffled = rng.permutation(texts)
    learnt = int(LEARNT * len(texts))
    return shuffled[:learnt], shuffled[learnt:]
