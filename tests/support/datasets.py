"""Checks of datasets."""

from __future__ import annotations

import numpy as np
import pandas as pd

from harness.base.paths import cache_folder
from harness.base.progress import NoProgress
from harness.models.vector_cache import VectorCache


def agreement(rows: pd.DataFrame, correlation) -> float:
    """How well the cosine of MiniLM's vectors agrees with what people said."""
    vectors = VectorCache("minilm", cache_folder())
    vectors.fill(sorted({*rows.text_a, *rows.text_b}), NoProgress(), threads=2)
    a, b = vectors.vectors(list(rows.text_a)), vectors.vectors(list(rows.text_b))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return float(correlation(cosine, rows.score)[0])
