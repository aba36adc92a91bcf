# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "scikit-learn>=1.6"]
# [tool.touchstone]
# name = "sklearn_c2st"
# title = "Classifier two-sample test of scikit-learn"
# summary = "Balanced accuracy with which scikit-learn's `KNeighborsClassifier` (k = 5, leave-one-out) tells the corpora apart."
# kind = "corpus"
# input = "embeddings"
# returns = "distance"
# range = [0.0, 1.0]
# symmetric = false
# on_request = true
# paper = "https://arxiv.org/abs/1610.06545"
# authors = ["Lopez-Paz", "Oquab"]
# year = 2017
# license = "BSD-3-Clause"
# ///
import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier


def distance(p: np.ndarray, q: np.ndarray) -> float:
    labels = np.repeat([0, 1], [len(p), len(q)])
    classifier = KNeighborsClassifier(min(5, len(labels) - 1)).fit(np.concatenate([p, q]), labels)
    return balanced_accuracy_score(labels, classifier.predict(None))      # None: of the training texts, each without itself
