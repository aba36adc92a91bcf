"""Ever better generated corpora: g_1..g_N by n-grams that have read ever more and remember ever longer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.generators.label_filter import NaiveBayes
from tasks.generators.ngrams import NGrams

LONGEST_ORDER = 4
CANDIDATES = 3                              # texts that are generated for each that passes the filter


@dataclass(frozen=True)
class Step:
    """One of the corpora, and what its generator is worth."""

    texts: list[str]
    order: int | None                       # None: not a model of n-grams
    trained_on: int                         # texts
    perplexity: float                       # of held-out texts


@dataclass(frozen=True)
class Labelled:
    """Texts to learn from; without labels all have the same."""

    texts: Sequence[str]
    labels: Sequence[str]


def training_sizes(step: int, steps: int, texts: int) -> tuple[int, int]:
    """Order and number of training texts of g_step, step from 1 to `steps`: both grow evenly."""
    return 1 + (step - 1) * LONGEST_ORDER // steps, max(2, round(texts * step / steps))


def generate_steps(train: Labelled, held_out: Sequence[str], steps: int, n: int, seed: int) -> list[Step]:
    """g_1..g_N of n texts each; of several labels, as many of each, filtered by a classifier as LAMBADA does."""
    generated = []
    words = len({word for text in (*train.texts, *held_out) for word in text.split()}) + 1
    for step in range(1, steps + 1):
        order, size = training_sizes(step, steps, len(train.texts))
        rng = np.random.default_rng([seed, step])
        read = Labelled(train.texts[:size], train.labels[:size])
        model = NGrams(read.texts, order, words)
        texts = write_by_label(read, order, n, rng) if len(set(train.labels)) > 1 else [model.write(rng) for _ in range(n)]
        generated.append(Step(texts, order, size, model.perplexity(held_out)))
    return generated


def write_by_label(read: Labelled, order: int, n: int, rng: np.random.Generator) -> list[str]:
    """n texts, of each label in turn; each is the one of a few candidates that the classifier is surest of."""
    texts_by_label: dict[str, list[str]] = defaultdict(list)
    for text, label in zip(read.texts, read.labels, strict=True):
        texts_by_label[label].append(text)
    classifier = NaiveBayes(read.texts, read.labels)
    models = {label: NGrams(texts, order) for label, texts in texts_by_label.items()}
    label_sequence = [classifier.labels[number % len(classifier.labels)] for number in rng.permutation(max(n, len(classifier.labels)))[:n]]
    texts = []
    for label in label_sequence:
        candidates = [models[label].write(rng) for _ in range(CANDIDATES)]
        confidences = [classifier.confidences(text)[classifier.labels.index(label)] for text in candidates]
        texts.append(candidates[int(np.argmax(confidences))])
    return texts


def type_token_ratio(texts: Sequence[str]) -> float:
    """Different words over words, in lower case."""
    words = [word for text in texts for word in text.lower().split()]
    return len(set(words)) / len(words) if words else 0.0
