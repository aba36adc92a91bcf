"""The profile of a generated corpus beside the training and the test texts it belongs to (Zwerdling et al. 2021).

Pure functions of texts, vectors and what models say of them; `profile` puts them together.  Semantic figures compare with the
test texts, syntactic ones with the training texts: good texts are near the former without copying the latter.
"""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.base.progress import NoProgress, Progress
from leaderboard.corpus_profile.grammar import Checker, errors_per_word
from leaderboard.corpus_profile.nearest import Nearest, WordIndex
from leaderboard.corpus_profile.plausibility import Surprise, perplexity, surprises

CURVE_POINTS = 25
SUSPECTED = 0.15                            # word edits per word of the longer text, up to which a text may be a copy
ROWS_AT_ONCE = 2048
BARE = str.maketrans("", "", string.punctuation)

Vectors = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Interval:
    """A mean, or a harmonic mean of two, with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Likeness:
    """Precision, recall and F1 of one corpus against another."""

    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True)
class Row:
    """One corpus of the profile; None where a figure is not of it."""

    name: str
    texts: int
    unique: float                           # share
    vocabulary: int                         # of train its size; of the others the words that train does not have
    grammar: float                          # errors per word
    perplexity: float | None
    semantic: Likeness | None               # against test
    syntactic: Likeness | None              # against train


@dataclass(frozen=True)
class Test:
    """Whether two corpora differ: generated and a baseline, text by text."""

    of: str
    against: str
    means: tuple[float, float]
    t: float
    p_t: float                              # Welch
    p_mann_whitney: float


@dataclass(frozen=True)
class Copy:
    """A generated text and the training text that is nearest to it, by word edits per word."""

    text: str
    nearest: str
    distance: float


@dataclass(frozen=True)
class Profile:
    rows: tuple[Row, ...]                   # train, test, generated
    unique_curve: tuple[tuple[int, float], ...]     # n, Unique(n)
    tests: tuple[Test, ...]
    copies: tuple[Copy, ...]
    semantic: np.ndarray                    # of each generated text: the cosine of the nearest test text
    syntactic: np.ndarray                   # of each generated text: SynSim of the nearest training text
    grammar: str                            # which checker
    plausibility: str                       # which model
    vectors: str                            # which embeddings


@dataclass(frozen=True)
class Judges:
    """What texts are judged by, and under which names."""

    vectors: Vectors
    vectors_name: str
    check: Checker
    check_name: str
    surprise: Surprise
    surprise_name: str


def profile(train: Sequence[str], test: Sequence[str], generated: Sequence[str], judges: Judges,
            progress: Progress | None = None) -> Profile:
    """Everything about the generated corpus, with train and test as baselines."""
    progress = progress or NoProgress()
    corpora = {"train": train, "test": test, "generated": generated}
    curve = unique_curve(generated, train)
    errors = {name: np.array(errors_per_word(texts, judges.check, progress)) for name, texts in corpora.items()}
    surprised = {name: surprises(corpora[name], judges.surprise, progress) for name in ("test", "generated")}
    of_train, others = WordIndex(train), ("test", "generated")
    there = {name: of_train.nearest(corpora[name], progress, f"Nearest training text of {name}") for name in others}
    back = {name: WordIndex(corpora[name]).nearest(train, progress, f"Nearest {name} text of train") for name in others}
    vectors = {name: unit(judges.vectors(texts)) for name, texts in corpora.items()}
    alike = {name: nearest_cosines(vectors[name], vectors["test"], progress) for name in ("train", "generated")}
    known = vocabulary(train)
    rows = (
        Row("train", len(train), unique_curve(train, ())[-1][1], len(known), weighted(errors["train"], train), None,
            likeness(*alike["train"]), None),
        Row("test", len(test), unique_curve(test, train)[-1][1], len(vocabulary(test) - known), weighted(errors["test"], test),
            perplexity(surprised["test"]), None, likeness(there["test"].similarities, back["test"].similarities)),
        Row("generated", len(generated), curve[-1][1], len(vocabulary(generated) - known),
            weighted(errors["generated"], generated), perplexity(surprised["generated"]), likeness(*alike["generated"]),
            likeness(there["generated"].similarities, back["generated"].similarities)))
    per_word = {name: one[:, 0] / np.maximum(1, one[:, 1]) for name, one in surprised.items()}
    tests = (
        compare("semantic similarity to test", "train", alike["generated"][0], alike["train"][0]),
        compare("syntactic similarity to train", "test", there["generated"].similarities, there["test"].similarities),
        compare("surprise per word", "test", per_word["generated"], per_word["test"]),
        compare("grammar errors per word", "train", errors["generated"], errors["train"]))
    return Profile(rows, curve, tests, copies(generated, train, there["generated"]), alike["generated"][0],
                   there["generated"].similarities, judges.check_name, judges.surprise_name, judges.vectors_name)


def bare(text: str) -> str:
    """In lower case, without punctuation: what counts as the same sentence."""
    return " ".join(text.lower().translate(BARE).split())


def unique_curve(texts: Sequence[str], train: Sequence[str]) -> tuple[tuple[int, float], ...]:
    """Unique(n) for growing n: of the first n texts, the share that no other one of them, and none of train, equals."""
    before, seen = Counter(map(bare, train)), Counter[str]()
    points = {len(texts) * point // CURVE_POINTS for point in range(1, CURVE_POINTS + 1)} - {0}
    unique, curve = 0, []
    for n, text in enumerate(texts, start=1):
        one = bare(text)
        if not before[one]:
            unique += {0: 1, 1: -1}.get(seen[one], 0)       # of two copies both fall
        seen[one] += 1
        if n in points:
            curve.append((n, unique / n))
    return tuple(curve)


def vocabulary(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in bare(text).split()}


def weighted(per_word: np.ndarray, texts: Sequence[str]) -> float:
    """Errors over words of a whole corpus."""
    words = np.array([len(text.split()) for text in texts])
    return float((per_word * words).sum() / max(1, words.sum()))


def unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def nearest_cosines(a: np.ndarray, b: np.ndarray, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of a the cosine of its nearest in b, and the other way round; below 0 counts as 0."""
    there, back = np.zeros(len(a)), np.zeros(len(b))
    stage = progress.stage("Nearest vectors", len(a), "texts")
    try:
        for start in range(0, len(a), ROWS_AT_ONCE):
            cosines = np.clip(a[start:start + ROWS_AT_ONCE] @ b.T, 0, 1)
            there[start:start + ROWS_AT_ONCE] = cosines.max(axis=1)
            back = np.maximum(back, cosines.max(axis=0))
            stage.advance(len(cosines))
    finally:
        stage.close()
    return there, back


