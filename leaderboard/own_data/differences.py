"""What a difference of a metric means: the probability that it is a real difference of that order.

- Corpus metrics: two distances from one corpus differ by x. The probability that the corpus that looks farther is the one with
  the more different mixture of two sources, from the published answers to `known_similarity`.
  The probability is logistic in x and its root, and 1/2 at x = 0.
- Text metrics: the mean scores of two sets of pairs differ by x. The probability that people also rate the set with the higher
  mean as more similar, from 20 sets of rated pairs; see `rated_sets.py`.

The calibration error is measured on sources that are left out: the mean distance, over ten groups of comparisons with similar
predictions, of the predicted and the observed share.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import scipy

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.paths import SUBMISSIONS
from harness.results.stored_entry import StoredEntry
from leaderboard.own_data.calibration import Comparisons, Predictor, calibration_error, judge_order
from leaderboard.own_data.rated_sets import (
    KnownSet,
    SpreadMixture,
    compare_sets,
    describe_set,
    draw_sets,
    known_calibration,
    read_known_sets,
)
from leaderboard.scoring.results import Results
from tasks.corpus.known_similarity import KnownSimilarity, MixtureDistances
from tasks.text.human_ordering import HumanOrdering, RatedAnswers

WELL_CALIBRATED = 0.03
SIZES = (1, 1_000)


@dataclass(frozen=True)
class Curve:
    """The probability that a difference has the real order: logistic in sqrt(x/scale) and x/scale."""

    scale: float
    root: float
    linear: float

    def probability(self, difference: np.ndarray | float) -> np.ndarray:
        """Return the probability for absolute differences."""
        x = np.asarray(difference, dtype=float) / self.scale
        return np.asarray(scipy.special.expit(self.root * np.sqrt(x) + self.linear * x))


@dataclass(frozen=True)
class DifferenceMeaning:
    """The meaning of a difference of a metric."""

    metric: str
    kind: str                               # "corpus" or "text"
    difference: float
    size: int                               # texts per corpus, or pairs per set
    probability: float
    low: float | None                       # range of the probability over 80% of the sets of pairs; None for corpora
    high: float | None
    calibration_error: float                # on sources that were left out
    needed: Mapping[str, float | None]      # the difference that has a probability of 75%, 90%, 95%; None if none observed has it
    sources: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """A summary."""
        if self.kind == "corpus":
            compared = f"If the {self.metric} distances of two corpora from a third one ({self.size} texts each)"
            real = "the corpus that looks farther is the more different one"
        else:
            compared = f"If the means of {self.metric} of two sets of {self.size} pairs" if self.size > 1 else (
                f"If the values of {self.metric} of two pairs of texts")
            real = "people find the texts with the higher similarity more similar"
        kinds = "" if self.low is None else f" ({self.low:.0%} to {self.high:.0%} depending on the kind of texts)"
        return f"{compared} differ by {self.difference:g}, {real} with a probability of {self.probability:.0%}{kinds}."


def explain_difference(name: str, difference: float, size: int, results: Results, corpora: bool = False) -> DifferenceMeaning:
    """Return what a difference of a metric means, from the stored or published answers of a suite.

    Args:
        name: A metric with answers.
        difference: The difference of two of its values; its sign does not matter.
        size: Texts per corpus, or pairs of texts per mean.
        results: The answers.
        corpora: Explain distances of corpora also for a text metric, which is lifted.

    Raises:
        TouchstoneError: There are no answers, or the arguments make no sense.
    """
    if not (math.isfinite(difference) and difference):
        raise TouchstoneError(f"The difference is {difference:g}; name a finite number other than 0.")
    if not SIZES[0] <= size <= SIZES[1]:
        raise TouchstoneError(f"The sample size is {size}; {SIZES[0]} to {SIZES[1]:,} are supported.")
    stored = find_entry(name, results)
    header, notes, absolute = stored.entry.header, [], abs(difference)
    predictor: Predictor
    low = high = None
    if header.kind == "corpus" or corpora:
        by_source, used = compare_corpora(stored.digest, size, results)
        if used != size:
            notes.append(f"There are answers for corpora of {used} texts; those nearest to {size} are used.")
            size = used
        check_sources(name, by_source, results)
        predictor, error = fit_sources(by_source), calibration_error_of_curves(by_source)
        largest, sources = float(max(differences.max() for differences, _ in by_source.values())), tuple(by_source)
    else:
        sets, error = describe_rated(stored, size, results)
        predictor = mixture = SpreadMixture(sets, size)
        largest, sources = mixture.largest, tuple(rated.name for rated in sets)
        low, high = mixture.interval(min(absolute, largest))
    if absolute > largest:
        notes.append(f"No difference this large is expected, so the probability is that of the largest expected one, "
                     f"{largest:.3g}. The range of {name} is {header.range[0]:g} to {header.range[1]:g}; is the difference "
                     "on this scale?")
    if error > WELL_CALIBRATED:
        notes.append(f"The calibration error is {error:.2f}: on other data, expect the probability to be off by about this much.")
    needed = {f"{share:.0%}": needed_difference(predictor, share, largest) for share in (0.75, 0.90, 0.95)}
    probability = float(predictor.probability(min(absolute, largest)))
    return DifferenceMeaning(name, "text" if low is not None else "corpus", absolute, size, probability, low, high, error, needed,
                             sources, tuple(notes))


def check_sources(name: str, sources: Collection[object], results: Results) -> None:
    """Raise unless there are at least two sources, one of which can be left out."""
    if len(sources) < 2:
        raise TouchstoneError(f'The answers of "{name}" on the suite {results.suite.name} come from fewer than two sources. Run '
                              f"`touchstone run {name}`.")


def describe_rated(stored: StoredEntry, size: int, results: Results) -> tuple[list[KnownSet], float]:
    """Return the sets of rated pairs of a text metric, measured beforehand or from stored answers, with its calibration error."""
    name = stored.entry.name
    if is_known(stored):
        return read_known_sets()[name], known_calibration(name, size)
    answers = {source: similarities_and_ratings(parts) for source, parts in rated_answers(stored.digest, results).items()}
    check_sources(name, answers, results)
    sets = [describe_set(source, source, *values) for source, values in answers.items()]
    return sets, calibration_error(
        {source: compare_sets(*values, draw_sets(values[1], size)) for source, values in answers.items()},
        lambda left_out: SpreadMixture([rated for rated in sets if rated.name != left_out], size))


def is_known(stored: StoredEntry) -> bool:
    """Return whether a metric is one whose sets of rated pairs were measured beforehand, and its file is unchanged."""
    file = SUBMISSIONS / stored.entry.submission.filename
    return stored.entry.name in read_known_sets() and file.exists() and file.read_bytes() == stored.entry.submission.source


def find_entry(name: str, results: Results) -> StoredEntry:
    """Return the stored entry of that name."""
    entries = {stored.entry.name: stored for stored in results.entries()}
    if name not in entries:
        raise TouchstoneError(f'There are no results of "{name}".{did_you_mean(name, entries)} Run `touchstone run {name}`.')
    return entries[name]


def rated_answers(digest: str, results: Results) -> dict[str, list[RatedAnswers]]:
    """Return the answers of a text metric to rated pairs, by dataset."""
    task = next((task for task in results.suite.tasks if task.name == HumanOrdering.name), None)
    if task is None:
        raise TouchstoneError(f"The suite {results.suite.name} has no rated pairs; use the suite core.")
    outcomes, answers = results.outcomes(digest, task), dict[str, list[RatedAnswers]]()
    for unit in results.suite.units(task):
        observation = outcomes[unit.id].observation if unit.id in outcomes else None
        if observation is not None:
            answers.setdefault(unit.parameters["dataset"], []).append(observation)
    return answers


def similarities_and_ratings(answers: list[RatedAnswers]) -> tuple[np.ndarray, np.ndarray]:
    """Return the similarities and the ratings of all pairs of a dataset."""
    similarities = [part.scale.as_similarity(np.array(part.answers)) for part in answers]
    return np.concatenate(similarities), np.concatenate([part.human for part in answers])


def compare_corpora(digest: str, size: int, results: Results) -> tuple[dict[str, Comparisons], int]:
    """Return differences of distances from one corpus by pair of sources, and the size of corpora that is nearest to `size`."""
    task = next((task for task in results.suite.tasks if task.name == KnownSimilarity.name), None)
    if task is None:
        raise TouchstoneError(f"The suite {results.suite.name} has no corpora of known similarity; use the suite core.")
    units, outcomes = results.suite.units(task), results.outcomes(digest, task)
    nearest = min({unit.parameters["n"] for unit in units}, key=lambda n: abs(math.log(n / size)))
    parts: dict[str, list[Comparisons]] = {}
    for unit in units:
        observation = outcomes[unit.id].observation if unit.id in outcomes else None
        if unit.parameters["n"] == nearest and observation is not None:
            parts.setdefault(f"{unit.parameters['source_a']} and {unit.parameters['source_b']}", []).append(
                compare_distances(observation))
    joined = {source: (np.concatenate([x for x, _ in group]), np.concatenate([y for _, y in group]))
              for source, group in parts.items()}
    return joined, nearest


def compare_distances(observation: MixtureDistances) -> Comparisons:
    """Return the differences of all two distances from one corpus whose separations differ."""
    k = observation.k
    first, second = np.triu_indices(k, 1)
    distances = np.zeros((k, k))
    distances[first, second] = distances[second, first] = observation.scale.as_distance(np.array(observation.forward))
    separation = np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
    difference = distances[:, first] - distances[:, second]
    real = separation[:, first] - separation[:, second]
    rows = np.arange(k)[:, None]
    keep = (real != 0) & (first != rows) & (second != rows)
    return judge_order(difference[keep], real[keep])


def fit_curve(differences: np.ndarray, order: np.ndarray) -> Curve:
    """Return the curve of maximum likelihood among those that do not fall."""
    positive = differences[differences > 0]
    scale = float(np.median(positive)) if len(positive) else 1.0
    x = np.column_stack([np.sqrt(differences / scale), differences / scale])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ weights
        return float(np.mean(np.logaddexp(0, z) - order * z)), x.T @ (scipy.special.expit(z) - order) / len(order)
    root, linear = scipy.optimize.minimize(loss, (0.5, 0.5), jac=True, bounds=[(0, None)] * 2).x.tolist()
    return Curve(scale, root, linear)


def fit_sources(by_source: Mapping[str, Comparisons], left_out: str | None = None) -> Curve:
    """Return the curve of all sources, or of all but one."""
    used = [comparisons for source, comparisons in by_source.items() if source != left_out]
    return fit_curve(*map(np.concatenate, zip(*used, strict=True)))


def calibration_error_of_curves(by_source: Mapping[str, Comparisons]) -> float:
    """Return the calibration error over all sources, each predicted from the others."""
    return calibration_error(by_source, lambda left_out: fit_sources(by_source, left_out))


def needed_difference(predictor: Predictor, share: float, largest: float) -> float | None:
    """Return the smallest observed difference whose probability reaches a share."""
    grid = np.geomspace(largest / 10_000, largest, 2_000) if largest > 0 else np.zeros(1)
    reached = np.flatnonzero(predictor.probability(grid) >= share)
    return float(grid[reached[0]]) if len(reached) else None


# ---- thresholds by domain ---------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class DomainThreshold:
    """The score that a share of the dissimilar pairs of a dataset exceeds, or for a distance falls below."""

    metric: str
    dataset: str
    false_alarms: float
    value: float
    detected: float
    negatives: int


def thresholds_by_domain(name: str, results: Results) -> list[DomainThreshold]:
    """Return thresholds of a text metric for each set of rated pairs; pairs below the middle of the scale are dissimilar."""
    stored = find_entry(name, results)
    if stored.entry.header.kind != "text":
        raise TouchstoneError(f'"{name}" compares corpora; thresholds are for pairs of texts. Use --difference.')
    sets = read_known_sets()[name] if is_known(stored) else [
        describe_set(source, source, *similarities_and_ratings(parts))
        for source, parts in rated_answers(stored.digest, results).items()]
    sign = 1 if stored.entry.header.returns == "similarity" else -1
    return [DomainThreshold(name, rated.name, item.false_alarms, sign * item.value + 0.0, item.detected, item.negatives)
            for rated in sets for item in rated.thresholds]


def all_thresholds(results: Results) -> list[DomainThreshold]:
    """Return the thresholds of all text metrics with results, without controls."""
    return [threshold for stored in results.entries() if stored.entry.header.kind == "text" and not stored.entry.header.control
            for threshold in thresholds_by_domain(stored.entry.name, results)]
