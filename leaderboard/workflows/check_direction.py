"""Find out whether a metric points the way its header declares, from inputs whose order of similarity is known.

Every trial compares three scores: of identical inputs, of similar ones, and of unrelated ones. Only clear evidence counts, so a
metric that does not react to these inputs, or that answers at random, is not accused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import Context, Task, TaskInfo
from harness.sandbox.faults import Fault
from harness.submission.header import field_line
from harness.submission.submission import Entry
from tasks.data.loading import load_corpus
from tasks.data.sources.synthetic import FRAMES, WORDS

CORPUS_TEXTS = 40
CLEAR, FEWEST = 0.9, 6                      # evidence: nine of ten trials with different answers, and at least six of these
TIED = 1e-9                                 # relative to the largest answer
OTHER = {"distance": "similarity", "similarity": "distance"}


@dataclass(frozen=True)
class Contrasts:
    """The raw answers of every trial for identical, similar and unrelated inputs."""

    scale: ScoreScale
    identical: tuple[float, ...]
    similar: tuple[float, ...]
    unrelated: tuple[float, ...]

    @property
    def answers(self) -> tuple[float, ...]:
        """All answers."""
        return (*self.identical, *self.similar, *self.unrelated)

    @property
    def inverted(self) -> bool:
        """Whether the answers contradict the declared direction."""
        identical, similar, unrelated = (self.scale.as_similarity(np.array(answers))
                                         for answers in (self.identical, self.similar, self.unrelated))
        tied = TIED * max(map(abs, self.answers))
        identity, nearness = (judge_contrast(closer, unrelated, tied) for closer in (identical, similar))
        return nearness < 0 or (identity < 0 and nearness <= 0)


class Direction(Task[Contrasts]):
    """Compare identical, similar and unrelated inputs; part of the check only, its answers are not stored."""

    name: ClassVar[str] = "direction"
    observation_type: ClassVar[type[Any]] = Contrasts
    info: ClassVar[TaskInfo] = TaskInfo(title="Direction", short="dir", score="", chance=0.0, worst=0.0, unit="trials", strata=(),
                                        observe_version=1, measure_version=1, ranked=False)

    def trials(self, context: Context, kind: str, count: int, draw: int) -> Unit:
        """Return the unit of some trials for metrics of a kind; another `draw` has other texts."""
        return self.unit(context, (), {"kind": kind, "trials": count, "draw": draw}, (f"made_{domain}" for domain in FRAMES))

    def accepts(self, entry: Entry) -> bool:
        return True

    def texts(self, unit: Unit) -> Iterable[str]:
        if unit.parameters["kind"] == "text":
            return chain.from_iterable(draw_texts(unit))
        return chain.from_iterable(chain.from_iterable(draw_corpora(unit)))

    def observe(self, unit: Unit, metric: MetricSession) -> Contrasts:
        if metric.kind == "corpus":
            trials = [metric.corpus_distances([p, list(p), near, far], [(0, 1), (0, 2), (0, 3)], number, 3 * number)
                      for number, (p, near, far) in enumerate(draw_corpora(unit))]
            return Contrasts(metric.pair_scale, *map(tuple, zip(*trials, strict=True)))
        base, near, far = zip(*draw_texts(unit), strict=True)
        a, b = [*base, *base, *base], [*base, *near, *far]
        try:
            scores = metric.pair_scores(a, b, 0, base)      # a metric with `fit` has not seen the similar and unrelated texts
        except Fault as fault:
            raise self._explained(fault, metric, a, b) from None
        count = len(base)
        return Contrasts(metric.pair_scale, tuple(scores[:count]), tuple(scores[count:2 * count]), tuple(scores[2 * count:]))

    def _explained(self, fault: Fault, metric: MetricSession, a: Sequence[str], b: Sequence[str]) -> Fault:
        """Return the fault; say so if it happens only to texts that `fit` did not receive."""
        if not metric.is_fitted:
            return fault
        try:
            metric.pair_scores(a, b, 0, list(dict.fromkeys(b)))
        except Fault:
            return fault
        return Fault(fault.kind, f"{fault.sentence}, for texts that `fit` did not receive; tasks also score other texts, such as "
                     "changed, shortened and joined copies of the fitted ones", fault.places, fault.output)


def draw_texts(unit: Unit) -> list[tuple[str, str, str]]:
    """Return a text, a similar one (in turn a copy without one word, and a paraphrase), and an unrelated one for every trial."""
    rng = np.random.default_rng([unit.seed, unit.parameters["draw"]])
    trials = []
    for number in range(unit.parameters["trials"]):
        own, other = (list(FRAMES)[index] for index in rng.permutation(len(FRAMES))[:2])
        fillings, others = ({slot: words[index] for slot, words, index in zip(WORDS, WORDS.values(), indices, strict=True)}
                            for indices in zip(*(rng.permutation(len(words))[:2] for words in WORDS.values()), strict=True))
        frame, second = rng.permutation(len(FRAMES[own]))[:2]
        text = FRAMES[own][frame].format(**fillings)
        words = text.split()
        del words[rng.integers(len(words))]
        similar = FRAMES[own][second].format(**fillings) if number % 2 else " ".join(words)
        trials.append((text, similar, FRAMES[other][rng.integers(len(FRAMES[other]))].format(**others)))
    return trials


def draw_corpora(unit: Unit) -> list[tuple[list[str], list[str], list[str]]]:
    """Return a corpus, another one of the same domain, and one of another domain for every trial."""
    rng = np.random.default_rng([unit.seed, unit.parameters["draw"], 1])
    trials = []
    for _ in range(unit.parameters["trials"]):
        own, other = (load_corpus(f"made_{list(FRAMES)[index]}") for index in rng.permutation(len(FRAMES))[:2])
        rows = rng.permutation(len(own))[:2 * CORPUS_TEXTS]
        far = [other[row] for row in rng.permutation(len(other))[:CORPUS_TEXTS]]
        trials.append(([own[row] for row in rows[:CORPUS_TEXTS]], [own[row] for row in rows[CORPUS_TEXTS:]], far))
    return trials


def judge_contrast(closer: np.ndarray, farther: np.ndarray, tied: float) -> int:
    """Return 1 if the closer inputs are clearly more similar, -1 if they are clearly less similar, else 0."""
    difference = closer - farther
    right, wrong = int((difference > tied).sum()), int((difference < -tied).sum())
    if right + wrong < FEWEST:
        return 0
    return (right >= CLEAR * (right + wrong)) - (wrong >= CLEAR * (right + wrong))


def describe_inversion(entry: Entry, contrasts: Contrasts) -> str:
    """Return the error for a metric whose answers have the wrong direction: what, where, and which line to change."""
    header, submission = entry.header, entry.submission
    things = "texts" if header.kind == "text" else "corpora"
    averages = [f"{np.mean(answers):.3g}" for answers in (contrasts.identical, contrasts.similar, contrasts.unrelated)]
    return (f"{submission.filename}, line {field_line(submission.source, 'returns')}: the answers have the wrong direction for "
            f"a {header.returns}: the mean for identical {things} is {averages[0]}, for similar ones {averages[1]}, and for "
            f'unrelated ones {averages[2]}; change the line to `returns = "{OTHER[header.returns]}"` and rename the function '
            f"`{header.returns}` to `{OTHER[header.returns]}`.")
