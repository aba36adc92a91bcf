"""Check a submission before it is submitted: header, name, direction, axioms, range, speed."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import BaseModel, Field

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS, cache_folder
from harness.base.progress import NoProgress, Progress
from harness.evaluation.assignment import Conditions, TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.loop import embed_required_texts
from harness.evaluation.open_metric import prepare_conditions
from harness.evaluation.suite import Suite
from harness.evaluation.task import Context, Measures
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Failure, Outcome
from harness.sandbox.layers import Sandbox
from harness.sandbox.limits import Limits
from harness.submission.header import field_line
from harness.submission.selection import parse_folder
from harness.submission.submission import Entry, Submission, load_submission
from leaderboard.workflows.check_direction import Direction, describe_inversion
from leaderboard.workflows.check_refusals import explain_refusal
from tasks.corpus.known_similarity import CorpusSize, KnownSimilarity, MixtureDistances
from tasks.corpus.known_similarity import Settings as MixtureSettings
from tasks.data.loading import dataset_fingerprint
from tasks.properties.axioms import (
    AXIOMS,
    DOMAINS,
    TOLERANCE,
    Axioms,
    Trial,
    Trials,
    Verdict,
    describe_verdict,
    find_worst_cases,
)
from tasks.properties.axioms import Settings as AxiomSettings

SEED = 7
FIRST_SECONDS = 30.0                        # for the first few answers; a metric that hangs is stopped here
SMALLEST, SIZES = CorpusSize(k=4, n=12), (CorpusSize(k=7, n=100), CorpusSize(k=7, n=50), CorpusSize(k=5, n=25))
PART_SECONDS = 15.0                         # intended for each part of the check
AXIOM_TRIALS = 3
FIRST_TRIALS = {"text": 4, "corpus": 1}     # of the direction, to time the metric
TRIALS = {"text": (12, 24), "corpus": (6, 12)}          # fewest and most, depending on the time
OUTSIDE, USED = 0.01, 0.5                   # shares of answers outside the declared range, and of the range that is used
UNDEFINED = ("one text against", "nothing but empty texts")     # trials of the axioms that a metric may refuse
MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^']{1,80})'")
TUPLE_AS_TEXT = re.compile(r"'tuple' object has no attribute|returned shape \(1,\)|bytes-like object, got 'tuple'")
LOOKALIKES = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s"})


@dataclass(frozen=True)
class AnswerRange:
    """The raw answers of a check against the declared range."""

    lowest: float
    highest: float
    outside: float                          # share of the answers


@dataclass
class CheckReport:
    """The result of a check of one entry."""

    entry: Entry
    failures: list[Failure] = field(default_factory=list)
    inversion: str | None = None            # the error of a metric that points the wrong way
    axioms: Measures | None = None          # of the trials that were answered; None: there are none
    worst: dict[str, Verdict] = field(default_factory=dict)
    answers: AnswerRange | None = None
    accuracy: float | None = None           # accuracy on synthetic corpora; None: unknown
    texts: int | None = None                # in each of these corpora
    calls_per_second: float | None = None
    seconds_on_core: float | None = None
    has_matrix: bool = False
    refused: tuple[tuple[str, str], ...] = ()           # attempts that the sandbox refused, and their lines
    seconds: float = 0.0

    @property
    def refusal(self) -> str | None:
        """A sentence about an attempt that the sandbox refused; None if there was none."""
        return explain_refusal(self.entry.submission.filename, self.refused, self.failures)

    @property
    def sound(self) -> bool:
        """Whether the entry may be submitted."""
        awkward = self.worst.get("finite_when_awkward")
        return not self.failures and self.inversion is None and (awkward is None or is_deliberate_refusal(awkward.trial))


class RefusedAttempt(BaseModel):
    """Something that the sandbox does not allow, and the line that tried it."""

    tried: str
    place: str


class CheckSummary(BaseModel):
    """The report on an entry as plain values."""

    name: str
    digest: str
    sound: bool = Field(description="whether the entry may be submitted")
    inversion: str | None
    axioms: dict[str, float | None] | None = Field(description="shares of the trials that satisfy each axiom")
    worst: dict[str, str] = Field(description="the worst violation of each axiom that is violated")
    answers: AnswerRange | None
    accuracy_on_made_texts: float | None
    texts: int | None = Field(description="in each of the synthetic corpora")
    calls_per_second: float | None
    seconds_on_core: float | None
    failures: list[str]
    refusal: str | None
    refused: list[RefusedAttempt]
    advice: list[str]
    seconds: float


def check(submission: Submission | Path | str, suite: Suite, *, trust: bool = False, limits: Limits | None = None,
          progress: Progress | None = None) -> list[CheckReport]:
    """Validate a submission and return one report per entry; nothing is stored.

    Args:
        submission: A submission, or the path of its file.
        suite: The suite whose model provides vectors and tokens.
        trust: Disable the sandbox, for code that you have reviewed.
        limits: Time, memory and other limits of the metric.
        progress: Receives messages and progress; default: none.

    Raises:
        TouchstoneError: The header is invalid, the name is taken, or the submission cannot be run here.
    """
    loaded = submission if isinstance(submission, Submission) else load_submission(Path(submission))
    return check_entries(loaded.entries, suite, trust, progress or NoProgress(), limits or Limits())[0]


def check_entries(entries: Sequence[Entry], suite: Suite, trust: bool, progress: Progress, limits: Limits,
                  first_seconds: float = FIRST_SECONDS) -> tuple[list[CheckReport], Sandbox]:
    """Return a report on every entry of a submission, and the sandbox in which they ran.

    The first answers have the time that the header requests, else `first_seconds`.
    """
    check_name(entries[0].submission)
    made = prepare_conditions(entries, limits, trust, progress, watched=True)
    return [EntryCheck(entry, suite, made, progress).run(first_seconds) for entry in entries], made.confinement


def check_name(submission: Submission) -> None:
    """Raise if a published submission has this name or one that looks like it, unless this is a published one."""
    name = submission.header.name
    published = parse_folder(SUBMISSIONS)
    if submission.source in (other.source for other in published):
        return
    for other in published:
        if comparable_name(other.header.name) == comparable_name(name):
            relation = "is taken" if other.header.name == name else f'looks like "{other.header.name}", which is taken'
            raise TouchstoneError(f'{submission.filename}, line {field_line(submission.source, "name")}: the name "{name}" '
                                  f"{relation} by submissions/{other.filename}; choose another name.")


def comparable_name(name: str) -> str:
    """Return what names that look alike have in common: separators and similar characters do not count."""
    return re.sub(r"[_.-]", "", name).translate(LOOKALIKES).replace("rn", "m").replace("vv", "w")


class EntryCheck:
    """The check of one entry. Later parts are skipped if the metric fails on the first few answers."""

    def __init__(self, entry: Entry, suite: Suite, conditions: Conditions, progress: Progress) -> None:
        self.report, self._entry, self._suite, self._progress = CheckReport(entry), entry, suite, progress
        self._context = Context(SEED, suite.model, {name: dataset_fingerprint(name) for name in DOMAINS})
        self._cache = VectorCache(suite.model.name, cache_folder())
        self._slot, self._inputs = WorkerSlot(conditions), InputEncoder(self._cache)
        self._observed: list[float] = []

    def run(self, first_seconds: float) -> CheckReport:
        """Run all parts."""
        started, stage = time.monotonic(), self._progress.stage(f"Checking {self._entry.name}", 3, "parts")
        try:
            self.check_direction(first_seconds)
            for part in (self.check_axioms, self.check_similarity):
                stage.advance()
                if not self.report.failures:
                    part()
        finally:
            stage.close()
            self._slot.close()
        self.report.answers = self._answer_range()
        self.report.refused = tuple(self._slot.refused_attempts)
        self.report.seconds = time.monotonic() - started
        return self.report

    def _ask(self, task_unit: TaskUnit, about: str, seconds: float | None = None) -> tuple[Outcome, float]:
        """Return the outcome of a unit and the time without the loading of the metric; record a failure."""
        embed_required_texts([(self._entry, task_unit)], self._cache, self._progress, 2)
        loading = self._slot.loading_seconds
        outcome = self._slot.run_unit(self._entry, task_unit, self._inputs, seconds)
        if outcome.failure is not None:
            sentence = outcome.failure.sentence
            sentence = sentence if sentence.startswith("could not be loaded") else f"{sentence}, {about}"
            self.report.failures.append(replace(outcome.failure, sentence=sentence))
        return outcome, max(outcome.seconds - (self._slot.loading_seconds - loading), 1e-6)

    def check_direction(self, first_seconds: float) -> None:
        """Compare inputs whose order is known: a few to time the metric, then as many as the time allows."""
        task, kind = Direction(), self._entry.header.kind
        first = TaskUnit(task, task.trials(self._context, kind, FIRST_TRIALS[kind], 0))
        outcome, seconds = self._ask(first, "on its first inputs", self._entry.header.time or first_seconds)
        if outcome.observation is None:
            return
        fewest, most = TRIALS[kind]
        count = int(min(most, max(fewest, PART_SECONDS * FIRST_TRIALS[kind] / seconds)))
        outcome, _ = self._ask(TaskUnit(task, task.trials(self._context, kind, count, 1)), "on similar and unrelated inputs")
        if outcome.observation is not None:
            self._observed += outcome.observation.answers
            if outcome.observation.inverted and not self._entry.header.control:         # a control may be wrong on purpose
                self.report.inversion = describe_inversion(self._entry, outcome.observation)

    def check_axioms(self) -> None:
        """Run a few trials of the axioms, fewer of a slow metric."""
        axioms, observations = Axioms(), list[Trials]()
        until = time.monotonic() + PART_SECONDS
        for unit in axioms.units(AxiomSettings(trials=AXIOM_TRIALS), self._context):
            outcome, _ = self._ask(TaskUnit(axioms, unit), "in the axioms")
            if outcome.observation is None:
                break
            observations.append(outcome.observation)
            if time.monotonic() > until:
                break
        if not observations:
            return
        trials = [trial for observation in observations for trial in observation.trials]
        broken = next((trial for trial in trials if trial.fault is not None and trial.axiom != "finite_when_awkward"), None)
        if broken is not None:
            self.report.failures.append(Failure("raised", f"{broken.fault}, in the axiom {broken.axiom}: {broken.about}"))
        usable = tuple(trial for trial in trials if trial.fault is None or trial.axiom == "finite_when_awkward")
        self._observed += [answer for trial in usable for answer in trial.answers]
        whole = replace(observations[0], trials=usable)
        self.report.axioms, self.report.worst = axioms.measure(unit, whole), find_worst_cases([whole])
        awkward = next((trial for trial in usable if trial.fault is not None and not is_deliberate_refusal(trial)), None)
        if awkward is not None:
            self.report.worst["finite_when_awkward"] = Verdict(awkward, False, math.inf)
        self.report.has_matrix = any(trial.axiom == "matrix_agrees" for trial in usable)

    def check_similarity(self) -> None:
        """Score one collection of corpora of known similarity, as large as the time of a small one suggests."""
        task = KnownSimilarity()
        if not task.accepts(self._entry):
            return
        size = SMALLEST
        outcome, seconds = self._ask(self._collection(size), describe_size(size))
        if outcome.observation is None:
            return
        for larger in SIZES:
            growth = larger.k * (larger.k - 1) / (size.k * (size.k - 1)) * (larger.n / size.n) ** 2
            if seconds * growth <= PART_SECONDS:
                size = larger
                outcome, seconds = self._ask(self._collection(size), describe_size(size))
                break
        if outcome.observation is None:
            return
        observation: MixtureDistances = outcome.observation
        self.report.accuracy = task.measure(self._collection(size).unit, observation).values["accuracy"]
        self.report.texts = size.n
        self.report.calls_per_second = (2 * len(observation.forward) - observation.mirrored) / seconds
        ks = [item.unit.parameters["k"] for item in self._suite.task_units if item.task.name == task.name]
        per_call = (100 / size.n) ** 2 / self.report.calls_per_second
        self.report.seconds_on_core = sum(k * (k - 1) for k in ks) * per_call

    def _collection(self, size: CorpusSize) -> TaskUnit:
        """Return a collection of synthetic corpora of a size; of the third repetition, which repeats one pair only."""
        task = KnownSimilarity()
        settings = MixtureSettings(pairs=(("made_weather", "made_trains"),), levels=(size,), repetitions=3)
        return TaskUnit(task, list(task.units(settings, self._context))[-1])

    def _answer_range(self) -> AnswerRange | None:
        """Return the range of all raw answers."""
        if not self._observed:
            return None
        low, high = self._entry.header.range
        slack = TOLERANCE * max(1.0, *map(abs, self._observed))
        outside = sum(not low - slack <= answer <= high + slack for answer in self._observed)
        return AnswerRange(min(self._observed), max(self._observed), outside / len(self._observed))


def describe_size(size: CorpusSize) -> str:
    """Return the size of a collection in words."""
    return f"on {size.k} synthetic corpora of {size.n} texts"


def is_deliberate_refusal(trial: Trial) -> bool:
    """Return whether a metric raises ValueError for a corpus of one text or of empty texts, where many are undefined."""
    return trial.about.startswith(UNDEFINED) and (trial.fault or "").startswith("raised ValueError")


def give_advice(report: CheckReport) -> list[str]:
    """Return recommendations for the author of a submission."""
    if report.refusal is not None:
        return []                           # everything else follows from it
    header, sentences = report.entry.header, []
    values = report.axioms.values if report.axioms else {}
    shares = {name: share for name, share in values.items() if share is not None}
    if report.inversion is None and report.accuracy is not None and report.accuracy < 0.4:
        sentences.append(f"The distance does not grow as the corpora grow apart (A = {report.accuracy:.2f}, chance is 0.5).")
    if header.symmetric and shares.get("symmetric", 1) < 1:
        sentences.append("The header declares `symmetric = true`, but the metric is not symmetric; correct the header or the "
                         "metric.")
    if not header.symmetric and shares.get("symmetric") == 1:
        sentences.append("The metric appears to be symmetric; declare `symmetric = true` in the header.")
    sentences += [*advise_on_failures(report), *advise_on_range(report)]
    if header.repeatable and shares.get("repeatable", 1) < 1:
        sentences.append("Repeated calls give different answers: use NumPy's or Python's global random generator, which is "
                         "seeded before every call, or declare `repeatable = false`.")
    if header.kind == "text" and not report.has_matrix and report.calls_per_second is not None and report.calls_per_second < 200:
        sentences.append("A function `matrix(a, b)` that scores all pairs at once would make the metric much faster on corpora.")
    if shares.get("company", 1) < 1 or shares.get("order_of_calls", 1) < 1:
        sentences.append("Answers depend on other calls: the metric would be listed, not ranked.")
    if report.refused:
        tries = ", ".join(f"{attempt} (line {line.rpartition(':')[2]})" for attempt, line in report.refused)
        sentences.append(f"The metric tried to {tries}. The sandbox prevents this: a metric has its libraries, its models, and "
                         "one empty folder.")
    awkward = report.worst.get("finite_when_awkward")
    if awkward is not None and not is_deliberate_refusal(awkward.trial):
        sentences.append("Unusual inputs (empty texts, identical corpora, ...) give answers that are not finite; each would fail "
                         "a test unit.")
    return sentences


def advise_on_failures(report: CheckReport) -> list[str]:
    """Return how to correct common mistakes."""
    header, filename = report.entry.header, report.entry.submission.filename
    failures, advice = "\n".join(map(str, report.failures)), []
    if "defines no function" in failures:
        line = field_line(report.entry.submission.source, "returns")
        advice.append(f'{filename}, line {line}: the header says `returns = "{header.returns}"`, so the file must define a '
                      f"function `{header.returns}`; rename the function or change the line.")
    advice += [f"{filename} imports {module}, which its environment does not have: add the package that provides it to "
               "`dependencies` in the header." for module in dict.fromkeys(MISSING_MODULE.findall(failures))]
    if header.kind == "text" and TUPLE_AS_TEXT.search(failures):
        advice.append(f"`{header.returns}(a, b)` of a text metric receives two tuples of texts and returns one number for each "
                      "pair: `return [score(x, y) for x, y in zip(a, b)]`.")
    return advice


def advise_on_range(report: CheckReport) -> list[str]:
    """Return what does not fit the declared range of answers."""
    (low, high), answers = report.entry.header.range, report.answers
    if answers is None:
        return []
    declared, observed = f"[{low:g}, {high:g}]", f"[{answers.lowest:.3g}, {answers.highest:.3g}]"
    if answers.lowest == answers.highest:
        return [f"All answers of the check are {answers.lowest:.3g}, so the metric distinguishes nothing."]
    if answers.outside > OUTSIDE:
        return [f"{answers.outside:.0%} of the answers lie outside the declared range {declared}: they are in {observed}. Widen "
                "the range, or clip the answers."]
    if math.isfinite(high - low) and answers.highest - answers.lowest < USED * (high - low):
        return [f"The answers are in {observed}, less than half of the declared range {declared}; check the range."]
    return []


def summarize_check(report: CheckReport) -> CheckSummary:
    """Return a report as it is stored and printed as JSON."""
    return CheckSummary(
        name=report.entry.name, digest=report.entry.digest, sound=report.sound, inversion=report.inversion,
        axioms={name: report.axioms.values[name] for name in AXIOMS} if report.axioms else None,
        worst={axiom: describe_verdict(verdict) for axiom, verdict in report.worst.items()}, answers=report.answers,
        accuracy_on_made_texts=report.accuracy, texts=report.texts, calls_per_second=report.calls_per_second,
        seconds_on_core=report.seconds_on_core, failures=[str(failure) for failure in report.failures], refusal=report.refusal,
        refused=[RefusedAttempt(tried=attempt, place=line) for attempt, line in report.refused], advice=give_advice(report),
        seconds=report.seconds)
