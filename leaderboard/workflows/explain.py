"""Explain a score: its position among a metric's scores of random pairs, related pairs, and paraphrases.

The scores are those that a run has stored for `human_ordering`, whose pairs people have rated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.base.errors import TouchstoneError, did_you_mean
from harness.base.progress import Progress
from harness.evaluation.open_metric import open_metric
from harness.evaluation.suite import Suite
from harness.results.store import Store
from harness.submission.submission import Entry
from leaderboard.report.rated_pairs import CLASSES, FEWEST, HARDLY, by_class, share_below, sign_of, told_apart
from leaderboard.scoring.results import Results, results_of
from tasks.text.human_ordering import HumanOrdering, RatedAnswers, pairs_of

PERCENTILES = (5, 25, 50, 75, 95)                 # percentiles that are shown


@dataclass(frozen=True)
class ClassPosition:
    """A class of pairs, and the position of a score in it."""

    of: str
    meaning: str
    pairs: int
    quantiles: Mapping[str, float]          # of the raw scores, by percentile; empty with fewer than FEWEST pairs
    percentile: float | None                # share of the class that is less similar, in percent; ties count one half


@dataclass(frozen=True)
class Explanation:
    """A score and its positions."""

    metric: str
    returns: str
    value: float
    places: tuple[ClassPosition, ...]
    datasets: Mapping[str, int]             # number of rated pairs per dataset, including pairs of no class
    told_apart: float | None                # share of (paraphrase, random) pairs in which the paraphrase scores higher

    @property
    def sentence(self) -> str:
        """A summary of the explanation."""
        positions = [position for position in self.places if position.percentile is not None]
        if not positions:
            return f"{self.metric} returns {self.value:.4g}; too few pairs are stored to interpret this score."
        shares = ", ".join(f"{position.percentile:.0f}% of the {position.of} pairs" for position in positions)
        start = f"{self.metric} returns {self.value:.4g}: the texts are more similar than {shares}"
        if self.told_apart is not None and self.told_apart < HARDLY:
            return f"{start}. The metric hardly separates random pairs from paraphrases, so the score is not informative."
        nearest = min(positions, key=lambda position: abs((position.percentile or 0.0) - 50))
        return f"{start}; such a score is most typical of a {nearest.of} pair."


def explain(name: str, a: str, b: str, suite: Suite, store: Results | Store | Path | str, progress: Progress) -> Explanation:
    """Score two texts with an entry, and return the position of the score among its stored or published scores."""
    entry, answers = stored_answers(name, results_of(store, suite))
    rated = [pair for question in suite.select([HumanOrdering.name]) for pair in pairs_of(question.unit)]
    collection = [text for pair in rated for text in (pair.a, pair.b)]
    return place_value(entry, score_pair(entry, a, b, collection, suite, progress), answers)


def stored_answers(name: str, results: Results) -> tuple[Entry, list[tuple[str, str, RatedAnswers]]]:
    """Return the entry of that name and its answers as (dataset, kind of pairs, answers)."""
    suite, entries = results.suite, {stored.entry.name: stored for stored in results.entries()}
    questions = suite.select([HumanOrdering.name])
    get = f"`touchstone run {name} --suite {suite.name} --only {HumanOrdering.name}` computes them"
    if name not in entries:
        raise TouchstoneError(f'The store has no results of "{name}".{did_you_mean(name, entries)} If the metric exists, '
                              f"{get}.")
    stored = entries[name]
    if stored.entry.header.kind != "text":
        raise TouchstoneError(f'"{name}" compares corpora; only scores of text metrics (kind = "text") can be explained.')
    outcomes = results.outcomes(stored.digest, questions[0].task) if questions else {}
    answers = [
        (question.unit.parameters["dataset"], question.unit.parameters["kind"], outcome.observation)
        for question in questions
        if (outcome := outcomes.get(question.unit.id)) is not None and outcome.observation is not None
    ]
    if not answers:
        raise TouchstoneError(f'The store has no results of "{name}" for the rated pairs of the suite {suite.name}; {get}.')
    return stored.entry, answers


def score_pair(entry: Entry, a: str, b: str, collection: Sequence[str], suite: Suite, progress: Progress) -> float:
    """Return an entry's score of one pair; a metric with `fit` is fitted on the rated pairs and this one."""
    with open_metric(entry, model=suite.model.name, progress=progress) as metric:
        score, = metric.pair_scores([a], [b], [*collection, a, b]).tolist()
    return float(score)


def place_value(entry: Entry, value: float, answers: Sequence[tuple[str, str, RatedAnswers]]) -> Explanation:
    """Return the position of a score among the answers of the same entry; a pure function."""
    classes = by_class(answers)
    datasets: dict[str, int] = {}
    for dataset, _, rated in answers:
        datasets[dataset] = datasets.get(dataset, 0) + len(rated.places)
    sign = sign_of(entry.header.returns)
    places = tuple(position_in_class(name, sign, value, np.array(values)) for name, values in classes.items())
    apart = told_apart(classes, sign)
    return Explanation(entry.name, entry.header.returns, value, places, datasets, apart)


def position_in_class(name: str, sign: int, value: float, values: np.ndarray) -> ClassPosition:
    """Return the position of a score among those of one class."""
    if len(values) < FEWEST:
        return ClassPosition(name, CLASSES[name], len(values), {}, None)
    quantiles = {str(percentile): float(np.percentile(values, percentile)) for percentile in PERCENTILES}
    return ClassPosition(name, CLASSES[name], len(values), quantiles, 100 * share_below(sign * values, sign * value))


def describe_classes(explanation: Explanation) -> str:
    """Return a sentence on the origin of the classes."""
    held = ", ".join(f"{pairs:,} pairs of {name}" for name, pairs in explanation.datasets.items())
    return f"From the stored answers for {held}; ratings are scaled so that 5 is the highest of each dataset."


def explanation_json(explanation: Explanation) -> dict[str, object]:
    """Return an explanation as plain values."""
    return {**dataclasses.asdict(explanation), "sentence": explanation.sentence, "made_of": describe_classes(explanation)}
