"""Utility of training corpora (after Chen and Zhong 2025): does the distance from a target predict the accuracy of a classifier?

A fixed classifier is trained on labelled candidate corpora and tested on two targets, which are texts of complementary labels of
one source. A metric compares the texts of candidates and targets; it sees no labels. All texts are cut to one length. A candidate
that is good for one target is bad for the other, so a statistic of candidates alone does not predict both.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import CORRELATION, SHARE, Context, Measures, Presentation, Task, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings
from tasks.common.corpus_faults import CorpusFault, insert_balanced_fault
from tasks.common.correlations import pearson
from tasks.common.sampling import CACHED_UNITS, sample_labelled
from tasks.data.drawn import draw_once
from tasks.data.loading import load_corpus
from tasks.generators.label_filter import NaiveBayes
from tasks.generators.ngrams import NGrams

LABELS = 4                                  # a source needs at least so many: two per target
TESTED = 200                                # texts per label that the classifier is tested on
CHOICES = 5                                 # texts of another domain of which the one with the best label is taken
MAIN_SHARE = 0.8                            # of the most frequent label of a target in an unbalanced candidate
CLEAN_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the first target's labels in unchanged candidates
CHANGED_SHARES = (0.1, 0.9)                 # in changed ones, from the smallest to the largest
COPIES = 2                                  # candidates per change
FAULTS = ((CorpusFault.EDA_NOISE, 1.0), (CorpusFault.WORD_SALAD, 0.5), (CorpusFault.VOCABULARY_SHRINK, 0.9),
          (CorpusFault.MODE_COLLAPSE, 0.8))
ORDERS = (1, 3)                             # of the n-grams that generate candidates

Texts = Mapping[str, Sequence[str]]         # by label


class SourceSettings(TaskSettings):
    """A labelled source of targets and candidates."""

    name: str                               # a labelled dataset, or corpora whose names are the labels: "a + b + c + d"
    elsewhere: str                          # a corpus of another domain
    characters: Annotated[int, Field(ge=10)]            # shorter texts are left out, longer ones are cut


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    sources: Annotated[tuple[SourceSettings, ...], Field(min_length=1)]
    n: Annotated[int, Field(ge=20, le=10_000)]          # texts of each candidate and of each target
    repetitions: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class CandidateAnswers:
    """The raw answers for all candidates and two targets, and the accuracies of the classifiers."""

    distances: tuple[tuple[float, ...], ...]            # d(target, candidate), a row per target
    accuracies: tuple[tuple[float, ...], ...]           # of the classifier trained on the candidate, a row per target
    scale: Annotated[ScoreScale, StoredAs("orientation")]


class Utility(Task[CandidateAnswers]):
    """Does the distance of a training corpus from a target predict the accuracy of a classifier?"""

    name: ClassVar[str] = "utility"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = CandidateAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Utility", short="ut",
        score="Spearman correlation over candidates of closeness and accuracy, mean of two targets",
        chance=0.0, worst=-1.0, unit="pair of targets", strata=("source",), observe_version=1, measure_version=1,
        measures={
            "between_targets": "Spearman correlation over candidates of the differences between both targets in closeness and in "
                               "accuracy; a statistic of one corpus alone has no difference",
            "regret_1": "accuracy of the best candidate minus that of the nearest",
            "regret_3": "accuracy of the best candidate minus that of the best of the three nearest",
            "chosen": "accuracy of the nearest candidate",
            "best": "accuracy of the best candidate",
            "mean": "mean accuracy of the candidates",
        },
        bounds={"between_targets": CORRELATION,
                **dict.fromkeys(("regret_1", "regret_3", "chosen", "best", "mean"), SHARE)},
        presentation=Presentation(
            origin="after SynQuE, Chen and Zhong 2025, arXiv 2511.03928",
            example="a classifier is trained on titles about sport, on titles about business or on noisy ones; the corpus that "
                    "is closer to the texts to be classified should give the better classifier.",
            columns=("between_targets", "regret_1")))

    def datasets(self, settings: Settings) -> set[str]:
        return {name for source in settings.sources for name in (*source.name.split(" + "), source.elsewhere)}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for source, repetition in itertools.product(settings.sources, range(settings.repetitions)):
            yield self.unit(context, (source.name,), {
                "source": source.name, "elsewhere": source.elsewhere, "characters": source.characters, "n": settings.n,
                "sample": context.seed, "repetition": repetition}, (*source.name.split(" + "), source.elsewhere))

    def texts(self, unit: Unit) -> Iterable[str]:
        drawn = draw_candidates(unit)
        return itertools.chain(*drawn.targets, *(texts for texts, _ in drawn.candidates))

    def observe(self, unit: Unit, metric: MetricSession) -> CandidateAnswers:
        drawn = draw_candidates(unit)
        metric.start()                      # the time of the classifiers is not the metric's
        count = len(drawn.candidates)
        corpora = [*drawn.targets, *(texts for texts, _ in drawn.candidates)]
        answers = metric.corpus_distances(corpora, list(itertools.product((0, 1), range(2, 2 + count))))
        return CandidateAnswers((tuple(answers[:count]), tuple(answers[count:])), drawn.accuracies, metric.scale)

    def measure(self, unit: Unit, observation: CandidateAnswers) -> Measures:
        distances = observation.scale.as_distance(np.array(observation.distances))
        accuracies = np.array(observation.accuracies)
        within = [correlate_ranks(-row, of_row) for row, of_row in zip(distances, accuracies, strict=True)]
        nearest = [of_row[np.argsort(row, kind="stable")] for row, of_row in zip(distances, accuracies, strict=True)]
        best = accuracies.max(axis=1)
        return Measures(None if within == [None, None] else float(np.mean([value or 0.0 for value in within])), {
            "between_targets": correlate_ranks(distances[1] - distances[0], accuracies[0] - accuracies[1]),
            "regret_1": float(np.mean([top - order[0] for top, order in zip(best, nearest, strict=True)])),
            "regret_3": float(np.mean([top - order[:3].max() for top, order in zip(best, nearest, strict=True)])),
            "chosen": float(np.mean([order[0] for order in nearest])),
            "best": float(best.mean()), "mean": float(accuracies.mean())})


def correlate_ranks(a: np.ndarray, b: np.ndarray) -> float | None:
    """Return Spearman's correlation, or None if all values of one side are equal."""
    return pearson(scipy.stats.rankdata(a), scipy.stats.rankdata(b)) if np.ptp(a) > 0 and np.ptp(b) > 0 else None


