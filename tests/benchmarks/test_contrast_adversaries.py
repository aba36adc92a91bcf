"""Contrast in `core`: how well models do that were fitted to the surface of its quads, or to the words of its lists; and its cost."""

from __future__ import annotations

import re
import time
from collections import Counter

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from tasks.phenomena.selections import PairSource, Request, generate_quads, read_pairs, regenerate_quads
from tasks.phenomena.surface import Anchor
from tasks.text.contrast import RANKED
from tests.tasks.text.test_contrast import score_with

pytestmark = [pytest.mark.benchmark, pytest.mark.network]

CORE = (PairSource("kjv_asv"), PairSource("sts_benchmark", 4.5))
SAME = np.array([1, 1, 0, 0])               # p, n, e, f
TOKEN = re.compile(r"\w+|[^\w\s]")


@pytest.fixture(scope="module")
def public():
    return [quad for quad in regenerate_quads("core", CORE, "public") if quad.phenomenon in RANKED]


def surface_features(anchor: Anchor, text: str) -> list[float]:
    surface, length = anchor.compare(text), len(anchor.text)
    a, b = set(TOKEN.findall(anchor.text.lower())), set(TOKEN.findall(text.lower()))
    return [surface.jaccard, surface.edits, surface.edits / max(length, len(text)), surface.trigrams, surface.longer, length,
            min(length, len(text)) / max(length, len(text)), surface.prefix / length, surface.suffix / length, surface.words, surface.bare,
            len(a - b), len(b - a), len(a)]


def changed_words(a: str, b: str) -> dict[str, int]:
    first, second = Counter(TOKEN.findall(a.lower())), Counter(TOKEN.findall(b.lower()))
    return {f"+{word}": 1 for word in second - first} | {f"-{word}": 1 for word in first - second}


def mean_score(answers: np.ndarray, quads) -> float:
    """The score of answers, quads x (p, n, e, f): the mean over phenomena."""
    scores = score_with(lambda a, b: answers.ravel(), quads)
    names = np.array([quad.phenomenon for quad in quads])
    return float(np.mean([scores[names == phenomenon].mean() for phenomenon in RANKED if (names == phenomenon).any()]))


def test_no_threshold_on_the_surface_tells_the_meaning(public):
    table = np.array([[surface_features(Anchor(quad.texts.anchor), text) for text in quad.texts[1:]] for quad in public])
    for column in np.moveaxis(table, 2, 0):
        best = max(mean_score(-np.abs(column - target), public) for target in np.quantile(column, np.linspace(0, 1, 41)))
        assert max(best, mean_score(column, public), mean_score(-column, public)) <= 0.52


def test_a_model_fitted_to_the_surface_is_near_chance(public):
    table = np.array([[surface_features(Anchor(quad.texts.anchor), text) for text in quad.texts[1:]] for quad in public])
    groups = np.unique([f"{quad.source} {quad.row}" for quad in public], return_inverse=True)[1]
    answers = np.zeros((len(public), 4))
    for train, test in GroupKFold(5).split(table, groups=groups):
        model = GradientBoostingClassifier(random_state=0).fit(table[train].reshape(-1, table.shape[2]), np.tile(SAME, len(train)))
        answers[test] = model.predict_proba(table[test].reshape(-1, table.shape[2]))[:, 1].reshape(-1, 4)
    score = mean_score(answers, public)
    print(f"gradient boosting on {table.shape[2]} surface features, 5 folds by source pair: {score:.3f}")
    assert score <= 0.6


def test_a_model_that_learned_one_half_of_the_lists_is_near_chance_on_the_other(public):
    private = generate_quads(Request(CORE, "private", RANKED, 100, 200, 8))
    vectorizer = DictVectorizer()
    words = [[changed_words(quad.texts.anchor, text) for quad in quads for text in quad.texts[1:]] for quads in (public, private)]
    train, test = vectorizer.fit_transform(words[0]), vectorizer.transform(words[1])
    model = LogisticRegression(max_iter=2000).fit(train, np.tile(SAME, len(public)))
    score = mean_score(model.predict_proba(test)[:, 1].reshape(-1, 4), private)
    print(f"logistic regression on the words that changed, unseen lists: {score:.3f}")
    assert score <= 0.6


def test_the_quads_of_core_are_made_in_three_seconds():
    for source in CORE:
        read_pairs(source)
    start = time.perf_counter()
    regenerate_quads("core", CORE, "public")
    assert time.perf_counter() - start <= 3
