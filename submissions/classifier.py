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

import numpy as np
from sklearn.svm import SVC

LEARNT = 0.8


def distance(p: np.ndarray, q: np.ndarray, splits: int = 3) -> float:
    if min(len(p), len(q)) < 2:
        raise ValueError("The classifier needs two texts or more of each corpus: one to learn from, one to judge.")
    rows = np.concatenate([p, q]).astype(np.float64)
    squares = (rows ** 2).sum(axis=1)
    squared = np.maximum(squares[:, None] + squares[None, :] - 2 * rows @ rows.T, 0)       # distances, for every split
    return float(np.mean([f1(rows, squared, len(p), np.random.default_rng(seed)) for seed in range(splits)]))


def f1(rows: np.ndarray, squared: np.ndarray, of_p: int, rng: np.random.Generator) -> float:
    """2 * hits / (texts called positive + positive texts)."""
    known_p, unseen_p = split(np.arange(of_p), rng)
    known_q, unseen_q = split(np.arange(of_p, len(rows)), rng)
    known = np.concatenate([known_p, known_q])
    gamma = 1 / (rows.shape[1] * (rows[known].var() or 1))                                  # of SVC: gamma = "scale"
    machine = SVC(kernel="precomputed", random_state=1)
    machine.fit(np.exp(-gamma * squared[np.ix_(known, known)]), np.repeat([0, 1], [len(known_p), len(known_q)]))
    unseen = np.concatenate([unseen_q, unseen_p])
    positive = machine.predict(np.exp(-gamma * squared[np.ix_(unseen, known)]))
    return float(2 * positive[:len(unseen_q)].sum() / (positive.sum() + len(unseen_q)))


def split(texts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shuffled = rng.permutation(texts)
    learnt = int(LEARNT * len(texts))
    return shuffled[:learnt], shuffled[learnt:]
