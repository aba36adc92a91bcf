"""Increasingly fine-tuned corpora (Kour et al. 2022, section 5): does the distance fall as a generator learns?

In the balanced form all corpora have texts of the same lengths, and the generated corpora are also compared with another one of
the first generator: that distance should rise. A statistic of lengths is constant, and a statistic of one corpus is wrong in one
series if it is right in the other.
"""

from __future__ import annotations

import functools
import operator
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import scipy
from pydantic import Field

from harness.base.errors import TouchstoneError
from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import CORRELATION, Context, Measures, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import PooledTask, SourcesSettings, TaskSettings
from tasks.common.correlations import pearson
from tasks.common.references import KOUR_2022
from tasks.data.drawn import draw_once
from tasks.data.loading import load_corpus, load_dataset
from tasks.generators.causal_lm import digest_of_weights, finetune_and_generate
from tasks.generators.progressive import Labelled, Step, generate_steps, type_token_ratio

CANDIDATES, FEWEST = 20, 2000                # generated texts per text of a balanced corpus, and at least
POOL = 2                                    # texts of the source per text of a balanced sample


class GeneratorSettings(TaskSettings):
    """A source, and how texts are generated from it."""

    name: str
    by_label: bool = False                  # generate by label, filtered by a classifier


class Settings(SourcesSettings):
    """Settings of the task in a suite."""

    sources: Annotated[tuple[GeneratorSettings, ...], Field(min_length=1)]
    steps: Annotated[int, Field(ge=2, le=100)]                          # N
    n: Annotated[int, Field(ge=2, le=10_000)]
    self_distances: Annotated[int, Field(ge=1, le=100)] = 5
    seeds: Annotated[int, Field(ge=1, le=1000)]
    train: Annotated[int, Field(ge=2)] | None = None        # maximal number of training texts; None: all that remain
    generator: Literal["ngrams", "gpt2"] = "ngrams"
    weights: str | None = None              # of gpt2: a folder or a name on the hub
    balanced: bool = False                  # equal lengths, and compare with both ends of the series; of n-grams only


@dataclass(frozen=True)
class TrainingCurve:
    """The raw answers for one generator, and properties of the generated corpora."""

    distances: tuple[float, ...]            # d(A_sample, g_i), i = 1..N
    fault_free: tuple[float, ...]           # d(r1, r2) of samples of A: the self-distances
    scale: Annotated[ScoreScale, StoredAs("orientation")]
    type_token_ratios: tuple[float, ...]    # of g_1..g_N
    of_sample: float                        # that of A_sample
    perplexities: tuple[float, ...]         # of A_sample, by the generators; if balanced, of the texts that it is drawn from
    from_first: tuple[float, ...] = ()      # d(another corpus of the first generator, g_i), if balanced


