"""Sanity checks: does a distance between corpora behave as its users expect in simple, controlled situations?

Each check compares a reference with corpora that are changed step by step. The verdict is on the mean curve over the repetitions,
on a scale on which 0 is the distance of two samples of one source and 1 the distance of a sample from another domain.
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

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, Curve, Presentation, TaskInfo
from harness.results.outcomes import StoredAs
from tasks.common.base import TaskSettings, VerdictTask, refuse_unknown_checks
from tasks.common.consistency import TOLERANCE
from tasks.common.curves import mean_points, rises
from tasks.common.sampling import sample_documents, sample_labelled
from tasks.corpus.sanity_checks import CHECKS, Corpus, Deck, Material, Verdict

BANDS = 3                                   # pairs of samples of one source per unit
SAME = 0.1                                  # largest change of a curve that stays
LITTLE = 0.25                               # highest value of a curve that is bounded
CACHED = 64                                 # of the units whose corpora are kept for the next metrics


PASSES: Mapping[Verdict, str] = {
    Verdict.GROWS: "grows", Verdict.STAYS: "stays within 0.1 of the distance from another domain",
    Verdict.BOUNDED: "stays below a quarter of the distance from another domain", Verdict.DETECTED: "is noticed in every case"}


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    topics: str                             # a labelled dataset, or several corpora "a + b"
    documents: str                          # documents of several sentences
    elsewhere: str                          # texts of another domain
    n: Annotated[int, Field(ge=8, le=2_000)]
    documents_n: Annotated[int, Field(ge=8, le=2_000)]
    repetitions: Annotated[int, Field(ge=2, le=100)]
    checks: tuple[str, ...] = tuple(CHECKS)


@dataclass(frozen=True)
class CheckAnswers:
    """The raw answers for one check and one draw of corpora."""

    curve: tuple[float, ...]                # over the values that are varied
    same: tuple[float, ...]                 # pairs of samples of the source
    other: float                            # a sample and one of another domain
    scale: Annotated[ScoreScale, StoredAs("orientation")]


@dataclass(frozen=True)
class SanityCorpora:
    """The corpora of a unit, and the pairs that are compared, in the order of `CheckAnswers`."""

    corpora: list[Corpus]
    pairs: list[tuple[int, int]]


class Sanity(VerdictTask[CheckAnswers]):
    """Does the distance behave as expected in simple situations?"""

    name: ClassVar[str] = "sanity"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = CheckAnswers
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Sanity checks", short="san", score="none (property)", chance=0.0, worst=0.0, unit="repetition", strata=("check",),
        observe_version=1, measure_version=1, ranked=False,
        measures={"passed": "share of the checks that pass, of those with a verdict",
                  **{name: f"1 if the distance {PASSES[check.verdict]} as {check.description}"
                     for name, check in CHECKS.items()}},
        bounds={"passed": SHARE, **dict.fromkeys(CHECKS, SHARE)},
        presentation=Presentation(
            origin="Checks after Räisä et al. 2025 and He et al. 2023, with texts.",
            example="a corpus from which one topic after the other disappears; its distance should grow.",
            columns=("passed",), titles={"passed": "Sanity checks passed"}, curves_title="Sanity checks"))

    def datasets(self, settings: Settings) -> set[str]:
        return {*settings.topics.split(" + "), settings.documents, settings.elsewhere}

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        refuse_unknown_checks(self.name, settings.checks, CHECKS)
        for name, repetition in itertools.product(settings.checks, range(settings.repetitions)):
            check = CHECKS[name]
            sources = [settings.documents] if check.documents else settings.topics.split(" + ")
            yield self.unit(context, (name,), {
                "check": name, "source": settings.documents if check.documents else settings.topics,
                "elsewhere": settings.elsewhere, "n": settings.documents_n if check.documents else settings.n,
                "sample": context.seed, "repetition": repetition},
                (*sources, settings.elsewhere))

    def texts(self, unit: Unit) -> Iterable[str]:
        return itertools.chain.from_iterable(draw_corpora(unit).corpora)

    def observe(self, unit: Unit, metric: MetricSession) -> CheckAnswers:
        drawn = draw_corpora(unit)
        answers = metric.corpus_distances(drawn.corpora, drawn.pairs)
        count = len(CHECKS[unit.parameters["check"]].x)
        return CheckAnswers(tuple(answers[:count]), tuple(answers[count:-1]), answers[-1], metric.scale)

    def judge(self, check: str, observations: Sequence[CheckAnswers]) -> float | None:
        return judge(check, observations)

    def curves(self, title: str, observations: Sequence[CheckAnswers]) -> list[Curve]:
        """Return the distance of a check by what is varied: 0 is one source, 1 another domain."""
        scaled = scale_curves(observations)
        check = CHECKS.get(title)
        if scaled is None or check is None:
            return []
        points = mean_points(check.x, scaled.curve)
        return [Curve(title.replace("_", " "), check.description, "distance, 1 is another domain", points)]


@lru_cache(CACHED)
def draw_corpora(unit: Unit) -> SanityCorpora:
    """Return the corpora of a unit and the pairs to compare."""
    p, rng = unit.parameters, np.random.default_rng(unit.seed)
    check = CHECKS[p["check"]]
    elsewhere = Deck({"": [document.text for document in sample_documents(p["elsewhere"], p["sample"])]}, rng)
    topics: dict[str, list[str]] = defaultdict(list)
    if check.documents:
        topics[""] = [document.text for document in sample_documents(p["source"], p["sample"])]
    else:
        for text, label in sample_labelled(p["source"], p["sample"]):
            topics[label.partition(":")[0]].append(text)        # of "TOPIC:subtopic" the topic
    deck = Deck(topics, rng)
    pairs = check.build(Material(deck, elsewhere), p["n"], check.x)
    pairs += [(deck.sample(p["n"]), deck.sample(p["n"])) for _ in range(BANDS)]
    pairs.append((deck.sample(p["n"]), elsewhere.sample(p["n"])))
    corpora: list[Corpus] = []
    position: dict[int, int] = {}
    for corpus in itertools.chain.from_iterable(pairs):
        if id(corpus) not in position:
            position[id(corpus)] = len(corpora)
            corpora.append(corpus)
    return SanityCorpora(corpora, [(position[id(a)], position[id(b)]) for a, b in pairs])


@dataclass(frozen=True)
class ScaledCurves:
    """Curves on the scale of a check, repetitions x values, and the highest mean that is not noticed."""

    curve: np.ndarray
    unnoticed: float


def scale_curves(observations: Sequence[CheckAnswers]) -> ScaledCurves | None:
    """Return the curves scaled to the distance of one source (0) and of another domain (1); None if the two do not differ."""
    scale = observations[0].scale
    same = scale.as_distance(np.array([observation.same for observation in observations])).ravel()
    other = scale.as_distance(np.array([observation.other for observation in observations]))
    error = np.sqrt(same.var(ddof=1) / len(same) + other.var(ddof=1) / len(other)) if len(other) > 1 else np.inf
    span = float(other.mean() - same.mean())
    if not np.isfinite(span) or span <= 2 * error or span <= TOLERANCE * max(abs(float(other.mean())), 1e-12):
        return None
    curve = (scale.as_distance(np.array([observation.curve for observation in observations])) - same.mean()) / span
    # the mean of m further distances of one source lies below this with a probability of 97.5%
    reach = scipy.stats.t.ppf(0.975, len(same) - 1) * same.std(ddof=1) * np.sqrt(1 / len(observations) + 1 / len(same))
    return ScaledCurves(curve, float(reach / span))


def judge(name: str, observations: Sequence[CheckAnswers]) -> float | None:
    """Return 1 if a check passes and 0 if it fails; None if the metric does not tell the source from another domain."""
    scaled = scale_curves(observations)
    if scaled is None:
        return None
    check, mean = CHECKS[name], scaled.curve.mean(axis=0)
    if check.verdict is Verdict.GROWS:
        return float(rises(check.x, mean) and mean[-1] > scaled.unnoticed)
    if check.verdict is Verdict.STAYS:
        return float(np.ptp(mean) <= SAME)
    if check.verdict is Verdict.BOUNDED:
        return float(mean.max() <= LITTLE)
    return float(mean.min() > scaled.unnoticed)