@dataclass(frozen=True)
class Drawn:
    """The targets and candidates of a unit, and what the classifiers achieve."""

    targets: tuple[list[str], list[str]]
    candidates: list[tuple[list[str], list[str]]]       # texts and labels
    accuracies: tuple[tuple[float, ...], ...]           # a row per target


@lru_cache(CACHED_UNITS)
def draw_candidates(unit: Unit) -> Drawn:
    """Return the corpora of a unit; the classifiers are trained once for all metrics."""
    return draw_once(unit, Drawn, lambda: make_candidates(unit))


def make_candidates(unit: Unit) -> Drawn:
    """Draw the corpora of a unit and train the classifiers."""
    p = unit.parameters
    n, characters, rng = p["n"], p["characters"], np.random.default_rng(unit.seed)
    pool, held_out = split_by_label(p["source"], p["sample"], characters, n, rng)
    labels = rng.permutation(sorted(pool)).tolist()
    halves = labels[:len(labels) // 2], labels[len(labels) // 2:]
    others = [text[:characters] for text in load_corpus(p["elsewhere"]) if len(text) >= characters]
    if len(others) < n:
        raise TouchstoneError(f'Utility with n={n} needs {n:,} texts of at least {characters} characters of "{p["elsewhere"]}", '
                              f"which has {len(others):,}. Choose fewer characters or another corpus.")
    filtering = NaiveBayes([text for texts in pool.values() for text in texts],
                           [label for label, texts in pool.items() for _ in texts])

    def counts(share: float, main_share: float = 0.0) -> dict[str, int]:
        """Return the number of texts of each label; a share of them has labels of the first target."""
        first = round(share * n)
        return {label: count for half, size in zip(halves, (first, n - first), strict=True)
                for label, count in zip(half, share_out(size, len(half), main_share), strict=True) if count}

    def draw(numbers: Mapping[str, int]) -> dict[str, list[str]]:
        return {label: [pool[label][row][:characters] for row in rng.permutation(len(pool[label]))[:count]]
                for label, count in numbers.items()}

    def contaminate(texts: Texts) -> dict[str, list[str]]:
        """Replace half of the texts of each label by texts of the other domain that a classifier gives this label."""
        return {label: [filtering.choose([others[row] for row in rng.integers(len(others), size=CHOICES)], label)
                        if row % 2 else text for row, text in enumerate(own)] for label, own in texts.items()}

    def generate(order: int, numbers: Mapping[str, int]) -> dict[str, list[str]]:
        models = {label: NGrams([text.rpartition(" ")[0] for text in pool[label]], order) for label in numbers}    # whole words
        return {label: [write_long(models[label], characters, rng) for _ in range(count)] for label, count in numbers.items()}

    candidates = [draw(counts(share)) for share in CLEAN_SHARES]
    changes = COPIES * (len(FAULTS) + len(ORDERS) + 2)
    shares = iter(rng.permutation(np.linspace(*CHANGED_SHARES, changes)).tolist())
    for _ in range(COPIES):
        candidates += [{label: insert_balanced_fault(fault, own, strength, (), unit.seed)
                        for label, own in draw(counts(next(shares))).items()} for fault, strength in FAULTS]
        candidates += [generate(order, counts(next(shares))) for order in ORDERS]
        candidates += [contaminate(draw(counts(next(shares)))), draw(counts(next(shares), MAIN_SHARE))]
    ordered = [candidates[row] for row in rng.permutation(len(candidates))]         # metrics with ties choose at random
    labelled = [([text for texts in candidate.values() for text in texts],
                 [label for label, texts in candidate.items() for _ in texts]) for candidate in ordered]
    first, second = ([text for label, count in zip(half, share_out(n, len(half)), strict=True)
                      for text in held_out[label][:count]] for half in halves)
    tested = [{label: held_out[label][:TESTED] for label in half} for half in halves]
    return Drawn((first, second), labelled, measure_accuracies(labelled, tested))


def split_by_label(name: str, sample: int, characters: int, n: int, rng: np.random.Generator) -> tuple[Texts, Texts]:
    """Return texts to train on, of up to twice the length, and texts of targets; labels end at a colon, as in "NUM:date"."""
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for text, label in sample_labelled(name, sample):
        if len(text) >= characters:
            texts[label.partition(":")[0]][text[:characters]] = text[:2 * characters]
    large = {label: list(own.values()) for label, own in sorted(texts.items()) if len(own) >= 2 * n}
    if len(large) < LABELS:
        raise TouchstoneError(f'Utility with n={n} needs {LABELS} labels with {2 * n:,} different texts of at least {characters} '
                              f'characters each; "{name}" has {len(large)}. Choose a smaller n, fewer characters or another '
                              "source.")
    shuffled = {label: [own[row] for row in rng.permutation(len(own))] for label, own in large.items()}
    return ({label: own[::2] for label, own in shuffled.items()},
            {label: [text[:characters] for text in own[1::2]] for label, own in shuffled.items()})


def share_out(total: int, parts: int, main_share: float = 0.0) -> list[int]:
    """Return integers that sum to `total`: about equal, or with the given share for the first."""
    first = round(main_share * total) if main_share else -(-total // parts)
    return [total] if parts == 1 else [first, *share_out(total - first, parts - 1)]


def write_long(model: NGrams, characters: int, rng: np.random.Generator) -> str:
    """Return the beginning of generated texts, with so many characters."""
    text = model.write(rng)
    while len(text) < characters:
        text += " " + model.write(rng)
    return text[:characters]


def measure_accuracies(candidates: Sequence[tuple[list[str], list[str]]],
                       targets: Sequence[Texts]) -> tuple[tuple[float, ...], ...]:
    """Train the classifier on every candidate, and return for each target the share of correct labels, mean over labels."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.svm import LinearSVC

    vectorizer = CountVectorizer().fit(text for texts, _ in candidates for text in texts)
    tests = [(row, label, vectorizer.transform(own)) for row, target in enumerate(targets) for label, own in target.items()]
    columns = []
    for texts, labels in candidates:
        counts = vectorizer.transform(texts)
        weights = TfidfTransformer(sublinear_tf=True).fit(counts)
        classifier = LinearSVC(random_state=0).fit(weights.transform(counts), labels)
        shares = [(row, np.mean(classifier.predict(weights.transform(own)) == label)) for row, label, own in tests]
        columns.append([float(np.mean([share for row, share in shares if row == target])) for target in range(len(targets))])
    return tuple(zip(*columns, strict=True))
