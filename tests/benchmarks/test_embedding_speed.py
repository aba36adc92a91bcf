"""Embedding against sentence-transformers' own `encode`, side by side on the same sentences."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest

from harness.models.registry import MODELS
from harness.models.vector_cache import embed_batches
from tasks.data.sources.synthetic import FRAMES, WORDS

pytestmark = pytest.mark.benchmark


def sentences(count: int) -> list[str]:
    """Made sentences as short and as uneven as questions to a bank: 12 words in the middle, up to about 60."""
    rng = np.random.default_rng(1)
    frames = [frame for domain in FRAMES.values() for frame in domain]

    def one() -> str:
        return frames[rng.integers(len(frames))].format(**{slot: words[rng.integers(len(words))] for slot, words in WORDS.items()})

    made = []
    for _ in range(count):
        words = " and ".join(one() for _ in range(5)).split()
        made.append(" ".join(words[:max(3, min(60, round(rng.lognormal(2.4, 0.5))))]))
    return made


def test_embedding_is_at_least_1_3_times_as_fast_and_the_same(report):
    from sentence_transformers import SentenceTransformer

    model, texts = MODELS["minilm"], sentences(2000)
    theirs = SentenceTransformer(str(model.path()), device="cpu")
    ours = model.encoder()
    theirs.encode(texts[:100], show_progress_bar=False)
    list(embed_batches(ours, ours.batches(texts[:100]), 2))
    ratios, rows = [], np.empty((len(texts), model.dimensions), np.float32)
    for _ in range(5):
        started = time.perf_counter()
        vectors = theirs.encode(texts, show_progress_bar=False)
        their_time = time.perf_counter() - started
        started = time.perf_counter()
        for found, part in embed_batches(ours, ours.batches(texts), 2):
            rows[found] = part
        ratios.append(their_time / (time.perf_counter() - started))
    assert np.abs(rows - vectors).max() < 1e-6
    report(f"2,000 short sentences: {statistics.median(ratios):.2f} times sentence-transformers' default (at least 1.3), "
           f"largest difference {np.abs(rows - vectors).max():.0e}")
    assert statistics.median(ratios) >= 1.3
