"""Speed and memory of the profile of a large corpus, on synthetic texts."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from leaderboard.corpus_profile.nearest import WordIndex
from tests.support.command import touchstone

pytestmark = pytest.mark.benchmark

GENERATED, TRAIN, TEST = 100_000, 30_000, 3_000
WORDS = 20_000
MAX_SECONDS, MAX_BYTES = 360, 4_000_000_000


def sentences(n: int, seed: int) -> list[str]:
    """Return sentences of 4 to 14 words with Zipfian frequencies; half of the words are followed by one of three successors."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, WORDS + 1)
    followers = np.random.default_rng(0).choice(WORDS, (WORDS, 3), p=common / common.sum())
    texts = []
    for length in rng.integers(4, 15, n):
        words = rng.choice(WORDS, length, p=common / common.sum())
        for position in np.flatnonzero(rng.random(length - 1) < 0.5) + 1:
            words[position] = followers[words[position - 1], rng.integers(3)]
        texts.append(" ".join(f"w{word}" for word in words))
    return texts


def test_pruned_search_is_exact_and_faster(report):
    a, b = sentences(300, 1), sentences(TRAIN, 2)
    index = WordIndex(b)
    started = time.perf_counter()
    pruned = index.nearest(a)
    fast = time.perf_counter() - started
    lists = [text.split() for text in b]
    lengths = np.array([len(words) for words in lists])
    started = time.perf_counter()
    full = [cdist([text.split()], lists, scorer=Levenshtein.distance, dtype=np.int32)[0] / np.maximum(lengths, len(text.split())) for text in a]
    slow = time.perf_counter() - started
    assert pruned.distances == pytest.approx(np.array(full).min(axis=1))
    report(f"300 x {TRAIN:,} texts: all pairs {slow:.2f} s, pruned {fast:.2f} s, {slow / fast:.0f} times as fast")
    assert slow > 5 * fast


def test_a_hundred_thousand_texts_take_at_most_six_minutes_and_four_gigabytes(tmp_path: Path, report):
    for name, n, seed in (("train", TRAIN, 2), ("test", TEST, 3), ("generated", GENERATED, 4)):
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences(n, seed)))
    started = time.perf_counter()
    done = touchstone("profile", *(word for name in ("train", "test", "generated") for word in (f"--{name}", tmp_path / f"{name}.txt")),
                      "--model", "wordllama", timeout=3 * MAX_SECONDS, environment={"TOUCHSTONE_CACHE": str(tmp_path / "cache")})
    seconds = time.perf_counter() - started
    peak_memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    report(f"{GENERATED:,} x {TRAIN:,} texts, wordllama, empty cache: {seconds:.0f} s, {peak_memory / 1e9:.2f} GB")
    assert done.returncode == 0, done.stderr
    assert seconds < MAX_SECONDS
    assert peak_memory < MAX_BYTES
