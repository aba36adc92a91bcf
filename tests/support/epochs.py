"""A small suite of rated pairs with a recipe of a private draw, and metrics that try to gain from the public draw."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from harness.evaluation.suite import Suite
from tasks.text.human_ordering import Pair, pairs_of
from tests.support.submissions import HEADER

WEAK = """
def weak(x, y):
    return min(len(x), len(y)) / max(1, len(x), len(y))
"""
MEMORISER = """
import hashlib
stored = {stored!r}
def similarity(a, b):
    return [stored.get(hashlib.sha256(f"{{x}}|{{y}}".encode()).hexdigest()[:16], weak(x, y)) for x, y in zip(a, b)]
"""
HONEST = "def similarity(a, b): return [weak(x, y) for x, y in zip(a, b)]\n"
TELLTALE = """
import hashlib, sys
stored = {stored!r}
def similarity(a, b):
    for x, y in zip(a, b):
        if hashlib.sha256(f"{{x}}|{{y}}".encode()).hexdigest()[:16] not in stored and len(a) > 40 and len(x.split()) == 6:
            print(x, file=sys.stderr)
            raise ValueError(x)
    return [weak(x, y) for x, y in zip(a, b)]
"""


def make_text_metric(name: str, body: str) -> bytes:
    """Return a text metric whose fallback is the ratio of lengths, which says little."""
    return (HEADER.format(name=name, kind="text", input="texts", returns="similarity", range="[0.0, 1.0]") + WEAK + body).encode()


def public_pairs(suite: Suite) -> list[Pair]:
    """Return the pairs of `human_ordering` in a suite."""
    return [pair for task_unit in suite.task_units if task_unit.task.name == "human_ordering" for pair in pairs_of(task_unit.unit)]


def memorise(name: str, pairs: Iterable[Pair], body: str = MEMORISER) -> bytes:
    """Return a metric that stores the ratings of pairs under a hash of their texts."""
    pairs = list(pairs)
    largest = max(pair.score for pair in pairs)
    stored = {hashlib.sha256(f"{pair.a}|{pair.b}".encode()).hexdigest()[:16]: round(pair.score / largest, 3) for pair in pairs}
    return make_text_metric(name, body.format(stored=stored))


def write_rated_pairs(path: Path, count: int) -> None:
    """Write pairs of invented words whose rating is the number of words that they share, with noise."""
    rng = np.random.default_rng(7)
    words = ["".join(rng.choice(list("abcdefghijklmnoprstuvw"), rng.integers(3, 9))) for _ in range(2_000)]
    rows = []
    for _ in range(count):
        a, b, shared = list(rng.choice(words, 6)), list(rng.choice(words, 6)), int(rng.integers(0, 6))
        b[:shared] = a[:shared]
        rows.append(f"{' '.join(a)},{' '.join(b)},{shared + rng.normal(0, 0.3):.3f}")
    path.write_text("\n".join(["text_a,text_b,score", *rows]))


def write_suite(folder: Path, dataset: str, pairs: int) -> Path:
    """Write a suite with one task, and a recipe of a draw without the texts of the public one."""
    path = folder / "small.toml"
    path.write_text(f'title = "Small"\nseed = 5\nmodel = "minilm"\n[tasks.human_ordering]\ndatasets = ["{dataset}"]\npairs = {pairs}\nbatch = 60\n')
    (folder / "recipe.toml").write_text(f'name = "2031Q1"\nsuite = "{path}"\nexpires = 2031-06-30\ndisjoint = ["human_ordering"]\n')
    return path
