# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy>=2", "prdc==0.2", "scikit-learn>=1.5"]
# [tool.touchstone]
# name = "prdc"
# title = "Precision and recall of prdc"
# summary = "Harmonic mean of precision and recall of the package prdc, k = 5; 1 minus the metric `pr`."
# kind = "corpus"
# input = "embeddings"
# returns = "similarity"
# range = [0.0, inf]
# symmetric = false
# on_request = true
# paper = "https://arxiv.org/abs/2002.09797"
# authors = ["Naeem", "Oh", "Uh", "Choi", "Yoo"]
# year = 2020
# license = "MIT"
#
# [[tool.touchstone.variants]]
# name = "density_coverage"
# parameters = { of = "density coverage" }
# summary = "Harmonic mean of density, at most 1, and coverage; 1 minus the metric `dc`."
#
# [[tool.touchstone.variants]]
# name = "precision"
# parameters = { of = "precision" }
# summary = "Share of the second corpus that lies in neighbourhoods of the first."
#
# [[tool.touchstone.variants]]
# name = "recall"
# parameters = { of = "recall" }
# summary = "Share of the first corpus that lies in neighbourhoods of the second."
#
# [[tool.touchstone.variants]]
# name = "density"
# parameters = { of = "density" }
# summary = "Mean number of neighbourhoods of the first corpus that contain a text of the second, over k."
#
# [[tool.touchstone.variants]]
# name = "coverage"
# parameters = { of = "coverage" }
# summary = "Share of neighbourhoods of the first corpus that contain a text of the second."
# ///
"""`compute_prdc` of prdc; the first corpus is the real one. Neighbourhoods are smaller in corpora of at most six texts."""

from contextlib import redirect_stdout

import numpy as np
from prdc import compute_prdc


def similarity(p: np.ndarray, q: np.ndarray, of: str = "precision recall") -> float:
    k = min(5, len(p) - 2, len(q) - 2)
    if k < 1:
        raise ValueError("prdc needs at least three texts per corpus.")
    with redirect_stdout(None):             # it prints the sizes of the corpora
        measures = compute_prdc(real_features=p, fake_features=q, nearest_k=k)
    parts = np.minimum([measures[name] for name in of.split()], 1 if " " in of else np.inf)
    return float(len(parts) / (1 / parts).sum()) if parts.all() else 0.0