class FineTuning(PooledTask[TrainingCurve]):
    """Does the distance from a source fall as a generator learns from it?"""

    name: ClassVar[str] = "fine_tuning"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = TrainingCurve
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Fine-tuning", short="ft", score="Spearman correlation of training and closeness", chance=0.0, worst=-1.0,
        unit="generator seed", strata=("source",), observe_version=1, measure_version=1, paper=KOUR_2022,
        measures={
            "ifc_monotonicity": "-Spearman correlation of training and distance",
            "ifc_gap": "(d_N - mean self-distance)/(SD of the self-distances): remaining distance of the last generator",
            "first_gap": "(d_1 - mean self-distance)/(SD of the self-distances): distance of the first generator",
            "away_from_first": "Spearman correlation of training and distance from another corpus of the first generator, if "
                               "balanced; the score is then the mean of both correlations",
            "type_token_ratio_rise": "type-token ratio of the last generated corpus minus that of the first",
        },
        bounds={"ifc_monotonicity": CORRELATION, "away_from_first": CORRELATION, "type_token_ratio_rise": CORRELATION})

    def datasets(self, settings: Settings) -> set[str]:
        return {source.name for source in settings.sources}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        if (settings.generator == "gpt2") != (settings.weights is not None):
            raise TouchstoneError('tasks.fine_tuning: set `weights`, a folder or a name on the hub, if and only if generator = '
                                  '"gpt2".')
        if settings.balanced and settings.generator == "gpt2":
            raise TouchstoneError('tasks.fine_tuning: balanced corpora need many texts, so they need generator = "ngrams".')
        balanced = {"balanced": True} if settings.balanced else {}          # other units keep their ids
        generator: dict[str, Any] = {"generator": settings.generator, "train": settings.train}
        if settings.weights is not None:
            generator |= {"weights": settings.weights, "digest": digest_of_weights(settings.weights)}
        for source in settings.sources:
            # an earlier version ignored the labels with GPT-2; the units of n-grams keep their ids
            labels: dict[str, Any] = {"label_prompts": True} if source.by_label and settings.generator == "gpt2" else {}
            for seed in range(settings.seeds):
                yield self.unit(context, (source.name,), {
                    "source": source.name, "by_label": source.by_label, "steps": settings.steps, "n": settings.n,
                    "self_distances": settings.self_distances, **generator, **labels, "generator_seed": seed,
                    **balanced}, (source.name,))

    def texts(self, unit: Unit) -> Iterable[str]:
        return (text for corpus in self.corpora(unit)[0] for text in corpus)

    def corpora(self, unit: Unit) -> tuple[list[list[str]], list[Step]]:
        """Return A_sample, g_1..g_N, pairs of samples of A and if balanced another g_1; and the steps of the generator."""
        p, rng = unit.parameters, np.random.default_rng(unit.seed)
        n, loaded = p["n"], labelled_texts(p["source"], p["by_label"])
        held_out = POOL * n if p.get("balanced") else n
        if len(loaded.texts) < held_out + 2 * n:
            raise TouchstoneError(f'Fine-tuning with n={n} needs {held_out + 2 * n:,} texts of "{p["source"]}", which has '
                                  f"{len(loaded.texts):,}. Choose a smaller n or another source.")
        order = rng.permutation(len(loaded.texts)).tolist()
        sample = [loaded.texts[row] for row in order[:held_out]]
        free = [[loaded.texts[row] for row in rng.choice(len(loaded.texts), 2 * n, replace=False)]
                for _ in range(p["self_distances"])]
        unused_rows = order[held_out:] if p["train"] is None else order[held_out:held_out + p["train"]]
        train = Labelled([loaded.texts[row] for row in unused_rows], [loaded.labels[row] for row in unused_rows])
        series = GENERATED.generate(unit, train, sample)
        halves = [half for both in free for half in (both[:n], both[n:])]
        return [series.sample, *(step.texts for step in series.steps), *halves, *series.first_again], series.steps

    def observe(self, unit: Unit, metric: MetricSession) -> TrainingCurve:
        corpora, steps = self.corpora(unit)
        metric.start()                      # the time of the generator is not the metric's
        first = 1 + len(steps)
        last = first + 2 * unit.parameters["self_distances"]
        pairs = [(0, index) for index in range(1, first)] + [(index, index + 1) for index in range(first, last, 2)]
        count = len(pairs)
        pairs += [(again, index) for again in range(last, len(corpora)) for index in range(1, first)]
        answers = metric.corpus_distances(corpora, pairs)
        return TrainingCurve(tuple(answers[:len(steps)]), tuple(answers[len(steps):count]), metric.scale,
                             tuple(type_token_ratio(step.texts) for step in steps), type_token_ratio(corpora[0]),
                             tuple(step.perplexity for step in steps), tuple(answers[count:]))

    def measure_all(self, units: Sequence[Unit], observations: Sequence[TrainingCurve]) -> list[Measures]:
        """Return the measures; the self-distances of a source are those of all its units."""
        fault_free: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for unit, observation in zip(units, observations, strict=True):
            fault_free[unit.stratum] += observation.scale.as_distance(np.array(observation.fault_free)).tolist()
        return [training_measures(observation, np.array(fault_free[unit.stratum]))
                for unit, observation in zip(units, observations, strict=True)]


