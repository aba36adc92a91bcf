"""The profile of a generated corpus, with its training and test texts as baselines (Zwerdling et al. 2021).

Semantic measures compare with the test texts, syntactic ones with the training texts: good texts are similar in meaning to the
former without copying the latter.
"""

from __future__ import annotations

import math
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from harness.base.paths import cache_folder
from harness.base.progress import NoProgress, Progress
from harness.models.vector_cache import VectorCache
from leaderboard.corpus_profile.grammar import errors_per_word
from leaderboard.corpus_profile.nearest import WordIndex, drop_near_duplicates
from leaderboard.corpus_profile.plausibility import perplexity, surprises
from leaderboard.corpus_profile.scorers import Scorers, load_scorers

CURVE_POINTS = 25
MAX_COPY_DISTANCE = 0.15                    # word edits per word of the longer text, up to which a text may be a copy
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True)
class Interval:
    """A mean, or a harmonic mean of two, with its 95% confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Overlap:
    """Precision, recall and F1 of a corpus against another."""

    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True)
class Row:
    """The measures of a corpus; None where a measure does not apply."""

    name: str
    texts: int
    unique: float                           # share
    vocabulary: int                         # of train its size; of the others the words that train does not have
    grammar: float                          # errors per word, mean over texts
    perplexity: float | None
    semantic: Overlap | None                # against test
    syntactic: Overlap | None               # against train


@dataclass(frozen=True)
class Test:
    """A test of a difference between the generated texts and a baseline, with texts as observations."""

    quantity: str
    baseline: str
    means: tuple[float, float]
    t: float
    p_t: float                              # Welch
    p_mann_whitney: float


@dataclass(frozen=True)
class Copy:
    """A generated text and its nearest training text, by word edits per word."""

    text: str
    nearest: str
    distance: float


@dataclass(frozen=True)
class Profile:
    """The measures of train, test and generated texts."""

    rows: tuple[Row, ...]                   # train, test, generated
    unique_curve: tuple[tuple[int, float], ...]     # n, Unique(n)
    tests: tuple[Test, ...]
    copies: tuple[Copy, ...]
    semantic: np.ndarray                    # of each generated text: cosine to the nearest test text
    syntactic: np.ndarray                   # of each generated text: SynSim to the nearest training text
    grammar: str                            # name of the checker
    plausibility: str                       # name of the language model
    vectors: str                            # name of the embedding model


def profile_corpora(train: Sequence[str], test: Sequence[str], generated: Sequence[str], *, model: str = "minilm",
                    language_model: str | None = None, languagetool: str | None = None, threads: int = 1,
                    progress: Progress | None = None) -> Profile:
    """Profile generated texts, with training and test texts as baselines.

    Args:
        train: Texts that the generator was trained on.
        test: Held-out texts of the same kind.
        generated: Texts to profile.
        model: Embedding model.
        language_model: Causal or masked model of `transformers` for plausibility; n-grams of `train` if omitted.
        languagetool: Address of a LanguageTool server for grammar; built-in rules if omitted.
        threads: Number of threads that embed texts.
        progress: Receiver of progress messages; silent if omitted.
    """
    progress = progress or NoProgress()
    cache = VectorCache(model, cache_folder())
    scorers = load_scorers(train, cache.vectors, model, language_model=language_model, languagetool=languagetool)
    cache.fill(sorted({*train, *test, *generated}), progress, threads)
    return build_profile(train, test, generated, scorers, progress)


def build_profile(train: Sequence[str], test: Sequence[str], generated: Sequence[str], scorers: Scorers,
                  progress: Progress | None = None) -> Profile:
    """Compute a profile with the given scorers."""
    progress = progress or NoProgress()
    corpora = {"train": train, "test": test, "generated": generated}
    curve = unique_curve(generated, train)
    errors = {name: np.array(errors_per_word(texts, scorers.count_errors, progress)) for name, texts in corpora.items()}
    surprise = {name: surprises(corpora[name], scorers.surprise, progress) for name in ("test", "generated")}
    train_index = WordIndex(train)
    nearest_train = {name: train_index.nearest(corpora[name], progress, f"Nearest training text of {name}")
                     for name in ("test", "generated")}
    syntactic = {name: overlap(nearest.similarities, WordIndex(corpora[name]).nearest(
        train, progress, f"Nearest {name} text of train").similarities) for name, nearest in nearest_train.items()}
    vectors = {name: normalize_rows(scorers.embed(texts)) for name, texts in corpora.items()}
    cosines = {name: nearest_cosines(vectors[name], vectors["test"], progress) for name in ("train", "generated")}
    train_words = vocabulary(train)
    rows = (
        Row("train", len(train), unique_curve(train, ())[-1][1], len(train_words), float(errors["train"].mean()), None,
            overlap(*cosines["train"]), None),
        Row("test", len(test), unique_curve(test, train)[-1][1], len(vocabulary(test) - train_words),
            float(errors["test"].mean()), perplexity(surprise["test"]), None, syntactic["test"]),
        Row("generated", len(generated), curve[-1][1], len(vocabulary(generated) - train_words),
            float(errors["generated"].mean()), perplexity(surprise["generated"]), overlap(*cosines["generated"]),
            syntactic["generated"]))
    surprise_per_word = {name: values[:, 0] / np.maximum(1, values[:, 1]) for name, values in surprise.items()}
    tests = (
        compare("semantic similarity to test", "train", cosines["generated"][0], cosines["train"][0]),
        compare("syntactic similarity to train", "test", nearest_train["generated"].similarities,
                nearest_train["test"].similarities),
        compare("surprise per word", "test", surprise_per_word["generated"], surprise_per_word["test"]),
        compare("grammar errors per word", "train", errors["generated"], errors["train"]))
    return Profile(rows, curve, tests, find_copies(generated, train, progress), cosines["generated"][0],
                   nearest_train["generated"].similarities, scorers.checker_name, scorers.surprise_name, scorers.embed_name)


def normalize_text(text: str) -> str:
    """Return the text without punctuation, case and Unicode variants; texts that are equal then count as copies."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().translate(punctuation()).split())


