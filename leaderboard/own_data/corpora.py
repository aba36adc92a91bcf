"""Choose a corpus metric by two corpora of a user, without judgements.

What should be far apart is made from the corpora: samples of both, mixtures of both in known shares, and copies of the first one
with faults. Texts that are compared are never texts of the same draw, and every statement has its own draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from harness.base.errors import TouchstoneError
from harness.base.hashing import seed_of
from harness.base.progress import Progress
from harness.evaluation.open_metric import SUITE_MODEL
from harness.submission.submission import Entry
from leaderboard.own_data.answers import CorpusGroup, MetricAnswers, corpus_distances
from leaderboard.own_data.measure import draw_texts
from leaderboard.own_data.report import Report, Section, to_values
from tasks.common.corpus_faults import CorpusFault, FaultMaterial, insert_fault
from tasks.common.mixtures import draw_mixtures, separated_pairs

FEWEST_TEXTS, MOST_TEXTS = 60, 1_000
SIZES = (10, 25, 50, 100, 200)
DRAWS = 19                                  # a distance above 19 distances within one source: 5% false alarms
NOTICED = 0.9                               # share of draws in which a difference is noticed
LEVELS, REPETITIONS = 7, 5
FAULTS = (CorpusFault.MODE_COLLAPSE, CorpusFault.CONTAMINATION, CorpusFault.WORD_SALAD, CorpusFault.VOCABULARY_SHRINK,
          CorpusFault.EDA_NOISE)
STRENGTHS = (0.0, 0.1, 0.25, 0.5, 1.0)
FAULTY_TEXTS = 100
SEED = 37


@dataclass(frozen=True)
class CorpusRow:
    """What a metric sees in the corpora of a user."""

    name: str
    noticed_from: int | None                # texts per corpus from which on the difference is noticed; None: never
    power: dict[int, float]                 # share of draws in which the difference is noticed, by texts per corpus
    mixtures: float                         # mean rank correlation of distance and separation of mixtures
    faults: dict[str, float]                # mean rank correlation of distance and strength, by fault
    nearer: float | None                    # share of draws in which the first corpus is nearer to the third; ties one half

    @property
    def score(self) -> float:
        """The mean of what is seen of mixtures and of faults, and of the power over all sizes."""
        return float(np.mean([self.mixtures, np.mean(list(self.faults.values())), np.mean(list(self.power.values()))]))


@dataclass(frozen=True)
class CorpusChoice:
    """Which corpus metric sees most in the corpora of a user."""

    names: tuple[str, ...]
    texts: tuple[int, ...]
    rows: list[CorpusRow]                   # best first
    failures: dict[str, str]
    notes: list[str]


def choose_by_corpora(corpora: Sequence[Sequence[str]], names: Sequence[str], entries: Sequence[Entry], progress: Progress, *,
                      like: Sequence[str] | None = None, model: str = SUITE_MODEL, jobs: int | None = None) -> CorpusChoice:
    """Return what each metric sees in two corpora, and which of them it finds nearer to a third one."""
    rng = np.random.default_rng(SEED)
    notes = []
    inputs = [*corpora, *([] if like is None else [like])]
    for name, corpus in zip(names, inputs, strict=True):
        if len(corpus) < FEWEST_TEXTS:
            raise TouchstoneError(f"{name} has {len(corpus)} texts; {FEWEST_TEXTS} are required.")
        if len(corpus) > MOST_TEXTS:
            notes.append(f"{MOST_TEXTS:,} of {len(corpus):,} texts of {name} are used, drawn at random.")
    a, b, *rest = (draw_texts(corpus, MOST_TEXTS, rng) for corpus in inputs)
    shared = len(set(a) & set(b)) / min(len(set(a)), len(set(b)))
    if shared > 0.05:
        notes.append(f"{shared:.0%} of the different texts of one corpus are also in the other, which reduces the distances "
                     "between samples.")
    groups = {**size_groups(a, b, rng), **mixture_groups(a, b, rng), **fault_groups(a, b, rng)}
    if rest:
        groups["like"] = like_group(a, b, rest[0], rng)
    answers = corpus_distances(groups, entries, progress, model=model, jobs=jobs)
    rows = [read_row(answer, groups) for answer in answers if answer.failure is None]
    return CorpusChoice(tuple(names), tuple(map(len, inputs)), sorted(rows, key=lambda row: -row.score),
                        {answer.name: answer.failure for answer in answers if answer.failure is not None}, notes)


def take(corpus: Sequence[str], count: int, rng: np.random.Generator) -> list[list[str]]:
    """Return two disjoint samples of a corpus."""
    rows = rng.permutation(len(corpus))[:2 * count].tolist()
    return [[corpus[row] for row in rows[:count]], [corpus[row] for row in rows[count:]]]


def size_groups(a: Sequence[str], b: Sequence[str], rng: np.random.Generator) -> dict[str, CorpusGroup]:
    """Return samples of each size: per draw a sample of both corpora, and two samples of the first."""
    groups = {}
    for size in (size for size in SIZES if 2 * size <= min(len(a), len(b))):
        corpora: list[list[str]] = []
        for _ in range(DRAWS):
            corpora += [*take(a, size, rng), take(a, size, rng)[0], take(b, size, rng)[0]]
        groups[f"size {size}"] = CorpusGroup(corpora, [pair for draw in range(DRAWS) for pair in (
            (4 * draw, 4 * draw + 1), (4 * draw + 2, 4 * draw + 3))])
    return groups


def mixture_groups(a: Sequence[str], b: Sequence[str], rng: np.random.Generator) -> dict[str, CorpusGroup]:
    """Return mixtures of both corpora in equal steps, in several repetitions."""
    size = min(100, 2 * min(len(a), len(b)) // (LEVELS + 1))
    return {f"mixtures {repetition}": CorpusGroup(draw_mixtures("the first corpus", a, "the second corpus", b, LEVELS, size, rng),
                                                  separated_pairs(LEVELS)) for repetition in range(REPETITIONS)}


def fault_groups(a: Sequence[str], b: Sequence[str], rng: np.random.Generator) -> dict[str, CorpusGroup]:
    """Return samples of the first corpus, and other samples of it with faults of growing strength."""
    groups, size = {}, min(FAULTY_TEXTS, len(a) // 2, len(b))
    for fault in FAULTS:
        corpora: list[list[str]] = []
        for repetition in range(REPETITIONS):
            reference, sample = take(a, size, rng)
            material = FaultMaterial(reference, draw_texts(b, size, rng))
            seed = seed_of(SEED, fault, repetition)
            corpora += [reference, *(insert_fault(fault, sample, strength, material, seed) for strength in STRENGTHS)]
        step = 1 + len(STRENGTHS)
        groups[f"fault {fault.value}"] = CorpusGroup(corpora, [
            (step * repetition, step * repetition + 1 + number) for repetition in range(REPETITIONS)
            for number in range(len(STRENGTHS))])
    return groups


def like_group(a: Sequence[str], b: Sequence[str], c: Sequence[str], rng: np.random.Generator) -> CorpusGroup:
    """Return samples of equal size of three corpora, and the pairs of the first two with the third."""
    size = min(200, len(a) // 2, len(b) // 2, len(c) // 2)
    corpora = [take(corpus, size, rng)[0] for _ in range(DRAWS) for corpus in (a, b, c)]
    return CorpusGroup(corpora, [pair for draw in range(DRAWS) for pair in (
        (3 * draw, 3 * draw + 2), (3 * draw + 1, 3 * draw + 2))])


def read_row(answer: MetricAnswers, groups: dict[str, CorpusGroup]) -> CorpusRow:
    """Return what a metric sees, from its distances of all groups."""
    ends = np.cumsum([0, *(len(group.pairs) for group in groups.values())])
    parts = {name: answer.values[start:stop] for name, start, stop in zip(groups, ends[:-1], ends[1:], strict=True)}
    power, faults, mixtures = {}, {}, []
    separation = np.array([j - i for i, j in separated_pairs(LEVELS)])
    for name, values in parts.items():
        kind, _, what = name.partition(" ")
        if kind == "size":
            within, across = values.reshape(-1, 2).T
            power[int(what)] = float(np.mean(across > within.max()))
        elif kind == "mixtures":
            mixtures.append(rank_correlation(separation, values))
        elif kind == "fault":
            faults[what] = float(np.mean([rank_correlation(np.array(STRENGTHS), row) for row in
                                          values.reshape(-1, len(STRENGTHS))]))
    nearer = None
    if "like" in parts:
        to_a, to_b = parts["like"].reshape(-1, 2).T
        nearer = float(np.mean((1 + np.sign(to_b - to_a)) / 2))
    missed = [size for size, share in power.items() if share < NOTICED]
    reliable = [size for size in power if size > max(missed, default=0)]
    return CorpusRow(answer.name, min(reliable, default=None), power, float(np.mean(mixtures)), faults, nearer)


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's correlation, 0 if one side is constant."""
    return 0.0 if np.ptp(y) == 0 else float(scipy.stats.spearmanr(x, y).statistic)


