# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scikit-learn>=1.5"]
# [tool.touchstone]
# name = "classifier"
# title = "Classifier"
# summary = "F1 with which a support vector machine tells unseen texts of the two corpora apart, mean of five splits."
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

It learns four fifths of each corpus and judges the rest.  The authors split once; here five splits are averaged, drawn from the
seeds 0 to 4.
"""

import numpy as np
from sklearn.svm import SVC

LEARNT = 0.8


def distance(p: np.ndarray, q: np.ndarray, splits: int = 5) -> float:
    if min(len(p), len(q)) < 2:
        raise ValueError("The classifier needs two texts or more of each corpus: one to learn from, one to judge.")
    return float(np.mean([f1(p, q, np.random.default_rng(seed)) for seed in range(splits)]))


def f1(p: np.ndarray, q: np.ndarray, rng: np.random.Generator) -> float:
    """2 * hits / (texts called positive + positive texts)."""
    known_p, unseen_p = split(p, rng)
    known_q, unseen_q = split(q, rng)
    machine = SVC(random_state=1).fit(np.concatenate([known_p, known_q]), np.repeat([0, 1], [len(known_p), len(known_q)]))
    hits, false_alarms = machine.predict(unseen_q).sum(), machine.predict(unseen_p).sum()
    return float(2 * hits / (hits + false_alarms + len(unseen_q)))


def split(corpus: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    shuffled = corpus[rng.permutation(len(corpus))]
    learnt = int(LEARNT * len(corpus))
    return shuffled[:learnt], shuffled[learnt:]
