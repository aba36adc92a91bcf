"""Measure the distance of two corpora, or the similarity of pairs of texts, and how certain it is.

Of two corpora, four things are computed with each metric:

- the value for all texts;
- a permutation p-value: the share of random divisions of all texts into corpora of the same sizes with at least this distance;
- a 95% interval from random halves of both corpora. Halves are drawn without replacement, because a bootstrap repeats texts,
  which nearest-neighbour metrics take for copies; the variance of a mean over half of the texts, given all texts, is that of
  the bootstrap. The deviations from the mean of the halves are applied to the value, because distances depend on the size;
- the self-distance band: distances between two halves of the same corpus, beside those between halves of both.

Of pairs, the value is the mean over pairs, and the second texts are permuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress, Progress
from harness.evaluation.open_metric import SUITE_MODEL
from harness.evaluation.score_scale import ScoreScale
from harness.sandbox.limits import Limits
from harness.submission.selection import select_entries
from harness.submission.submission import Entry
from leaderboard.own_data.answers import CorpusGroup, MetricAnswers, corpus_distances, score_pairs
from leaderboard.own_data.report import Report, Section, format_small, to_values
from leaderboard.scoring.estimates import stratified_mean
from tasks.data.loading import load_dataset
from tasks.data.own.registry import is_path, make_source

FEWEST_TEXTS, FEWEST_PAIRS = 8, 2
MOST_TEXTS, DRAWS = 2_000, 99
DRAWS_PER_GROUP = 10
PERMUTED_PAIRS = 50_000
BAND = (2.5, 97.5)
LIMITS = Limits(seconds_per_entry=3_600.0)


@dataclass(frozen=True)
class Measurement:
    """The result of one metric for two corpora or for pairs; if the metric failed, `failure` says why and values are None."""

    metric: str
    returns: str                            # "distance" or "similarity", of `value`, `low` and `high`
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None                  # of corpora: of no difference; of pairs: of no relation between the texts of a pair
    self_low: float | None = None           # 95% band of the value for halves of the same corpus, or for permuted pairs
    self_high: float | None = None
    halves: float | None = None             # mean value for halves of both corpora, to compare with the band
    sizes: tuple[int, int] = (0, 0)
    draws: int = 0
    failure: str | None = None
    lifted: bool = False                    # a text metric that compares corpora by the best match of every text


def measure(metrics: Sequence[str | Path] | str | Path, a: Sequence[str] | str | Path, b: Sequence[str] | str | Path, *,
            pairs: bool = False, draws: int = DRAWS, texts: int = MOST_TEXTS, model: str = SUITE_MODEL, seed: int = 0,
            jobs: int | None = None, progress: Progress | None = None) -> list[Measurement]:
    """Return the value of each metric for two corpora, or the mean for pairs of texts, with a p-value and an interval.

    Args:
        metrics: Names of metrics in any case, such as `"mauve"`, `"PR"` or `"pr[k=5]"`, or paths of submissions.
        a: First texts: a list, a file, or the name of a dataset.
        b: Second texts.
        pairs: Compare the first text with the first, the second with the second, and so on.
        draws: Number of permutations, and of random halves.
        texts: Largest number of texts of a corpus; from a larger corpus, this many are drawn at random.
        model: Embedding model of metrics that take vectors.
        seed: Seed of the draws.
        jobs: Number of metrics that run at the same time.
        progress: Receives progress.

    Examples:
        >>> measure("energy", "real.txt", "generated.txt")[0].p
        0.01
    """
    names = [metrics] if isinstance(metrics, str | Path) else list(metrics)
    words = [name if "/" in name or name.endswith(".py") else name.lower() for name in map(str, names)]
    entries = [entry for entry in select_entries(words, SUBMISSIONS) if entry.variant is None or entry.name in words]
    if draws < 1:
        raise TouchstoneError(f"--draws is {draws}; use at least 1, and 99 or more for a useful p-value.")
    first, second = (read_texts(side, pairs) for side in (a, b))
    rng, progress = np.random.default_rng(seed), progress or NoProgress()
    if pairs:
        return measure_pairs(entries, first, second, draws, rng, model, jobs, progress)
    for name, corpus in (("first", first), ("second", second)):
        if len(corpus) < FEWEST_TEXTS:
            raise TouchstoneError(f"The {name} corpus has {len(corpus)} texts; {FEWEST_TEXTS} are required. For pairs of texts "
                                  "use --pairs.")
        if len(corpus) > texts:
            progress.say(f"The {name} corpus has {len(corpus):,} texts, of which {texts:,} are drawn at random; change it with "
                         "--texts.")
    first, second = (draw_texts(corpus, texts, rng) for corpus in (first, second))
    return measure_corpora(entries, first, second, draws, rng, model, jobs, progress)


def read_texts(source: Sequence[str] | str | Path, complete: bool = False) -> list[str]:
    """Return the texts of a list, a file, a folder, or a dataset with texts; raise if some are empty and all are required."""
    if not isinstance(source, str | Path):
        return [str(text) for text in source]
    if is_path(str(source)) or Path(source).exists():
        shaped = make_source([source], "corpus", None, None).shaped(unique=False)
        if complete and shaped.notes:
            raise TouchstoneError(f"{source} has empty texts, so its texts cannot be paired with others by position. Remove the "
                                  "pair from both files.")
        rows = shaped.tables["data"]
    else:
        rows = load_dataset(str(source)).tables.get("data", pd.DataFrame())
    if "text" not in rows.columns:
        raise TouchstoneError(f'The dataset "{source}" has no column of texts; a corpus is required.')
    return [str(text) for text in rows.text]


def draw_texts(corpus: Sequence[str], most: int, rng: np.random.Generator) -> list[str]:
    """Return the corpus, or so many of its texts."""
    return list(corpus) if len(corpus) <= most else [corpus[row] for row in np.sort(rng.permutation(len(corpus))[:most])]


def measure_corpora(entries: Sequence[Entry], a: Sequence[str], b: Sequence[str], draws: int, rng: np.random.Generator,
                    model: str, jobs: int | None, progress: Progress) -> list[Measurement]:
    """Return the distances of two corpora."""
    groups = {"whole": CorpusGroup([a, b], [(0, 1)])}
    for start in range(0, draws, DRAWS_PER_GROUP):
        count = min(DRAWS_PER_GROUP, draws - start)
        groups[f"permuted {start}"] = permuted_group(a, b, count, rng)
        groups[f"halves {start}"] = halves_group(a, b, count, rng)
    answers = corpus_distances(groups, entries, progress, model=model, jobs=jobs, limits=LIMITS)
    return [summarize_corpora(answer, groups, draws, (len(a), len(b))) for answer in answers]


def permuted_group(a: Sequence[str], b: Sequence[str], count: int, rng: np.random.Generator) -> CorpusGroup:
    """Return random divisions of all texts into two corpora of the same sizes."""
    pooled, corpora = [*a, *b], []
    for _ in range(count):
        shuffled = [pooled[row] for row in rng.permutation(len(pooled)).tolist()]
        corpora += [shuffled[:len(a)], shuffled[len(a):]]
    return CorpusGroup(corpora, [(2 * draw, 2 * draw + 1) for draw in range(count)])


def halves_group(a: Sequence[str], b: Sequence[str], count: int, rng: np.random.Generator) -> CorpusGroup:
    """Return the pairs of halves of both corpora, then per draw: a-b, and, of equal sizes, a-b, a-a and b-b."""
    corpora: list[list[str]] = []
    size = min(len(a), len(b)) // 2
    pairs = []
    for _ in range(count):
        first = len(corpora)
        for corpus in (a, b):
            shuffled = [corpus[row] for row in rng.permutation(len(corpus)).tolist()]
            middle = len(corpus) // 2
            corpora += [shuffled[:middle], shuffled[:size], shuffled[middle:][:size]]
        pairs += [(first, first + 3), (first + 1, first + 4), (first + 1, first + 2), (first + 4, first + 5)]
    return CorpusGroup(corpora, pairs)


def summarize_corpora(answer: MetricAnswers, groups: dict[str, CorpusGroup], draws: int, sizes: tuple[int, int]) -> Measurement:
    """Return the measurement of one metric from its distances of all groups."""
    header = answer.entry.header
    lifted = header.kind != "corpus"
    returns = "distance" if lifted else header.returns
    if answer.failure is not None:
        return Measurement(answer.name, returns, sizes=sizes, failure=answer.failure, lifted=lifted)
    ends = np.cumsum([0, *(len(group.pairs) for group in groups.values())])
    parts = {name: answer.values[start:stop] for name, start, stop in zip(groups, ends[:-1], ends[1:], strict=True)}
    value = float(parts["whole"][0])
    permuted = np.concatenate([part for name, part in parts.items() if name.startswith("permuted")])
    halves = np.concatenate([part.reshape(-1, 4) for name, part in parts.items() if name.startswith("halves")])
    deviations = halves[:, 0] - halves[:, 0].mean()
    low, high = value - np.percentile(deviations, BAND[::-1])
    band = np.percentile(halves[:, 2:], BAND)
    scale = ScoreScale(returns) if lifted else ScoreScale.from_header(header)
    raw = scale.as_distance(np.array([value, low, high, *band, halves[:, 1].mean()]))      # its own inverse
    low, high = sorted(np.clip(raw[1:3], *((None, None) if lifted else header.range)).tolist())
    self_low, self_high = sorted(raw[3:5].tolist())
    p = (1 + np.sum(permuted >= value - 1e-12 * abs(value))) / (1 + draws)
    return Measurement(answer.name, returns, float(raw[0]), low, high, float(p), self_low, self_high, float(raw[5]), sizes, draws,
                       lifted=lifted)


def measure_pairs(entries: Sequence[Entry], a: Sequence[str], b: Sequence[str], draws: int, rng: np.random.Generator,
                  model: str, jobs: int | None, progress: Progress) -> list[Measurement]:
    """Return the mean scores of pairs."""
    corpus = next((entry for entry in entries if entry.header.kind != "text"), None)
    if corpus is not None:
        raise TouchstoneError(f'"{corpus.name}" compares corpora, not pairs of texts; omit --pairs.')
    if len(a) != len(b) or len(a) < FEWEST_PAIRS:
        raise TouchstoneError(f"--pairs needs two files with the same number of texts, at least {FEWEST_PAIRS}; these have "
                              f"{len(a):,} and {len(b):,} texts.")
    draws = max(1, min(draws, PERMUTED_PAIRS // len(a)))
    orders = [rng.permutation(len(a)) for _ in range(draws)]
    answers = score_pairs([*a, *(text for _ in orders for text in a)], [*b, *(b[row] for order in orders for row in order)],
                          entries, progress, model=model, jobs=jobs, limits=LIMITS, collection=[*a, *b])
    measurements = []
    for answer in answers:
        header = answer.entry.header
        if answer.failure is not None:
            measurements.append(Measurement(answer.name, header.returns, sizes=(len(a), len(b)), failure=answer.failure))
            continue
        scores = answer.values.reshape(1 + draws, len(a))
        scale = ScoreScale.from_header(header)
        estimate = stratified_mean([scores[0].tolist()], (scale.low, scale.high))
        assert estimate is not None         # there are pairs
        means = scale.as_similarity(scores.mean(axis=1))
        p = (1 + np.sum(means[1:] >= means[0] - 1e-12 * abs(means[0]))) / (1 + draws)
        band = np.percentile(scores[1:].mean(axis=1), BAND)
        measurements.append(Measurement(answer.name, header.returns, estimate.value, estimate.low, estimate.high, float(p),
                                        float(band[0]), float(band[1]), None, (len(a), len(b)), draws))
    return measurements


def report_measurements(measurements: Sequence[Measurement], a: str, b: str, pairs: bool) -> Report:
    """Return the report of measurements."""
    sizes = next((item.sizes for item in measurements), (0, 0))
    draws = max((item.draws for item in measurements), default=0)
    if pairs:
        heading, meaning = "permuted pairs", (
            "Value: mean over pairs, with a 95% interval. p: p-value of the hypothesis that the texts of a pair are "
            "unrelated (small: they are related), from random pairs of the same texts, whose 95% band is shown.")
    else:
        heading, meaning = "same source", (
            "Value: for all texts, with a 95% interval. p: p-value of the hypothesis that both corpora are from the "
            "same source (small: they differ), from random divisions of all texts. Same source: 95% band of the value for two "
            "halves of one corpus; compare it with the mean for halves of both (halves), because values depend on the number of "
            "texts.")
    many = f" p is not corrected for the number of metrics ({len(measurements)})." if len(measurements) > 1 else ""
    lifted = [item.metric for item in measurements if item.lifted]
    sentences = [meaning + many]
    if lifted:
        sentences.append(f"Lifted: {', '.join(lifted)}. A text metric compares corpora by the best match of every text in the "
                         "other corpus; for pairs of texts use --pairs.")
    rows = [(item.metric, format_value(item.value), f"{format_value(item.low)} to {format_value(item.high)}",
             format_small(item.p), f"{format_value(item.self_low)} to {format_value(item.self_high)}",
             *([] if pairs else [format_value(item.halves)]), item.returns) for item in measurements if item.failure is None]
    failed = [f"{item.metric} {item.failure}." for item in measurements if item.failure is not None]
    return Report(f"{a} and {b}", failed, [Section(
        f"{a} ({sizes[0]:,} texts) and {b} ({sizes[1]:,} texts), {draws} draws", sentences,
        ("metric", "value", "95%", "p", heading, *([] if pairs else ["halves"]), "kind"), rows)],
        {"a": a, "b": b, "measurements": to_values(list(measurements))})


def format_value(value: float | None) -> str:
    """Return a value with four significant digits."""
    return "-" if value is None else f"{value:.4g}"
