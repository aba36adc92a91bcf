"""Choose a metric by judged pairs of a user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.base.errors import TouchstoneError
from harness.base.progress import Progress
from harness.evaluation.open_metric import SUITE_MODEL
from harness.submission.submission import Entry
from leaderboard.own_data.answers import MetricAnswers, score_pairs
from leaderboard.own_data.pairs.agreement import Judgements, compare_agreements, estimate_agreements
from leaderboard.own_data.pairs.data import JudgedPairs
from leaderboard.own_data.pairs.recommend import HeldOut, evaluate_choice, make_candidates, posterior_mean, select_best
from leaderboard.own_data.pairs.thresholds import Threshold, describe_needed, find_thresholds
from leaderboard.scoring.estimates import Estimate, average_ranks

SIGNIFICANT = 0.05
EXAMPLES = 10
SEED = 29


@dataclass(frozen=True)
class MetricRow:
    """A metric in the ranked list."""

    name: str
    summary: str
    agreement: Estimate                     # as it is shown
    p_best: float | None                    # adjusted p-value of the difference from the first metric; None for the first
    milliseconds: float | None              # per pair on one thread, embedding included
    expected: float | None                  # the posterior mean, as it is shown; None if the metric cannot be chosen
    trivial: bool
    same_as: tuple[str, ...]                # metrics with the same order of all pairs
    notes: tuple[str, ...]

    @property
    def tied(self) -> bool:
        """Whether the metric is not significantly worse than the first."""
        return self.p_best is None or self.p_best > SIGNIFICANT


@dataclass(frozen=True)
class Part:
    """A metric of the recommendation: its similarity is (score - mean) / spread."""

    entry: Entry
    mean: float
    spread: float


@dataclass(frozen=True)
class Disagreement:
    """A pair on which the recommended metric and people disagree; percentiles among the pairs."""

    a: str
    b: str
    human: float
    human_percentile: float
    metric_percentile: float


@dataclass(frozen=True)
class PairChoice:
    """Which metric agrees best with the judgements of a user."""

    pairs: JudgedPairs
    statistic: str
    rows: list[MetricRow]                   # best first
    recommended: str
    parts: list[Part]
    agreement: Estimate                     # of the recommendation on all pairs: optimistic, because it was chosen on them
    best_single: str
    cheapest: str                           # among the metrics that are not distinguishable from the best
    held_out: HeldOut | None
    thresholds: list[Threshold]
    dissimilar: str                         # which pairs count as dissimilar
    disagreements: list[Disagreement]
    failures: dict[str, str]
    notes: list[str]

    @property
    def combined(self) -> bool:
        """Whether a combination of metrics is recommended."""
        return len(self.parts) > 1


def choose_by_pairs(pairs: JudgedPairs, entries: Sequence[Entry], progress: Progress, *, model: str = SUITE_MODEL,
                    jobs: int | None = None, combine: bool = True, similar_from: float | None = None) -> PairChoice:
    """Score judged pairs with all metrics and return which one to use.

    Args:
        pairs: The pairs; see `read_judged_pairs`.
        entries: The metrics to choose from; see `select_candidates`.
        progress: Receives progress.
        model: Embedding model of metrics that take vectors.
        jobs: Number of metrics that run at the same time.
        combine: Whether to consider means of up to three metrics.
        similar_from: The lowest rating of a similar pair, for thresholds; default: the middle of the scale.
    """
    answers = score_pairs(pairs.a, pairs.b, entries, progress, model=model, jobs=jobs, timed=True)
    return analyse_answers(pairs, answers, combine, similar_from)


def analyse_answers(pairs: JudgedPairs, answers: Sequence[MetricAnswers], combine: bool = True,
                    similar_from: float | None = None) -> PairChoice:
    """Return the choice from the answers of metrics; a pure function."""
    failures = {answer.name: answer.failure for answer in answers if answer.failure is not None}
    scored, same = drop_equal([answer for answer in answers if answer.failure is None])
    usable = [answer for answer in scored if not answer.trivial and not answer.dependent and np.ptp(answer.values) > 0]
    if not usable:
        raise TouchstoneError("No metric can be chosen: all failed, are constant on these pairs, or depend on other pairs. "
                              f"{next(iter(failures.items()), ('', ''))[1]}")
    judgements, similarities = pairs.judgements, np.array([answer.similarities for answer in scored])
    estimates, tests = estimate_agreements(similarities, judgements), compare_agreements(similarities, judgements, SEED)
    candidates = make_candidates([answer.name for answer in usable], np.array([answer.similarities for answer in usable]),
                                 combine)
    posterior = posterior_mean(candidates, judgements)
    expected = dict(zip(candidates.names, posterior.tolist(), strict=True))
    chosen, single = select_best(candidates, posterior)
    best_single = candidates.names[single]
    order = sorted(range(len(scored)), key=lambda row: (scored[row] not in usable, -estimates[row].value))
    first = order[0]
    rows = []
    for row in sorted(order, key=lambda row: -estimates[row].value):
        name, seconds = scored[row].name, scored[row].seconds
        rows.append(MetricRow(
            name, scored[row].entry.submission.header.title, show_estimate(judgements, estimates[row]),
            None if row == first else float(tests.p[first, row]), None if seconds is None else 1e3 * seconds,
            judgements.shown(expected[name]) if name in expected else None, scored[row].trivial, same.get(name, ()),
            tuple(describe_row(scored[row]))))
    tied = [answer for row, answer in enumerate(scored) if answer in usable and (
        row == first or tests.p[first, row] > SIGNIFICANT)]
    cheapest = min(tied, key=lambda answer: answer.seconds if answer.seconds is not None else np.inf)
    recommended = candidates.similarities[chosen]
    dissimilar, similar, described = split_by_judgement(pairs, similar_from)
    return PairChoice(
        pairs, judgements.statistic, rows, candidates.names[chosen],
        [make_part(usable[row], len(candidates.members[chosen])) for row in candidates.members[chosen]],
        show_estimate(judgements, estimate_agreements(recommended[None], judgements)[0]), best_single, cheapest.name,
        show_held_out(judgements, evaluate_choice(candidates, judgements, SEED)),
        find_thresholds(recommended[dissimilar], recommended[similar]), described, find_disagreements(pairs, recommended),
        failures, [*pairs.notes, *describe_needed(int(dissimilar.sum())), *warn(scored, estimates, first, tests.p)])


def drop_equal(answers: Sequence[MetricAnswers]) -> tuple[list[MetricAnswers], dict[str, tuple[str, ...]]]:
    """Return the metrics without those that order all pairs as an earlier one does, and the names of these by that one."""
    kept: dict[bytes, MetricAnswers] = {}
    same: dict[str, tuple[str, ...]] = {}
    for answer in sorted(answers, key=lambda answer: answer.entry.variant is not None):
        key = average_ranks(np.round(answer.similarities, 9)[None]).tobytes()
        if key in kept and kept[key].trivial == answer.trivial:
            same[kept[key].name] = (*same.get(kept[key].name, ()), answer.name)
        else:
            kept[key] = answer
    return list(kept.values()), same


def show_estimate(judgements: Judgements, estimate: Estimate) -> Estimate:
    """Return an estimate as it is shown."""
    low, high = (None if end is None else judgements.shown(end) for end in (estimate.low, estimate.high))
    return Estimate(judgements.shown(estimate.value), low, high, estimate.units)


def show_held_out(judgements: Judgements, held_out: HeldOut | None) -> HeldOut | None:
    """Return the values of held-out pairs as they are shown."""
    if held_out is None:
        return None
    scale = 0.5 if judgements.labelled else 1.0
    return HeldOut(judgements.shown(held_out.agreement), judgements.shown(held_out.best_single), scale * held_out.loss,
                   held_out.gain_p, held_out.splits)


def describe_row(answer: MetricAnswers) -> list[str]:
    """Return what is special about a metric, in words."""
    notes = ["trivial baseline"] if answer.trivial else []
    notes += ["not chosen: its scores depend on other pairs or on chance"] if answer.dependent and not answer.trivial else []
    return notes + (["constant"] if np.ptp(answer.values) == 0 else [])


def make_part(answer: MetricAnswers, count: int) -> Part:
    """Return a metric of the recommendation; the score of a single metric is used as it is."""
    if count == 1:
        return Part(answer.entry, 0.0, 1.0)
    return Part(answer.entry, float(answer.similarities.mean()), float(answer.similarities.std()))


def split_by_judgement(pairs: JudgedPairs, similar_from: float | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return which pairs are dissimilar and which similar, and a description."""
    human = pairs.judgements.human
    if pairs.judgements.labelled:
        return human < 0.5, human > 0.5, "pairs labelled as dissimilar"
    low, high = pairs.scale
    middle = (low + high) / 2 if similar_from is None else similar_from
    if not low < middle <= high:
        raise TouchstoneError(f"--similar-from {middle:g} is not within the ratings, {low:g} to {high:g}.")
    return human < middle, human >= middle, f"pairs rated below {middle:g}"


