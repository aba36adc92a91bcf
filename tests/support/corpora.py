"""Made corpora for the tests of corpus metrics, and a way to ask a submission directly, without a worker."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from harness.base.paths import SUBMISSIONS
from harness.sandbox.inside.worker import MODULE, Metric


class Direct:
    """A submission's functions, executed in this process and bound to parameters just as a worker does it."""

    def __init__(self, name: str, models: dict[str, str] | None = None, **parameters: object) -> None:
        metric = Metric(None)
        self.functions = metric.functions
        metric.load((SUBMISSIONS / f"{name}.py").read_bytes(), f"{name}.py", parameters, models or {})
        self.module: Any = sys.modules[MODULE]
        self.answer = self.functions["distance"] if "distance" in self.functions else self.functions["similarity"]

    def prepare(self, corpus: Any) -> Any:
        return self.functions["prepare"](corpus) if "prepare" in self.functions else corpus

    def __call__(self, p: Any, q: Any) -> float:
        return float(self.answer(self.prepare(p), self.prepare(q)))


def like_embeddings(n: int, d: int, seed: int, spread: float = 0.5) -> np.ndarray:
    """Unit float32 rows around six directions of which each corpus has its own share, as sentence vectors lie."""
    rng = np.random.default_rng([seed, n, d])
    directions = np.random.default_rng(d).normal(size=(6, d)) / np.sqrt(d)
    rows = directions[rng.choice(6, n, p=rng.dirichlet(np.ones(6)))] + spread * rng.normal(size=(n, d)) / np.sqrt(d)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def on_a_grid(n: int, d: int, seed: int) -> np.ndarray:
    """Small whole numbers: many distances are exactly equal, and none of them is rounded."""
    return np.random.default_rng([seed, n, d]).integers(-3, 4, size=(n, d)).astype(np.float32)


def with_duplicates(rows: np.ndarray) -> np.ndarray:
    """Every fourth row once more."""
    return np.concatenate([rows, rows[::4]])


PAIRS_OF_EMBEDDINGS = {
    "as in the paper": (like_embeddings(100, 384, 1), like_embeddings(100, 384, 2)),
    "unequal sizes": (like_embeddings(60, 384, 3), like_embeddings(25, 384, 4)),
    "more rows than columns": (like_embeddings(90, 8, 5), like_embeddings(70, 8, 6)),
    "duplicates": (with_duplicates(like_embeddings(40, 32, 7)), with_duplicates(like_embeddings(30, 32, 8))),
    "shared rows": (like_embeddings(40, 32, 7), np.concatenate([like_embeddings(40, 32, 7)[:20], like_embeddings(20, 32, 9)])),
    "identical corpora": (like_embeddings(40, 32, 7), like_embeddings(40, 32, 7)),
    "two rows": (like_embeddings(2, 16, 10), like_embeddings(2, 16, 11)),
}


def tokens(n: int, vocabulary: int, seed: int, longest: int = 14) -> list[list[str]]:
    """Texts of up to so many tokens, some of none, that are drawn as unevenly as words are."""
    rng = np.random.default_rng([seed, n, vocabulary])
    weights = 1 / np.arange(1, vocabulary + 1)
    order = rng.permutation(vocabulary) if seed % 2 else np.arange(vocabulary)
    return [[f"t{order[i]}" for i in rng.choice(vocabulary, rng.integers(longest + 1), p=weights / weights.sum())] for _ in range(n)]


PAIRS_OF_TOKENS = {
    "as in the paper": (tokens(100, 800, 2), tokens(100, 800, 4)),
    "other words": (tokens(100, 800, 1), tokens(100, 800, 4)),
    "unequal sizes": (tokens(60, 300, 1), tokens(25, 500, 2)),
    "a small vocabulary": (tokens(50, 12, 1), tokens(50, 12, 2)),
    "nothing shared": ([["a", "b", "b"], ["c"]], [["x", "y"], ["z", "x"]]),
    "identical corpora": (tokens(40, 100, 3), tokens(40, 100, 3)),
    "two texts": ([["a", "b", "a"], []], [["b"], ["c", "a"]]),
}