def report_on_corpora(choice: CorpusChoice) -> Report:
    """Return the report."""
    a, b = choice.names[:2]
    best, sizes = choice.rows[0] if choice.rows else None, list(choice.rows[0].power) if choice.rows else []
    summary = []
    if best is not None:
        noticed = f"from {best.noticed_from} texts on" if best.noticed_from else f"not reliably with up to {sizes[-1]} texts"
        summary.append(f"Recommended: {best.name}. It notices the difference between {a} and {b} {noticed} (in {NOTICED:.0%} of "
                       f"draws, with 5% false alarms).")
        if best.nearer is not None:
            nearer, share = (a, best.nearer) if best.nearer >= 0.5 else (b, 1 - best.nearer)
            summary.append(f"According to {best.name}, {nearer} is nearer to {choice.names[2]} in {share:.0%} of draws.")
    headings = ("metric", "score", "noticed from", "mixtures", *(fault.value.replace("_", " ") for fault in FAULTS),
                *([f"{a} nearer"] if best is not None and best.nearer is not None else []))
    rows = [(row.name, f"{row.score:.2f}", "-" if row.noticed_from is None else str(row.noticed_from), f"{row.mixtures:.2f}",
             *(f"{row.faults[fault.value]:.2f}" for fault in FAULTS),
             *([] if row.nearer is None else [f"{row.nearer:.0%}"])) for row in choice.rows]
    curve = [(row.name, *(f"{row.power[size]:.0%}" for size in sizes)) for row in choice.rows]
    sections = [
        Section("What each metric detects", [
            f"Mixtures: rank correlation of the distance with the difference in shares of {a} and {b}, {LEVELS} mixtures. "
            f"Faults of {a}: rank correlation of the distance with the strength of the fault; contamination is by texts of {b}. "
            f"Score: mean of mixtures, faults and power. A few hundredths are due to chance ({REPETITIONS} repetitions)."],
            headings, rows),
        Section("Power", [f"Share of {DRAWS} draws in which samples of {a} and {b} are farther apart than {DRAWS} pairs of "
                          f"samples of {a} (5% false alarms), by the number of texts."], ("metric", *map(str, sizes)), curve)]
    if choice.failures:
        sections.append(Section("Metrics without a result", [], ("metric", "reason"), list(choice.failures.items())))
    values = to_values(choice) | {"scores": {row.name: row.score for row in choice.rows}}
    return Report(f"Which corpus metric for {a} and {b}?", [*summary, *choice.notes], sections, values)