def find_disagreements(pairs: JudgedPairs, similarities: np.ndarray) -> list[Disagreement]:
    """Return the pairs whose rank by the metric differs most from that by people."""
    human, metric = average_ranks(np.array([pairs.judgements.human, similarities])) - 0.5
    worst = np.argsort(-np.abs(human - metric), kind="stable")[:EXAMPLES]
    scale = 100 / len(human)
    return [Disagreement(pairs.a[row], pairs.b[row], float(pairs.judgements.human[row]), float(human[row] * scale),
                         float(metric[row] * scale)) for row in worst.tolist()]


def warn(scored: Sequence[MetricAnswers], estimates: Sequence[Estimate], first: int, p: np.ndarray) -> list[str]:
    """Return what makes a choice doubtful, as sentences."""
    notes = []
    if estimates[first].low is not None and (estimates[first].low or 0.0) <= 0:
        notes.append("No metric agrees with the judgements better than chance; judge more pairs.")
    if sum(estimate.value < 0 for estimate in estimates) > 0.8 * len(estimates):
        notes.append("Nearly all metrics disagree with the judgements: higher judgements seem to mean less similar texts. "
                     "Reverse them.")
    trivial = [row for row, answer in enumerate(scored) if answer.trivial and p[first, row] > SIGNIFICANT
               and abs(estimates[row].value) > abs(estimates[first].value) / 2]
    if trivial:
        notes.append(f"The best metric is not significantly better than the trivial baseline {scored[trivial[0]].name}; judge "
                     "more pairs, or pairs in which length and copied words carry less information.")
    return notes