def likeness(there: np.ndarray, back: np.ndarray) -> Likeness:
    """Precision, recall and F1 of nearest similarities; the interval of F1 is that of its linearisation."""
    precision, recall = interval(there), interval(back)
    p, r = precision.value, recall.value
    f1 = 2 * p * r / (p + r) if p + r > 0 else 0.0
    reach = 0.0
    if p + r > 0:
        by_p, by_r = 2 * r ** 2 / (p + r) ** 2, 2 * p ** 2 / (p + r) ** 2
        reach = math.hypot(by_p * (precision.high - p), by_r * (recall.high - r))
    return Likeness(precision, recall, Interval(f1, f1 - reach, f1 + reach))


def interval(values: np.ndarray) -> Interval:
    """The mean, and Student's t interval over texts."""
    mean, n = float(values.mean()), len(values)
    reach = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / math.sqrt(n)) if n > 1 else 0.0
    return Interval(mean, mean - reach, mean + reach)


def compare(of: str, against: str, ours: np.ndarray, theirs: np.ndarray) -> Test:
    """Welch's t-test and the Mann-Whitney test, two-sided; where neither varies, they say nothing: p = 1."""
    means = float(ours.mean()), float(theirs.mean())
    if np.ptp(np.concatenate([ours, theirs])) == 0 or min(len(ours), len(theirs)) < 2:
        return Test(of, against, means, 0.0, 1.0, 1.0)
    welch = stats.ttest_ind(ours, theirs, equal_var=False)
    return Test(of, against, means, float(welch.statistic), float(welch.pvalue), float(stats.mannwhitneyu(ours, theirs).pvalue))


def copies(generated: Sequence[str], train: Sequence[str], nearest: Nearest) -> tuple[Copy, ...]:
    """Generated texts that may be copies, the nearest first, with the training text each is nearest to; each text once."""
    suspected = np.flatnonzero(nearest.distances <= SUSPECTED)
    found = {generated[place]: Copy(generated[place], train[nearest.rows[place]], float(nearest.distances[place]))
             for place in suspected[np.argsort(nearest.distances[suspected], kind="stable")].tolist()}
    return tuple(found.values())


def best(found: Profile, generated: Sequence[str], keep: int) -> list[str]:
    """The filter: texts with the best of semantic to test against syntactic to train, in their order, each text once.

    Both are standardised over the corpus, and subtracted.
    """
    merit = standardised(found.semantic) - standardised(found.syntactic)
    first = {text: place for place, text in reversed(list(enumerate(generated)))}
    order = [place for place in np.argsort(-merit, kind="stable").tolist() if first[generated[place]] == place]
    return [generated[place] for place in sorted(order[:keep])]


def standardised(values: np.ndarray) -> np.ndarray:
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros(len(values))