def training_measures(curve: TrainingCurve, fault_free: np.ndarray) -> Measures:
    """Return the measures of one curve, relative to the self-distances of its source."""
    distances = curve.scale.as_distance(np.array(curve.distances))
    spread = float(fault_free.std(ddof=1)) if len(fault_free) > 1 else 0.0
    first, last = ((float(distance - fault_free.mean()) / spread if spread > 0 else None) for distance in distances[[0, -1]])
    falling = score = correlate_with_training(-distances)
    ratios = curve.type_token_ratios
    values = {"ifc_monotonicity": falling, "ifc_gap": last, "first_gap": first, "type_token_ratio_rise": ratios[-1] - ratios[0]}
    if curve.from_first:
        rising = correlate_with_training(curve.scale.as_distance(np.array(curve.from_first)))
        score = None if falling is None and rising is None else ((falling or 0) + (rising or 0)) / 2
        values["away_from_first"] = rising
    return Measures(score, values)


def correlate_with_training(values: np.ndarray) -> float | None:
    """Return Spearman's correlation of values with the step of the generator, or None if all values are equal."""
    return pearson(np.arange(len(values)), scipy.stats.rankdata(values)) if np.ptp(values) > 0 else None


def labelled_texts(name: str, by_label: bool) -> Labelled:
    """Return the texts of a corpus with their labels, or with equal labels."""
    texts = load_corpus(name)
    if not by_label:
        return Labelled(texts, [""] * len(texts))
    rows = load_dataset(name).rows
    if "label" not in rows.columns:
        raise TouchstoneError(f'The corpus "{name}" has no labels. Remove the setting `by_label`.')
    return Labelled(texts, [str(label) for label in rows.label])


@dataclass(frozen=True)
class Series:
    """The texts of a unit that depend on its generators."""

    sample: list[str]                       # A_sample
    steps: list[Step]                       # g_1..g_N
    first_again: list[list[str]]            # if balanced, another corpus of the first generator


def match_lengths(held_out: Sequence[str], steps: Sequence[Step], n: int, name: str) -> Series:
    """Return n texts of the source, of every step, and of the first step again, with the same lengths in the same order."""
    half = len(steps[0].texts) // 2
    pools = [held_out, *(step.texts for step in steps), steps[0].texts[half:]]
    pools[1] = steps[0].texts[:half]
    shared = functools.reduce(operator.and_, (Counter(map(len, texts)) for texts in pools))
    if shared.total() < n:
        raise TouchstoneError(f'Balanced fine-tuning with n={n} needs {n:,} texts of "{name}" that are as long as generated '
                              f"ones; {shared.total():,} of {len(held_out):,} are. Choose a smaller n or another source.")
    lengths = Counter(map(len, take_lengths(held_out, shared)[:n]))
    sample, *generated, again = (sorted(take_lengths(texts, lengths), key=len) for texts in pools)
    return Series(sample, [replace(step, texts=texts) for step, texts in zip(steps, generated, strict=True)], [again])


def take_lengths(texts: Iterable[str], lengths: Counter[int]) -> list[str]:
    """Return the first texts of each length, as many as are counted."""
    left, taken = lengths.copy(), []
    for text in texts:
        if left[len(text)] > 0:
            left[len(text)] -= 1
            taken.append(text)
    return taken


class GeneratedTexts:
    """A cache of generated texts by unit, so that they are generated once for all metrics."""

    def __init__(self) -> None:
        self._series: dict[str, Series] = {}
        self._lock = threading.Lock()

    def generate(self, unit: Unit, train: Labelled, held_out: list[str]) -> Series:
        """Return the generated corpora of a unit."""
        with self._lock:
            if unit.id not in self._series:
                self._series[unit.id] = draw_once(unit, Series, lambda: generate_series(unit, train, held_out))
            return self._series[unit.id]


def generate_series(unit: Unit, train: Labelled, held_out: list[str]) -> Series:
    """Generate the corpora of a unit."""
    p = unit.parameters
    balanced, n = p.get("balanced", False), p["n"]
    arguments = train, held_out, p["steps"], max(CANDIDATES * n, FEWEST) if balanced else n, unit.seed
    steps = finetune_and_generate(p["weights"], *arguments) if p["generator"] == "gpt2" else generate_steps(*arguments)
    return match_lengths(held_out, steps, n, p["source"]) if balanced else Series(held_out, steps, [])


GENERATED = GeneratedTexts()
