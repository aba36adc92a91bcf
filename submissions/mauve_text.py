# /// script
# requires-python = ">=3.11"
# dependencies = ["mauve-text==0.4.0", "numpy>=2"]
# [tool.touchstone]
# name = "mauve_text"
# title = "MAUVE of mauve-text"
# summary = "`compute_mauve` of the package mauve-text with default settings."
# kind = "corpus"
# input = "embeddings"
# returns = "similarity"
# range = [0.0, 1.0]
# symmetric = false
# on_request = true
# paper = "https://arxiv.org/abs/2102.01454"
# authors = ["Pillutla", "Swayamdipta", "Zellers", "Thickstun", "Welleck", "Choi", "Harchaoui"]
# year = 2021
# license = "GPL-3.0-only"
# ///
"""The package itself, which is licensed under the GPL; `mauve` is an independent implementation of the same definition."""

import numpy as np
from mauve import compute_mauve


def similarity(p: np.ndarray, q: np.ndarray) -> float:
    return compute_mauve(p_features=p, q_features=q, verbose=False).mauve
