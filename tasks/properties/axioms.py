"""Axioms: formal properties of a metric, shown but not ranked."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from pydantic import Field

from harness.base.units import Unit
from harness.evaluation.metric_session import MetricSession
from harness.evaluation.score_scale import ScoreScale
from harness.evaluation.task import SHARE, Context, Measures, Presentation, Role, Task, TaskInfo
from harness.results.outcomes import StoredAs
from harness.sandbox.faults import Fault, FaultKind
from harness.submission.submission import Entry
from tasks.common.base import TaskSettings
from tasks.data.loading import load_corpus

Answer = TypeVar("Answer")
TOLERANCE = 1e-6                            # relative to the largest answer, absolute below 1
DOMAINS = ("made_weather", "made_kitchen", "made_trains")
CORPUS_TEXTS = 20
PAIRS = 12

AXIOMS = {
    "repeatable": "repeated calls return equal answers",
    "order_of_calls": "answers do not depend on the order of the calls",
    "company": "answers do not depend on the other inputs of the same call",
    "order_of_texts": "answers do not depend on the order of the texts in a corpus",
    "equal_inputs": "equal inputs have equal answers at every position in a call",
    "matrix_agrees": "`matrix` returns the same scores as the calls for pairs",
    "symmetric": "d(p, q) = d(q, p)",
    "identity": "no input is nearer than the input itself; for distances, d(p, p) = 0",
    "within_range": "answers are in the declared range",
    "triangle": "d(p, r) <= d(p, q) + d(q, r)",
    "duplication": "duplicating the texts of both corpora does not change the answer",
    "finite_when_awkward": "answers for unusual inputs are finite",
}


class Settings(TaskSettings):
    """Settings of the task in a suite."""

    trials: Annotated[int, Field(ge=1, le=1000)]


@dataclass(frozen=True)
class Trial:
    """One check of one axiom: the raw answers that it compares, or the fault that prevented them."""

    axiom: str
    about: str
    answers: tuple[float, ...]
    fault: str | None = None


@dataclass(frozen=True)
class Trials:
    """The trials of one unit."""

    trials: tuple[Trial, ...]
    scale: Annotated[ScoreScale, StoredAs("orientation")]
    low: float | None                       # declared range of the answers; None: unbounded
    high: float | None


@dataclass(frozen=True)
class Verdict:
    """The result of a trial: the amount by which its axiom is violated, 0 if it holds."""

    trial: Trial
    passed: bool
    deviation: float                        # inf if there is no answer


class Axioms(Task[Trials]):
    """Cheap checks of every submission; each measure is a share of trials passed."""

    name: ClassVar[str] = "axioms"
    settings_type: ClassVar[type[TaskSettings]] = Settings
    observation_type: ClassVar[type[Any]] = Trials
    info: ClassVar[TaskInfo] = TaskInfo(
        title="Axioms", short="ax", score="share of trials passed, mean over axioms", chance=0.0, worst=0.0, unit="trial",
        strata=(), observe_version=1, measure_version=1, ranked=False, measures=AXIOMS,
        bounds=dict.fromkeys(("score", *AXIOMS), SHARE),
        presentation=Presentation(axioms=True, roles={Role.SYMMETRIC: "symmetric", Role.REPEATABLE: "repeatable"}))

    def datasets(self, settings: Settings) -> set[str]:
        return set(DOMAINS)

    def accepts(self, entry: Entry) -> bool:
        """Return True: text metrics are checked on pairs."""
        return True

    def units(self, settings: Settings, context: Context) -> Iterator[Unit]:
        for trial in range(settings.trials):
            yield self.unit(context, (), {"trial": trial}, DOMAINS)

    def texts(self, unit: Unit) -> Iterable[str]:
        p, q, r = draw_corpora(unit)
        return [*p, *q, *r, *AWKWARD_TEXTS.values()]

    def observe(self, unit: Unit, metric: MetricSession) -> Trials:
        low, high = metric.entry.header.range
        trials_of = CorpusTrials if metric.kind == "corpus" else TextTrials
        scale = metric.scale if metric.kind == "corpus" else metric.pair_scale
        trials = trials_of(metric, draw_corpora(unit), np.random.default_rng([unit.seed, 1])).run()
        return Trials(tuple(trials), scale, low if math.isfinite(low) else None, high if math.isfinite(high) else None)

    def measure(self, unit: Unit, observation: Trials) -> Measures:
        all_verdicts = judge_trials(observation)
        shares: dict[str, float | None] = {}
        for axiom in AXIOMS:
            passed = [verdict.passed for verdict in all_verdicts if verdict.trial.axiom == axiom]
            shares[axiom] = float(np.mean(passed)) if passed else None
        marks = {"unrepeatable"} if (shares["repeatable"] or 0.0) < 1 else set()
        known_shares = [share for share in shares.values() if share is not None]
        return Measures(float(np.mean(known_shares)), shares, frozenset(marks))

    def counterexamples(self, observations: Sequence[Trials]) -> dict[str, str]:
        """Return the worst trial of each axiom that fails, as text."""
        return {axiom: describe_verdict(verdict) for axiom, verdict in find_worst_cases(observations).items()}


def draw_corpora(unit: Unit) -> tuple[list[str], list[str], list[str]]:
    """Return three small corpora, each a random mixture of two of three domains."""
    rng = np.random.default_rng(unit.seed)
    texts = [load_corpus(domain) for domain in DOMAINS]
    drawn_corpora = []
    for _ in range(3):
        first, second = (texts[i] for i in rng.permutation(len(texts))[:2])
        of_first = int(rng.integers(CORPUS_TEXTS + 1))
        drawn_corpora.append([first[i] for i in rng.choice(len(first), of_first, replace=False)]
                             + [second[i] for i in rng.choice(len(second), CORPUS_TEXTS - of_first, replace=False)])
    p, q, r = drawn_corpora
    return p, q, r


AWKWARD_TEXTS = {
    "an empty text": "",
    "white space": " \t\n ",
    "one letter": "a",
    "emoji": "\N{SLICE OF PIZZA}\N{ZERO WIDTH JOINER}\N{FAMILY} \N{REGIONAL INDICATOR SYMBOL LETTER F}",
    "right-to-left script": "הרכבת לצפון יוצאת בערב مطر خفيف على الميناء",
    "100 kB": "the harbour lies under low cloud and the ferry waits " * 1_930,
    "an ordinary text": "a light breeze from the sea this morning",
}


class _Trials:
    """Collects trials; a fault in one of them is recorded, and the next one continues with a fresh worker."""

    def __init__(self, metric: MetricSession, corpora: Sequence[list[str]], rng: np.random.Generator) -> None:
        self.metric, self.corpora, self.rng = metric, corpora, rng
        self.results: list[Trial] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, question: Hashable) -> int:
        """Return the call number of a question, which is the same when the question is repeated."""
        return 10 * self._numbers.setdefault(question, len(self._numbers))

    def ask_fresh(self, ask: Callable[..., Answer], *arguments: Any) -> Answer:
        """Return the answer of a fresh worker."""
        self.metric.stop_worker()
        return ask(*arguments)

    def trial(self, axiom: str, about: str, ask: Callable[..., Iterable[float]], *arguments: Any) -> None:
        """Run one trial."""
        try:
            self.results.append(Trial(axiom, about, tuple(ask(*arguments))))
        except Fault as fault:
            if fault.kind is FaultKind.TIME:
                raise                       # the time limit applies to the unit, not to the trial
            self.results.append(Trial(axiom, about, (), fault.sentence))


class CorpusTrials(_Trials):
    """The axioms of corpus metrics."""

    def run(self) -> list[Trial]:
        """Run all trials."""
        p, q, r = self.corpora
        distance = self.distance

        def shuffled(texts: list[str]) -> list[str]:
            return [texts[i] for i in self.rng.permutation(len(texts))]

        self.trial("repeatable", "p, q", lambda: (distance(p, q), distance(p, q)))
        self.trial("repeatable", "p, q in two workers", lambda: (self.ask_fresh(distance, p, q), self.ask_fresh(distance, p, q)))
        three = [(0, 1), (1, 2), (0, 2)]
        for at, pair in enumerate(("p, q", "q, r", "p, r")):
            self.trial("order_of_calls", pair, lambda at: (self.distances([p, q, r], three, order)[at] for order in (1, 2)), at)
        self.trial("company", "p, q among others and alone in a fresh worker",
                   lambda: (self.distances([p, q, r], three)[0], self.ask_fresh(distance, p, q)))
        self.trial("order_of_texts", "p, q", lambda: (distance(p, q), distance(shuffled(p), shuffled(q))))
        self.trial("equal_inputs", "p, q", lambda: (distance(p, q), self.distances([q, p, p, q], [(2, 3)])[0]))
        for about, a, b in (("p, q", p, q), ("q, r", q, r), ("p, r", p, r)):
            self.trial("symmetric", about, lambda a, b: (distance(a, b), distance(b, a)), a, b)
            self.trial("identity", about, lambda a, b: (distance(a, a), distance(a, b)), a, b)
            self.trial("within_range", about, lambda a, b: (distance(a, b), distance(a, a)), a, b)
        self.trial("triangle", "p, q, r", lambda: (distance(p, r), distance(p, q), distance(q, r)))
        self.trial("duplication", "p, q", lambda: (distance(p, q), distance(p + p, q + q)))
        odd = AWKWARD_TEXTS
        for about, a, b in (
                ("one text against many", p[:1], q), ("one text against another", p[:1], q[:1]),
                ("identical corpora", p, list(p)), ("one text 500 times", p[:1] * 500, q),
                ("nothing but empty texts", [""] * 5, q),
                *((f"{name} among others", [odd[name], *p], q) for name in
                  ("an empty text", "emoji", "right-to-left script", "100 kB"))):
            self.trial("finite_when_awkward", about, lambda a, b: (distance(a, b),), a, b)
        return self.results

    def distance(self, p: list[str], q: list[str]) -> float:
        """Return the answer for one pair of corpora."""
        return self.distances([p, q], [(0, 1)])[0]

    def distances(self, corpora: list[list[str]], pairs: list[tuple[int, int]], order: int = 0) -> list[float]:
        """Return the answers for some pairs of corpora; the first pair determines the number of the call."""
        first = self.number(tuple(tuple(corpora[c]) for c in pairs[0]))
        return self.metric.corpus_distances(corpora, pairs, order, first)


class TextTrials(_Trials):
    """The axioms of text metrics; every pair of a call is a trial."""

    def run(self) -> list[Trial]:
        """Run all trials."""
        p, q, r = (texts[:PAIRS] for texts in self.corpora)
        about = [f'"{a}" and "{b}"' for a, b in zip(p, q, strict=True)]
        self.compare("repeatable", about, lambda: (self.ask(p, q), self.ask(p, q)))
        self.compare("repeatable", about, lambda: (self.ask_fresh(self.ask, p, q), self.ask_fresh(self.ask, p, q)))

        def in_other_order() -> tuple[list[float], list[float]]:
            first = self.ask(p, q)
            self.ask(q, r)
            return first, self.ask(p, q)

        self.compare("order_of_calls", about, in_other_order)
        order = self.rng.permutation(PAIRS)

        def in_other_company() -> tuple[list[float], list[float]]:
            a, b = [p[i] for i in order] + r, [q[i] for i in order] + q
            answers = self.ask(a, b)
            return self.ask(p, q), [answers[i] for i in np.argsort(order)]

        self.compare("company", about, in_other_company)
        for i in range(3):
            self.trial("company", f"{about[i]} alone in a fresh worker",
                       lambda i: (self.ask(p, q)[i], self.ask_fresh(self.ask, [p[i]], [q[i]])[0]), i)
        self.compare("equal_inputs", about, lambda: split_halves(self.ask([*p, *map(copy_text, p)], [*map(copy_text, q), *q])))
        self.compare("symmetric", about, lambda: (self.ask(p, q), self.ask(q, p)))
        self.compare("identity", about, lambda: (self.ask(p, p), self.ask(p, q)))
        self.compare("within_range", about, lambda: (self.ask(p, q), self.ask(p, p)))
        self.compare("triangle", [f'{description}, "{c}"' for description, c in zip(about, r, strict=True)],
                     lambda: (self.ask(p, r), self.ask(p, q), self.ask(q, r)))
        self.matrix(p, q, about)
        for name, text in AWKWARD_TEXTS.items():
            for other, against in (("itself", text), ("an ordinary text", AWKWARD_TEXTS["an ordinary text"])):
                self.trial("finite_when_awkward", f"{name} against {other}", self.ask, [text], [against])
        return self.results

    def ask(self, a: list[str], b: list[str]) -> list[float]:
        """Return the answers for pairs of texts."""
        return self.metric.pair_scores(a, b, self.number((tuple(a), tuple(b))), self.collection)

    @property
    def collection(self) -> list[str]:
        """All texts of the unit."""
        return [text for texts in self.corpora for text in texts]

    def compare(self, axiom: str, about: Sequence[str], ask: Callable[[], Sequence[Sequence[float]]]) -> None:
        """Record one trial per pair: the answers at the same index of each list."""
        try:
            answers = ask()
        except Fault as fault:
            if fault.kind is FaultKind.TIME:
                raise
            self.results.append(Trial(axiom, "a call of several pairs", (), fault.sentence))
            return
        self.results += [Trial(axiom, words, tuple(row)) for words, row in zip(about, zip(*answers, strict=True), strict=True)]

    def matrix(self, p: list[str], q: list[str], about: Sequence[str]) -> None:
        """Compare the score matrix with the answers for pairs."""
        try:
            cross = self.metric.score_matrix(p, q, self.number((tuple(p), tuple(q))), self.collection)
        except Fault as fault:
            self.results.append(Trial("matrix_agrees", "a cross matrix", (), fault.sentence))
            return
        if cross is not None:
            self.compare("matrix_agrees", about, lambda: (self.ask(p, q), np.diag(cross).tolist()))


def copy_text(text: str) -> str:
    """Return an equal text that is another object in the worker."""
    return "".join(text)


def split_halves(answers: list[float]) -> tuple[list[float], list[float]]:
    """Return both halves of a list of answers."""
    return answers[:len(answers) // 2], answers[len(answers) // 2:]


def judge_trials(observation: Trials) -> list[Verdict]:
    """Return the verdict of each trial."""
    results = []
    for trial in observation.trials:
        deviation = math.inf if trial.fault is not None else measure_deviation(trial, observation)
        scale = max([1.0, *map(abs, trial.answers)])
        results.append(Verdict(trial, deviation <= TOLERANCE * scale, deviation))
    return results


def measure_deviation(trial: Trial, observation: Trials) -> float:
    """Return the amount by which the answers of a trial violate its axiom."""
    answers = trial.answers
    if trial.axiom == "finite_when_awkward":
        return 0.0                          # answers that are not finite are faults
    if trial.axiom == "within_range":
        low = -math.inf if observation.low is None else observation.low
        high = math.inf if observation.high is None else observation.high
        return max(0.0, *(low - a for a in answers), *(a - high for a in answers))
    if trial.axiom == "identity":
        itself, other = answers
        if observation.scale.returns == "distance":
            return abs(itself)
        return max(0.0, other - itself)
    if trial.axiom == "triangle":
        if observation.scale.returns == "similarity" and observation.scale.high is None:
            return 0.0                      # an unbounded similarity has no corresponding distance
        whole, first, second = observation.scale.as_distance(np.array(answers))
        return max(0.0, float(whole - first - second))
    first, second = answers
    return abs(first - second)


def describe_verdict(verdict: Verdict) -> str:
    """Return the trial and its answers in one line."""
    trial = verdict.trial
    if trial.fault is not None:
        return f"{trial.about}: {trial.fault}"
    about = trial.about if len(trial.about) <= 70 else trial.about[:69] + "…"
    return f"{about}: {', '.join(f'{answer:.4g}' for answer in trial.answers)}"


def find_worst_cases(observations: Iterable[Trials]) -> dict[str, Verdict]:
    """Return the worst violation of each axiom that is violated."""
    worst: dict[str, Verdict] = {}
    for trials in observations:
        for verdict in judge_trials(trials):
            previous = worst.get(verdict.trial.axiom)
            if not verdict.passed and (previous is None or verdict.deviation > previous.deviation):
                worst[verdict.trial.axiom] = verdict
    return worst