@cache
def punctuation() -> dict[int, None]:
    """Return a translation table that removes the punctuation of Unicode and all characters that ASCII counts as such."""
    return dict.fromkeys(code for code in range(sys.maxunicode + 1)
                         if unicodedata.category(chr(code))[0] == "P" or chr(code) in string.punctuation)


def unique_curve(texts: Sequence[str], train: Sequence[str]) -> tuple[tuple[int, float], ...]:
    """Return Unique(n) for growing n: the share of the first n texts that no other of them and no training text equals."""
    train_texts, counts = set(map(normalize_text, train)), Counter[str]()
    points = {len(texts) * point // CURVE_POINTS for point in range(1, CURVE_POINTS + 1)} - {0}
    unique, curve = 0, []
    for n, text in enumerate(map(normalize_text, texts), start=1):
        if text not in train_texts:
            unique += {0: 1, 1: -1}.get(counts[text], 0)    # the second copy makes the first one count no longer
        counts[text] += 1
        if n in points:
            curve.append((n, unique / n))
    return tuple(curve)


def vocabulary(texts: Sequence[str]) -> set[str]:
    """Return the different words of the texts."""
    return {word for text in texts for word in normalize_text(text).split()}


def normalize_rows(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors with length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def nearest_cosines(a: np.ndarray, b: np.ndarray, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine of each row of a to its nearest row of b, and the reverse; negative cosines count as 0."""
    a_to_b, b_to_a = np.zeros(len(a)), np.zeros(len(b))
    stage = progress.stage("Nearest vectors", len(a), "texts")
    try:
        for start in range(0, len(a), ROWS_PER_BLOCK):
            cosines = np.clip(a[start:start + ROWS_PER_BLOCK] @ b.T, 0, 1)
            a_to_b[start:start + ROWS_PER_BLOCK] = cosines.max(axis=1)
            b_to_a = np.maximum(b_to_a, cosines.max(axis=0))
            stage.advance(len(cosines))
    finally:
        stage.close()
    return a_to_b, b_to_a


def overlap(a_to_b: np.ndarray, b_to_a: np.ndarray) -> Overlap:
    """Return precision, recall and F1 of nearest similarities; the interval of F1 is that of its linearisation."""
    precision, recall = mean_interval(a_to_b), mean_interval(b_to_a)
    p, r = precision.value, recall.value
    f1, half_width = 0.0, 0.0
    if p + r > 0:
        f1 = 2 * p * r / (p + r)
        by_p, by_r = 2 * r ** 2 / (p + r) ** 2, 2 * p ** 2 / (p + r) ** 2
        half_width = math.hypot(by_p * (precision.high - p), by_r * (recall.high - r))
    return Overlap(precision, recall, Interval(f1, f1 - half_width, f1 + half_width))


def mean_interval(values: np.ndarray) -> Interval:
    """Return the mean with Student's t interval over texts."""
    mean, n = float(values.mean()), len(values)
    half_width = float(scipy.stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)) if n > 1 else 0.0
    return Interval(mean, mean - half_width, mean + half_width)


def compare(quantity: str, baseline: str, generated_values: np.ndarray, baseline_values: np.ndarray) -> Test:
    """Return Welch's t-test and the Mann-Whitney test, two-sided, with p = 1 if all values are equal."""
    means = float(generated_values.mean()), float(baseline_values.mean())
    if np.ptp(np.concatenate([generated_values, baseline_values])) == 0 or min(len(generated_values), len(baseline_values)) < 2:
        return Test(quantity, baseline, means, 0.0, 1.0, 1.0)
    welch = scipy.stats.ttest_ind(generated_values, baseline_values, equal_var=False)
    return Test(quantity, baseline, means, float(welch.statistic), float(welch.pvalue),
                float(scipy.stats.mannwhitneyu(generated_values, baseline_values).pvalue))


def find_copies(generated: Sequence[str], train: Sequence[str], progress: Progress | None = None) -> tuple[Copy, ...]:
    """Return generated texts that may be copies of a training text, nearest first, without repetitions.

    Texts are compared as `normalize_text` returns them, so every generated text that equals a training text for Unique(n) is
    among them.
    """
    nearest = WordIndex(list(map(normalize_text, train))).nearest(
        list(map(normalize_text, generated)), progress, "Copies of training texts", MAX_COPY_DISTANCE)
    suspected = np.flatnonzero(nearest.rows >= 0)
    copies = {generated[row]: Copy(generated[row], train[nearest.rows[row]], float(nearest.distances[row]))
              for row in suspected[np.argsort(nearest.distances[suspected], kind="stable")].tolist()}
    return tuple(copies.values())


def select_best(profile: Profile, generated: Sequence[str], keep: int) -> list[str]:
    """Return the texts with the highest semantic minus syntactic similarity, both standardised, in their order.

    Of texts that are nearly equal only the best one is kept.
    """
    merit = standardize(profile.semantic) - standardize(profile.syntactic)
    order = np.argsort(-merit, kind="stable").tolist()
    different = drop_near_duplicates([normalize_text(generated[row]) for row in order], MAX_COPY_DISTANCE)
    return [generated[row] for row in sorted(order[index] for index in different[:keep])]


def standardize(values: np.ndarray) -> np.ndarray:
    """Return z-scores, or zeros if all values are equal."""
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
