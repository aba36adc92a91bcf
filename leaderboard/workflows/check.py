"""Check a submission before it is submitted: header, axioms, direction, speed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.paths import cache_folder
from harness.base.progress import NoProgress, Progress
from harness.base.units import Source
from harness.evaluation.assignment import Conditions, TaskUnit
from harness.evaluation.executor import WorkerSlot
from harness.evaluation.input_encoder import InputEncoder
from harness.evaluation.loop import embed_required_texts
from harness.evaluation.open_metric import prepare_conditions
from harness.evaluation.suite import Suite
from harness.evaluation.task import Context, Measures
from harness.models.vector_cache import VectorCache
from harness.results.outcomes import Failure
from harness.sandbox.layers import Sandbox
from harness.sandbox.limits import Limits
from harness.submission.submission import Entry, Submission, load_submission
from tasks.corpus.known_similarity import CorpusSize
from tasks.data.loading import dataset_fingerprint
from tasks.properties.axioms import DOMAINS, Trials, Verdict, describe_verdict, find_worst_cases
from tasks.registry import TASKS

SEED = 7
TRIALS = 3
SECONDS_PER_UNIT = 10.0


@dataclass(frozen=True)
class CheckReport:
    """The result of a check of one entry."""

    entry: Entry
    axioms: Measures | None                 # None: no trial succeeded
    worst: dict[str, Verdict]
    accuracy: float | None                  # accuracy on synthetic corpora; None: unknown
    calls_per_second: float | None          # at n=100
    seconds_on_core: float | None
    has_matrix: bool
    failures: tuple[Failure, ...]
    refused: tuple[tuple[str, str], ...]    # attempts that the sandbox refused, and their lines
    seconds: float

    @property
    def sound(self) -> bool:
        """Whether the entry may be submitted."""
        return not self.failures and self.axioms is not None and self.axioms.values["finite_when_awkward"] == 1


def check(submission: Submission | Path | str, suite: Suite, *, trust: bool = False,
          progress: Progress | None = None) -> list[CheckReport]:
    """Validate a submission and return one report per entry; nothing is stored.

    Args:
        submission: A submission, or the path of its file.
        suite: The suite whose model provides vectors and tokens.
        trust: Disable the sandbox, for code that you have reviewed.
        progress: Receives messages and progress; default: none.

    Raises:
        TouchstoneError: The header is invalid, or the submission cannot be run here.
    """
    loaded = submission if isinstance(submission, Submission) else load_submission(Path(submission))
    return check_entries(loaded.entries, suite, trust, progress or NoProgress())[0]


def check_entries(entries: Sequence[Entry], suite: Suite, trust: bool, progress: Progress) -> tuple[list[CheckReport], Sandbox]:
    """Return a report on every entry of a submission, and the sandbox in which they ran."""
    made = prepare_conditions(entries, Limits(seconds_per_unit=SECONDS_PER_UNIT), trust, progress, watched=True)
    return [check_entry(entry, suite, made, progress) for entry in entries], made.confinement


def check_entry(entry: Entry, suite: Suite, conditions: Conditions, progress: Progress) -> CheckReport:
    """Run a few axioms and one known-similarity collection of synthetic texts on an entry; nothing is stored."""
    started = time.monotonic()
    axioms, similarity = check_units(suite.model)
    cache = VectorCache(suite.model.name, cache_folder())
    embed_required_texts([(entry, question) for question in (*axioms, similarity)], cache, progress, 2)
    slot, inputs = WorkerSlot(conditions), InputEncoder(cache)
    failures: list[Failure] = []
    observations: list[Trials] = []
    accuracy = rate = on_core = None
    try:
        for question in axioms:
            outcome = slot.ask(entry, question, inputs)
            if outcome.failure is not None:
                failures.append(outcome.failure)
                break
            observations.append(outcome.observation)
        if observations and similarity.task.accepts(entry):
            outcome = slot.ask(entry, similarity, inputs)
            if outcome.failure is not None:
                failures.append(outcome.failure)
            else:
                accuracy = similarity.task.measure(similarity.unit, outcome.observation).values["accuracy"]
                rate = (2 * len(outcome.observation.forward) - outcome.observation.mirrored) / outcome.seconds
                sizes = [item.unit.parameters["k"] for item in suite.questions if item.task.name == similarity.task.name]
                on_core = sum(k * (k - 1) for k in sizes) / rate
    finally:
        slot.close()
    has_matrix = any(trial.axiom == "matrix_agrees" for item in observations for trial in item.trials)
    return CheckReport(entry, merge_trials(axioms, observations), find_worst_cases(observations), accuracy, rate, on_core,
                       has_matrix, tuple(failures), tuple(slot.refused_attempts), time.monotonic() - started)


def check_units(model: Source) -> tuple[list[TaskUnit], TaskUnit]:
    """Return three trials of the axioms, and one collection of 7 corpora of 100 synthetic texts."""
    context = Context(SEED, model, {name: dataset_fingerprint(name) for name in DOMAINS})
    axioms, similarity = TASKS["axioms"], TASKS["known_similarity"]
    trials = axioms.units(axioms.settings_type.model_validate({"trials": TRIALS}), context)
    collection = similarity.units(similarity.settings_type.model_validate(
        {"pairs": (("made_weather", "made_trains"),), "levels": (CorpusSize(k=7, n=100),), "repetitions": 1}), context)
    return [TaskUnit(axioms, unit) for unit in trials], TaskUnit(similarity, next(iter(collection)))


def merge_trials(questions: Sequence[TaskUnit], observations: Sequence[Trials]) -> Measures | None:
    """Return the measures of the axioms over all trials."""
    if not observations:
        return None
    whole = Trials(
        tuple(trial for observation in observations for trial in observation.trials),
        observations[0].scale,
        observations[0].low,
        observations[0].high,
    )
    return questions[0].task.measure(questions[0].unit, whole)


def give_advice(report: CheckReport) -> list[str]:
    """Return recommendations for the author of a submission."""
    header, sentences = report.entry.header, []
    values = report.axioms.values if report.axioms else {}
    shares = {name: share for name, share in values.items() if share is not None}
    if report.accuracy is not None and report.accuracy < 0.4:
        sentences.append(f'The distance falls as the corpora grow apart (A = {report.accuracy:.2f}, chance is 0.5): is '
                         f'`returns = "{header.returns}"` the wrong way round?')
    if header.symmetric and shares.get("symmetric", 1) < 1:
        sentences.append("The header claims `symmetric = true`, and it is not: correct the claim or the metric.")
    if not header.symmetric and shares.get("symmetric") == 1:
        sentences.append("It looks symmetric; the header may declare `symmetric = true`.")
    if shares.get("within_range", 1) < 1:
        sentences.append(f"Answers lie outside the declared range {list(header.range)}: widen the range or clip.")
    if header.repeatable and shares.get("repeatable", 1) < 1:
        sentences.append("Repeated calls give different answers: use NumPy's or Python's global random generator, which is "
                         "seeded before every call, or declare `repeatable = false`.")
    if header.kind == "text" and not report.has_matrix and report.calls_per_second is not None and report.calls_per_second < 200:
        sentences.append("A function `matrix(a, b)` that answers all pairs at once would make it much faster on corpora.")
    if shares.get("company", 1) < 1 or shares.get("order_of_calls", 1) < 1:
        sentences.append("Answers depend on other calls: the metric would be listed, not ranked.")
    if report.refused:
        tries = ", ".join(f"{what} (line {line.rpartition(':')[2]})" for what, line in report.refused)
        sentences.append(f"It tried to {tries}. The sandbox prevents this: a metric has its libraries, its models, and one empty "
                         "folder.")
    if shares.get("finite_when_awkward", 1) < 1:
        sentences.append("Unusual inputs (empty texts, identical corpora, ...) give answers that are not finite; each would fail "
                         "a test unit.")
    return sentences


def check_json(report: CheckReport) -> dict[str, Any]:
    """Return a report as plain values."""
    return {
        "name": report.entry.name, "digest": report.entry.digest, "sound": report.sound,
        "axioms": dict(report.axioms.values) if report.axioms else None,
        "worst": {axiom: describe_verdict(verdict) for axiom, verdict in report.worst.items()},
        "accuracy_on_made_texts": report.accuracy, "calls_per_second": report.calls_per_second,
        "seconds_on_core": report.seconds_on_core, "failures": [str(failure) for failure in report.failures],
        "refused": [{"tried": what, "place": line} for what, line in report.refused],
        "advice": give_advice(report), "seconds": report.seconds,
    }
